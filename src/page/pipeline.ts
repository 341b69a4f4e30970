// SPDX-License-Identifier: MIT
// Page Pipeline: windows of a trace, an instruction a line and a cycle a column; why one of them was late.
import { aligned, beside } from "./aligned";
import { Paths, Step, end, stamp } from "./critical";
import { All, Data, Traced, Window, functionAt, runOf } from "./data";
import { button, count, el, percent, svg, table } from "./dom";
import { Go, Page, State, link } from "./state";

const SHOWN = 80; // lines that are drawn at once
const STEPS = 12; // of the chain behind an instruction
const COLUMNS = 640; // units of the drawing's width

/** Stages: index of their first cycle in a row, name, class of their colour. */
export const stages: [number, string, string][] = [[4, "fetch", "s-fetch"], [5, "decode", "s-decode"], [6, "waits for operands", "s-wait"],
	[7, "ready, waits to issue", "s-ready"], [8, "executes", "s-execute"], [9, "done, waits to commit", "s-done"]];

/** The last thing that an instruction waited for, in words; and the one that made it wait. */
function late(w: Window, at: number): { text: string; by: number } {
	const i = w.insts[at], of = (po: number): number => po < 0 ? -1 : w.insts.findIndex((x) => x[0] === po);
	const name = (k: number): string => `${w.insts[k][2]} (${w.insts[k][1]})`;
	const [fetch, , dispatch, ready, issue, complete] = [4, 5, 6, 7, 8, 9].map((k) => stamp(i, k));
	if (i[0] < 0)
		return { text: "is on a wrong path: it was squashed", by: w.insts.findIndex((x, k) => k < at && (x[3] & 1) === 1 && end(x) > fetch) };
	let before = at - 1;
	while (before >= 0 && w.insts[before][0] < 0)
		before--;
	const waits: [number, string, number][] = [];
	const sources = [...i[11], i[12]].map(of).filter((k) => k >= 0);
	const last = sources.reduce((a, k) => a < 0 || stamp(w.insts[k], 9) > stamp(w.insts[a], 9) ? k : a, -1);
	if (ready > dispatch && dispatch >= 0)
		waits.push([ready - dispatch, last >= 0 ? `waits ${ready - dispatch} cycles for ${name(last)}` : `waits ${ready - dispatch} cycles for its operands`, last]);
	if (issue > ready && ready >= 0)
		waits.push([issue - ready, `is ready and waits ${issue - ready} cycles for a unit`, -1]);
	if (complete > issue && issue >= 0)
		waits.push([complete - issue, i[16] ? `takes ${complete - issue} cycles, ${i[16]} of them a miss` : `takes ${complete - issue} cycles to execute`, of(i[13])]);
	if (i[15])
		waits.push([i[15], `its fetch waits ${i[15]} cycles for the I-cache`, -1]);
	if (i[10] >= 0 && complete >= 0 && end(i) - complete > 1)
		waits.push([end(i) - complete - 1, `is done and waits ${end(i) - complete - 1} cycles for ${before >= 0 ? name(before) : "an older instruction"} to commit`, before]);
	const gap = before >= 0 ? fetch - w.insts[before][4] : 0;
	if (gap > 3)
		waits.push([gap, w.insts[before][3] & 1 ? `is fetched ${gap} cycles after the mispredicted ${name(before)}`
			: w.insts[before][3] & 2 ? `is fetched ${gap} cycles after ${name(before)}, which flushes the pipeline` : `is fetched ${gap} cycles after ${name(before)}`, before]);
	waits.sort((a, b) => b[0] - a[0]);
	return waits.length ? { text: waits[0][1].replace(/\b1 cycles/g, "1 cycle"), by: waits[0][2] } : { text: "waits for nothing", by: -1 };
}

/** Instructions of some steps, from the last to the first, each once. */
function chain(at: number, steps: Step[]): number[] {
	return [at, ...new Set(steps.map((x) => x.by).filter((k) => k !== at))];
}

/** A window's name with the function that an address in it is in. */
function named(d: Data, name: string): string {
	const pc = / at (0x[0-9a-f]+)/.exec(name)?.[1], f = pc ? functionAt(d, pc) : undefined;
	return f ? name.replace(` at ${pc}`, ` at ${pc} in ${f.name}`) : name;
}

/** Of all times that an instruction is in the window, the one that took longest. */
export function longest(w: Window, pc: string): number {
	return w.insts.reduce((a, i, k) => i[1] === pc && i[0] >= 0 && (a < 0 || end(i) - i[4] > end(w.insts[a]) - w.insts[a][4]) ? k : a, -1);
}

/** Pixels a cycle at which what is around the instruction fits, unless the user has chosen. */
function fitting(w: Window, first: number, selected: number): number {
	const list = w.insts.slice(first, Math.min(w.insts.length, Math.max(selected + 12, first + 24)));
	const span = Math.max(...list.map(end)) - Math.min(...list.map((i) => i[4])) + 2;
	return Math.max(0.05, Math.min(6, COLUMNS / span));
}

/** What draws an instruction's stages from y on. */
export function bars(row: SVGElement, i: Traced, x0: number, c0: number, px: number, right: number, y: number, h: number): void {
	const ends = [...stages.slice(1).map((_, m) => stamp(i, stages[m + 1][0])), end(i) + 1];
	stages.forEach(([at, name, cls], m) => {
		const from = stamp(i, at), to = ends.slice(m).find((e) => e >= 0) ?? end(i) + 1;
		const x = Math.max(x0, x0 + (from - c0) * px), x1 = Math.min(x0 + (to - c0) * px, right);
		if (from >= 0 && x1 > x)
			row.append(svg("rect", { x, y: y + 3, width: Math.max(0.7, x1 - x), height: h - 6, class: cls },
				svg("title", {}, `${i[2]}: ${name}, cycles ${count(from)} to ${count(to)}`)));
	});
	const out = x0 + (end(i) - c0) * px;
	if (out >= x0 && out < right)
		row.append(svg("rect", { x: out, y: y + 1, width: Math.max(1.5, px), height: h - 2, class: i[0] < 0 ? "s-squash" : "s-commit" }));
}

/** The path as a line through the rows that are drawn. */
function pathLine(steps: Step[], first: number, shown: number, x: (c: number) => number, left: number, right: number, H: number): SVGElement {
	let d = "", on = false;
	for (const s of steps) {
		const inside = s.at >= first && s.at < first + shown && s.by >= first && s.by < first + shown && s.from <= s.to && x(s.to) >= left && x(s.from) <= right;
		const at = (k: number, c: number): string => `${Math.min(right, Math.max(left, x(c))).toFixed(1)} ${20 + (k - first) * H + H / 2}`;
		if (inside)
			d += `${on ? "" : `M${at(s.at, s.to)}`}L${at(s.by, s.from)}`;
		on = inside;
	}
	return svg("path", { d: d || "M0 0", class: "critical" });
}

function drawing(w: Window, first: number, path: number[], critical: Step[], zoom: number, pan: number, select: (k: number) => void): Node {
	const list = w.insts.slice(first, first + SHOWN), H = 18, left = 330, width = left + COLUMNS + 10;
	const c0 = (list.length ? Math.min(...list.map((i) => i[4])) : 0) + pan, px = zoom;
	const g = svg("svg", { width, height: list.length * H + 22, class: "pipe", role: "img",
		"aria-label": `${list.length} instructions from cycle ${c0}; the table below says the same` });
	const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n * px >= 72) ?? 2000;
	for (let c = Math.ceil(c0 / step) * step; (c - c0) * px < COLUMNS - 30; c += step)
		g.append(svg("path", { d: `M${left + (c - c0) * px} 16V${list.length * H + 20}`, class: "grid" }),
			svg("text", { x: left + (c - c0) * px + 2, y: 12, class: "tick" }, count(c)));
	list.forEach((i, k) => {
		const y = 20 + k * H, n = first + k, row = svg("g", { class: "row" + (i[0] < 0 ? " wrong" : "") + (path[0] === n ? " on" : path.includes(n) ? " chain" : "") });
		row.append(svg("rect", { x: 0, y, width, height: H, class: "back" }),
			svg("text", { x: 4, y: y + 13, class: "pc" }, i[0] < 0 ? "×" : String(i[0])),
			svg("text", { x: 76, y: y + 13 }, (i[3] & 1 ? "! " : i[3] & 2 ? "⚑ " : "") + i[2].slice(0, 34)));
		bars(row, i, left, c0, px, left + COLUMNS, y, H);
		row.addEventListener("click", () => select(n));
		g.append(row);
	});
	g.append(pathLine(critical, first, list.length, (c) => left + (c - c0) * px, left, left + COLUMNS, H));
	for (let k = 0; k + 1 < path.length; k++) {
		const a = path[k + 1], b = path[k];
		if (a < first || a >= first + list.length || b < first || b >= first + list.length)
			continue;
		const x0 = left + (end(w.insts[a]) - c0) * px, x1 = left + (stamp(w.insts[b], 4) - c0) * px;
		const xa = Math.min(Math.max(x0, left), left + COLUMNS), xb = Math.min(Math.max(x1, left), left + COLUMNS);
		g.append(svg("path", { d: `M${xa} ${20 + (a - first) * H + H / 2}L${xb} ${20 + (b - first) * H + H / 2}`, class: "arrow" }));
	}
	return g;
}

function stepLine(w: Window, x: Step, select: (k: number) => void): HTMLElement {
	return el("li", {}, `${count(x.cycles)} ${x.cycles === 1 ? "cycle" : "cycles"}: `, button(`${w.insts[x.at][2]} (${w.insts[x.at][1]})`, () => select(x.at), { class: "plain" }), ` ${x.text}`);
}

/** Where the cycles of the window's critical path go, and its steps in words. */
function criticalBox(w: Window, steps: Step[], select: (k: number) => void): HTMLElement {
	const total = steps.reduce((a, x) => a + x.cycles, 0), causes = new Map<string, number>(), insts = new Map<string, [number, number]>();
	for (const x of steps) {
		const key = `${w.insts[x.at][2]} (${w.insts[x.at][1]})`;
		causes.set(x.cause, (causes.get(x.cause) ?? 0) + x.cycles);
		insts.set(key, [(insts.get(key)?.[0] ?? 0) + x.cycles, x.at]);
	}
	const rows = [...causes].filter((r) => r[1]).sort((a, b) => b[1] - a[1]), most = [...insts].filter((r) => r[1][0]).sort((a, b) => b[1][0] - a[1][0]).slice(0, 8);
	const long = steps.filter((x) => x.cycles).sort((a, b) => b.cycles - a.cycles).slice(0, 40).sort((a, b) => b.to - a.to);
	return el("details", { id: "critical", "data-value": String(total) },
		el("summary", {}, `Critical path of the window: ${count(total)} cycles` + rows.slice(0, 3).map((r, k) => `${k ? ", " : "; "}${r[0]} ${percent(r[1] / total)}`).join("")),
		el("div", { class: "many" },
			table("What it waits for", [{ name: "cause", value: (r: [string, number]) => r[0] }, { name: "cycles", value: (r) => r[1], show: (r) => count(r[1]) },
				{ name: "share", value: (r) => r[1] / total, show: (r) => percent(r[1] / total) }], rows, "", null),
			table("Instructions on it", [{ name: "instruction", value: (r: [string, [number, number]]) => r[0], show: (r) => button(r[0], () => select(r[1][1]), { class: "plain" }) },
				{ name: "cycles", value: (r) => r[1][0], show: (r) => count(r[1][0]) }, { name: "share", value: (r) => r[1][0] / total, show: (r) => percent(r[1][0] / total) }], most, "", null)),
		el("p", { class: "keys" }, "Its longest steps, from the window's end to its beginning:"), el("ol", {}, ...long.map((x) => stepLine(w, x, select))));
}

function draw(d: Data, s: State, go: Go, all: All): Node[] {
	const mine = all.windows.filter((x) => x.run === runOf(all, d));
	if (!mine.length)
		return [el("p", { class: "missing" }, "This profile keeps no stretches of the pipeline; `culprit sim --analyze profile,windows -- PROG` (or all) does. "
			+ "`culprit sim --trace FILE` writes a trace, and `culprit html " + d.file + " --trace FILE --window WHERE` shows any part of it.")];
	const asked = all.windows[Number(s.window ?? -1)], w = asked && mine.includes(asked) ? asked : mine[0], n = w.insts.length;
	const at = s.inst !== undefined ? Number(s.inst) : s.pc && s.pc !== w.insts[w.at]?.[1] ? longest(w, s.pc) : w.at;
	const selected = Math.max(0, Math.min(n - 1, at));
	const first = Math.max(0, Math.min(Number(s.first ?? Math.max(0, selected - 10)), Math.max(0, n - 10)));
	const zoom = s.zoom !== undefined ? Number(s.zoom) : fitting(w, first, selected), pan = Number(s.pan ?? 0), half = Math.round(COLUMNS / zoom / 2);
	const paths = new Paths(w, Number(d.parameters.find((p) => p[0] === "window" && p[1] === "rob")?.[2] ?? 0));
	const steps = paths.back(selected, STEPS), critical = paths.critical(), path = chain(selected, steps), i = w.insts[selected], select = (k: number): void => go({ inst: String(k), pc: "", first: String(first) });
	const windows = el("select", { "aria-label": "window", id: "window" }) as HTMLSelectElement;
	all.windows.forEach((x, k) => mine.includes(x) ? windows.append(el("option", { value: String(k) }, named(d, x.name))) : null);
	windows.value = String(all.windows.indexOf(w));
	windows.addEventListener("change", () => go({ window: windows.value, inst: "", pc: "", first: "", pan: "", zoom: "" }));
	const where = el("input", { type: "search", "aria-label": "go to an instruction's number, cycle:N or an address", placeholder: "number, cycle:N, 0x…" }) as HTMLInputElement;
	where.addEventListener("change", () => {
		const t = where.value.trim(), cycle = /^cycle:(\d+)$/.exec(t);
		const k = w.insts.findIndex((x) => cycle ? end(x) >= Number(cycle[1]) : x[1] === t || String(x[0]) === t);
		if (k >= 0)
			go({ inst: String(k), pc: "", first: String(Math.max(0, k - 10)), pan: "", zoom: "" });
	});
	const fn = functionAt(d, i[1]), other = all.runs.length > 1 ? beside(all, w) : null;
	if (other && s.beside === "1")
		return aligned(d, all, w, other, s, go);
	const legend = el("p", { class: "legend" }, ...([...stages.map(([, name, cls]) => [cls, name]),
		["s-commit", "commits"], ["s-squash", "squashed (×)  ! mispredicted  ⚑ flushes"], ["critical-key", "critical path"]])
		.flatMap(([cls, name]) => [el("span", { class: "item" }, el("span", { class: "key " + cls, "aria-hidden": "true" }), name), " "]));
	return [el("p", { class: "tools" }, "Window ", windows, " go to ", where, " ",
		button("▴", () => go({ first: String(Math.max(0, first - SHOWN / 2)) }), { "aria-label": "earlier instructions" }), " ",
		button("▾", () => go({ first: String(Math.min(n - 1, first + SHOWN / 2)) }), { "aria-label": "later instructions" }), " ",
		button("←", () => go({ pan: String(pan - half), zoom: zoom.toFixed(3) }), { "aria-label": "earlier cycles" }), " ",
		button("→", () => go({ pan: String(pan + half), zoom: zoom.toFixed(3) }), { "aria-label": "later cycles" }), " ",
		button("+", () => go({ zoom: String(Math.min(40, zoom * 1.5)) }), { "aria-label": "zoom in" }), " ",
		button("−", () => go({ zoom: String(Math.max(0.05, zoom / 1.5)) }), { "aria-label": "zoom out" }),
		` instructions ${count(first + 1)} to ${count(Math.min(n, first + SHOWN))} of ${count(n)}`), legend,
	el("section", { id: "chosen", "data-inst": String(selected), "aria-live": "polite" },
		el("p", {}, el("strong", {}, `${i[2]} at `), fn ? link(`${i[1]} in ${fn.name}`, { page: "code", fn: String(fn.id), pc: i[1] }) : i[1],
			i[14].length ? `, ${i[14].join(", ")}` : "", `: ${late(w, selected).text}.`),
		i[0] < 0 ? null : el("ol", { class: "why" }, ...steps.filter((x) => x.cycles).map((x) => stepLine(w, x, select)))),
	criticalBox(w, critical, select), ...(other ? [el("p", { class: "next" }, button("beside the other run, by program order", () => go({ beside: "1" }), { id: "beside" }))] : []),
	el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "pipeline" }, drawing(w, first, path, critical, zoom, pan, select)),
	el("details", {}, el("summary", {}, "The same as a table"), table("Cycles of the instructions above", [
		{ name: "number", value: (r: Traced) => r[0], show: (r) => r[0] < 0 ? "squashed" : count(r[0]) },
		{ name: "address", value: (r) => r[1] }, { name: "instruction", value: (r) => r[2] },
		...stages.map(([k, name]) => ({ name, value: (r: Traced) => stamp(r, k), show: (r: Traced) => stamp(r, k) < 0 ? "" : count(stamp(r, k)) })),
		{ name: "leaves", value: (r) => end(r), show: (r) => count(end(r)) },
	], w.insts.slice(first, first + SHOWN), "", null))];
}

export const pipeline: Page = { id: "pipeline", title: "Pipeline", draw };

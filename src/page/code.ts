// SPDX-License-Identifier: MIT
// Page Code: the source of a function beside its disassembly, each leading to the other.
import { Data, Func, Inst, saving } from "./data";
import { count, el, percent, stackBar, svg } from "./dom";
import { why } from "./rows";
import { Go, Page, State, link } from "./state";

const ROW = 22; // pixels; page.css has the same
const LISTED = 300; // functions that are offered; search finds all

interface Jump { from: number; to: number; lane: number }

/** Jumps within the function, short ones in the lanes nearest to the code. */
function jumpsOf(f: Func): Jump[] {
	const at = new Map(f.insts.map((i, k) => [parseInt(i[0], 16), k]));
	const jumps: Jump[] = [];
	f.insts.forEach((i, from) => {
		const target = /^(?:b\w+|j|c\.j)\s.*?0x([0-9a-f]+)(?: <|$)/.exec(i[1].replace("\t", " "));
		const to = target ? at.get(parseInt(target[1], 16)) : undefined;
		if (to !== undefined && to !== from)
			jumps.push({ from, to, lane: -1 });
	});
	const ends: [number, number][][] = [];
	for (const j of jumps.slice().sort((a, b) => Math.abs(a.from - a.to) - Math.abs(b.from - b.to))) {
		const top = Math.min(j.from, j.to), bottom = Math.max(j.from, j.to);
		let lane = ends.findIndex((used) => used.every((u) => bottom < u[0] || top > u[1]));
		if (lane < 0)
			lane = ends.push([]) - 1;
		ends[lane].push([top, bottom]);
		j.lane = lane;
	}
	return jumps.filter((j) => j.lane < 8);
}

/** The part of the arrows that lies in one row. */
function arrows(jumps: Jump[], row: number, lanes: number): SVGElement {
	const width = lanes * 7 + 8, g = svg("svg", { width, height: ROW, "aria-hidden": "true", class: "arrows" });
	for (const j of jumps) {
		const top = Math.min(j.from, j.to), bottom = Math.max(j.from, j.to), x = width - 9 - j.lane * 7;
		if (row < top || row > bottom)
			continue;
		const y0 = row === top ? ROW / 2 : 0, y1 = row === bottom ? ROW / 2 : ROW;
		const kind = j.to <= j.from ? "loop" : "skip";
		g.append(svg("path", { d: `M${x} ${y0}V${y1}`, class: kind }));
		if (row === j.from || row === j.to)
			g.append(svg("path", { d: `M${x} ${ROW / 2}H${width - 2}`, class: kind }));
		if (row === j.to)
			g.append(svg("path", { d: `M${width - 6} ${ROW / 2 - 3}L${width - 1} ${ROW / 2}L${width - 6} ${ROW / 2 + 3}`, class: kind }));
	}
	return g;
}

/** Where the time is, from the first instruction to the last; a picture of what the table says. */
function heat(f: Func, most: number, show: (row: number) => void): SVGElement {
	const g = svg("svg", { class: "heat", viewBox: `0 0 12 ${f.insts.length}`, preserveAspectRatio: "none", "aria-hidden": "true" });
	f.insts.forEach((i, k) => {
		if (i[4])
			g.append(svg("rect", { x: 0, y: k, width: Math.max(1, 12 * i[4] / most), height: 1 }));
	});
	g.addEventListener("click", (e) => {
		const box = g.getBoundingClientRect();
		show(Math.floor((e as MouseEvent).offsetY / box.height * f.insts.length));
	});
	return g;
}

interface Line { file: string; line: number; text: string; cycles: number; saves: number; has: boolean; loop: boolean }

/** Lines in their own order: those with code, and the source around them. */
function linesOf(d: Data, f: Func, jumps: Jump[]): Line[] {
	const lines = new Map<string, Line>();
	for (const i of f.insts) {
		if (!i[2] || !i[3])
			continue;
		const key = `${i[2]}:${i[3]}`;
		let l = lines.get(key);
		if (!l) {
			l = { file: i[2], line: i[3], text: "", cycles: 0, saves: 0, has: true, loop: false };
			lines.set(key, l);
		}
		l.cycles += i[4];
		l.saves += saving(d, i[0]).cycles;
	}
	for (const j of jumps)
		if (j.to <= j.from) {
			const i = f.insts[j.from], l = lines.get(`${i[2]}:${i[3]}`);
			if (l)
				l.loop = true;
		}
	for (const file of new Set([...lines.values()].map((l) => l.file))) {
		const own = [...lines.values()].filter((l) => l.file === file).map((l) => l.line);
		const first = Math.min(...own) - 3, last = Math.max(...own) + 3, few = own.length * 4 + 60 > last - first;
		for (const [n, text] of d.sources[file] ?? []) {
			const l = lines.get(`${file}:${n}`);
			if (l)
				l.text = text;
			else if (n >= first && n <= last && (few || own.some((o) => Math.abs(o - n) <= 3)))
				lines.set(`${file}:${n}`, { file, line: n, text, cycles: 0, saves: 0, has: false, loop: false });
		}
	}
	return [...lines.values()].sort((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line);
}

function heads(...names: [string, string][]): HTMLElement {
	return el("thead", {}, el("tr", {}, ...names.map(([n, c]) => el("th", { scope: "col", class: c }, n))));
}

function sourceTable(d: Data, f: Func, jumps: Jump[], line: string): HTMLElement {
	const total = d.run.cycles, body = el("tbody"), lines = linesOf(d, f, jumps);
	const most = Math.max(...lines.map((l) => l.cycles), 1);
	let last: Line | null = null;
	for (const l of lines) {
		if (!last || last.file !== l.file)
			body.append(el("tr", { class: "file" }, el("td", { colspan: d.icost ? "5" : "4" },
				l.file + (d.changed.includes(l.file) ? " (changed after the program was built: lines may have moved)" : ""))));
		else if (l.line > last.line + 1)
			body.append(el("tr", { class: "gap" }, el("td", { colspan: d.icost ? "5" : "4", "aria-label": "lines left out" }, "⋮")));
		const key = `${l.file}:${l.line}`;
		const tr = el("tr", { class: (key === line ? "at" : l.cycles === most ? "hot" : "") + (l.has ? "" : " dim") },
			el("td", { class: "number", "data-value": String(l.cycles) }, l.cycles ? percent(l.cycles / total) : ""),
			el("td", { class: "thin" }, l.cycles ? stackBar([["time", l.cycles]], total, l.cycles / most) : ""),
			d.icost ? el("td", { class: "number" }, l.saves > 0.00005 * total ? percent(l.saves / total) : "") : null,
			el("td", { class: "number" }, l.has ? link(String(l.line), { page: "code", fn: String(f.id), pc: "", line: key }) : String(l.line),
				l.loop ? el("span", { class: "loop", title: "a loop goes back from here" }, " ↻") : null),
			el("td", { class: "code" }, l.text));
		body.append(tr);
		last = l;
	}
	return el("table", { class: "fixed" }, el("caption", {}, "Source"), heads(["share", "number"], ["", ""],
		...(d.icost ? [["saves", "number"] as [string, string]] : []), ["line", "number"], ["source", ""]), body);
}

function listing(d: Data, f: Func, jumps: Jump[], s: State, line: string): HTMLElement {
	const total = d.run.cycles, body = el("tbody"), most = Math.max(...f.insts.map((i) => i[4]), 1);
	const lanes = jumps.reduce((a, j) => Math.max(a, j.lane + 1), 0), profiler = d.profilers.find((p) => p[0] === s.prof);
	const chosen = f.insts.some((i) => i[0] === s.pc), hot = f.insts.findIndex((i) => i[4] === most);
	f.insts.forEach((i: Inst, k) => {
		const saves = saving(d, i[0]), there = `${i[2]}:${i[3]}`, says = profiler ? profiler[2][i[0]] ?? 0 : 0;
		const on = i[0] === s.pc || (!chosen && there === line);
		body.append(el("tr", { class: on ? "at" : chosen && there === line ? "near" : k === hot ? "hot" : "" },
			el("td", { class: "number", "data-value": String(i[4]) }, i[4] ? percent(i[4] / total) : ""),
			profiler ? el("td", { class: "number other" }, says ? percent(says / total) : "") : null,
			el("td", { class: "thin" }, i[4] ? stackBar(i[6], total, i[4] / most) : ""),
			d.icost ? el("td", { class: "number", title: saves.event ? `most of it: ${saves.event}; slack ${d.savings[i[0]][4].toFixed(1)} cycles` : "" },
				saves.cycles > 0.00005 * total ? percent(saves.cycles / total) : "") : null,
			el("td", { class: "number" }, i[5] ? count(i[5]) : ""),
			el("td", { class: "number" }, i[5] && i[4] ? (i[4] / i[5]).toFixed(2) : ""),
			el("td", { class: "arrowcell" }, arrows(jumps, k, lanes)),
			el("td", {}, i[0] ? link(i[0].slice(2), { page: "code", fn: String(f.id), pc: i[0], prof: s.prof ?? "" }) : ""),
			el("td", { class: "code" }, i[1].replace("\t", " ")),
			el("td", { class: "why" }, i[4] ? why(d, i[6], i[4]) : "")));
	});
	return el("table", { class: "fixed" }, el("caption", {}, "Disassembly"), heads(["share", "number"],
		...(profiler ? [[profiler[0], "number"] as [string, string]] : []), ["", ""], ...(d.icost ? [["saves", "number"] as [string, string]] : []),
		["executions", "number"], ["each", "number"], ["", ""], ["address", ""], ["instruction", ""], ["why", ""]), body);
}

function draw(d: Data, s: State, go: Go): Node[] {
	const f: Func | undefined = d.functions.find((x) => String(x.id) === s.fn) ?? d.functions[0];
	if (!f)
		return [el("p", {}, "No function has any time.")];
	const total = d.run.cycles;
	const picker = el("select", { "aria-label": "function", id: "function" }) as HTMLSelectElement;
	const listed = d.functions.slice(0, LISTED);
	for (const x of listed.includes(f) ? listed : [...listed, f])
		picker.append(el("option", { value: String(x.id) }, `${percent(x.cycles / total)}  ${x.name}`));
	picker.value = String(f.id);
	picker.addEventListener("change", () => go({ fn: picker.value, pc: "", line: "" }));
	const beside = el("select", { "aria-label": "a profiler beside the truth", id: "prof" }) as HTMLSelectElement;
	beside.append(el("option", { value: "" }, "no other profiler"), ...d.profilers.map((p) => el("option", { value: p[0] }, `${p[0]}: ${p[1]}`)));
	beside.value = s.prof ?? "";
	beside.addEventListener("change", () => go({ prof: beside.value }));
	const at = f.insts.find((i) => i[0] === s.pc), line = at ? `${at[2]}:${at[3]}` : s.line ?? "";
	const jumps = jumpsOf(f), most = Math.max(...f.insts.map((i) => i[4]), 1);
	const right = el("div", { class: "side", tabindex: "0", role: "region", "aria-label": "disassembly" }, listing(d, f, jumps, s, line));
	const map = heat(f, most, (row) => { right.scrollTop = row * ROW - right.clientHeight / 2; });
	const lines = f.insts.some((i) => i[2] && i[3]);
	return [el("p", { class: "tools" }, "Function ", picker, ` ${percent(f.cycles / total)} of all cycles, in ${f.image ?? "an unknown image"} `,
		d.functions.length > LISTED ? link(`all ${count(d.functions.length)} functions`, { page: "time", by: "function" }) : null,
		d.profilers.length ? beside : null),
	...(lines ? [] : [el("p", { class: "keys", id: "nolines" }, "Which lines its instructions come from is not known: the file has no debug information.")]),
	el("div", { class: lines ? "sides" : "sides alone" },
		lines ? el("div", { class: "side", tabindex: "0", role: "region", "aria-label": "source" }, sourceTable(d, f, jumps, line)) : null,
		el("div", { class: "withheat" }, right, map))];
}

export const code: Page = { id: "code", title: "Code", draw };

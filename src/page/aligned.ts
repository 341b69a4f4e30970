// SPDX-License-Identifier: MIT
// Two pipelines by program order: the same instruction in a line, above as this run had it and below as the other one did.
import { All, Data, Traced, Window } from "./data";
import { button, count, el, signed, svg, table } from "./dom";
import { end } from "./critical";
import { bars } from "./pipeline";
import { Go, State } from "./state";

const LINES = 50, COLUMNS = 640, H = 30;

/** Committed instructions by their number. */
function committed(w: Window): Map<number, Traced> {
	return new Map(w.insts.filter((i) => i[0] >= 0).map((i) => [i[0], i]));
}

/** The window of the other run that has most of the same instructions; null: none has any. */
export function beside(all: All, w: Window): Window | null {
	const mine = committed(w);
	let best: Window | null = null, most = 0;
	for (const o of all.windows) {
		const n = o.run === w.run ? 0 : o.insts.reduce((a, i) => a + (i[0] >= 0 && mine.get(i[0])?.[1] === i[1] ? 1 : 0), 0);
		if (n > most) {
			best = o;
			most = n;
		}
	}
	return best;
}

interface Pair { po: number; a: Traced; b: Traced; same: boolean; late: number }

function pairsOf(w: Window, other: Window): Pair[] {
	const theirs = committed(other), list: Pair[] = [];
	for (const a of w.insts) {
		const b = a[0] >= 0 ? theirs.get(a[0]) : undefined;
		if (b)
			list.push({ po: a[0], a, b, same: a[1] === b[1], late: 0 });
	}
	for (const p of list)
		p.late = end(p.b) - end(list[0].b) - (end(p.a) - end(list[0].a));
	return list;
}

export function aligned(d: Data, all: All, w: Window, other: Window, s: State, go: Go): Node[] {
	const pairs = pairsOf(w, other), parts = pairs.findIndex((p) => !p.same), differs = pairs.findIndex((p) => p.late !== 0);
	const mark = parts >= 0 && (differs < 0 || parts <= differs) ? parts : differs;
	const first = Math.max(0, Math.min(Number(s.first ?? Math.max(0, mark - 8)), pairs.length - 1));
	const shown = pairs.slice(first, first + LINES), a0 = pairs.length ? pairs[0].a[4] : 0, b0 = pairs.length ? pairs[0].b[4] : 0;
	const low = Math.min(...shown.map((p) => Math.min(p.a[4] - a0, p.b[4] - b0)), Infinity);
	const high = Math.max(...shown.map((p) => Math.max(end(p.a) - a0, end(p.b) - b0)), low + 1);
	const px = s.zoom !== undefined ? Number(s.zoom) : Math.max(0.05, Math.min(6, COLUMNS / (high - low + 2))), left = 330;
	const g = svg("svg", { width: left + COLUMNS + 10, height: shown.length * H + 4, class: "pipe", role: "img",
		"aria-label": `${shown.length} instructions in both runs; the table below says the same` });
	shown.forEach((p, k) => {
		const y = 2 + k * H, on = first + k === mark, row = svg("g", { class: "row" + (on ? " on" : "") + (p.same ? "" : " wrong") });
		row.append(svg("rect", { x: 0, y, width: left + COLUMNS, height: H, class: "back" }), svg("text", { x: 4, y: y + 13, class: "pc" }, String(p.po)),
			svg("text", { x: 76, y: y + 13 }, p.a[2].slice(0, 34)), svg("text", { x: 76, y: y + 26, class: "pc" }, p.same ? "" : p.b[2].slice(0, 34)));
		bars(row, p.a, left, a0 + low, px, left + COLUMNS, y, 15);
		bars(row, p.b, left, b0 + low, px, left + COLUMNS, y + 14, 15);
		g.append(row);
	});
	const at = mark >= 0 ? pairs[mark] : null, last = pairs[pairs.length - 1];
	const names = all.runs.map((r) => r.file), mine = names[w.run], theirs = names[other.run];
	return [el("p", { class: "tools" }, button("one run", () => go({ beside: "", first: "" })),
		button("▴", () => go({ first: String(Math.max(0, first - LINES / 2)) }), { "aria-label": "earlier instructions" }),
		button("▾", () => go({ first: String(Math.min(pairs.length - 1, first + LINES / 2)) }), { "aria-label": "later instructions" }),
		button("+", () => go({ zoom: String(Math.min(40, px * 1.5)) }), { "aria-label": "zoom in" }),
		button("−", () => go({ zoom: String(Math.max(0.05, px / 1.5)) }), { "aria-label": "zoom out" }),
		...(mark >= 0 ? [button("to the first divergence", () => go({ first: String(Math.max(0, mark - 8)) }))] : []),
		` ${count(pairs.length)} instructions that both windows have`),
	el("p", { id: "divergence", "data-value": at ? String(at.po) : "" }, at === null ? "Nothing differs: both take the same cycles from instruction to instruction."
		: at.same ? `First divergence: instruction ${count(at.po)}, ${at.a[2]} (${at.a[1]}), commits ${count(Math.abs(at.late))} cycles ${at.late < 0 ? "earlier" : "later"} in ${theirs}.`
			: `First divergence: instruction ${count(at.po)} is ${at.a[2]} (${at.a[1]}) in ${mine} and ${at.b[2]} (${at.b[1]}) in ${theirs}: the programs part here.`,
	last ? ` From the first to the last of them ${mine} takes ${count(end(last.a) - end(pairs[0].a))} cycles and ${theirs} ${count(end(last.b) - end(pairs[0].b))}.` : ""),
	el("p", { class: "keys" }, `In every line ${mine} is above and ${theirs} below, both from the fetch of the first instruction.`),
	el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "pipelines" }, g as unknown as Node),
	el("details", {}, el("summary", {}, "The same as a table"), table("Commit of the instructions above", [
		{ name: "number", value: (p: Pair) => p.po, show: (p) => count(p.po) }, { name: "instruction", value: (p) => p.a[2] },
		{ name: mine, value: (p) => end(p.a) - a0, show: (p) => count(end(p.a) - a0) }, { name: theirs, value: (p) => end(p.b) - b0, show: (p) => count(end(p.b) - b0) },
		{ name: "later by", value: (p) => p.late, show: (p) => p.late ? signed(p.late) : "0" }], shown, "", null))];
}

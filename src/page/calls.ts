// SPDX-License-Identifier: MIT
// Page Calls: a flame graph of call stacks, from the callers or from the callees, and who calls one function.
import { All, Data } from "./data";
import { button, count, el, percent, signed, table } from "./dom";
import { Go, Page, State, link } from "./state";

interface Frame { name: string; image: string; cycles: number; before: number; below: Frame[] }

/** Name and library. */
type Place = [string, string];
/** A stack from the function that runs to the outermost caller. */
interface Path { places: Place[]; cycles: number }

const INLINED = " (inlined)", inlining = new WeakMap<Data, Map<string, [string, number][]>>();

/** Which shares of a function's time the functions have that were inlined into it; "": its own. */
function inlinedIn(d: Data, name: string, image: string): [string, number][] {
	let of = inlining.get(d);
	if (!of) {
		inlining.set(d, of = new Map());
		const c = d.insts;
		for (const f of d.functions) {
			const sums = new Map<number, number>();
			for (let k = f.first; k < f.first + f.rows; k++)
				if (c.cycles[k])
					sums.set(c.inlined[k], (sums.get(c.inlined[k]) ?? 0) + c.cycles[k]);
			const all = [...sums.values()].reduce((a, b) => a + b, 0);
			if (sums.size > 1 || (sums.size === 1 && !sums.has(0)))
				of.set(`${f.name}\n${f.image ?? ""}`, [...sums].map(([text, cycles]) => [d.texts[text] ?? "", cycles / all]));
		}
	}
	return of.get(`${name}\n${image}`) ?? [["", 1]];
}

/** The stacks of context k: what was inlined into the function that runs is a frame of its own, with its share of the
 * function's time. */
function pathsOf(d: Data, k: number): Path[] {
	const places: Place[] = [];
	for (let i = k; i >= 0; i = d.calls[i][0] - 1)
		places.push([d.calls[i][1], d.calls[i][2]]);
	const cycles = d.calls[k][3];
	return inlinedIn(d, ...places[0]).map(([name, share]) => ({ cycles: cycles * share,
		places: name ? [[name + INLINED, places[0][1]] as Place, ...places] : places }));
}

/** The tree of a run; frames of one name below one caller are one. inverted: from the functions that run to their callers. */
function tree(d: Data, inverted: boolean, focus: string): Frame {
	const top: Frame = { name: "all", image: "", cycles: 0, before: 0, below: [] };
	for (const [k, call] of d.calls.entries()) {
		if (!call[3])
			continue;
		const paths = pathsOf(d, k);
		if (!focus)
			top.cycles += call[3];
		for (const { places, cycles } of paths) {
			let path = inverted ? places : places.slice().reverse();
			if (focus) {
				const at = inverted ? (path[0][0] === focus ? 0 : -1) : path.findIndex((p) => p[0] === focus);
				if (at < 0)
					continue;
				path = path.slice(at);
				top.cycles += cycles;
			}
			let at = top;
			for (const [name, image] of path) {
				let next = at.below.find((f) => f.name === name);
				if (!next) {
					next = { name, image, cycles: 0, before: 0, below: [] };
					at.below.push(next);
				}
				next.cycles += cycles;
				at = next;
			}
		}
	}
	return top;
}

/** Puts the cycles that the other run has beside those of this one. */
function compare(f: Frame, other: Frame | undefined): void {
	f.before = other?.cycles ?? 0;
	for (const b of f.below)
		compare(b, other?.below.find((x) => x.name === b.name));
}

/** Colours by library: the same one for the same name. */
function shade(image: string): string {
	let h = 0;
	for (const c of image)
		h = (h * 31 + c.charCodeAt(0)) % 6;
	return "f" + h;
}

const ROW = 20, LEAST = 0.001, DEEPEST = 60;

function flames(d: Data, top: Frame, other: boolean, go: Go): HTMLElement {
	const box = el("div", { class: "flames" }), total = top.cycles;
	let rows = 0;
	const put = (f: Frame, x: number, depth: number): void => {
		const share = f.cycles / total, change = f.cycles - f.before;
		if (share < LEAST || depth > DEEPEST)
			return;
		rows = Math.max(rows, depth + 1);
		const what = `${f.name}${f.image ? " (" + f.image + ")" : ""}: ${percent(f.cycles / d.run.cycles)}, ${count(f.cycles)} cycles`
			+ (other ? `, ${signed(change)} against the other run` : "");
		const kind = depth === 0 ? "f-all" : other ? (Math.abs(change) < 0.001 * d.run.cycles ? "f-same" : change > 0 ? "f-more" : "f-less") : shade(f.image);
		const e = button(share > 0.012 ? (other && kind === "f-more" ? "▲ " : other && kind === "f-less" ? "▼ " : "") + f.name : "",
			() => go({ focus: depth ? f.name : "" }), { class: "flame " + kind, title: what, "aria-label": what });
		e.style.left = (100 * x).toFixed(4) + "%";
		e.style.width = (100 * share).toFixed(4) + "%";
		e.style.top = depth * ROW + "px";
		box.append(e);
		let at = x;
		for (const b of f.below.sort((p, q) => q.cycles - p.cycles || (p.name < q.name ? -1 : 1))) {
			put(b, at, depth + 1);
			at += b.cycles / total;
		}
	};
	put(top, 0, 0);
	box.style.height = rows * ROW + "px";
	return box;
}

/** Who calls a function and whom it calls, in cycles of everything below. A recursive function counts once. */
function neighbours(d: Data, name: string): Node[] {
	const callers = new Map<string, number>(), callees = new Map<string, number>();
	let all = 0, self = 0;
	const add = (path: Path): void => {
		const at = path.places.map((p) => p[0]), cycles = path.cycles, outer = at.lastIndexOf(name);
		const caller = at[outer + 1] ?? "(none known)", callee = at.indexOf(name) > 0 ? at[at.indexOf(name) - 1] : "";
		callers.set(caller, (callers.get(caller) ?? 0) + cycles);
		if (callee)
			callees.set(callee, (callees.get(callee) ?? 0) + cycles);
		else
			self += cycles;
	};
	for (let k = 0; k < d.calls.length; k++) {
		if (!d.calls[k][3])
			continue;
		const paths = pathsOf(d, k), has = paths.filter((p) => p.places.some((x) => x[0] === name));
		// whole cycles where all of the context counts
		all += has.length === paths.length ? d.calls[k][3] : has.reduce((sum, p) => sum + p.cycles, 0);
		has.forEach(add);
	}
	const columns = (what: string) => [
		{ name: what, value: (r: [string, number]) => r[0], show: (r: [string, number]) => link(r[0], { page: "calls", focus: r[0] }) },
		{ name: "cycles", value: (r: [string, number]) => r[1], show: (r: [string, number]) => count(r[1]) },
		{ name: "share", value: (r: [string, number]) => r[1] / d.run.cycles, show: (r: [string, number]) => percent(r[1] / d.run.cycles) }];
	const rows = (m: Map<string, number>): [string, number][] => [...m].sort((a, b) => b[1] - a[1]).slice(0, 20);
	const host = name.endsWith(INLINED) ? [...callers].sort((a, b) => b[1] - a[1])[0]?.[0] : name, f = d.functions.find((x) => x.name === host);
	return [el("p", { id: "focus", "data-value": String(all) }, f ? link(name, { page: "code", fn: String(f.id) }) : name,
		`: ${percent(all / d.run.cycles)} with what it calls, ${percent(self / d.run.cycles)} itself`),
	el("div", { class: "many" }, table("Called by", columns("caller"), rows(callers), "", null), table("Calls", columns("callee"), rows(callees), "", null))];
}

function draw(d: Data, s: State, go: Go, all: All): Node[] {
	if (!d.calls.length)
		return [el("p", { class: "missing" }, "This profile has no call stacks; `culprit sim --analyze calls,profile -- PROG` (or all) keeps them.")];
	const inverted = s.inverted === "1", focus = s.focus ?? "", other = all.runs.length > 1 ? all.runs[1 - Number(s.run ?? 0)] : null;
	const top = tree(d, inverted, focus), against = other !== null && other.calls.length > 0;
	if (against)
		compare(top, tree(other!, inverted, focus));
	return [el("p", { class: "tools" }, button("from callers", () => go({ inverted: "" }), { "aria-pressed": String(!inverted) }),
		button("from the functions that run", () => go({ inverted: "1" }), { "aria-pressed": String(inverted) }),
		focus ? button("all functions", () => go({ focus: "" })) : null,
		against ? "▲ more and ▼ less than in the other run" : "coloured by library; what has less than 0.1% is not drawn"),
	el("p", { id: "calls", "data-value": String(top.cycles) }, `${count(top.cycles)} cycles, ${percent(top.cycles / d.run.cycles)} of the run`),
	...(d.functions.some((f) => inlinedIn(d, f.name, f.image ?? "").length > 1) ? [el("p", { class: "keys" },
		"A function that was inlined has the share of its instructions in the time of the function around it, the same under every caller.")] : []),
	flames(d, top, against, go), ...(focus ? neighbours(d, focus) : [])];
}

export const calls: Page = { id: "calls", title: "Calls", draw };

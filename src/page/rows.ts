// SPDX-License-Identifier: MIT
// Time by library, file, function, line, instruction, event or class: sums over instructions, as columns of numbers.
import { Data, Stack, baseName } from "./data";
import { Column, count, el, percent, stackBar } from "./dom";
import { link } from "./state";

export const groupings = ["library", "file", "function", "line", "instruction", "event", "class"] as const;
export type Grouping = typeof groupings[number];

/** A number that instructions of one row share. */
function keys(d: Data, by: Grouping): (k: number) => number | string {
	const c = d.insts, none = (k: number): string => "f" + c.fn[k];
	switch (by) {
	case "library": return (k) => d.functions[c.fn[k]].image ?? "";
	case "file": return (k) => c.file[k];
	case "line": return (k) => c.file[k] && c.line[k] ? c.file[k] * 2 ** 24 + c.line[k] : none(k);
	case "class": return (k) => c.class[k];
	default: return (k) => c.fn[k];
	}
}

/** Rows of a table of time; a row is a number, most cycles first. What is shown of one is made when it is shown. */
export class Rows {
	/** the columns' instructions of row r are member[start[r]] to member[start[r + 1]] */
	start: Uint32Array; member: Uint32Array;
	cycles: Float64Array; executions: Float64Array; saves: Float64Array;
	/** numbers of the rows */
	all: Uint32Array;

	constructor(readonly d: Data, readonly by: Grouping, readonly counts: (set: number) => boolean, groups: Uint32Array, ngroups: number) {
		const c = d.insts, sizes = new Uint32Array(ngroups + 1), cycles = new Float64Array(ngroups);
		for (let k = 0; k < c.count; k++)
			if (groups[k]) {
				sizes[groups[k]]++;
				cycles[groups[k] - 1] += this.time(k);
			}
		const order = Uint32Array.from({ length: ngroups }, (_, g) => g).filter((g) => cycles[g] > 0).sort((a, b) => cycles[b] - cycles[a]);
		const place = new Uint32Array(ngroups).fill(order.length), n = order.length;
		this.start = new Uint32Array(n + 1);
		order.forEach((g, r) => { place[g] = r; this.start[r + 1] = this.start[r] + sizes[g + 1]; });
		this.member = new Uint32Array(this.start[n]);
		this.cycles = Float64Array.from(order, (g) => cycles[g]);
		this.executions = new Float64Array(n);
		this.saves = new Float64Array(n);
		const next = this.start.slice();
		for (let k = 0; k < c.count; k++) {
			const r = groups[k] ? place[groups[k] - 1] : n;
			if (r === n)
				continue;
			this.member[next[r]++] = k;
			this.executions[r] += c.executions[k];
			this.saves[r] += c.saves[k];
		}
		this.all = Uint32Array.from({ length: n }, (_, r) => r);
	}

	/** Cycles of an instruction in the sets of events that count. */
	private time(k: number): number {
		const c = this.d.insts;
		if (this.counts === every)
			return c.cycles[k];
		let sum = 0;
		for (let i = c.start[k]; i < c.start[k + 1]; i++)
			sum += this.counts(c.set[i]) ? c.part[i] : 0;
		return sum;
	}

	/** The sum of a column over a row. */
	sum(r: number, column: Float64Array): number {
		let sum = 0;
		for (let i = this.start[r]; i < this.start[r + 1]; i++)
			sum += column[this.member[i]];
		return sum;
	}

	/** Cycles by set of events, most first. */
	stack(r: number): Stack {
		const c = this.d.insts, sum = new Map<number, number>();
		for (let m = this.start[r]; m < this.start[r + 1]; m++)
			for (let i = c.start[this.member[m]]; i < c.start[this.member[m] + 1]; i++)
				if (this.counts(c.set[i]))
					sum.set(c.set[i], (sum.get(c.set[i]) ?? 0) + c.part[i]);
		return [...sum].sort((a, b) => b[1] - a[1]).map(([set, cycles]) => [this.d.texts[set] ?? "base", cycles]);
	}

	/** The set of events with most cycles. */
	first(r: number): string {
		const c = this.d.insts, k = this.member[this.start[r]];
		if (this.start[r + 1] - this.start[r] > 1 || this.counts !== every)
			return this.stack(r)[0]?.[0] ?? "";
		return c.start[k] < c.start[k + 1] ? this.d.texts[c.set[c.start[k]]] ?? "" : "";
	}

	private named(r: number): [string, { [key: string]: string }] {
		const d = this.d, c = d.insts, k = this.member[this.start[r]], f = d.functions[c.fn[k]], code = { page: "code", fn: String(f.id) };
		const file = d.texts[c.file[k]], cls = d.texts[c.class[k]];
		switch (this.by) {
		case "library": return [f.image ?? "(unknown)", { page: "time", by: "function", filter: f.image ? `lib:${f.image}` : "" }];
		case "file": return [file ? baseName(file) : "(no source)", { page: "time", by: "line", filter: file ? `file:${baseName(file)}` : "" }];
		case "function": return [f.name, code];
		case "line": return [file && c.line[k] ? `${baseName(file)}:${c.line[k]}` : `${f.name} (no line)`, { ...code, pc: f.address(k) }];
		case "instruction": return [f.isFolded(k) ? `${f.name}: ${f.text(k)}` : `${f.address(k)} ${f.text(k)}  ${f.name}`, { ...code, pc: f.address(k) }];
		default: return [cls ?? "(unknown)", { page: "time", by: "instruction", filter: `op:${cls ?? ""}` }];
		}
	}

	name(r: number): string {
		return this.named(r)[0];
	}

	where(r: number): HTMLElement {
		return link(...this.named(r));
	}
}

const every = (): boolean => true;
const known = new WeakMap<Data, Map<string, Rows>>();

/** The rows of a grouping; with time that suffered an event alone if one is given. They are kept: every page asks for
 * some of them. */
export function rowsBy(d: Data, by: Grouping, events = ""): Rows {
	const of = known.get(d) ?? new Map<string, Rows>(), key = `${by} ${events}`, rows = of.get(key) ?? makeRows(d, by, events);
	if (events === "")
		known.set(d, of.set(key, rows));
	return rows;
}

function makeRows(d: Data, by: Grouping, events: string): Rows {
	const c = d.insts, groups = new Uint32Array(c.count), key = keys(d, by), numbers = new Map<number | string, number>();
	const with_ = d.texts.map((t) => (t ?? "").toLowerCase().includes(events));
	let n = 0;
	for (let k = 0; k < c.count; k++) {
		if (!c.cycles[k] && by !== "function")
			continue;
		if (by === "instruction") {
			groups[k] = ++n;
			continue;
		}
		const at = key(k);
		let g = numbers.get(at);
		if (g === undefined)
			numbers.set(at, g = ++n);
		groups[k] = g;
	}
	return new Rows(d, by, events ? (set) => with_[set] : every, groups, n);
}

/** Time by set of events, most first: an instruction's time is in several. */
export function eventTime(d: Data): Stack {
	const c = d.insts, sum = new Float64Array(d.texts.length);
	for (let i = 0; i < c.set.length; i++)
		sum[c.set[i]] += c.part[i];
	return [...sum].map((cycles, set) => [d.texts[set] ?? "base", cycles] as [string, number]).filter((p) => p[1] > 0).sort((a, b) => b[1] - a[1]);
}

/** "ST-LLC" with its meaning. */
export function meaning(d: Data, set: string): string {
	return set.split("+").map((n) => {
		const e = d.events.find((x) => x[0] === n);
		return n === "base" ? "base: no event" : `${n}: ${e ? e[1] : "?"}`;
	}).join("; ");
}

/** Events in a few words; what they mean in full is on hover. */
const few: { [code: string]: string } = {
	"base": "no event", "DR-L1": "I-cache miss", "DR-TLB": "I-TLB miss", "DR-SQ": "store queue full", "FL-MB": "mispredicted", "FL-EX": "exception",
	"FL-MO": "memory order", "ST-L1": "L1 miss", "ST-TLB": "D-TLB miss", "ST-LLC": "memory", "FL-CSR": "flush by CSR",
};

/** "memory (ST-LLC)"; several of a set with + between. */
export function inWords(set: string): string {
	return set.split("+").map((n) => few[n] ?? n).join(" + ") + (set === "base" ? "" : ` (${set})`);
}

/** The three largest sets of events in words and, on hover, what they mean. */
export function why(d: Data, stack: Stack, cycles: number): HTMLElement {
	const most = stack.filter((p, k) => k < 3 && p[1] > 0.02 * cycles);
	return el("span", { title: most.map((p) => meaning(d, p[0])).join("\n") },
		most.map((p) => `${inWords(p[0])} ${Math.round(100 * p[1] / cycles)}%`).join(", "));
}

export function shareColumns(rows: Rows, most: number): Column<number>[] {
	const total = rows.d.run.cycles;
	return [
		{ name: "cycles", value: (r) => rows.cycles[r], show: (r) => count(rows.cycles[r]) },
		{ name: "share", value: (r) => rows.cycles[r] / total, show: (r) => percent(rows.cycles[r] / total), help: "of all cycles of the run" },
		{ name: "bar", value: (r) => rows.cycles[r], show: (r) => stackBar(rows.stack(r), total, rows.cycles[r] / most), help: "coloured by event" },
	];
}

export function whyColumn(rows: Rows): Column<number> {
	return { name: "why", value: (r) => rows.first(r), show: (r) => why(rows.d, rows.stack(r), rows.cycles[r]),
		help: "events that instructions suffered, by their cycles" };
}

export function savesColumn(rows: Rows): Column<number> {
	return { name: "saves", value: (r) => rows.saves[r], show: (r) => rows.saves[r] ? percent(rows.saves[r] / rows.d.run.cycles) : "",
		help: "what fixing its instructions saves, each alone, by the dependence graph" };
}

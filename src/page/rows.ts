// SPDX-License-Identifier: MIT
// Time by library, file, function, inlined function, line, instruction, event, class or phase: sums over instructions, as
// columns of numbers. A row has instructions, which rows of the next level split again.
import { Data, Stack, baseName } from "./data";
import { Column, count, el, percent, ranked, stackBar } from "./dom";
import { Stretch, ofPhases, phaseName } from "./phases";
import { link } from "./state";

export const groupings = ["library", "file", "function", "line", "instruction", "event", "class", "phase"] as const;
export type Grouping = typeof groupings[number];
type Level = Grouping | "inlined";

/** Instructions with the same number are one row. */
interface Keys { of: Uint32Array; count: number }

/** By a column of numbers below `most`. */
function byNumber(column: Uint32Array, most: number): Keys {
	const of = new Uint32Array(column.length), numbers = new Uint32Array(most);
	let count = 0;
	for (let k = 0; k < of.length; k++)
		of[k] = (numbers[column[k]] ||= ++count) - 1;
	return { of, count };
}

function byLibrary(d: Data): Keys {
	const numbers = new Map<string, number>(), fn = d.insts.fn, of = new Uint32Array(fn.length);
	const library = Uint32Array.from(d.functions, (f) => {
		const g = numbers.get(f.image ?? "") ?? numbers.size;
		numbers.set(f.image ?? "", g);
		return g;
	});
	for (let k = 0; k < of.length; k++)
		of[k] = library[fn[k]];
	return { of, count: numbers.size };
}

/** Instructions without a line are together with those of their function. */
function byLine(d: Data): Keys {
	const c = d.insts, of = new Uint32Array(c.count), none = new Uint32Array(d.functions.length);
	const lines: Map<number, number>[] = [];
	let count = 0, file = 0, line = 0, last = 0;
	for (let k = 0; k < of.length; k++) {
		if (!c.file[k] || !c.line[k]) {
			of[k] = (none[c.fn[k]] ||= ++count) - 1;
			continue;
		}
		if (c.line[k] !== line || c.file[k] !== file) {
			const known = lines[file = c.file[k]] ??= new Map<number, number>(), had = known.get(line = c.line[k]);
			last = had ?? count++;
			if (had === undefined)
				known.set(line, last);
		}
		of[k] = last;
	}
	return { of, count };
}

function makeKeys(d: Data, by: Level): Keys {
	const c = d.insts;
	switch (by) {
	case "library": return byLibrary(d);
	case "file": return byNumber(c.file, d.texts.length);
	case "line": return byLine(d);
	case "class": return byNumber(c.class, d.texts.length);
	case "inlined": return byNumber(c.inlined, d.texts.length);
	case "instruction": return { of: Uint32Array.from({ length: c.count }, (_, k) => k), count: c.count };
	default: return { of: c.fn, count: d.functions.length };
	}
}

const known = new WeakMap<Data, Map<string, unknown>>();

/** What is made once for a run and kept. */
function kept<T>(d: Data, key: string, make: () => T): T {
	let of = known.get(d);
	if (!of)
		known.set(d, of = new Map());
	if (!of.has(key))
		of.set(key, make());
	return of.get(key) as T;
}

const keysOf = (d: Data, by: Level): Keys => kept(d, "keys " + by, () => makeKeys(d, by));

/** Place of every text in the order of the alphabet. */
const ranks = (d: Data): Uint32Array => kept(d, "ranks", () => {
	const order = d.texts.map((_, k) => k).sort((a, b) => (d.texts[a] ?? "") < (d.texts[b] ?? "") ? -1 : 1), out = new Uint32Array(order.length);
	order.forEach((t, place) => { out[t] = place; });
	return out;
});

/** Numbers 0 to n - 1, those with the largest value first. */
export function largestFirst(values: Float64Array): Uint32Array {
	const keys = new Float64Array(values.length), rows = new Uint32Array(values.length);
	for (let k = 0; k < rows.length; k++) {
		keys[k] = -values[k];
		rows[k] = k;
	}
	return ranked(rows, keys);
}

/** Rows of a table of time; a row is a number, most cycles first. What is shown of one is made when it is shown. */
export class Rows {
	/** the columns' instructions of row r are member[start[r]] to member[start[r + 1]] */
	start = new Uint32Array(1); member = new Uint32Array(0);
	/** what the instructions of a row have in common, as a number */
	key = new Uint32Array(0);
	cycles = new Float64Array(0); executions = new Float64Array(0); saves = new Float64Array(0);
	/** numbers of the rows */
	all = new Uint32Array(0);
	/** the stretches that are the rows, if they are phases */
	phases: Stretch[] = [];

	/** sets: which sets of events count, by number; null: all */
	constructor(readonly d: Data, readonly by: Level, readonly sets: Uint8Array | null) {}

	/** The sum of a column over a row. */
	sum(r: number, column: Float64Array): number {
		let sum = 0;
		for (let i = this.start[r]; i < this.start[r + 1]; i++)
			sum += column[this.member[i]];
		return sum;
	}

	counts(r: number, set: number): boolean {
		return this.by === "event" ? set === this.key[r] : !this.sets || this.sets[set] === 1;
	}

	/** Cycles by set of events, most first. */
	stack(r: number): Stack {
		if (this.by === "phase")
			return eventTime(this.phases[r].data);
		const c = this.d.insts, sum = new Map<number, number>();
		for (let m = this.start[r]; m < this.start[r + 1]; m++)
			for (let i = c.start[this.member[m]]; i < c.start[this.member[m] + 1]; i++)
				if (this.counts(r, c.set[i]))
					sum.set(c.set[i], (sum.get(c.set[i]) ?? 0) + c.part[i]);
		return [...sum].sort((a, b) => b[1] - a[1]).map(([set, cycles]) => [this.d.texts[set] ?? "base", cycles]);
	}

	/** The set of events with most cycles. */
	first(r: number): string {
		const c = this.d.insts, k = this.member[this.start[r]];
		if (this.start[r + 1] - this.start[r] !== 1 || this.sets || this.by === "event")
			return this.stack(r)[0]?.[0] ?? "";
		return c.start[k] < c.start[k + 1] ? this.d.texts[c.set[c.start[k]]] ?? "" : "";
	}

	private named(r: number): [string, { [key: string]: string } | null] {
		if (this.by === "phase")
			return [phaseName(this.phases[r]), { page: "time", by: "function", from: String(this.phases[r].from), to: String(this.phases[r].to) }];
		const d = this.d, c = d.insts, k = this.member[this.start[r]], f = d.functions[c.fn[k]], code = { page: "code", fn: String(f.id) };
		const file = d.texts[c.file[k]], cls = d.texts[c.class[k]];
		switch (this.by) {
		case "library": return [f.image ?? "(unknown)", { page: "time", by: "function", filter: f.image ? `lib:${f.image}` : "" }];
		case "file": return [file ? baseName(file) : "(no source)", { page: "time", by: "line", filter: file ? `file:${baseName(file)}` : "" }];
		case "function": return [f.name, code];
		case "inlined": return [d.texts[c.inlined[k]] ? `inlined: ${d.texts[c.inlined[k]]}` : `${f.name} itself`, { ...code, pc: f.address(k) }];
		case "line": return [file && c.line[k] ? `${baseName(file)}:${c.line[k]}` : `${f.name} (no line)`, { ...code, pc: f.address(k) }];
		case "instruction": return [f.isFolded(k) ? `${f.name}: ${f.text(k)}` : `${f.address(k)} ${f.text(k)}  ${f.name}`, { ...code, pc: f.address(k) }];
		case "event": return [inWords(d.texts[this.key[r]] ?? "base"), { page: "time", by: "line", filter: `ev:${d.texts[this.key[r]] ?? "base"}` }];
		default: return [cls ?? "(unknown)", { page: "time", by: "instruction", filter: `op:${cls ?? ""}` }];
		}
	}

	name(r: number): string {
		return this.named(r)[0];
	}

	/** The name, or for those who ask by value the code of a set of events. */
	value(r: number): string {
		return this.by === "event" ? this.d.texts[this.key[r]] ?? "base" : this.name(r);
	}

	/** What rows are sorted by if they are sorted by name; texts are compared as such. */
	rank(r: number): number | string {
		const c = this.d.insts, k = this.member[this.start[r]];
		switch (this.by) {
		case "phase": return r;
		case "instruction": return Number(this.d.functions[c.fn[k]].base) + c.pc[k];
		case "line": return c.file[k] && c.line[k] ? ranks(this.d)[c.file[k]] * 2 ** 24 + c.line[k] : -1;
		default: return this.name(r).toLowerCase();
		}
	}

	where(r: number): HTMLElement {
		const [name, to] = this.named(r);
		return to ? link(name, to) : el("span", {}, name);
	}

	/** The level that splits row r; null: nothing does. */
	private below(r: number): Level | null {
		const c = this.d.insts, some = (column: Uint32Array): boolean => {
			for (let m = this.start[r]; m < this.start[r + 1]; m++)
				if (column[this.member[m]])
					return true;
			return false;
		};
		switch (this.by) {
		case "instruction": return null;
		case "library": case "file": case "event": case "class": case "phase": return "function";
		case "function": return this.d.part ? null : some(c.inlined) ? "inlined" : some(c.line) ? "line" : "instruction";
		case "inlined": return some(c.line) ? "line" : "instruction";
		default: return "instruction";
		}
	}

	/** Whether something is below row r. */
	splits(r: number): boolean {
		return this.below(r) !== null;
	}

	/** The rows of the next level in row r. */
	inside(r: number): Rows {
		const level = this.below(r) ?? "instruction";
		if (this.by === "phase")
			return rowsBy(this.phases[r].data, "function");
		const only = this.by === "event" ? Uint8Array.from(this.d.texts, (_, set) => set === this.key[r] ? 1 : 0) : this.sets;
		return grouped(this.d, level, this.member.subarray(this.start[r], this.start[r + 1]), only);
	}
}

/** Cycles of instruction k in the sets of events that count. */
function timeOf(d: Data, k: number, sets: Uint8Array | null): number {
	const c = d.insts;
	if (!sets)
		return c.cycles[k];
	let sum = 0;
	for (let i = c.start[k]; i < c.start[k + 1]; i++)
		sum += sets[c.set[i]] ? c.part[i] : 0;
	return sum;
}

/** Puts `count` groups in order of their cycles; then calls `put` for every member. */
function fill(rows: Rows, cycles: Float64Array, sizes: Uint32Array): Uint32Array {
	const order = largestFirst(cycles).filter((g) => cycles[g] > 0), n = order.length;
	const place = new Uint32Array(cycles.length).fill(n);
	rows.start = new Uint32Array(n + 1);
	rows.key = order;
	rows.cycles = new Float64Array(n);
	rows.executions = new Float64Array(n);
	rows.saves = new Float64Array(n);
	rows.all = new Uint32Array(n);
	for (let r = 0; r < n; r++) {
		place[order[r]] = r;
		rows.start[r + 1] = rows.start[r] + sizes[order[r]];
		rows.cycles[r] = cycles[order[r]];
		rows.all[r] = r;
	}
	rows.member = new Uint32Array(rows.start[n]);
	return place;
}

/** Rows of instructions, all if members is null, that have something in common. */
function grouped(d: Data, by: Level, members: Uint32Array | null, sets: Uint8Array | null): Rows {
	const rows = new Rows(d, by, sets), c = d.insts, keys = keysOf(d, by), n = members ? members.length : c.count;
	const cycles = new Float64Array(keys.count), sizes = new Uint32Array(keys.count), of = keys.of;
	for (let m = 0; m < n; m++) {
		const k = members ? members[m] : m;
		if (!c.cycles[k] && by !== "function")
			continue;
		cycles[of[k]] += timeOf(d, k, sets);
		sizes[of[k]]++;
	}
	const place = fill(rows, cycles, sizes), next = rows.start.slice();
	for (let m = 0; m < n; m++) {
		const k = members ? members[m] : m, r = place[of[k]];
		if (r === rows.all.length || (!c.cycles[k] && by !== "function"))
			continue;
		rows.member[next[r]++] = k;
		rows.executions[r] += c.executions[k];
		rows.saves[r] += c.saves[k];
	}
	return rows;
}

/** A row for every set of events. An instruction is in as many as it has time with. */
function byEvent(d: Data, members: Uint32Array | null, sets: Uint8Array | null): Rows {
	const rows = new Rows(d, "event", sets), c = d.insts, n = members ? members.length : c.count;
	const cycles = new Float64Array(d.texts.length), sizes = new Uint32Array(d.texts.length);
	for (let m = 0; m < n; m++) {
		const k = members ? members[m] : m;
		for (let i = c.start[k]; i < c.start[k + 1]; i++)
			if (!sets || sets[c.set[i]]) {
				cycles[c.set[i]] += c.part[i];
				sizes[c.set[i]]++;
			}
	}
	const place = fill(rows, cycles, sizes), next = rows.start.slice();
	for (let m = 0; m < n; m++) {
		const k = members ? members[m] : m;
		for (let i = c.start[k]; i < c.start[k + 1]; i++)
			if (place[c.set[i]] < rows.all.length && (!sets || sets[c.set[i]]))
				rows.member[next[place[c.set[i]]]++] = k;
	}
	return rows;
}

/** A row for every phase of the run. */
function byPhase(d: Data): Rows {
	const rows = new Rows(d, "phase", null), cycles = Float64Array.from(d.phases?.cycles ?? []);
	rows.start = new Uint32Array(cycles.length + 1);
	rows.key = rows.all = Uint32Array.from(cycles, (_, p) => p);
	rows.cycles = cycles;
	rows.executions = Float64Array.from(d.phases?.instructions ?? []);
	rows.saves = new Float64Array(cycles.length);
	rows.phases = [...cycles].map((_, p) => ofPhases(d, p, p)!);
	return rows;
}

/** The rows of a grouping. They are kept if all instructions and events count: every page asks for some of them. */
export function rowsBy(d: Data, by: Grouping, members: Uint32Array | null = null, sets: Uint8Array | null = null): Rows {
	const make = (): Rows => by === "event" ? byEvent(d, members, sets) : by === "phase" ? byPhase(d) : grouped(d, by, members, sets);
	return members || sets ? make() : kept(d, "rows " + by, make);
}

/** Time by set of events, most first: an instruction's time is in several. */
export function eventTime(d: Data): Stack {
	const rows = rowsBy(d, "event");
	return Array.from(rows.all, (r) => [rows.value(r), rows.cycles[r]]);
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

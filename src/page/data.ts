// SPDX-License-Identifier: MIT
// The data of the page as src/view/html_model.c and html_window.c write them, and how they are unpacked.

import type { Stretch } from "./phases";

export type Stack = [string, number][];
/** address, disassembly, file, line, cycles, executions, cycles by set of events, class, inlined function */
export type Inst = [string, string, string | null, number, number, number, Stack, string | null, string | null];

/** Instructions as columns, in order of functions and addresses (src/view/html_insts.c). Texts are numbers of `texts`. */
export interface Columns {
	count: number;
	/** number of the function; distance from its first address */
	fn: Uint32Array; pc: Float64Array;
	text: Uint32Array; file: Uint32Array; line: Uint32Array; cycles: Float64Array; executions: Float64Array; class: Uint32Array; inlined: Uint32Array;
	/** sets of events with time: those of instruction k are start[k] to start[k + 1] of set and part */
	start: Uint32Array; set: Uint32Array; part: Float64Array;
	/** cycles that fixing each alone saves; by which it may be later without harm, -1: not known */
	saves: Float64Array; slack: Float64Array;
}

/** A function; its instructions are number `first` to `first + rows` of the columns. */
export class Func {
	private made: Inst[] | null = null;

	constructor(readonly d: Data, readonly id: number, readonly name: string, readonly image: string | null, readonly cycles: number,
		readonly base: string, readonly first: number, readonly rows: number,
		/** so many instructions are the last row together; 0: every one has its own */
		readonly folded: number, readonly bytes: number) {}

	/** Whether instruction k of the columns is the row of the folded ones. */
	isFolded(k: number): boolean {
		return this.folded > 0 && k === this.first + this.rows - 1;
	}

	/** The address of instruction k of the columns; "" for the row of folded ones. */
	address(k: number): string {
		if (this.isFolded(k))
			return "";
		const base = Number(this.base), at = this.d.insts.pc[k];
		return "0x" + (base + at < Number.MAX_SAFE_INTEGER ? (base + at).toString(16) : (BigInt(this.base) + BigInt(at)).toString(16));
	}

	/** What instruction k says, or how many are folded in it. */
	text(k: number): string {
		return this.d.part ? "all its instructions" : this.isFolded(k) ? `${this.folded} instructions with little time`
			: (this.d.texts[this.d.insts.text[k]] ?? "").replace("\t", " ");
	}

	/** The instruction at an address; -1: another function's. */
	find(pc: string): number {
		const at = Number(BigInt(pc) - BigInt(this.base)), c = this.d.insts.pc;
		let low = this.first, high = this.first + this.rows - (this.folded ? 1 : 0);
		const end = high;
		while (low < high) {
			const k = (low + high) >> 1;
			if (c[k] < at)
				low = k + 1;
			else
				high = k;
		}
		return low < end && c[low] === at ? low : -1;
	}

	stack(k: number): Stack {
		const c = this.d.insts, out: Stack = [];
		for (let i = c.start[k]; i < c.start[k + 1]; i++)
			out.push([this.d.texts[c.set[i]] ?? "base", c.part[i]]);
		return out;
	}

	inst(k: number): Inst {
		const c = this.d.insts, t = this.d.texts;
		return [this.address(k), this.text(k), t[c.file[k]], c.line[k], c.cycles[k], c.executions[k], this.stack(k), t[c.class[k]], t[c.inlined[k]]];
	}

	get insts(): Inst[] {
		if (!this.made)
			this.made = Array.from({ length: this.rows }, (_, k) => this.inst(this.first + k));
		return this.made;
	}
}
export interface Finding { text: string; share: number; pc?: string; function?: number; event?: string; library?: string }
export type Doc = { [key: string]: any } | null;

/** Cycles that fixing one instruction alone saves: miss, mispredict, latency, imiss; then its slack. */
export type Saving = [number, number, number, number, number];

export interface Data {
	file: string;
	run: { program: string; machine: string; instructions: number; cycles: number; ipc: number; class: string };
	/** a profile made from points of the run; null for a whole run */
	estimated: { points: number; cpi: number; low: number | null; high: number | null } | null;
	cycle_stack: [string, number][];
	/** names of costs in words */
	categories: { [code: string]: string };
	events: [string, string, number][];
	findings: Finding[];
	functions: Func[];
	insts: Columns;
	texts: (string | null)[];
	/** lines of source, with their numbers, by file */
	sources: { [file: string]: [number, string][] };
	/** files that were changed after the program was built */
	changed: string[];
	savings: { [pc: string]: Saving };
	/** name, what it is, cycles by address */
	profilers: [string, string, { [pc: string]: number }][];
	/** call stacks: parent (0: none, else row k has id k + 1), function, image, cycles of its own */
	calls: [number, string, string, number][];
	stack: Doc; stack_missing: string | null;
	icost: Doc; icost_missing: string | null;
	accuracy: Doc; accuracy_missing: string | null;
	/** error by instruction that a paper found, in %, by profiler */
	published: { [profiler: string]: number };
	/** section, key, value, the shipped value where that is another one, what it is */
	parameters: [string, string, string, string | null, string | null][];
	facts: [string, string][];
	/** time by phase and function; null: the run does not have it */
	phases: PhaseTime | null;
	/** what the data are of, if not the whole run (phases.ts) */
	part?: Stretch;
}

/** Time by phase, function, set of events and what commit was doing (src/view/html_phases.c). */
export interface PhaseTime {
	/** of each phase; rows: how many of the columns below are its */
	cycles: number[]; instructions: number[]; rows: number[];
	/** id of the function, number of `sets`, place in cycle_stack, cycles */
	fn: number[]; set: number[]; category: number[]; time: number[];
	sets: string[];
}

/** number (-1: squashed), address, text, marks (1 mispredicted, 2 flushes), fetch cycle; then cycles after it of
 * decode, dispatch, ready, issue, complete, commit (-1: none); producers of operands, of memory, of a line; events;
 * cycles of I-miss, of D-miss, ready without issuing */
export type Traced = [number, string, string, number, number, number, number, number, number, number, number,
	number[], number, number, string[], number, number, number];
/** run: of which one; at: the instruction that it is about */
export interface Window { name: string; run: number; at: number; insts: Traced[] }

export interface All { runs: Data[]; diff: Doc; windows: Window[] }

/** Browsers have it; the types of TypeScript 4.8 do not. */
declare const DecompressionStream: new (format: "deflate") => ReadableWritablePair<Uint8Array, Uint8Array>;

/** Turns what JSON has into columns of numbers and functions. */
function read(d: Data): void {
	const raw = d.insts as unknown as { [name: string]: number[] }, count = raw.pc.length, sets = raw.sets, parts = raw.part;
	const start = new Uint32Array(count + 1), part = new Float64Array(raw.set.length), fn = new Uint32Array(count);
	for (let k = 0, p = 0; k < count; k++) {
		start[k + 1] = start[k] + sets[k];
		if (sets[k] === 1)
			part[start[k]] = raw.cycles[k];
		else
			for (let i = start[k]; i < start[k + 1]; i++)
				part[i] = parts[p++];
	}
	d.insts = { count, fn, pc: new Float64Array(raw.pc), text: new Uint32Array(raw.text), file: new Uint32Array(raw.file),
		line: new Uint32Array(raw.line), cycles: new Float64Array(raw.cycles), executions: new Float64Array(raw.executions),
		class: new Uint32Array(raw.class), inlined: new Uint32Array(raw.inlined), start, set: new Uint32Array(raw.set), part,
		saves: new Float64Array(count), slack: new Float64Array(count).fill(-1) };
	let first = 0;
	d.functions = (d.functions as unknown as { id: number; name: string; image: string | null; cycles: number; base: string; rows: number; folded: number; bytes: number }[])
		.map((f, n) => {
			fn.fill(n, first, first + f.rows);
			first += f.rows;
			return new Func(d, f.id, f.name, f.image, f.cycles, f.base, first - f.rows, f.rows, f.folded, f.bytes);
		});
	for (const pc in d.savings) {
		const k = rowAt(d, pc);
		if (k < 0)
			continue;
		const slack = d.savings[pc][4], before = d.insts.slack[k];
		d.insts.saves[k] += saving(d, pc).cycles;
		d.insts.slack[k] = before < 0 ? slack : Math.min(before, slack);
	}
}

function bytesOf(base64: string): Uint8Array {
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return bytes;
}

/** A text in base64. */
export function unpackText(base64: string): string {
	return new TextDecoder().decode(bytesOf(base64));
}

export async function unpack(base64: string): Promise<All> {
	const bytes = bytesOf(base64), stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	const all: All = JSON.parse(await new Response(stream).text());
	for (const d of all.runs)
		read(d);
	for (const w of all.windows)
		for (const i of w.insts)
			i[2] = i[2].replace("\t", " ");
	return all;
}

/** The number of a run, as the state and windows have it. */
export function runOf(all: All, d: Data): number {
	return Math.max(0, all.runs.indexOf(d));
}

export function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

const ordered = new WeakMap<Data, Func[]>();
/** Addresses as they are written have no leading zeros: the longer one is the higher one. */
const below = (a: string, b: string): boolean => a.length !== b.length ? a.length < b.length : a < b;

/** The last function that begins at an address or before it. */
function before(d: Data, pc: string): Func | undefined {
	let list = ordered.get(d);
	if (!list)
		ordered.set(d, list = d.functions.slice().sort((a, b) => below(a.base, b.base) ? -1 : below(b.base, a.base) ? 1 : 0));
	let low = 0, high = list.length;
	while (low < high) {
		const k = (low + high) >> 1;
		if (below(pc, list[k].base))
			high = k;
		else
			low = k + 1;
	}
	return low && /^0x[0-9a-f]+$/.test(pc) ? list[low - 1] : undefined;
}

/** The number of the instruction at an address in the columns; -1: there is none. */
export function instAt(d: Data, pc: string): number {
	return before(d, pc)?.find(pc) ?? -1;
}

/** The function that has the instruction at an address. */
export function functionAt(d: Data, pc: string): Func | undefined {
	return instAt(d, pc) < 0 ? undefined : before(d, pc);
}

/** The row that has the time of an address: its own, or that of its function's folded instructions; -1: none. */
function rowAt(d: Data, pc: string): number {
	const f = before(d, pc), k = f?.find(pc) ?? -1;
	return f && k < 0 && f.folded && BigInt(pc) - BigInt(f.base) < BigInt(f.bytes) ? f.first + f.rows - 1 : k;
}

const laid = new WeakMap<object, Float64Array>();

/** Cycles by address as a column. */
export function column(d: Data, cycles: { [pc: string]: number }): Float64Array {
	let out = laid.get(cycles);
	if (!out) {
		out = new Float64Array(d.insts.count);
		for (const pc in cycles) {
			const k = rowAt(d, pc);
			if (k >= 0)
				out[k] += cycles[pc];
		}
		laid.set(cycles, out);
	}
	return out;
}

/** What fixing an instruction saves, and which of its costs is the largest. */
export function saving(d: Pick<Data, "savings">, pc: string): { cycles: number; event: string; most: number } {
	const s = d.savings[pc];
	if (!s)
		return { cycles: 0, event: "", most: 0 };
	const cycles = s[0] + s[1] + s[2] + s[3], most = Math.max(s[0], s[1], s[2], s[3]);
	return { cycles, most, event: most <= 0 ? "" : ["miss", "mispredict", "latency", "imiss"][s.indexOf(most)] };
}

// SPDX-License-Identifier: MIT
// The data of the page as src/view/html_model.c and html_window.c write them, and how they are unpacked.

export type Stack = [string, number][];
/** address, disassembly, file, line, cycles, executions, cycles by set of events, class, inlined function */
export type Inst = [string, string, string | null, number, number, number, Stack, string | null, string | null];
export interface Func { id: number; name: string; image: string | null; cycles: number; insts: Inst[] }
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

export async function unpack(base64: string): Promise<All> {
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	const all: All = JSON.parse(await new Response(stream).text());
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

const owners = new WeakMap<Data, Map<string, Func>>();

/** The function that has the instruction at an address. */
export function functionAt(d: Data, pc: string): Func | undefined {
	let map = owners.get(d);
	if (!map) {
		map = new Map(d.functions.flatMap((f) => f.insts.map((i) => [i[0], f] as [string, Func])));
		owners.set(d, map);
	}
	return map.get(pc);
}

/** What fixing an instruction saves, and which of its costs is the largest. */
export function saving(d: Data, pc: string): { cycles: number; event: string; most: number } {
	const s = d.savings[pc];
	if (!s)
		return { cycles: 0, event: "", most: 0 };
	const cycles = s[0] + s[1] + s[2] + s[3], most = Math.max(s[0], s[1], s[2], s[3]);
	return { cycles, most, event: most <= 0 ? "" : ["miss", "mispredict", "latency", "imiss"][s.indexOf(most)] };
}

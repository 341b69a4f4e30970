// SPDX-License-Identifier: MIT
// Stretches of the run. Time is known by phase and function, so the data of a stretch have one row for each function.
import { Columns, Data, Func } from "./data";
import { count } from "./dom";
import { State } from "./state";

/** A phase as the strip draws it, with its parts in cycles. */
export interface Phase { instructions: number; cycles: number; parts: [string, number][] }

/** Some phases in a row. */
export interface Stretch {
	/** phases of the strip, and of the profile */
	from: number; to: number; first: number; last: number;
	/** cycles and instructions before it, and in it */
	before: number; beforeInsts: number; cycles: number; instructions: number;
	readonly data: Data;
}

const strips = new WeakMap<Data, Phase[]>();

/** Phases of the run by component of the CPI stack or, without one, by what commit was doing. */
export function phasesOf(d: Data): Phase[] {
	let list = strips.get(d);
	if (!list) {
		list = (d.stack?.phases ?? []).map((p: any) => ({ instructions: p.instructions, cycles: p.cycles,
			parts: Object.entries(p.stack ?? {}) as [string, number][] })) as Phase[];
		const t = d.phases;
		if (!list.length && t) {
			list = t.cycles.map((cycles, k) => ({ instructions: t.instructions[k], cycles, parts: d.cycle_stack.map((c) => [c[0], 0] as [string, number]) }));
			for (let p = 0, i = 0; p < t.rows.length; p++)
				for (let k = 0; k < t.rows[p]; k++, i++)
					list[p].parts[t.category[i]][1] += t.time[i];
		}
		strips.set(d, list);
	}
	return list;
}

/** Pieces of one division of the run that lie, by their middle, in pieces a to b of another. */
function within(pieces: number[], other: number[], a: number, b: number): [number, number] | null {
	let low = 0, high = 0, at = 0, first = -1, last = -1;
	other.forEach((c, k) => {
		low += k < a ? c : 0;
		high += k <= b ? c : 0;
	});
	pieces.forEach((c, k) => {
		const middle = at + c / 2;
		at += c;
		if (middle >= low && middle < high) {
			first = first < 0 ? k : first;
			last = k;
		}
	});
	return first < 0 ? null : [first, last];
}

/** The phases of the strip that the state chooses. */
export function range(d: Data, s: State): [number, number] | null {
	const n = phasesOf(d).length, from = Number(s.from ?? -1), to = Number(s.to ?? -1);
	return s.from !== undefined && Number.isInteger(from) && Number.isInteger(to) && from >= 0 && to >= from && to < n ? [from, to] : null;
}

const made = new WeakMap<Data, Map<string, Stretch>>();

function stretch(d: Data, strip: [number, number], own: [number, number]): Stretch {
	const of = made.get(d) ?? new Map<string, Stretch>(), key = own.join(), t = d.phases!;
	made.set(d, of);
	let found = of.get(key);
	if (!found) {
		const sum = (list: number[], a: number, b: number): number => list.slice(a, b).reduce((x, y) => x + y, 0);
		let data: Data | null = null;
		found = { from: strip[0], to: strip[1], first: own[0], last: own[1], before: sum(t.cycles, 0, own[0]), beforeInsts: sum(t.instructions, 0, own[0]),
			cycles: sum(t.cycles, own[0], own[1] + 1), instructions: sum(t.instructions, own[0], own[1] + 1),
			get data() { return data ??= dataOf(d, this); } };
		of.set(key, found);
	}
	return found;
}

/** Phases of the profile as a stretch. */
export function ofPhases(d: Data, first: number, last: number): Stretch {
	const strip = within(phasesOf(d).map((p) => p.cycles), d.phases!.cycles, first, last) ?? [first, last];
	return stretch(d, strip, [first, last]);
}

/** The stretch that the state chooses, if time is known by phase. */
export function chosen(d: Data, s: State): Stretch | null {
	const r = range(d, s), own = r && d.phases ? within(d.phases.cycles, phasesOf(d).map((p) => p.cycles), r[0], r[1]) : null;
	return r && own ? stretch(d, r, own) : null;
}

export function phaseName(s: Stretch): string {
	return `${s.first === s.last ? `phase ${s.first}` : `phases ${s.first} to ${s.last}`}: instructions ${count(s.beforeInsts)} to ${count(s.beforeInsts + s.instructions)}`;
}

/** The data of a stretch: a row for each function that has time there. */
function dataOf(d: Data, s: Stretch): Data {
	const t = d.phases!, byFunction = new Map<number, Map<number, number>>(), stack = d.cycle_stack.map((c) => [c[0], 0] as [string, number]);
	const texts = t.sets.map((name) => d.texts.indexOf(name)), out: Data = { ...d };
	let at = 0;
	t.rows.forEach((rows, p) => {
		for (let k = 0; k < rows; k++, at++) {
			if (p < s.first || p > s.last)
				continue;
			let of = byFunction.get(t.fn[at]);
			if (!of)
				byFunction.set(t.fn[at], of = new Map());
			const set = Math.max(0, texts[t.set[at]]);
			of.set(set, (of.get(set) ?? 0) + t.time[at]);
			stack[t.category[at]][1] += t.time[at];
		}
	});
	const whole = new Map(d.functions.map((f) => [f.id, f])), n = byFunction.size;
	const sets = [...byFunction.values()].reduce((a, m) => a + m.size, 0);
	const c: Columns = { count: n, fn: Uint32Array.from({ length: n }, (_, k) => k), pc: new Float64Array(n), text: new Uint32Array(n), file: new Uint32Array(n),
		line: new Uint32Array(n), cycles: new Float64Array(n), executions: new Float64Array(n), class: new Uint32Array(n), inlined: new Uint32Array(n),
		start: new Uint32Array(n + 1), set: new Uint32Array(sets), part: new Float64Array(sets), saves: new Float64Array(n), slack: new Float64Array(n).fill(-1) };
	let k = 0, i = 0;
	out.functions = [];
	for (const [id, of] of byFunction) {
		const f = whole.get(id);
		for (const [set, cycles] of of) {
			c.set[i] = set;
			c.part[i++] = cycles;
			c.cycles[k] += cycles;
		}
		c.start[k + 1] = i;
		out.functions.push(new Func(out, id, f?.name ?? "[unknown]", f?.image ?? null, c.cycles[k], f?.base ?? "0x0", k, 1, 1, 0));
		k++;
	}
	out.insts = c;
	out.cycle_stack = stack;
	out.run = { ...d.run, cycles: s.cycles, instructions: s.instructions, ipc: s.cycles ? s.instructions / s.cycles : 0 };
	out.part = s;
	out.phases = null;
	out.profilers = [];
	out.savings = {};
	return out;
}

// SPDX-License-Identifier: MIT
// What an instruction waited for, step by step: from its commit back along the edge that arrived last, by the stamps of
// the records. From the end of a window the steps are its critical path, and their cycles are the window's.
import { Traced, Window } from "./data";

/** Stages of an instruction as nodes: index of their stamp in a row. */
const FETCH = 4, DISPATCH = 6, READY = 7, ISSUE = 8, COMPLETE = 9, COMMIT = 10;

/** Cycle in which stage k begins; -1: it never did. */
export function stamp(i: Traced, k: number): number {
	return k === FETCH ? i[4] : (i[k] as number) < 0 ? -1 : i[4] + (i[k] as number);
}

export const end = (i: Traced): number => i[4] + Math.max(0, i[10]);

export type Cause = "executes" | "waits for data" | "waits for a unit" | "no room in the window" | "front end" | "I-cache miss" | "refill after a mispredict"
	| "refill after a flush" | "commits in order";

/** Cycles that pass from one node to the next one of the path: those of instruction `at`; `by` made it wait. */
export interface Step { at: number; by: number; cycles: number; from: number; to: number; cause: Cause; text: string }

interface Edge { node: number; at: number; cause: Cause; text: string }

export class Paths {
	/** committed instructions by their number, and the one before each in program order */
	private place = new Map<number, number>();
	private before: Int32Array;
	private depth = Infinity;

	/** rob: instructions that fit into the reorder buffer; 0: not known */
	constructor(readonly w: Window, readonly rob: number) {
		let last = -1;
		this.before = new Int32Array(w.insts.length).fill(-1);
		w.insts.forEach((i, k) => {
			if (i[0] < 0)
				return;
			this.before[k] = last;
			this.place.set(i[0], last = k);
			if (i[DISPATCH] >= 0)
				this.depth = Math.min(this.depth, i[DISPATCH] as number);
		});
	}

	private name(k: number): string {
		return `${this.w.insts[k][2]} (${this.w.insts[k][1]})`;
	}

	/** The last of some instructions before k to complete; -1: none is in the window. */
	private latest(k: number, numbers: number[]): number {
		let last = -1;
		for (const n of numbers) {
			const p = n < 0 ? undefined : this.place.get(n);
			if (p !== undefined && p < k && (last < 0 || stamp(this.w.insts[p], COMPLETE) > stamp(this.w.insts[last], COMPLETE)))
				last = p;
		}
		return last;
	}

	/** The instruction whose leaving made room for k when it was dispatched; -1: it is not in the window. */
	private leaver(k: number): number {
		const i = this.w.insts[k], t = stamp(i, DISPATCH), full = this.rob ? this.place.get(i[0] - this.rob) : undefined;
		if (full !== undefined && Math.abs(t - end(this.w.insts[full])) <= 2)
			return full;
		for (let j = this.before[k], found = -1; ; j = this.before[j]) {
			if (j < 0 || k - j > 1024)
				return found;
			const out = end(this.w.insts[j]);
			if (out <= t && out >= t - 2)
				found = found < 0 || out > end(this.w.insts[found]) ? j : found;
		}
	}

	private intoFetch(k: number): Edge | null {
		const i = this.w.insts[k], p = this.before[k];
		if (p < 0)
			return null;
		const b = this.w.insts[p], gap = i[4] - b[4];
		if (b[3] & 1 && i[4] >= stamp(b, COMPLETE) && stamp(b, COMPLETE) >= 0)
			return { node: COMPLETE, at: p, cause: "refill after a mispredict", text: `is fetched after ${this.name(p)} turned out mispredicted` };
		if (b[3] & 2 && i[4] >= end(b))
			return { node: COMMIT, at: p, cause: "refill after a flush", text: `is fetched after ${this.name(p)} flushed the pipeline` };
		const trap = gap > 3 && i[14].find((e) => e === "FL-EX" || e === "FL-MO");
		if (trap)
			return { node: FETCH, at: p, cause: "refill after a flush", text: trap === "FL-EX" ? "takes an exception, and is fetched again when it has been handled (FL-EX)"
				: "read too early, and is fetched again (FL-MO)" };
		if (gap > 1 && i[15])
			return { node: FETCH, at: p, cause: "I-cache miss", text: "waits for its line of the I-cache" };
		for (let j = p, n = 0; gap > 1 && j >= 0 && n < 96; j = this.before[j], n++) {
			const in_ = stamp(this.w.insts[j], DISPATCH);
			if (in_ >= 0 && in_ <= i[4] && in_ >= i[4] - 2 && in_ > b[4])
				return { node: DISPATCH, at: j, cause: "front end", text: `is fetched when ${this.name(j)} has left the front end, which was full` };
		}
		return { node: FETCH, at: p, cause: "front end", text: "is fetched after the one before it" };
	}

	private intoDispatch(k: number): Edge {
		const i = this.w.insts[k], p = this.before[k], t = stamp(i, DISPATCH);
		if (i[DISPATCH] as number > this.depth) {
			const out = this.leaver(k), queued = p >= 0 && stamp(this.w.insts[p], DISPATCH) >= t - 1;
			if (out >= 0 && !(queued && end(this.w.insts[out]) < t - 1))
				return { node: COMMIT, at: out, cause: "no room in the window", text: `has no room in the window until ${this.name(out)} leaves it` };
			if (p >= 0 && stamp(this.w.insts[p], DISPATCH) > i[4])
				return { node: DISPATCH, at: p, cause: "front end", text: "enters the window after the one before it" };
		}
		return { node: FETCH, at: k, cause: "front end", text: "goes through the front end" };
	}

	/** The edge into a stage of an instruction that arrived last; null: what came before is not in the window. */
	private into(k: number, node: number): Edge | null {
		const i = this.w.insts[k], events = i[14].length ? `, ${i[14].join(", ")}` : "";
		const has = (n: number): boolean => (i[n] as number) >= 0;
		switch (node) {
		case COMMIT: {
			const p = this.before[k];
			if (!has(COMPLETE) || (p >= 0 && end(this.w.insts[p]) > stamp(i, COMPLETE)))
				return p >= 0 ? { node: COMMIT, at: p, cause: "commits in order", text: `commits after ${this.name(p)}` }
					: { node: has(DISPATCH) ? DISPATCH : FETCH, at: k, cause: "commits in order", text: "commits" };
			return { node: COMPLETE, at: k, cause: "commits in order", text: "commits" };
		}
		case COMPLETE: {
			const line = this.latest(k, [i[13]]);
			if (line >= 0 && has(ISSUE) && stamp(this.w.insts[line], COMPLETE) > stamp(i, ISSUE))
				return { node: COMPLETE, at: line, cause: "waits for data", text: `waits for the line that ${this.name(line)} asked for${events}` };
			const miss = i[16] > 0;
			return { node: has(ISSUE) ? ISSUE : has(DISPATCH) ? DISPATCH : FETCH, at: k, cause: miss ? "waits for data" : "executes",
				text: miss ? `waits for memory${events}` : "executes" };
		}
		case ISSUE:
			return { node: has(READY) ? READY : has(DISPATCH) ? DISPATCH : FETCH, at: k, cause: "waits for a unit", text: "is ready and waits for a unit" };
		case READY: {
			const by = this.latest(k, [...i[11], i[12]]);
			if (by >= 0 && stamp(this.w.insts[by], COMPLETE) > stamp(i, DISPATCH))
				return { node: COMPLETE, at: by, cause: "executes", text: `gets its operand from ${this.name(by)}` };
			return { node: DISPATCH, at: k, cause: "front end", text: "has its operands" };
		}
		case DISPATCH: return this.intoDispatch(k);
		default: return this.intoFetch(k);
		}
	}

	/** From the commit of an instruction back: at most so many steps that take time. Their cycles and those before the
	 * window's first node add up to the time of that commit. */
	back(k: number, most: number): Step[] {
		const steps: Step[] = [];
		let node = COMMIT, at = k, now = end(this.w.insts[k]), taken = 0;
		while (taken < most) {
			const e = this.into(at, node);
			if (!e)
				break;
			const then = Math.min(now, e.node === COMMIT ? end(this.w.insts[e.at]) : stamp(this.w.insts[e.at], e.node));
			steps.push({ at, by: e.at, cycles: now - then, from: then, to: now, cause: e.cause, text: e.text });
			taken += now > then ? 1 : 0;
			node = e.node;
			at = e.at;
			now = then;
		}
		return steps;
	}

	/** The critical path of the window: from its last commit to the fetch of its first instruction. */
	critical(): Step[] {
		let last = -1;
		this.w.insts.forEach((i, k) => {
			if (i[0] >= 0 && (last < 0 || end(i) >= end(this.w.insts[last])))
				last = k;
		});
		return last < 0 ? [] : this.back(last, Infinity);
	}
}

// SPDX-License-Identifier: MIT
// The rows of page Time that are shown: those of the grouping and, below each that is open, the rows that split it.
import { Data, column } from "./data";
import { count, percent, ranked, stackBar } from "./dom";
import { Rows, largestFirst, why } from "./rows";

/** A column of all levels. */
export interface Measure {
	name: string;
	value: (rows: Rows, r: number) => number | string;
	show: (rows: Rows, r: number) => Node | string;
	help?: string;
	/** what is sorted by, if not the value */
	rank?: (rows: Rows, r: number) => number | string;
}

/** Whether a row is of whole instructions, so that what is known of these alone is known of it. */
const whole = (rows: Rows): boolean => rows.sets === null && rows.by !== "event" && rows.by !== "phase";

function slackOf(rows: Rows, r: number): number | null {
	const d = rows.d, c = d.insts;
	let least: number | null = null;
	for (let m = rows.start[r]; m < rows.start[r + 1]; m++) {
		const slack = c.slack[rows.member[m]];
		if (slack >= 0 && (least === null || slack < least))
			least = slack;
	}
	return least;
}

export function measures(d: Data, most: number, prof: string): Measure[] {
	const total = d.run.cycles, profiler = d.profilers.find((p) => p[0] === prof);
	const each = (rows: Rows, r: number): number => rows.executions[r] && !rows.sets ? rows.cycles[r] / rows.executions[r] : 0;
	const list: Measure[] = [
		{ name: "cycles", value: (t, r) => t.cycles[r], show: (t, r) => count(t.cycles[r]) },
		{ name: "share", value: (t, r) => t.cycles[r] / total, show: (t, r) => percent(t.cycles[r] / total), help: "of all cycles" + (d.part ? " of the stretch" : " of the run") },
		{ name: "bar", value: (t, r) => t.cycles[r], show: (t, r) => stackBar(t.stack(r), total, t.cycles[r] / most), help: "coloured by event" }];
	if (profiler) {
		const cycles = column(d, profiler[2]), says = (t: Rows, r: number): number => whole(t) ? t.sum(r, cycles) / total : 0;
		list.splice(2, 0, { name: profiler[0], value: says, show: (t, r) => whole(t) ? percent(says(t, r)) : "", help: profiler[1] });
	}
	if (!d.part)
		list.push({ name: "executions", value: (t, r) => t.sets ? 0 : t.executions[r], show: (t, r) => t.executions[r] && !t.sets ? count(t.executions[r]) : "",
			help: "how often its instructions were executed, all together" },
		{ name: "cycles each", value: each, show: (t, r) => each(t, r) ? each(t, r).toFixed(2) : "", help: "cycles of an execution of one instruction" });
	if (d.icost && !d.part)
		list.push({ name: "saves", value: (t, r) => whole(t) ? t.saves[r] : 0, show: (t, r) => whole(t) && t.saves[r] ? percent(t.saves[r] / total) : "",
			help: "what fixing its instructions saves, each alone, by the dependence graph" },
		{ name: "slack", value: (t, r) => slackOf(t, r) ?? -1, show: (t, r) => slackOf(t, r)?.toFixed(1) ?? "",
			help: "cycles by which an instruction may be later without making the run longer; the least of its instructions" });
	list.push({ name: "why", value: (t, r) => t.first(r), show: (t, r) => why(t.d, t.stack(r), t.cycles[r]),
		help: "events that instructions suffered, by their cycles" });
	return list;
}

const orders = new WeakMap<Rows, Map<string, Uint32Array>>();

/** The rows in the order that "NAME" or "-NAME" asks for; those of the same rows are kept. */
function ordered(rows: Rows, sort: string, by: Measure[]): Uint32Array {
	const down = sort.startsWith("-"), name = down ? sort.slice(1) : sort, m = by.find((x) => x.name === name);
	const of = orders.get(rows) ?? new Map<string, Uint32Array>();
	orders.set(rows, of);
	let order = of.get(sort);
	if (order)
		return order;
	const rank = m ? m.rank ?? m.value : null, n = rows.all.length;
	if (!rank || !n || (name === "cycles" && down && rows.by !== "phase"))
		order = rows.all;
	else if (typeof rank(rows, 0) === "number") {
		const keys = new Float64Array(n);
		for (let r = 0; r < n; r++)
			keys[r] = rank(rows, r) as number;
		order = down ? largestFirst(keys) : ranked(rows.all, keys);
	} else {
		const texts = Array.from(rows.all, (r) => rank(rows, r)), sign = down ? -1 : 1;
		order = rows.all.slice().sort((a, b) => (texts[a] < texts[b] ? -sign : texts[a] > texts[b] ? sign : a - b));
	}
	of.set(sort, order);
	return order;
}

/** Which rows are open: paths of numbers from the grouping down. */
export class Open {
	private set: Set<string>;

	constructor(text: string) {
		this.set = new Set(text.split(",").filter((t) => /^[0-9]+(\.[0-9]+)*$/.test(t)));
	}

	has(path: string): boolean {
		return this.set.has(path);
	}

	get some(): boolean {
		return this.set.size > 0;
	}

	/** The same with one row opened or closed; what was open in a closed one is closed, too. */
	turned(path: string): string {
		const left = [...this.set].filter((p) => p !== path && !p.startsWith(path + "."));
		return (this.set.has(path) ? left : [...left, path]).join();
	}
}

const inner = new WeakMap<Rows, Map<number, Rows>>();

function inside(rows: Rows, r: number): Rows {
	const of = inner.get(rows) ?? new Map<number, Rows>(), found = of.get(r) ?? rows.inside(r);
	inner.set(rows, of.set(r, found));
	return found;
}

/** What is shown, in order. Row i is row `row[i]` of table `of[i]`. */
export class Shown {
	private tables: { rows: Rows; path: string; depth: number }[] = [];
	private of: Uint32Array; private row: Uint32Array;
	count = 0;

	constructor(top: Rows, passes: ((r: number) => boolean) | null, readonly open: Open, sort: string, by: Measure[]) {
		const order = ordered(top, sort, by), first = passes ? order.filter(passes) : order;
		this.of = new Uint32Array(first.length);
		this.row = first;
		this.count = first.length;
		this.tables.push({ rows: top, path: "", depth: 0 });
		if (!open.some)
			return;
		const of: number[] = [], row: number[] = [];
		const put = (table: number, list: Uint32Array): void => {
			const t = this.tables[table];
			for (const r of list) {
				of.push(table);
				row.push(r);
				const path = t.path + t.rows.key[r];
				if (!open.has(path) || !t.rows.splits(r))
					continue;
				const below = inside(t.rows, r);
				this.tables.push({ rows: below, path: path + ".", depth: t.depth + 1 });
				/* phases are in order of time, what is in one by its cycles */
				put(this.tables.length - 1, top.by === "phase" && sort.endsWith("phase") ? below.all : ordered(below, sort, by));
			}
		};
		put(0, first);
		this.of = Uint32Array.from(of);
		this.row = Uint32Array.from(row);
		this.count = of.length;
	}

	at(i: number): { rows: Rows; r: number; path: string; depth: number } {
		const t = this.tables[this.of[i]], r = this.row[i];
		return { rows: t.rows, r, path: t.path + t.rows.key[r], depth: t.depth };
	}
}

// SPDX-License-Identifier: MIT
// Time by library, file, function, line, instruction, event or class: sums over instructions.
import { Data, Func, Inst, Stack, baseName, saving } from "./data";
import { Column, count, el, percent, stackBar } from "./dom";
import { link } from "./state";

export interface Row {
	name: string; where: () => HTMLElement; cycles: number; executions: number; saves: number; stack: Stack;
	/** what the filter's prefixes look at */
	lib: string; fn: string; file: string; op: string;
	pcs: string[];
}

export const groupings = ["library", "file", "function", "line", "instruction", "event", "class"] as const;
export type Grouping = typeof groupings[number];

function keyOf(by: Grouping, f: Func, i: Inst): string {
	switch (by) {
	case "library": return f.image ?? "(unknown)";
	case "file": return i[2] ?? "(no source)";
	case "function": return String(f.id);
	case "line": return i[2] && i[3] ? `${i[2]}:${i[3]}` : `${f.id}`;
	case "instruction": return i[0];
	case "class": return i[7] ?? "(unknown)";
	default: return "";
	}
}

function nameOf(by: Grouping, f: Func, i: Inst): [string, { [key: string]: string }] {
	const code = { page: "code", fn: String(f.id) };
	switch (by) {
	case "library": return [f.image ?? "(unknown)", { page: "time", by: "function", filter: f.image ? `lib:${f.image}` : "" }];
	case "file": return [i[2] ? baseName(i[2]) : "(no source)", { page: "time", by: "line", filter: i[2] ? `file:${baseName(i[2])}` : "" }];
	case "function": return [f.name, code];
	case "line": return [i[2] && i[3] ? `${baseName(i[2])}:${i[3]}` : `${f.name} (no line)`, { ...code, pc: i[0] }];
	case "instruction": return [`${i[0]} ${i[1].replace("\t", " ")}  ${f.name}`, { ...code, pc: i[0] }];
	default: return [i[7] ?? "(unknown)", { page: "time", by: "instruction", filter: `op:${i[7] ?? ""}` }];
	}
}

/** Time by set of events has its own sums: an instruction's time is in several rows. */
function eventRows(d: Data): Row[] {
	const rows = new Map<string, Row>();
	for (const f of d.functions)
		for (const i of f.insts)
			for (const [name, cycles] of i[6]) {
				let r = rows.get(name);
				if (!r) {
					r = { name, where: () => link(inWords(name), { page: "time", by: "line", filter: `ev:${name}` }), cycles: 0, executions: 0,
						saves: 0, stack: [], lib: "", fn: "", file: "", op: "", pcs: [] };
					rows.set(name, r);
				}
				r.cycles += cycles;
				r.stack = [[name, r.cycles]];
			}
	return [...rows.values()].sort((a, b) => b.cycles - a.cycles);
}

const known = new WeakMap<Data, Map<string, Row[]>>();

/** The rows of a grouping, most cycles first; with time that suffered an event alone if one is given. They are kept:
 * every page asks for some of them. */
export function rowsBy(d: Data, by: Grouping, events = ""): Row[] {
	const of = known.get(d) ?? new Map<string, Row[]>(), key = `${by} ${events}`, rows = of.get(key) ?? makeRows(d, by, events);
	if (events === "")
		known.set(d, of.set(key, rows));
	return rows;
}

function makeRows(d: Data, by: Grouping, events: string): Row[] {
	if (by === "event")
		return eventRows(d);
	const rows = new Map<string, Row & { sum: Map<string, number> }>();
	for (const f of d.functions)
		for (const i of f.insts) {
			if (!i[4] && by !== "function")
				continue;
			const stack = events ? i[6].filter((p) => p[0].toLowerCase().includes(events)) : i[6];
			const key = keyOf(by, f, i);
			let row = rows.get(key);
			if (!row) {
				const [name, to] = nameOf(by, f, i);
				row = { name, where: () => link(name, to), cycles: 0, executions: 0, saves: 0, stack: [], sum: new Map(),
					lib: f.image ?? "", fn: f.name, file: i[2] ?? "", op: `${i[7] ?? ""} ${i[1]}`, pcs: [] };
				rows.set(key, row);
			}
			row.cycles += events ? stack.reduce((a, p) => a + p[1], 0) : i[4];
			row.executions += i[5];
			row.saves += saving(d, i[0]).cycles;
			row.pcs.push(i[0]);
			for (const [name, cycles] of stack)
				row.sum.set(name, (row.sum.get(name) ?? 0) + cycles);
		}
	const list = [...rows.values()].filter((r) => r.cycles > 0).sort((a, b) => b.cycles - a.cycles);
	for (const r of list)
		r.stack = [...r.sum].sort((a, b) => b[1] - a[1]);
	return list;
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

export function shareColumns(d: Data, most: number): Column<Row>[] {
	const total = d.run.cycles;
	return [
		{ name: "cycles", value: (r) => r.cycles, show: (r) => count(r.cycles) },
		{ name: "share", value: (r) => r.cycles / total, show: (r) => percent(r.cycles / total), help: "of all cycles of the run" },
		{ name: "bar", value: (r) => r.cycles, show: (r) => stackBar(r.stack, total, r.cycles / most), help: "coloured by event" },
	];
}

export function whyColumn(d: Data): Column<Row> {
	return { name: "why", value: (r) => r.stack.length ? r.stack[0][0] : "", show: (r) => why(d, r.stack, r.cycles),
		help: "events that instructions suffered, by their cycles" };
}

export function savesColumn(d: Data): Column<Row> {
	return { name: "saves", value: (r) => r.saves, show: (r) => r.saves ? percent(r.saves / d.run.cycles) : "",
		help: "what fixing its instructions saves, each alone, by the dependence graph" };
}

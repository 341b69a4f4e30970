// SPDX-License-Identifier: MIT
// Page Changes: two runs by what changed, and why.
import { All, Data, baseName } from "./data";
import { Column, bar, button, count, el, percent, signed, table } from "./dom";
import { eventTime, inWords } from "./rows";
import { Go, Page, State, link } from "./state";

/** What makes the two runs different work, so that their times say little. */
export function differences(all: All): string[] {
	const [a, b] = all.runs, out: string[] = [];
	if (baseName(a.run.program) !== baseName(b.run.program))
		out.push(`Two programs: ${baseName(a.run.program)} before and ${baseName(b.run.program)} after.`);
	const more = b.run.instructions / a.run.instructions - 1;
	if (Math.abs(more) > 0.01)
		out.push(`Different work: ${percent(Math.abs(more))} ${more > 0 ? "more" : "fewer"} instructions after than before.`);
	for (const [r, when] of [[a, "before"], [b, "after"]] as [Data, string][]) {
		const cut = r.facts.find((f) => f[0] === "max_insts");
		if (cut && Number(cut[1]) > 0 && Number(cut[1]) <= r.run.instructions)
			out.push(`The run ${when} was cut after ${count(Number(cut[1]))} instructions.`);
	}
	return out;
}

interface Pair { name: string; before: number; after: number }

function pairs(a: [string, number][], b: [string, number][]): Pair[] {
	const names = new Set([...a, ...b].map((p) => p[0])), x = new Map(a), y = new Map(b);
	return [...names].map((name) => ({ name, before: x.get(name) ?? 0, after: y.get(name) ?? 0 }))
		.sort((p, q) => Math.abs(q.after - q.before) - Math.abs(p.after - p.before));
}

function pairColumns(what: string, show: (n: number) => string, most: number): Column<Pair>[] {
	return [{ name: what, value: (r) => r.name },
		{ name: "before", value: (r) => r.before, show: (r) => show(r.before) },
		{ name: "after", value: (r) => r.after, show: (r) => show(r.after) },
		{ name: "change", value: (r) => r.after - r.before, show: (r) => (r.after < r.before ? "−" : "+") + show(Math.abs(r.after - r.before)) },
		{ name: "bar", value: (r) => r.after - r.before, show: (r) => bar((r.after - r.before) / (most || 1), r.after > r.before) }];
}

const largest = (list: Pair[]): number => list.reduce((a, p) => Math.max(a, Math.abs(p.after - p.before)), 0);

/** Time by set of events over the whole run. */
function changeColumns(all: All, what: string, insts: boolean): Column<any>[] {
	const total = all.runs[0].run.cycles;
	const find = (r: any): HTMLElement | string => {
		const k = r.in === "before" ? 0 : 1, f = all.runs[k].functions.find((x) => x.name === String(r.symbol).replace(/\+0x[0-9a-f]+$/, "")
			|| x.name === r.symbol);
		const name = insts ? `${r.symbol}${r.source ? " " + r.source : ""}` : r.symbol;
		return f ? link(name, { page: "code", fn: String(f.id), run: String(k) }) : name;
	};
	const columns: Column<any>[] = [{ name: what, value: (r) => r.symbol, show: find }];
	if (insts)
		columns.push({ name: "instruction", value: (r) => r.disasm, show: (r) => el("span", { class: "code" }, String(r.disasm).replace("\t", " ")
			+ (r.disasm_after && r.disasm_after !== r.disasm ? " → " + String(r.disasm_after).replace("\t", " ") : "")) });
	columns.push({ name: "before", value: (r) => r.before, show: (r) => r.in === "after" ? "–" : count(r.before) },
		{ name: "after", value: (r) => r.after, show: (r) => r.in === "before" ? "–" : count(r.after) },
		{ name: "change", value: (r) => r.change, show: (r) => signed(r.change) },
		{ name: "of the run", value: (r) => r.change / total, show: (r) => (r.change < 0 ? "−" : "+") + percent(Math.abs(r.change) / total) });
	return columns;
}

const SHOWN = 40;

function draw(d: Data, s: State, go: Go, all: All): Node[] {
	const [a, b] = all.runs, diff = all.diff!, faster = a.run.cycles / b.run.cycles, work = differences(all);
	const out: Node[] = work.map((t) => el("p", { class: "warn", role: "note" }, t));
	const verdict = faster >= 1 ? `${faster.toFixed(2)} times as fast` : `${(1 / faster).toFixed(2)} times as slow`;
	out.push(el("p", { id: "verdict" }, `${count(a.run.cycles)} cycles before, ${count(b.run.cycles)} after: ${signed(b.run.cycles - a.run.cycles)}`
		+ (work.length ? "." : `, ${verdict}.`)));
	const kinds = pairs(a.cycle_stack, b.cycle_stack);
	const events = pairs(eventTime(a), eventTime(b)).slice(0, 12).map((p) => ({ ...p, name: inWords(p.name) }));
	out.push(el("div", { class: "many" }, table("Why: what commit was doing, in cycles", pairColumns("commit", count, largest(kinds)), kinds, "", null),
		table("Why: events, in cycles", pairColumns("events", count, largest(events)), events, "", null)));
	if (a.stack && b.stack) {
		const fmt = (x: Data): [string, number][] => Object.entries(x.stack!.methods.find((m: any) => m.name === "fmt")?.components ?? {}) as [string, number][];
		const cpi = pairs(fmt(a), fmt(b)).filter((p) => p.before || p.after);
		out.push(table("Why: components of CPI (fmt)", pairColumns("component", (n) => n.toFixed(4), largest(cpi)), cpi, "", null));
	}
	if (a.icost && b.icost) {
		const one = (x: Data): [string, number][] => Object.entries(x.icost!.costs as { [k: string]: number }).filter((c) => !c[0].includes("+"))
			.map(([k, v]) => [x.categories[k] ?? k, v]);
		const costs = pairs(one(a), one(b));
		out.push(table("What fixing would buy, in cycles", pairColumns("category", count, largest(costs)), costs, "", null));
	}
	const by = (x: any, y: any): number => Math.abs(y.change) - Math.abs(x.change), more = Number(s.rows ?? SHOWN);
	const functions = (diff.functions as any[]).slice().sort(by), insts = (diff.instructions as any[]).slice().sort(by);
	out.push(table("Functions, by change", changeColumns(all, "function", false), functions.slice(0, more), "", null),
		table("Instructions, by change", changeColumns(all, "where", true), insts.slice(0, more), "", null));
	if (functions.length > more || insts.length > more)
		out.push(button("show more", () => go({ rows: String(more * 4) })));
	out.push(el("p", { class: "keys" }, "The other pages show one run at a time; the switch at the top chooses it."));
	return out;
}

export const changes: Page = { id: "changes", title: "Changes", when: (all) => all.runs.length > 1 && all.diff !== null, draw };

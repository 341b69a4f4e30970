// SPDX-License-Identifier: MIT
// Page Overview: findings first, each with what leads on from it; then the largest of everything.
import { All, Data, Finding, baseName, functionAt, instAt, runOf, saving } from "./data";
import { command, count, el, percent, stackBar, table } from "./dom";
import { findingsTitle, inOrder, words } from "./early";
import { phaseName } from "./phases";
import { longest } from "./pipeline";
import { Rows, rowsBy, savesColumn, shareColumns, whyColumn } from "./rows";
import { Go, Page, State, link } from "./state";

/** What `--what-if` calls the cost of an instruction. */
const whatIf: { [event: string]: string } = { miss: "dmiss", mispredict: "bmisp", imiss: "imiss" };

/** Which event of an instruction can be asked about: the name of a latency depends on the operation. */
function eventOf(d: Data, pc: string): string {
	const s = saving(d, pc), k = instAt(d, pc);
	const cls = k >= 0 ? String(d.texts[d.insts.class[k]]) : "";
	if (s.event !== "latency")
		return whatIf[s.event] ?? "";
	return cls === "load" || cls === "amo" ? "dl1" : cls === "mul" || cls === "div" || cls.startsWith("f") ? "lgalu" :
		cls === "store" ? "" : "shalu";
}

/** The window about an instruction; else one that has it. -1: none has. */
function windowOf(all: All, run: number, pc: string): number {
	const about = all.windows.findIndex((w) => w.run === run && w.insts[w.at]?.[1] === pc);
	return about >= 0 ? about : all.windows.findIndex((w) => w.run === run && longest(w, pc) >= 0);
}

/** What the event of an instruction interacts with most, where that is at least 0.1% of the run. */
function partner(d: Data, pc: string, event: string): Node[] | null {
	const inst = (d.icost?.instructions as any[] | undefined)?.find((i) => i.pc === pc), cycles = d.icost?.graph_cycles;
	const pairs = ((inst?.pairs ?? []) as any[]).filter((p) => p.event === event && p.with !== pc).sort((a, b) => Math.abs(b.icost) - Math.abs(a.icost));
	const p = pairs[0], other = p ? functionAt(d, p.with) : undefined, i = p ? instAt(d, p.with) : -1;
	if (!p || !other || i < 0 || Math.abs(p.icost) < 0.001 * cycles)
		return null;
	return [document.createTextNode("interacts with the " + p.with_event + " of "),
		link(`${other.text(i).split(" ")[0]} at ${p.with}`, { page: "code", fn: String(other.id), pc: p.with }),
		document.createTextNode(p.icost < 0 ? `: ${percent(-p.icost / cycles)} less together than one by one` : `: ${percent(p.icost / cycles)} more together than one by one`)];
}

/** The category of costs that has all instances of an event. */
const category: { [event: string]: string } = { "FL-MB": "bmisp", "ST-L1": "dmiss", "ST-LLC": "dmiss", "ST-TLB": "dmiss", "DR-L1": "imiss", "DR-TLB": "imiss" };

/** What a run without such events saves, where the graph knows. */
function together(d: Data, event: string): Node[] {
	const code = category[event] ?? "", cost = d.icost?.costs?.[code] as number | undefined;
	if (cost === undefined)
		return [];
	return [document.createTextNode(` · without all ${d.categories[code] ?? code} `),
		link(`the run saves ${percent(cost / d.icost!.graph_cycles)}`, { page: "buy", set: code })];
}

/** What the class of a run means. */
const classes: { [name: string]: string } = {
	"compute-intensive": "instructions commit in more than half of all cycles",
	"flush-intensive": "the pipeline refills after flushes in more than 3% of all cycles",
	"store-intensive": "stores hold commit in more than a quarter of all cycles",
	"kernel-intensive": "the kernel has more than a quarter of all cycles",
	"stall-intensive": "instructions that are late hold commit in most cycles",
};

/** The top-down split, where the run has CPI stacks. */
function topDown(d: Data): HTMLElement | null {
	const m = d.stack?.methods.find((x: any) => x.name === "topdown"), cpi = d.stack?.cpi;
	if (!m)
		return null;
	const rows = (Object.entries(m.components) as [string, number][]).sort((a, b) => b[1] - a[1]);
	return table("Top-down: what became of issue slots", [
		{ name: "slots", value: (r: [string, number]) => r[0] },
		{ name: "share", value: (r) => r[1] / cpi, show: (r) => percent(r[1] / cpi) },
		{ name: "bar", value: (r) => r[1], show: (r) => stackBar([r], cpi, r[1] / cpi) },
	], rows, "", null);
}

function finding(d: Data, f: Finding, all: All): HTMLElement {
	const item = el("li", {}, el("strong", { class: "big" }, percent(f.share)), el("p", {}, ...words(f.text)));
	if (f.library)
		item.append(el("p", { class: "next" }, link("its functions", { page: "time", by: "function", filter: `lib:${f.library}` })));
	if (f.event)
		item.append(el("p", { class: "next" }, link("the lines that suffer it", { page: "time", by: "line", filter: `ev:${f.event}` }), " · ",
			link("show the code that has most", { page: "code", fn: String(f.function), pc: f.pc! }), ...together(d, f.event)));
	if (!f.pc || f.event)
		return item;
	const s = saving(d, f.pc), event = eventOf(d, f.pc), next = el("p", { class: "next" },
		link("show the code", { page: "code", fn: String(f.function), pc: f.pc }));
	const window = windowOf(all, runOf(all, d), f.pc);
	if (window >= 0)
		next.append(" · ", link("show one in the pipeline", { page: "pipeline", window: String(window), pc: f.pc! }));
	if (event && s.most > 0.0005 * d.run.cycles)
		next.append(` · fixing it alone saves ${percent(s.most / d.run.cycles)} (${count(s.most)} cycles)`);
	const with_ = partner(d, f.pc, s.event);
	if (with_)
		next.append(" · ", ...with_);
	item.append(next);
	if (event && d.icost)
		item.append(el("p", { class: "next" }, "proof: ", command(`culprit icost ${d.file} --what-if ${event}@${f.pc} --verify`)));
	return item;
}

function committing(d: Data): HTMLElement {
	const total = d.run.cycles;
	return table("Where the time went", [
		{ name: "commit", value: (r: [string, number]) => r[0] },
		{ name: "cycles", value: (r) => r[1], show: (r) => count(r[1]) },
		{ name: "share", value: (r) => r[1] / total, show: (r) => percent(r[1] / total) },
		{ name: "bar", value: (r) => r[1], show: (r) => stackBar([r], total, r[1] / total) },
	], d.cycle_stack, "", null);
}

function draw(d: Data, s: State, go: Go, all: All): Node[] {
	const functions = rowsBy(d, "function"), lines = rowsBy(d, "line"), libraries = rowsBy(d, "library");
	const columns = (rows: Rows) => [{ name: rows.by, value: (r: number) => rows.name(r), show: (r: number) => rows.where(r) },
		...shareColumns(rows, rows.cycles[0] || 1), ...(d.icost ? [savesColumn(rows)] : []), whyColumn(rows)];
	const top = (rows: Rows, n: number): number[] => Array.from(rows.all.subarray(0, n));
	if (d.part)
		return [el("p", { class: "keys" }, `Of ${phaseName(d.part)}. Findings, lines and instructions are of the whole run.`),
			el("div", { class: "many" }, committing(d),
				libraries.all.length > 1 ? table("Libraries", columns(libraries).slice(0, 4), top(libraries, 8), "", null) : null),
			table("Ten functions", columns(functions).filter((c) => c.name !== "saves"), top(functions, 10), "", null),
			el("p", { class: "next" }, link(`all ${count(functions.all.length)} functions`, { page: "time", by: "function" }))];
	const findings = inOrder(d, d.icost !== null);
	return [
		el("h2", {}, findingsTitle(d, d.icost !== null)),
		findings.length ? el("ol", { id: "findings" }, ...findings.map((f) => finding(d, f, all)))
			: el("p", {}, "No single instruction stands out."),
		el("p", { class: "keys" }, `${d.run.class}: ${classes[d.run.class] ?? ""}.`),
		el("div", { class: "many" },
			committing(d),
			libraries.all.length > 1 ? table("Libraries", columns(libraries).slice(0, 4), top(libraries, 8), "", null) : null, topDown(d)),
		table("Ten functions", columns(functions), top(functions, 10), "", null),
		el("p", { class: "next" }, link(`all ${count(functions.all.length)} functions`, { page: "time", by: "function" })),
		...(Object.keys(d.sources).length || d.insts.line.some((n) => n > 0) ? [
			table("Ten lines", columns(lines), top(lines, 10), "", null),
			el("p", { class: "next" }, link(`all ${count(lines.all.length)} lines`, { page: "time", by: "line" }))] : []),
		el("p", { class: "keys print" }, `Made from ${baseName(d.file)}.`)];
}

export const overview: Page = { id: "overview", title: "Overview", stretch: true, draw };

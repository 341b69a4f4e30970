// SPDX-License-Identifier: MIT
// The pages: each says which document it needs and draws itself from data and state.
import { Data, Func, Inst, Stack, baseName } from "./data";
import { Column, bar, count, el, percent, table } from "./dom";

export interface State { page: string; [key: string]: string }
export type Go = (change: { [key: string]: string }) => void;
export interface Page {
	id: string; title: string;
	needs?: "stack" | "icost" | "accuracy";
	draw: (d: Data, s: State, go: Go) => Node[];
}

export function link(text: string, change: { [key: string]: string }): HTMLElement {
	return el("a", { href: "#" + new URLSearchParams(change).toString() }, text);
}

function why(d: Data, stack: Stack, cycles: number): HTMLElement {
	const words = stack.filter((p, k) => k < 3 && p[1] > 0.02 * cycles)
		.map((p) => `${p[0]} ${Math.round(100 * p[1] / cycles)}%`);
	const meaning = stack.slice(0, 3).map((p) => p[0].split("+").map((n) => {
		const e = d.events.find((x) => x[0] === n);
		return `${n}: ${e ? e[1] : "no event"}`;
	}).join("; ")).join("\n");
	return el("span", { title: meaning }, words.join(", "));
}

interface Row { name: string; where: HTMLElement | string; cycles: number; executions: number; stack: Stack }

function shareColumns(total: number): Column<Row>[] {
	return [
		{ name: "cycles", value: (r) => r.cycles, show: (r) => count(r.cycles) },
		{ name: "share", value: (r) => r.cycles / total, show: (r) => percent(r.cycles / total) },
		{ name: "bar", value: (r) => r.cycles, show: (r) => bar(r.cycles / total) },
	];
}

function addStack(to: Map<string, number>, stack: Stack): void {
	for (const [name, cycles] of stack)
		to.set(name, (to.get(name) ?? 0) + cycles);
}

function lineRows(d: Data): Row[] {
	const lines = new Map<string, Row & { sum: Map<string, number> }>();
	for (const f of d.functions)
		for (const i of f.insts) {
			if (!i[4])
				continue;
			const name = i[2] && i[3] ? `${baseName(i[2])}:${i[3]}` : `${f.name} (no line)`;
			const key = i[2] && i[3] ? `${i[2]}:${i[3]}` : `${f.id}`;
			let row = lines.get(key);
			if (!row) {
				row = { name, where: link(name, { page: "code", fn: String(f.id), pc: i[0] }), cycles: 0,
					executions: 0, stack: [], sum: new Map() };
				lines.set(key, row);
			}
			row.cycles += i[4];
			row.executions += i[5];
			addStack(row.sum, i[6]);
		}
	const rows = [...lines.values()].sort((a, b) => b.cycles - a.cycles);
	for (const r of rows)
		r.stack = [...r.sum].sort((a, b) => b[1] - a[1]);
	return rows;
}

function functionRows(d: Data): Row[] {
	return d.functions.map((f) => {
		const sum = new Map<string, number>();
		for (const i of f.insts)
			addStack(sum, i[6]);
		return { name: f.name, where: link(f.name, { page: "code", fn: String(f.id) }), cycles: f.cycles,
			executions: 0, stack: [...sum].sort((a, b) => b[1] - a[1]) };
	});
}

function instRows(d: Data): Row[] {
	const rows: Row[] = [];
	for (const f of d.functions)
		for (const i of f.insts)
			if (i[4])
				rows.push({ name: `${i[0]} ${i[1]} ${f.name}`, cycles: i[4], executions: i[5], stack: i[6],
					where: link(`${i[0]} ${i[1]}  ${f.name}`, { page: "code", fn: String(f.id), pc: i[0] }) });
	return rows;
}

function overview(d: Data): Node[] {
	const total = d.run.cycles, out: Node[] = [];
	const list = el("ol", { id: "findings" });
	for (const f of d.findings)
		list.append(el("li", {}, f.text + " ",
			f.pc ? link("show the code", { page: "code", fn: String(f.function), pc: f.pc }) : null));
	out.push(el("h2", {}, "Findings"), d.findings.length ? list : el("p", {}, "No single instruction stands out."));
	out.push(table("Where the time went (" + d.run.class + ")", [
		{ name: "commit", value: (r: [string, number]) => r[0] },
		{ name: "cycles", value: (r) => r[1], show: (r) => count(r[1]) },
		{ name: "share", value: (r) => r[1] / total, show: (r) => percent(r[1] / total) },
		{ name: "bar", value: (r) => r[1], show: (r) => bar(r[1] / total) },
	], d.cycle_stack, "", null));
	const columns = (what: string): Column<Row>[] => [
		{ name: what, value: (r) => r.name, show: (r) => r.where }, ...shareColumns(total),
		{ name: "why", value: (r) => r.stack.length ? r.stack[0][0] : "", show: (r) => why(d, r.stack, r.cycles) },
	];
	out.push(table("Ten functions", columns("function"), functionRows(d).slice(0, 10), "", null));
	out.push(table("Ten lines", columns("line"), lineRows(d).slice(0, 10), "", null));
	return out;
}

const SHOWN = 500;

function time(d: Data, s: State, go: Go): Node[] {
	const by = s.by ?? "function", total = d.run.cycles, filter = (s.filter ?? "").toLowerCase();
	let rows = by === "line" ? lineRows(d) : by === "instruction" ? instRows(d) : functionRows(d);
	rows = rows.filter((r) => r.name.toLowerCase().includes(filter) ||
		r.stack.some((p) => p[0].toLowerCase().includes(filter)));
	const sum = rows.reduce((a, r) => a + r.cycles, 0);
	const pick = el("p", {}, "By ");
	for (const b of ["function", "line", "instruction"]) {
		const button = el("button", { type: "button", "aria-pressed": String(b === by) }, b);
		button.addEventListener("click", () => go({ by: b }));
		pick.append(button, " ");
	}
	const box = el("input", { type: "search", "aria-label": "filter by name or event", id: "filter" }) as HTMLInputElement;
	box.value = s.filter ?? "";
	box.addEventListener("change", () => go({ filter: box.value }));
	pick.append(" filter (name or event): ", box);
	const sort = s.sort ?? "-cycles";
	const columns: Column<Row>[] = [
		{ name: by, value: (r) => r.name, show: (r) => r.where }, ...shareColumns(total),
		{ name: "why", value: (r) => r.stack.length ? r.stack[0][0] : "", show: (r) => why(d, r.stack, r.cycles) },
	];
	if (by === "instruction")
		columns.push({ name: "executions", value: (r) => r.executions, show: (r) => count(r.executions) },
			{ name: "cycles each", value: (r) => r.executions ? r.cycles / r.executions : 0,
				show: (r) => r.executions ? (r.cycles / r.executions).toFixed(2) : "" });
	const key = columns.find((c) => c.name === sort.replace(/^-/, "")) ?? columns[1];
	const sign = sort.startsWith("-") ? -1 : 1;
	rows.sort((a, b) => sign * (key.value(a) < key.value(b) ? -1 : key.value(a) > key.value(b) ? 1 : 0));
	return [pick,
		el("p", { id: "sum", "data-value": String(sum) }, `${count(rows.length)} rows, ${count(sum)} cycles, `
			+ percent(sum / total) + (rows.length > SHOWN ? `; the first ${SHOWN} are shown, filter for others` : "")),
		table("Time by " + by, columns, rows.slice(0, SHOWN), sort, (to) => go({ sort: to }))];
}

function code(d: Data, s: State, go: Go): Node[] {
	const f: Func | undefined = d.functions.find((x) => String(x.id) === s.fn) ?? d.functions[0];
	if (!f)
		return [el("p", {}, "No function has any time.")];
	const total = d.run.cycles;
	const picker = el("select", { "aria-label": "function", id: "function" }) as HTMLSelectElement;
	for (const x of d.functions)
		picker.append(el("option", { value: String(x.id) }, `${x.name}  ${percent(x.cycles / total)}`));
	picker.value = String(f.id);
	picker.addEventListener("change", () => go({ fn: picker.value, pc: "" }));
	const at = f.insts.find((i) => i[0] === s.pc), line = at ? `${at[2]}:${at[3]}` : s.line ?? "";
	const mark = (tr: HTMLElement, on: boolean): void => { if (on) tr.className = "at"; };
	const lines = new Map<string, { inst: Inst; cycles: number }>();
	for (const i of f.insts)
		if (i[2] && i[3]) {
			const k = `${i[2]}:${i[3]}`, l = lines.get(k);
			if (l)
				l.cycles += i[4];
			else
				lines.set(k, { inst: i, cycles: i[4] });
		}
	const source = el("tbody"), listing = el("tbody");
	for (const [k, l] of [...lines].sort((a, b) => a[1].inst[2]! < b[1].inst[2]! ? -1
		: a[1].inst[2]! > b[1].inst[2]! ? 1 : a[1].inst[3] - b[1].inst[3])) {
		const tr = el("tr", {}, el("td", { class: "number", "data-value": String(l.cycles) }, percent(l.cycles / total)),
			el("td", {}, link(`${baseName(l.inst[2]!)}:${l.inst[3]}`, { page: "code", fn: String(f.id), pc: "", line: k })),
			el("td", { class: "code" }, l.inst[7] ?? ""));
		mark(tr, k === line);
		source.append(tr);
	}
	for (const i of f.insts) {
		const tr = el("tr", {}, el("td", { class: "number", "data-value": String(i[4]) }, i[4] ? percent(i[4] / total) : ""),
			el("td", { class: "number" }, i[5] ? count(i[5]) : ""),
			el("td", {}, link(i[0], { page: "code", fn: String(f.id), pc: i[0] })),
			el("td", { class: "code" }, i[1].replace("\t", " ")), el("td", {}, i[4] ? why(d, i[6], i[4]) : ""));
		mark(tr, i[0] === s.pc || (!at && `${i[2]}:${i[3]}` === line));
		listing.append(tr);
	}
	const heads = (...names: string[]): HTMLElement =>
		el("thead", {}, el("tr", {}, ...names.map((n) => el("th", { scope: "col" }, n))));
	return [el("p", {}, "Function ", picker, ` ${percent(f.cycles / total)} of all cycles`),
		el("div", { class: "sides" },
			el("div", { class: "side", tabindex: "0", role: "region", "aria-label": "source" }, el("table", {},
				el("caption", {}, "Source lines that have code in this function"), heads("share", "line", "source"), source)),
			el("div", { class: "side", tabindex: "0", role: "region", "aria-label": "disassembly" }, el("table", {},
				el("caption", {}, "Disassembly"), heads("share", "executions", "address", "instruction", "why"), listing)))];
}

/** Any document as tables: arrays of objects and objects of numbers become one table each. */
function tablesOf(name: string, v: any, max: number): Node[] {
	if (Array.isArray(v)) {
		if (!v.length || typeof v[0] !== "object")
			return [];
		const keys = Object.keys(v[0]).filter((k) => v[0][k] === null || typeof v[0][k] !== "object");
		return [table(name.replace(/_/g, " "), keys.map((k) => ({ name: k.replace(/_/g, " "),
			value: (r: any) => r[k] ?? "", show: (r: any) => typeof r[k] === "number" ? short(r[k]) : String(r[k] ?? "") })),
		v.slice(0, max), "", null)];
	}
	const flat = Object.entries(v).filter((e) => typeof e[1] === "number") as [string, number][];
	return flat.length ? [table(name.replace(/_/g, " "), [
		{ name: "", value: (r: [string, number]) => r[0] },
		{ name: "value", value: (r) => r[1], show: (r) => short(r[1]) },
	], flat.slice(0, max), "", null)] : [];
}

function short(n: number): string {
	return Number.isInteger(n) || Math.abs(n) >= 1000 ? count(n) : String(Number(n.toPrecision(4)));
}

/** One small table per method: components with CPI, share of CPI and a bar; its error where simulations are known. */
function stacks(d: Data): Node[] {
	const doc = d.stack!, cpi = doc.cpi as number, out: Node[] = [];
	for (const m of doc.methods) {
		const rows = Object.entries(m.components) as [string, number][];
		const error = m.max_error === null || m.max_error === undefined ? ""
			: `; largest error ${m.max_error.toFixed(2)}% of CPI, in ${m.max_error_component}`;
		out.push(el("section", { class: "method", "data-method": m.name },
			table(m.name + (m.reference ? " (simulated: the reference)" : ""), [
				{ name: "component", value: (r: [string, number]) => r[0] },
				{ name: "CPI", value: (r) => r[1], show: (r) => r[1].toFixed(4) },
				{ name: "share", value: (r) => r[1] / cpi, show: (r) => percent(r[1] / cpi) },
				{ name: "bar", value: (r) => r[1], show: (r) => bar(r[1] / cpi, r[1] < 0) },
			], rows, "", null), el("p", { class: "keys" }, (m.summary ?? "") + error)));
	}
	return [el("p", {}, `CPI ${cpi.toFixed(4)}. Every method splits the same cycles by another rule.`),
		el("div", { class: "many" }, ...out)];
}

const CATEGORIES = ["dl1", "bw", "bmisp", "dmiss", "shalu", "lgalu", "imiss", "win"];

/** The sign of a share that percent() prints; none where that is zero. */
function sign(share: number): string {
	return Math.abs(share) < 0.00005 ? "" : share < 0 ? "−" : "+";
}

function buy(d: Data, s: State, go: Go): Node[] {
	const doc = d.icost!, cycles = doc.graph_cycles, costs = doc.costs, icosts = doc.icosts;
	const ticked = (s.set ?? "").split("+").filter((c) => CATEGORIES.includes(c));
	const choose = el("fieldset", {}, el("legend", {}, "Idealise these together; the graph's answer:"));
	for (const c of CATEGORIES) {
		const box = el("input", { type: "checkbox", id: "cat-" + c }) as HTMLInputElement;
		box.checked = ticked.includes(c);
		box.addEventListener("change", () => go({ set: CATEGORIES.filter((x) =>
			x === c ? box.checked : ticked.includes(x)).join("+") }));
		choose.append(el("label", { title: d.categories[c] ?? "" }, box, ` ${d.categories[c] ?? c} (${c})`), " ");
	}
	const cost = ticked.length ? costs[ticked.join("+")] : 0;
	choose.append(el("p", { id: "answer", "data-value": String(cost) }, ticked.length && cost !== undefined
		? `${ticked.join("+")}: saves ${count(cost)} cycles, ${percent(cost / cycles)}` : "Tick at least one."));
	const head = el("tr", {}, el("th", {}), ...CATEGORIES.map((c) => el("th", { scope: "col", title: d.categories[c] ?? "" }, c))), body = el("tbody");
	for (const a of CATEGORIES) {
		const tr = el("tr", {}, el("th", { scope: "row" }, a));
		for (const b of CATEGORIES) {
			const key = CATEGORIES.filter((c) => c === a || c === b).join("+"), v = icosts[key];
			tr.append(el("td", { class: "number " + (sign(v / cycles) === "−" ? "minus" : "plus"), "data-set": key, "data-value": String(v),
				title: a === b ? `cost of ${a}` : v < 0 ? "negative: each hides a part of the other" : "positive: gained only together" },
			v === undefined ? "" : sign(v / cycles) + percent(Math.abs(v) / cycles)));
		}
		body.append(tr);
	}
	return [choose, el("table", {}, el("caption", {}, "Costs (diagonal) and interaction costs, of all cycles"),
		el("thead", {}, head), body)];
}

function accuracy(d: Data): Node[] {
	return [el("p", {}, "Errors against the golden reference, in %."), ...tablesOf("profilers", d.accuracy!.profilers, 100)];
}

/** A word as a shell reads it. */
function quoted(word: string): string {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
}

function run(d: Data): Node[] {
	const argv = d.facts.find((f) => f[0] === "argv");
	let again = "";
	try {
		again = argv ? "culprit sim --machine " + d.run.machine + " -- " + JSON.parse(argv[1]).map(quoted).join(" ") : "";
	} catch {
		again = "";
	}
	return [el("p", {}, "Program and arguments on this machine again (other options of the run are among the facts): ",
		el("code", {}, again)),
	table("Facts of the run", [{ name: "fact", value: (r: [string, string]) => r[0] },
		{ name: "value", value: (r) => r[1] ?? "" }], d.facts, "", null),
	table("Parameters of the machine", [{ name: "section", value: (r: [string, string, string]) => r[0] },
		{ name: "parameter", value: (r) => r[1] }, { name: "value", value: (r) => r[2] ?? "" }], d.parameters, "", null)];
}

export const pages: Page[] = [
	{ id: "overview", title: "Overview", draw: overview },
	{ id: "time", title: "Time", draw: time },
	{ id: "code", title: "Code", draw: code },
	{ id: "stacks", title: "Stacks", needs: "stack", draw: stacks },
	{ id: "buy", title: "What would it buy", needs: "icost", draw: buy },
	{ id: "accuracy", title: "Accuracy", needs: "accuracy", draw: accuracy },
	{ id: "run", title: "Run", draw: run },
];

// SPDX-License-Identifier: MIT
// Pages Accuracy and Run: how far profilers are from the truth, and what the run was made with.
import { All, Data, column, functionAt, runOf } from "./data";
import { Column, command, count, el, percent, table } from "./dom";
import { Go, Page, State, link } from "./state";

function short(n: number): string {
	return Number.isInteger(n) || Math.abs(n) >= 1000 ? count(n) : n.toFixed(2);
}

/** Whom a profiler blames most for what others took, and whom it blames least. */
function blame(d: Data): { name: string; says: { [pc: string]: number }; help: string; over: string; under: string; by: number; less: number }[] {
	const truth = d.insts.cycles, address = (k: number): string => k < 0 ? "" : d.functions[d.insts.fn[k]].address(k);
	return d.profilers.map(([name, help, says]) => {
		const sum = Object.values(says).reduce((a, b) => a + b, 0), scale = sum ? d.run.cycles / sum : 0;
		const said = column(d, says);
		let over = -1, under = -1, by = 0, less = 0;
		for (let k = 0; k < truth.length; k++) {
			const wrong = said[k] * scale - truth[k];
			if (wrong > by) {
				over = k;
				by = wrong;
			}
			if (wrong < less) {
				under = k;
				less = wrong;
			}
		}
		return { name, says, help, over: address(over), under: address(under), by, less };
	});
}

function drawAccuracy(d: Data): Node[] {
	const rows = d.accuracy!.profilers as any[];
	const keys = rows.length ? Object.keys(rows[0]).filter((k) => rows[0][k] === null || typeof rows[0][k] !== "object") : [];
	const help = new Map(d.profilers.map((p) => [p[0], p[1]]));
	const where = (pc: string): HTMLElement | string => {
		const f = functionAt(d, pc), k = f?.find(pc) ?? -1;
		return f && k >= 0 ? link(`${f.text(k).split(" ")[0]} at ${pc} in ${f.name}`, { page: "code", fn: String(f.id), pc, prof: "" }) : "";
	};
	type Blame = ReturnType<typeof blame>[0];
	const columns: Column<Blame>[] = [{ name: "profiler", value: (r) => r.name, show: (r) => el("span", { title: r.help }, `${r.name}: ${r.help}`) },
		{ name: "blames", value: (r) => r.over, show: (r) => where(r.over) },
		{ name: "too much", value: (r) => r.by, show: (r) => percent(r.by / d.run.cycles) },
		{ name: "instead of", value: (r) => r.under, show: (r) => where(r.under) },
		{ name: "too little", value: (r) => -r.less, show: (r) => percent(-r.less / d.run.cycles) }];
	const said = d.accuracy! as any, few = said.too_few_samples === true;
	return [el("p", {}, "Errors against the golden reference, in %: the share of time that lands on the wrong instruction, block or function."),
		el("p", few ? { class: "warn", id: "samples" } : { id: "samples" }, `${count(said.samples)} samples. By chance alone a profiler is off by ${short(said.chance_error)}% by function`
			+ (said.tip_chance_error > 0 ? `, and TIP by ${short(said.tip_chance_error)}% by instruction.` : ".")
			+ (few ? " That is too few samples: a shorter --period or a longer run helps." : "")),
		table("profilers", keys.flatMap((k) => [{ name: k.replace(/_/g, " "), value: (r: any) => r[k] ?? "",
			show: (r: any) => typeof r[k] === "number" ? short(r[k])
				: k === "name" ? el("span", { title: help.get(r[k]) ?? "" }, r[k]) : String(r[k] ?? "") },
		...(k === "instruction" ? [{ name: "published", help: "by instruction, the average over the programs of tip2021 or tea2023",
			value: (r: any) => d.published[r.name] ?? "", show: (r: any) => String(d.published[r.name] ?? "") }] : [])]), rows, "", null),
		...(d.profilers.length ? [table("Whom each blames most instead of whom", columns, blame(d), "", null)] : [])];
}

/** A word as a shell reads it. */
function quoted(word: string): string {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
}

/** windows: whether the profile has some */
function again(d: Data, windows: boolean): string {
	const list = (key: string): string[] => {
		try {
			return JSON.parse(d.facts.find((f) => f[0] === key)?.[1] ?? "[]");
		} catch {
			return [];
		}
	};
	const argv = list("argv"), one = (key: string): string => d.facts.find((f) => f[0] === key)?.[1] ?? "";
	if (!argv.length)
		return "";
	const words = ["culprit", "sim", "--machine", d.run.machine];
	for (const [key, option] of [["sets", "--set"], ["env", "--env"], ["start", "--start"], ["stop", "--stop"]])
		for (const v of list(key))
			words.push(option, v);
	if (one("sysroot"))
		words.push("--sysroot", one("sysroot"));
	if (Number(one("max_insts")) > 0)
		words.push("--max-insts", one("max_insts"));
	const analyses = ["profile", ...(d.stack ? ["cpistack"] : []), ...(d.icost ? ["icost"] : []), ...(d.calls.length ? ["calls"] : []), ...(windows ? ["windows"] : [])];
	return [...words, "--analyze", analyses.join(), "--", ...argv].map(quoted).join(" ");
}

type Parameter = Data["parameters"][0];

function parameterColumns(changed: boolean): Column<Parameter>[] {
	return [{ name: "parameter", value: (r) => `${r[0]}.${r[1]}` }, { name: "value", value: (r) => r[2] ?? "" },
		...(changed ? [{ name: "shipped", value: (r: Parameter) => r[3] ?? "" }] : []), { name: "what it is", value: (r) => r[4] ?? "" }];
}

function drawRun(d: Data, s: State, go: Go, all: All): Node[] {
	const windows = all.windows.some((w) => w.run === runOf(all, d));
	return [el("p", {}, "The run again (what else decided it is among the facts): "), el("p", {}, command(again(d, windows))),
		el("div", { class: "facts" }, table("Facts of the run", [{ name: "fact", value: (r: [string, string]) => r[0] },
			{ name: "value", value: (r) => r[1] ?? "" }], d.facts, "", null)),
		table(d.parameters.some((p) => p[3] !== null) ? "Parameters of the machine that are not the shipped ones" : "Parameters of the machine: all are those that culprit ships",
			parameterColumns(true), d.parameters.filter((p) => p[3] !== null), "", null),
		el("details", {}, el("summary", {}, `all ${count(d.parameters.length)} parameters of the machine`),
			table("Parameters of the machine", parameterColumns(false), d.parameters, "", null))];
}

export const accuracy: Page = { id: "accuracy", title: "Accuracy", needs: "accuracy", draw: drawAccuracy };
export const run: Page = { id: "run", title: "Run", draw: drawRun };

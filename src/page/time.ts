// SPDX-License-Identifier: MIT
// Page Time: one table, grouped, sorted and filtered; the sum above it is of all rows that pass the filter.
import { Data, Stack, column } from "./data";
import { Column, button, count, el, longTable, percent, sortedNumbers, stackBar, table } from "./dom";
import { Grouping, Rows, eventTime, groupings, inWords, rowsBy, savesColumn, shareColumns, why, whyColumn } from "./rows";
import { Go, Page, State, link } from "./state";

/** Which texts of the run have a word in them, by number. */
function having(texts: (string | null)[], word: string): Uint8Array {
	return Uint8Array.from(texts, (t) => t !== null && t.toLowerCase().includes(word) ? 1 : 0);
}

type Test = (r: number) => boolean;

/** Whether a row has a word of the filter in its name. */
function inName(d: Data, rows: Rows, word: string): Test {
	if (rows.by !== "instruction")
		return (r) => rows.name(r).toLowerCase().includes(word);
	const c = d.insts, text = having(d.texts, word), fn = having(d.functions.map((f) => f.name), word);
	const digits = /^(0?x)?[0-9a-f]*$/.test(word);
	return (r) => {
		const k = rows.member[r], f = d.functions[c.fn[k]];
		if (f.isFolded(k))
			return f.text(k).includes(word) || fn[c.fn[k]] === 1;
		return text[c.text[k]] === 1 || fn[c.fn[k]] === 1 || (digits && f.address(k).includes(word));
	};
}

/** Whether a row suffered an event. */
function suffered(d: Data, rows: Rows, word: string): Test {
	const c = d.insts, has = having(d.texts, word);
	return (r) => {
		for (let m = rows.start[r]; m < rows.start[r + 1]; m++)
			for (let i = c.start[rows.member[m]]; i < c.start[rows.member[m] + 1]; i++)
				if (has[c.set[i]] && rows.counts(c.set[i]))
					return true;
		return false;
	};
}

/** Words of the filter; a word must be found in the name or in an event, "lib:", "fn:", "file:", "op:" and "ev:" say
 * where, ">1%" is a least share. */
function test(d: Data, rows: Rows, word: string): Test {
	const c = d.insts, colon = word.indexOf(":"), text = word.slice(colon + 1), least = /^>([0-9.]+)%$/.exec(word);
	const first = (r: number): number => rows.member[rows.start[r]];
	const byFunction = (names: string[]): Test => {
		const has = having(names, text);
		return (r) => has[c.fn[first(r)]] === 1;
	};
	if (least)
		return (r) => rows.cycles[r] >= Number(least[1]) / 100 * d.run.cycles;
	switch (word.slice(0, Math.max(0, colon))) {
	case "lib": return byFunction(d.functions.map((f) => f.image ?? ""));
	case "fn": return byFunction(d.functions.map((f) => f.name));
	case "file": {
		const has = having(d.texts, text);
		return (r) => has[c.file[first(r)]] === 1;
	}
	case "op": {
		const has = having(d.texts, text);
		return (r) => has[c.class[first(r)]] === 1 || has[c.text[first(r)]] === 1;
	}
	case "ev": return suffered(d, rows, text);
	default: {
		const name = inName(d, rows, word), event = suffered(d, rows, word);
		return (r) => name(r) || event(r);
	}
	}
}

function columnsOf(d: Data, rows: Rows, s: State): Column<number>[] {
	const total = d.run.cycles, c = d.insts, profiler = d.profilers.find((p) => p[0] === s.prof);
	const most = rows.cycles[0] || 1;
	const columns: Column<number>[] = [{ name: rows.by, value: (r) => rows.name(r), show: (r) => rows.where(r) }, ...shareColumns(rows, most)];
	if (profiler) {
		const cycles = column(d, profiler[2]), says = (r: number): number => rows.sum(r, cycles) / total;
		columns.splice(3, 0, { name: profiler[0], value: says, show: (r) => percent(says(r)), help: profiler[1] });
	}
	if (rows.by === "instruction") {
		const each = (r: number): number => rows.executions[r] ? rows.cycles[r] / rows.executions[r] : 0;
		columns.push({ name: "executions", value: (r) => rows.executions[r], show: (r) => count(rows.executions[r]) },
			{ name: "cycles each", value: each, show: (r) => rows.executions[r] ? each(r).toFixed(2) : "" });
		const slack = (r: number): number | undefined => d.savings[d.functions[c.fn[rows.member[r]]].address(rows.member[r])]?.[4];
		if (d.icost)
			columns.push({ name: "slack", value: (r) => slack(r) ?? 0, show: (r) => slack(r)?.toFixed(1) ?? "",
				help: "cycles by which it may be later without making the run longer" });
	}
	if (d.icost)
		columns.push(savesColumn(rows));
	columns.push(whyColumn(rows));
	return columns;
}

function sum(rows: number, cycles: number, total: number): HTMLElement {
	return el("p", { id: "sum", "data-value": String(cycles) }, `${count(rows)} rows, ${count(cycles)} cycles, ${percent(cycles / total)}`);
}

function byEvent(d: Data, words: string[], sort: string, go: Go): Node[] {
	const total = d.run.cycles, least = (w: string): RegExpExecArray | null => /^>([0-9.]+)%$/.exec(w);
	const rows: Stack = eventTime(d).filter((p) => words.every((w) => least(w) ? p[1] >= Number(least(w)![1]) / 100 * total
		: p[0].toLowerCase().includes(w.replace(/^ev:/, ""))));
	const most = rows.length ? rows[0][1] : 1;
	const columns: Column<Stack[0]>[] = [
		{ name: "event", value: (r) => r[0], show: (r) => link(inWords(r[0]), { page: "time", by: "line", filter: `ev:${r[0]}` }) },
		{ name: "cycles", value: (r) => r[1], show: (r) => count(r[1]) },
		{ name: "share", value: (r) => r[1] / total, show: (r) => percent(r[1] / total), help: "of all cycles of the run" },
		{ name: "bar", value: (r) => r[1], show: (r) => stackBar([r], total, r[1] / most), help: "coloured by event" },
		{ name: "why", value: (r) => r[0], show: (r) => why(d, [r], r[1]), help: "events that instructions suffered, by their cycles" }];
	return [sum(rows.length, rows.reduce((a, r) => a + r[1], 0), total), table("Time by event", columns, rows, sort, (to) => go({ sort: to }))];
}

function draw(d: Data, s: State, go: Go): Node[] {
	const by: Grouping = groupings.find((g) => g === s.by) ?? "function";
	const words = (s.filter ?? "").toLowerCase().split(/\s+/).filter((w) => w !== ""), sort = s.sort ?? "-cycles";
	const pick = el("p", { class: "tools" }, "By ");
	for (const b of groupings)
		pick.append(button(b, () => go({ by: b }), { "aria-pressed": String(b === by) }), " ");
	const box = el("input", { type: "search", "aria-label": "filter", id: "filter", placeholder: "name  fn:  file:  lib:  op:  ev:  >1%" }) as HTMLInputElement;
	box.value = s.filter ?? "";
	box.addEventListener("change", () => go({ filter: box.value }));
	pick.append(" filter ", box);
	if (by === "event")
		return [pick, ...byEvent(d, words, sort, go)];
	const beside = el("select", { "aria-label": "a profiler beside the truth", id: "prof" }) as HTMLSelectElement;
	beside.append(el("option", { value: "" }, "no other profiler"), ...d.profilers.map((p) => el("option", { value: p[0] }, `${p[0]}: ${p[1]}`)));
	beside.value = d.profilers.some((p) => p[0] === s.prof) ? s.prof : "";
	beside.addEventListener("change", () => go({ prof: beside.value }));
	if (d.profilers.length)
		pick.append(" beside ", beside);
	const rows = rowsBy(d, by, words.find((w) => w.startsWith("ev:"))?.slice(3) ?? ""), tests = words.map((w) => test(d, rows, w));
	const passed = tests.length ? rows.all.filter((r) => tests.every((t) => t(r))) : rows.all;
	const columns = columnsOf(d, rows, s), folded = d.functions.some((f) => f.folded > 0);
	return [pick, sum(passed.length, passed.reduce((a, r) => a + rows.cycles[r], 0), d.run.cycles),
		...(folded ? [el("p", { class: "keys" }, "Instructions with little time are one row of their function (--min-share); they have no line.")] : []),
		longTable("Time by " + by, columns, sort === "-cycles" ? passed : sortedNumbers(columns, passed, sort), sort, (to) => go({ sort: to }))];
}

export const time: Page = { id: "time", title: "Time", draw };

// SPDX-License-Identifier: MIT
// Page Time: one table, grouped, sorted and filtered; the sum above it is of all rows that pass the filter.
import { Data } from "./data";
import { Column, button, count, el, percent, sorted, table } from "./dom";
import { Grouping, Row, groupings, rowsBy, savesColumn, shareColumns, whyColumn } from "./rows";
import { Go, Page, State } from "./state";

const SHOWN = 300;

/** Words of the filter; a word must be found in the name or in an event, "lib:", "fn:", "file:", "op:" and "ev:" say
 * where, ">1%" is a least share. */
function passes(d: Data, words: string[]): (r: Row) => boolean {
	const parts = words.map((w) => {
		const colon = w.indexOf(":"), least = /^>([0-9.]+)%$/.exec(w);
		return { w, prefix: w.slice(0, colon), text: w.slice(colon + 1), least: least ? Number(least[1]) / 100 * d.run.cycles : -1 };
	});
	const suffered = (r: Row, text: string): boolean => r.stack.some((p) => p[0].toLowerCase().includes(text));
	return (r) => parts.every(({ w, prefix, text, least }) => {
		if (least >= 0)
			return r.cycles >= least;
		switch (prefix) {
		case "lib": return r.lib.toLowerCase().includes(text);
		case "fn": return r.fn.toLowerCase().includes(text);
		case "file": return r.file.toLowerCase().includes(text);
		case "op": return r.op.toLowerCase().includes(text);
		case "ev": return suffered(r, text);
		default: return r.name.toLowerCase().includes(w) || suffered(r, w);
		}
	});
}

function draw(d: Data, s: State, go: Go): Node[] {
	const by: Grouping = groupings.find((g) => g === s.by) ?? "function", total = d.run.cycles;
	const words = (s.filter ?? "").toLowerCase().split(/\s+/).filter((w) => w !== "");
	const event = words.find((w) => w.startsWith("ev:"))?.slice(3) ?? "";
	const rows = rowsBy(d, by, event).filter(passes(d, words));
	const sum = rows.reduce((a, r) => a + r.cycles, 0), most = rows.reduce((a, r) => Math.max(a, r.cycles), 0);
	const pick = el("p", { class: "tools" }, "By ");
	for (const b of groupings)
		pick.append(button(b, () => go({ by: b }), { "aria-pressed": String(b === by) }), " ");
	const box = el("input", { type: "search", "aria-label": "filter", id: "filter", placeholder: "name  fn:  file:  lib:  op:  ev:  >1%" }) as HTMLInputElement;
	box.value = s.filter ?? "";
	box.addEventListener("change", () => go({ filter: box.value }));
	pick.append(" filter ", box);
	const profiler = d.profilers.find((p) => p[0] === s.prof);
	const beside = el("select", { "aria-label": "a profiler beside the truth", id: "prof" }) as HTMLSelectElement;
	beside.append(el("option", { value: "" }, "no other profiler"), ...d.profilers.map((p) => el("option", { value: p[0] }, `${p[0]}: ${p[1]}`)));
	beside.value = profiler ? profiler[0] : "";
	beside.addEventListener("change", () => go({ prof: beside.value }));
	if (d.profilers.length)
		pick.append(" beside ", beside);
	const columns: Column<Row>[] = [{ name: by, value: (r) => r.name, show: (r) => r.where() }, ...shareColumns(d, most || 1)];
	if (profiler && by !== "event") {
		const says = (r: Row): number => r.pcs.reduce((a, pc) => a + (profiler[2][pc] ?? 0), 0) / total;
		columns.splice(3, 0, { name: profiler[0], value: says, show: (r) => percent(says(r)), help: profiler[1] });
	}
	if (by === "instruction")
		columns.push({ name: "executions", value: (r) => r.executions, show: (r) => count(r.executions) },
			{ name: "cycles each", value: (r) => r.executions ? r.cycles / r.executions : 0,
				show: (r) => r.executions ? (r.cycles / r.executions).toFixed(2) : "" });
	if (by === "instruction" && d.icost)
		columns.push({ name: "slack", value: (r) => d.savings[r.pcs[0]]?.[4] ?? 0,
			show: (r) => d.savings[r.pcs[0]] ? d.savings[r.pcs[0]][4].toFixed(1) : "",
			help: "cycles by which it may be later without making the run longer" });
	if (d.icost && by !== "event")
		columns.push(savesColumn(d));
	columns.push(whyColumn(d));
	const sort = s.sort ?? "-cycles", more = Number(s.rows ?? SHOWN);
	const out: Node[] = [pick, el("p", { id: "sum", "data-value": String(sum) },
		`${count(rows.length)} rows, ${count(sum)} cycles, ${percent(sum / total)}`
		+ (rows.length > more ? `; the first ${more} are shown` : "")),
	table("Time by " + by, columns, sorted(columns, rows, sort).slice(0, more), sort, (to) => go({ sort: to }))];
	if (rows.length > more)
		out.push(button("show more", () => go({ rows: String(more * 4) })));
	return out;
}

export const time: Page = { id: "time", title: "Time", draw };

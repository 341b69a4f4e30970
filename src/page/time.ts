// SPDX-License-Identifier: MIT
// Page Time: one tree table, grouped, sorted and filtered; the sum above it is of all rows that pass the filter.
import { Data } from "./data";
import { Column, button, count, el, longTable, percent } from "./dom";
import { phaseName } from "./phases";
import { Grouping, Rows, groupings, rowsBy } from "./rows";
import { Go, Page, State } from "./state";
import { Measure, Open, Shown, measures } from "./tree";

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
				if (has[c.set[i]] && rows.counts(r, c.set[i]))
					return true;
		return false;
	};
}

interface Filter {
	/** instructions that count; null: all */
	members: Uint32Array | null;
	/** sets of events that count; null: all */
	sets: Uint8Array | null;
	/** what a row must have besides */
	rows: string[];
}

/** Words of the filter: "lib:", "fn:", "file:", "op:" and "ev:" say which instructions and events count; of rows that are
 * left, a word must be in the name or in an event, and ">1%" is a least share. */
function filterOf(d: Data, words: string[]): Filter {
	const c = d.insts, keep: Test[] = [], out: Filter = { members: null, sets: null, rows: [] };
	for (const word of words) {
		const colon = word.indexOf(":"), text = word.slice(colon + 1);
		switch (word.slice(0, Math.max(0, colon))) {
		case "lib": case "fn": {
			const has = having(d.functions.map((f) => word.startsWith("fn") ? f.name : f.image ?? ""), text);
			keep.push((k) => has[c.fn[k]] === 1);
			break;
		}
		case "file": {
			const has = having(d.texts, text);
			keep.push((k) => has[c.file[k]] === 1);
			break;
		}
		case "op": {
			const has = having(d.texts, text);
			keep.push((k) => has[c.class[k]] === 1 || has[c.text[k]] === 1);
			break;
		}
		case "ev": {
			const has = having(d.texts, text), before = out.sets;
			out.sets = before ? has.map((x, k) => x & before[k]) : has;
			break;
		}
		default:
			out.rows.push(word);
		}
	}
	if (keep.length) {
		const kept: number[] = [];
		for (let k = 0; k < c.count; k++)
			if (keep.every((t) => t(k)))
				kept.push(k);
		out.members = Uint32Array.from(kept);
	}
	return out;
}

function rowTest(d: Data, rows: Rows, word: string): Test {
	const least = /^>([0-9.]+)%$/.exec(word);
	if (least)
		return (r) => rows.cycles[r] >= Number(least[1]) / 100 * d.run.cycles;
	if (rows.by === "event")
		return (r) => rows.value(r).toLowerCase().includes(word);
	const name = inName(d, rows, word), event = suffered(d, rows, word);
	return (r) => name(r) || event(r);
}

/** The first column: the name, indented, with what opens the row. */
function nameCell(shown: Shown, i: number, go: Go): HTMLElement {
	const { rows, r, path, depth } = shown.at(i), open = shown.open.has(path);
	const turn = rows.splits(r) ? button(open ? "▾" : "▸", () => go({ open: shown.open.turned(path) }),
		{ class: "turn", id: "row-" + path, "aria-label": (open ? "close " : "open ") + rows.name(r) }) : el("span", { class: "turn" });
	const cell = el("span", { class: "branch" }, turn, rows.where(r));
	cell.style.paddingLeft = 1.2 * depth + "rem";
	return cell;
}

function draw(whole: Data, s: State, go: Go): Node[] {
	const by: Grouping = groupings.find((g) => g === s.by) ?? "function", d = whole;
	const words = (s.filter ?? "").toLowerCase().split(/\s+/).filter((w) => w !== ""), sort = s.sort ?? (by === "phase" ? "phase" : "-cycles");
	const pick = el("p", { class: "tools" }, "By ");
	for (const b of groupings)
		if (b !== "phase" || d.phases)
			pick.append(button(b, () => go({ by: b, open: "", sort: "" }), { "aria-pressed": String(b === by) }), " ");
	const box = el("input", { type: "search", "aria-label": "filter", id: "filter", placeholder: "name  fn:  file:  lib:  op:  ev:  >1%" }) as HTMLInputElement;
	box.value = s.filter ?? "";
	box.addEventListener("change", () => go({ filter: box.value }));
	pick.append(" filter ", box);
	const beside = el("select", { "aria-label": "a profiler beside the truth", id: "prof" }) as HTMLSelectElement;
	beside.append(el("option", { value: "" }, "no other profiler"), ...d.profilers.map((p) => el("option", { value: p[0] }, `${p[0]}: ${p[1]}`)));
	beside.value = d.profilers.some((p) => p[0] === s.prof) ? s.prof : "";
	beside.addEventListener("change", () => go({ prof: beside.value }));
	if (d.profilers.length)
		pick.append(" beside ", beside);
	const filter = filterOf(d, words), rows = rowsBy(d, by, filter.members, filter.sets), tests = filter.rows.map((w) => rowTest(d, rows, w));
	const name: Measure = { name: by, value: (t, r) => t.value(r), show: (t, r) => t.name(r), rank: (t, r) => t.rank(r) };
	const list = [name, ...measures(d, rows.all.reduce((most, r) => Math.max(most, rows.cycles[r]), 0) || 1, s.prof ?? "")];
	const passes = tests.length ? (r: number): boolean => tests.every((t) => t(r)) : null;
	const shown = new Shown(rows, passes, new Open(s.open ?? ""), sort, list);
	const columns: Column<number>[] = list.map((m, k) => ({ name: m.name, help: m.help,
		value: (i) => { const { rows: t, r } = shown.at(i); return m.value(t, r); },
		show: (i) => { const { rows: t, r } = shown.at(i); return k ? m.show(t, r) : nameCell(shown, i, go); } }));
	let passed = 0, cycles = 0;
	for (const r of rows.all)
		if (!passes || passes(r)) {
			passed++;
			cycles += rows.cycles[r];
		}
	return [pick, el("p", { id: "sum", "data-value": String(cycles) }, `${count(passed)} ${passed === 1 ? "row" : "rows"}, ${count(cycles)} cycles, ${percent(cycles / d.run.cycles)}`
		+ (d.part ? ` of ${phaseName(d.part)}` : "")),
	...(d.part ? [el("p", { class: "keys" }, "Of a stretch the time is known by function and event; lines and instructions are known of the whole run.")]
		: d.functions.some((f) => f.folded > 0) ? [el("p", { class: "keys" }, "Instructions with little time are one row of their function (--min-share); they have no line.")] : []),
	longTable("Time by " + by, columns, shown.count, sort, (to) => go({ sort: to }), (tr, i) => {
		const { rows: t, r, path, depth } = shown.at(i);
		tr.setAttribute("aria-level", String(depth + 1));
		if (t.splits(r))
			tr.setAttribute("aria-expanded", String(shown.open.has(path)));
	}, "treegrid")];
}

export const time: Page = { id: "time", title: "Time", stretch: true, draw };

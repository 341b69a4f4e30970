// SPDX-License-Identifier: MIT
// Elements. All text goes into text nodes; positions are set through the DOM, as the policy wants.

type Child = Node | string | null;

export function el(tag: string, attributes: { [name: string]: string } = {}, ...children: Child[]): HTMLElement {
	const e = document.createElement(tag);
	for (const name in attributes)
		e.setAttribute(name, attributes[name]);
	for (const c of children)
		if (c !== null)
			e.append(c);
	return e;
}

export function svg(tag: string, attributes: { [name: string]: string | number } = {}, ...children: Child[]): SVGElement {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const name in attributes)
		e.setAttribute(name, String(attributes[name]));
	for (const c of children)
		if (c !== null)
			e.append(c);
	return e;
}

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
export const count = (n: number): string => grouped.format(Math.round(n));
export const percent = (share: number): string => (100 * share).toFixed(2) + "%";
/** With its sign, as changes are shown. */
export const signed = (n: number): string => (n < 0 ? "−" : "+") + count(Math.abs(n));

/** A bar that fills a share of its cell; the number stands beside it in the same row. */
export function bar(share: number, negative = false): HTMLElement {
	const e = el("span", { class: negative ? "bar minus" : "bar", "aria-hidden": "true" });
	e.style.width = Math.min(100, 100 * Math.abs(share)).toFixed(2) + "%";
	return el("span", { class: "track" }, e);
}

/** Names of colours by set of events or component; see page.css. */
export function colour(name: string): string {
	const first = name.split("+")[0];
	const known: { [name: string]: string } = {
		"base": "base", "ST-LLC": "memory", "L2 D-cache": "memory", "L3 D-cache": "memory", "ST-L1": "l1", "L1 D-cache": "l1",
		"ST-TLB": "tlb", "D-TLB": "tlb", "DR-L1": "front", "DR-TLB": "front", "L1 I-cache": "front", "L2 I-cache": "front",
		"I-TLB": "front", "front end": "front", "L3 I-cache": "front", "DR-SQ": "queue", "store queue": "queue",
		"FL-MB": "branch", "mispredict": "branch", "FL-EX": "trap", "FL-MO": "trap", "other flush": "trap", "misc. flush": "trap",
		"FL-CSR": "csr", "long latency": "latency", "ALU stall": "latency", "load stall": "memory", "store stall": "queue",
		"execution": "base", "retiring": "base", "bad speculation: mispredicts": "branch", "bad speculation: other flushes": "trap",
		"front-end bound: bandwidth": "front", "front-end bound: latency": "front", "back-end bound: memory": "memory",
		"back-end bound: core": "latency",
	};
	return "c-" + (known[first] ?? "other");
}

/** Parts beside each other; every part says on hover what it is. The same is in the text beside it. */
export function stackBar(parts: [string, number][], full: number, width: number): HTMLElement {
	const e = el("span", { class: "stack", "aria-hidden": "true" });
	e.style.width = (100 * Math.min(1, width)).toFixed(2) + "%";
	const sum = parts.reduce((a, p) => a + Math.max(0, p[1]), 0);
	for (const [name, value] of parts) {
		if (value <= 0)
			continue;
		const part = el("span", { class: colour(name), title: `${name}: ${percent(value / full)}` });
		part.style.width = (100 * value / sum).toFixed(2) + "%";
		e.append(part);
	}
	return el("span", { class: "track" }, e);
}

/** A button. */
export function button(text: string, act: () => void, attributes: { [name: string]: string } = {}): HTMLElement {
	const b = el("button", { type: "button", ...attributes }, text);
	b.addEventListener("click", act);
	return b;
}

/** A command that can be copied. */
export function command(text: string): HTMLElement {
	const code = el("code", {}, text);
	const copy = button("copy", () => {
		const range = document.createRange(), selection = getSelection()!;
		range.selectNodeContents(code);
		selection.removeAllRanges();
		selection.addRange(range);
		document.execCommand("copy");
		copy.textContent = "copied";
	}, { class: "copy", "aria-label": "copy the command" });
	return el("span", { class: "command" }, code, copy);
}

export interface Column<R> {
	name: string;
	/** What is sorted by and, where show is missing, shown; also attribute data-value of the cell. */
	value: (r: R) => string | number;
	show?: (r: R) => Node | string;
	/** what the column holds, on hover */
	help?: string;
}

function headings<R>(columns: Column<R>[], first: R | undefined, sort: string, onSort: ((sort: string) => void) | null): HTMLElement {
	const down = sort.startsWith("-"), key = columns.find((c) => c.name === (down ? sort.slice(1) : sort));
	const head = el("tr");
	for (const c of columns) {
		const on = key === c;
		const th = el("th", { scope: "col", "aria-sort": on ? (down ? "descending" : "ascending") : "none" });
		if (c.help)
			th.title = c.help;
		if (first !== undefined && typeof c.value(first) === "number" && c.name !== "bar")
			th.className = "number";
		if (onSort)
			th.append(button(c.name + (on ? (down ? " ▾" : " ▴") : ""), () => onSort(on && down ? c.name : "-" + c.name)));
		else
			th.append(c.name);
		head.append(th);
	}
	return el("thead", {}, head);
}

function line<R>(columns: Column<R>[], r: R): HTMLElement {
	const tr = document.createElement("tr");
	for (const c of columns) {
		const v = c.value(r);
		tr.append(el("td", { class: typeof v === "number" ? "number" : "", "data-value": String(v) }, c.show ? c.show(r) : String(v)));
	}
	return tr;
}

/** A table whose headings sort. `sort` is "NAME" or "-NAME" (largest first), or "" for the given order. */
export function table<R>(label: string, columns: Column<R>[], rows: R[], sort: string,
	onSort: ((sort: string) => void) | null): HTMLElement {
	const body = el("tbody");
	for (const r of sorted(columns, rows, sort))
		body.append(line(columns, r));
	return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
		el("table", {}, el("caption", {}, label), headings(columns, rows[0], sort, onSort), body));
}

const LONG_ROW = 22, // pixels; page.css has the same
	LONG = 60;   // rows at a time; a table of at most so many is drawn whole

/** A table of any length, of rows 0 to n - 1: only rows that are in sight are in the document, and the rest is room above
 * and below them. `mark` may add to a row. */
export function longTable(label: string, columns: Column<number>[], n: number, sort: string, onSort: (sort: string) => void,
	mark: ((tr: HTMLElement, r: number) => void) | null = null, role = "table"): HTMLElement {
	const body = el("tbody"), head = headings(columns, n ? 0 : undefined, sort, onSort), whole = n <= LONG;
	const all = el("table", { role, "aria-rowcount": String(n + 1) }, el("caption", {}, `${label}, ${count(n)} rows`), head, body);
	const room = el("div", {}, all);
	const box = el("div", { class: whole ? "scroll" : "scroll long", tabindex: "0", role: "region", "aria-label": label }, room);
	let first = -1;
	const draw = (): void => {
		const at = whole ? 0 : Math.min(n - LONG, Math.max(0, Math.floor(box.scrollTop / LONG_ROW) - 12) & ~3);
		if (at === first)
			return;
		first = at;
		body.replaceChildren(...Array.from({ length: Math.min(LONG, n - at) }, (_, k) => {
			const tr = line(columns, at + k);
			tr.setAttribute("aria-rowindex", String(at + k + 2));
			mark?.(tr, at + k);
			return tr;
		}));
		room.style.paddingTop = at * LONG_ROW + "px";
		room.style.paddingBottom = Math.max(0, n - at - LONG) * LONG_ROW + "px";
	};
	draw();
	box.addEventListener("scroll", () => requestAnimationFrame(draw));
	return box;
}

function keyOf<R>(columns: Column<R>[], sort: string): [Column<R> | undefined, number] {
	const down = sort.startsWith("-");
	return [columns.find((c) => c.name === (down ? sort.slice(1) : sort)), down ? -1 : 1];
}

/** Rows in the order that `sort` asks for. */
export function sorted<R>(columns: Column<R>[], rows: R[], sort: string): R[] {
	const [key, sign] = keyOf(columns, sort);
	if (!key)
		return rows;
	const keyed = rows.map((r) => ({ r, v: key.value(r) }));
	keyed.sort((a, b) => (a.v < b.v ? -1 : a.v > b.v ? 1 : 0) * sign);
	return keyed.map((k) => k.r);
}

/** Rows by rising keys, equal ones in their order: a radix sort of the keys' bits, 16 at a time. It takes 100,000 rows a
 * third of the time of a sort that compares. */
export function ranked(rows: Uint32Array, keys: Float64Array): Uint32Array {
	let order = new Uint32Array(rows.length), other = new Uint32Array(rows.length);
	for (let k = 0; k < order.length; k++) {
		order[k] = k;
		keys[k] += 0; // -0 + 0 is 0
	}
	if (rows.length < 2000)
		return order.sort((a, b) => keys[a] - keys[b] || a - b).map((k) => rows[k]);
	const bits = new Uint16Array(keys.buffer, keys.byteOffset, 4 * keys.length), first = new Uint32Array(65537);
	for (let k = 3; k < bits.length; k += 4)
		for (let i = k - 3, flip = bits[k] & 0x8000 ? 0xffff : 0; i <= k; i++)
			bits[i] ^= i === k ? flip | 0x8000 : flip;
	for (let digit = 0; digit < 4; digit++) {
		first.fill(0);
		for (let k = digit; k < bits.length; k += 4)
			first[bits[k] + 1]++;
		if (first[bits[digit] + 1] === rows.length) // all the same
			continue;
		for (let v = 0; v < 65536; v++)
			first[v + 1] += first[v];
		for (let i = 0; i < order.length; i++)
			other[first[bits[4 * order[i] + digit]]++] = order[i];
		[order, other] = [other, order];
	}
	for (let k = 0; k < order.length; k++)
		other[k] = rows[order[k]];
	return other;
}

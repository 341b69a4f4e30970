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

export const count = (n: number): string => Math.round(n).toLocaleString("en-US");
export const percent = (share: number): string => (100 * share).toFixed(2) + "%";

/** A bar that fills a share of its cell; the number stands beside it in the same row. */
export function bar(share: number, negative = false): HTMLElement {
	const e = el("span", { class: negative ? "bar minus" : "bar", "aria-hidden": "true" });
	e.style.width = Math.min(100, 100 * Math.abs(share)).toFixed(2) + "%";
	return el("span", { class: "track" }, e);
}

export interface Column<R> {
	name: string;
	/** What is sorted by and, where show is missing, shown; also attribute data-value of the cell. */
	value: (r: R) => string | number;
	show?: (r: R) => Node | string;
}

/** A table whose headings sort. `sort` is "NAME" or "-NAME" (largest first), or "" for the given order. */
export function table<R>(label: string, columns: Column<R>[], rows: R[], sort: string,
	onSort: ((sort: string) => void) | null): HTMLElement {
	const down = sort.startsWith("-"), key = columns.find((c) => c.name === (down ? sort.slice(1) : sort));
	if (key) {
		rows = rows.slice().sort((a, b) => {
			const x = key.value(a), y = key.value(b);
			return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
		});
	}
	const head = el("tr");
	for (const c of columns) {
		const on = key === c;
		const th = el("th", { scope: "col", "aria-sort": on ? (down ? "descending" : "ascending") : "none" });
		if (onSort) {
			const b = el("button", { type: "button" }, c.name + (on ? (down ? " ▾" : " ▴") : ""));
			b.addEventListener("click", () => onSort(on && down ? c.name : "-" + c.name));
			th.append(b);
		} else {
			th.append(c.name);
		}
		head.append(th);
	}
	const body = el("tbody");
	for (const r of rows) {
		const tr = el("tr");
		for (const c of columns) {
			const v = c.value(r);
			tr.append(el("td", { class: typeof v === "number" ? "number" : "", "data-value": String(v) },
				c.show ? c.show(r) : String(v)));
		}
		body.append(tr);
	}
	return el("table", {}, el("caption", {}, label), el("thead", {}, head), body);
}

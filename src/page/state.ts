// SPDX-License-Identifier: MIT
// What a page is, and the state of the page, all of which is in the fragment of its address.
import { All, Data } from "./data";
import { el } from "./dom";

export interface State { page: string; [key: string]: string }
export type Go = (change: { [key: string]: string }) => void;
export interface Page {
	id: string; title: string;
	/** the document that it draws; without it the page says what makes it */
	needs?: "stack" | "icost" | "accuracy";
	/** whether it has anything to show; pages that are of no use are left out of the list */
	when?: (all: All) => boolean;
	/** whether it can show a stretch of the run; d is its data then */
	stretch?: boolean;
	draw: (d: Data, s: State, go: Go, all: All) => Node[];
}

export function fragment(change: { [key: string]: string }): string {
	const kept: { [key: string]: string } = {};
	for (const k in change)
		if (change[k] !== "")
			kept[k] = change[k];
	return "#" + new URLSearchParams(kept).toString();
}

/** A link to a state; it stays with the run, of two, and with the stretch of it that are shown. */
export function link(text: string, change: { [key: string]: string }): HTMLElement {
	const now = new URLSearchParams(location.hash.slice(1)), to = { ...change };
	for (const key of ["run", "from", "to"])
		if (!(key in change) && now.get(key))
			to[key] = now.get(key)!;
	return el("a", { href: fragment(to) }, text);
}

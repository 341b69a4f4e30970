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
	draw: (d: Data, s: State, go: Go, all: All) => Node[];
}

export function fragment(change: { [key: string]: string }): string {
	const kept: { [key: string]: string } = {};
	for (const k in change)
		if (change[k] !== "")
			kept[k] = change[k];
	return "#" + new URLSearchParams(kept).toString();
}

/** A link to a state; of two runs it stays with the one that is shown. */
export function link(text: string, change: { [key: string]: string }): HTMLElement {
	const run = new URLSearchParams(location.hash.slice(1)).get("run");
	return el("a", { href: fragment(run && !("run" in change) ? { ...change, run } : change) }, text);
}

// SPDX-License-Identifier: MIT
// Head and findings, drawn while the browser still has to read and unpack the rest: src/view/html_model.c puts them before it.
import { Data, Finding, baseName, saving, unpackText } from "./data";
import { count, el, percent } from "./dom";

/** What is known at once of the first run. */
type First = Pick<Data, "file" | "run" | "findings" | "savings"> & { costs: boolean };

/** "quicksort on boom-tip: 12 instructions in 34 cycles, IPC 0.35" */
export function headline(r: Data["run"]): HTMLElement {
	return el("p", {}, el("strong", {}, baseName(r.program)),
		` on ${r.machine}: ${count(r.instructions)} instructions in ${count(r.cycles)} cycles, IPC ${r.ipc.toFixed(2)}`);
}

/** Findings in the order in which they are shown: by what fixing them buys, where that is known. */
export function inOrder(d: Pick<Data, "findings" | "savings">, costs: boolean): Finding[] {
	const worth = (f: Finding): number => f.pc && !f.event ? saving(d, f.pc).cycles : 0;
	return costs ? d.findings.slice().sort((a, b) => worth(b) - worth(a)) : d.findings;
}

/** Words with `code` in them. */
export function words(text: string): Node[] {
	return text.split("`").map((part, k) => k % 2 ? el("code", {}, part) : document.createTextNode(part));
}

/** Only some findings are about what can be fixed alone. */
export function findingsTitle(d: Pick<Data, "findings" | "savings">, costs: boolean): string {
	return costs && d.findings.length > 1 && d.findings.some((f) => f.pc && !f.event && saving(d, f.pc).cycles > 0) ? "Findings, by what fixing buys" : "Findings";
}

/** Draws them if that is what the reader will see; what it returns takes them away again. */
export function drawEarly(): () => void {
	const packed = document.getElementById("first");
	const asked = new URLSearchParams(location.hash.slice(1));
	if (!packed || (asked.get("page") ?? "overview") !== "overview" || asked.has("from") || asked.get("run") === "1")
		return () => undefined;
	const d: First = JSON.parse(unpackText(packed.textContent!)), list = inOrder(d, d.costs);
	const head = el("header", {}, el("div", { class: "top" }, el("div", { id: "head" }, headline(d.run))));
	const main = el("main", { "aria-busy": "true" }, el("h1", {}, "Overview"), el("h2", {}, findingsTitle(d, d.costs)),
		el("ol", { id: "findings" }, ...list.map((f) => el("li", {}, el("strong", { class: "big" }, percent(f.share)), el("p", {}, ...words(f.text))))));
	document.body.append(head, main);
	document.body.dataset.findings = String(performance.now());
	return () => { head.remove(); main.remove(); };
}

/** After the next frame, so that what was drawn is seen before work goes on; a page that is not in sight has none. */
export function nextFrame(): Promise<void> {
	return new Promise((done) => {
		requestAnimationFrame(() => setTimeout(done, 0));
		setTimeout(done, 100);
	});
}

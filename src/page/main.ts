// SPDX-License-Identifier: MIT
// Starts the page: unpacks the data, draws head and page, keeps the whole state in the fragment.
import { Data, baseName, unpack } from "./data";
import { count, el } from "./dom";
import { State, link, pages } from "./pages";

function state(): State {
	const s: State = { page: "overview" };
	new URLSearchParams(location.hash.slice(1)).forEach((v, k) => { s[k] = v; });
	return s;
}

function go(change: { [key: string]: string }): void {
	const s = { ...state(), ...change };
	location.hash = new URLSearchParams(s).toString();
}

function draw(d: Data, main: HTMLElement, nav: HTMLElement): void {
	const s = state(), page = pages.find((p) => p.id === s.page) ?? pages[0];
	const missing = page.needs && !d[page.needs] ? d[`${page.needs}_missing`] : null;
	nav.replaceChildren(...pages.map((p, k) => {
		const a = link(`${k + 1} ${p.title}`, { page: p.id });
		if (p === page)
			a.setAttribute("aria-current", "page");
		return a;
	}));
	main.replaceChildren(el("h1", {}, page.title),
		...(missing === null ? page.draw(d, s, go) : [el("p", { class: "missing" }, missing)]));
	main.querySelectorAll(".side .at:first-of-type, .side .at").forEach((e, k) => {
		if (k < 2)
			e.scrollIntoView({ block: "nearest" });
	});
}

function estimated(x: NonNullable<Data["estimated"]>): string {
	const range = x.low === null || x.high === null ? "its error is not known"
		: `95% interval ${x.low.toFixed(3)} to ${x.high.toFixed(3)}`;
	return `Estimated from ${x.points} points of the run: CPI ${x.cpi.toFixed(3)}, ${range}. All figures are estimates.`;
}

async function start(): Promise<void> {
	const packed = document.getElementById("data")!, d = await unpack(packed.textContent!);
	packed.remove();
	const nav = el("nav", { "aria-label": "pages" }), main = el("main", { tabindex: "-1" }), r = d.run;
	document.title = `${baseName(r.program)} on ${r.machine}`;
	document.body.append(el("header", {}, el("p", { id: "head" }, el("strong", {}, baseName(r.program)),
		` on ${r.machine}: ${count(r.instructions)} instructions in ${count(r.cycles)} cycles, IPC ${r.ipc.toFixed(2)}`),
	d.estimated ? el("p", { id: "estimated" }, estimated(d.estimated)) : null,
	nav, el("p", { class: "keys" }, "Keys 1 to 7: pages; / : filter of Time; Tab and Enter: links")), main);
	addEventListener("hashchange", () => draw(d, main, nav));
	addEventListener("keydown", (e) => {
		const on = e.target as HTMLElement;
		if (e.ctrlKey || e.altKey || e.metaKey || on.tagName === "INPUT" || on.tagName === "SELECT")
			return;
		const k = Number(e.key);
		if (k >= 1 && k <= pages.length)
			location.hash = "page=" + pages[k - 1].id;
		else if (e.key === "/" && document.getElementById("filter")) {
			document.getElementById("filter")!.focus();
			e.preventDefault();
		}
	});
	draw(d, main, nav);
	document.body.dataset.ready = "yes";
}

start();

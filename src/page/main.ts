// SPDX-License-Identifier: MIT
// Starts the page: unpacks the data, draws head and page, keeps the whole state in the fragment.
import { All, Data, baseName, functionAt, unpack } from "./data";
import { drawEarly, headline, nextFrame } from "./early";
import { button, el } from "./dom";
import { pages } from "./pages";
import { chosen, range } from "./phases";
import { strip } from "./stacks";
import { Page, State, fragment, link } from "./state";

function state(all: All): State {
	const s: State = { page: all.runs.length > 1 ? "changes" : "overview" };
	new URLSearchParams(location.hash.slice(1)).forEach((v, k) => { s[k] = v; });
	return s;
}

const shown = (all: All): Page[] => pages.filter((p) => !p.when || p.when(all));

function estimated(x: NonNullable<Data["estimated"]>): string {
	const range = x.low === null || x.high === null ? "its error is not known"
		: `95% interval ${x.low.toFixed(3)} to ${x.high.toFixed(3)}`;
	return `Estimated from ${x.points} points of the run: CPI ${x.cpi.toFixed(3)}, ${range}. All figures are estimates.`;
}

/** Which of two runs the pages show. */
function runs(all: All, s: State): HTMLElement | null {
	if (all.runs.length < 2)
		return null;
	return el("p", { id: "runs" }, ...all.runs.flatMap((r, k) => [link(`${k ? "after" : "before"}: ${r.file}`, { ...s, page: s.page === "changes" ? "overview" : s.page,
		fn: "", pc: "", run: String(k) }), "  "]).map((n, k) => {
		if (n instanceof HTMLElement && s.page !== "changes" && k / 2 === Number(s.run ?? 0))
			n.setAttribute("aria-current", "true");
		return n;
	}));
}

/** Finds a function, a line or an address: the first that fits. */
function search(d: Data, text: string): { [key: string]: string } {
	const t = text.trim().toLowerCase(), address = /^(0x)?[0-9a-f]{4,}$/.test(t) ? (t.startsWith("0x") ? t : "0x" + t) : "";
	const at = address ? functionAt(d, address) : undefined;
	if (at)
		return { page: "code", fn: String(at.id), pc: address };
	const f = d.functions.find((x) => x.name.toLowerCase() === t) ?? d.functions.find((x) => x.name.toLowerCase().startsWith(t));
	return f ? { page: "code", fn: String(f.id) } : { page: "time", by: t.includes(":") ? "line" : "function", filter: text.trim() };
}

const help: [string, string][] = [["1 to 9", "pages"], ["/", "search: a function, file.c:88, an address"], ["f", "filter of Time"],
	["Tab, Enter", "links and buttons"], ["t", "dark or light"], ["[ and ]", "zoom of Pipeline; arrows move the selection and the cycles"], ["?", "this list"]];

function helpBox(): HTMLDialogElement {
	const box = el("dialog", { id: "help", "aria-label": "keys" }, el("h2", {}, "Keys"),
		el("table", {}, el("tbody", {}, ...help.map(([k, w]) => el("tr", {}, el("th", { scope: "row" }, k), el("td", {}, w)))))) as HTMLDialogElement;
	box.append(button("close", () => box.close()));
	return box;
}

function nextTheme(): void {
	const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
	const now = root.dataset.theme || (dark ? "dark" : "light");
	root.dataset.theme = now === "dark" ? "light" : "dark";
}

class View {
	nav = el("nav", { "aria-label": "pages" });
	main = el("main", { tabindex: "-1" });
	head = el("div", { id: "head" });
	over = el("div", { id: "over" });
	box = el("input", { type: "search", id: "search", "aria-label": "search", placeholder: "function, file.c:88, 0x…" }) as HTMLInputElement;
	help = helpBox();
	last = "";

	constructor(readonly all: All) {
		this.box.addEventListener("change", () => {
			if (this.box.value.trim())
				location.hash = fragment({ ...search(this.data(), this.box.value), run: state(all).run ?? "" });
		});
		document.body.append(el("header", {}, el("div", { class: "top" }, this.head, this.box,
			button("◐", nextTheme, { "aria-label": "dark or light", title: "dark or light (t)" }),
			button("?", () => this.help.showModal(), { "aria-label": "keys", title: "keys (?)" })), this.over, this.nav), this.main, this.help);
	}

	data(): Data {
		return this.all.runs[Number(state(this.all).run ?? 0)] ?? this.all.runs[0];
	}

	go(change: { [key: string]: string }): void {
		location.hash = fragment({ ...state(this.all), ...change });
	}

	draw(): void {
		const s = state(this.all), d = this.data(), list = shown(this.all), page = list.find((p) => p.id === s.page) ?? list[0];
		const r = d.run, name = baseName(r.program), missing = page.needs && !d[page.needs] ? d[`${page.needs}_missing`] : null;
		document.title = `${page.title}: ${name} on ${r.machine}`;
		this.head.replaceChildren(headline(r),
		...(d.estimated ? [el("p", { id: "estimated" }, estimated(d.estimated))] : []), ...[runs(this.all, s)].filter((x) => x !== null) as Node[]);
		const over = page.id === "changes" ? null : strip(d, s, (c) => this.go(c));
		this.over.replaceChildren(...(over ? [over] : []));
		this.nav.replaceChildren(...list.map((p, k) => {
			const a = link(`${k + 1} ${p.title}`, { page: p.id, from: s.from ?? "", to: s.to ?? "" });
			if (p === page)
				a.setAttribute("aria-current", "page");
			return a;
		}));
		const focus = document.activeElement?.id ?? "", stretch = range(d, s) !== null && page.id !== "stacks" && page.id !== "changes";
		const part = stretch && page.stretch ? chosen(d, s)?.data ?? null : null;
		this.main.replaceChildren(el("h1", {}, page.title),
			...(stretch && !part && missing === null ? [el("p", { class: "warn", id: "whole" }, "This page is about the whole run.")] : []),
			...(missing === null ? page.draw(part ?? d, s, (c) => this.go(c), this.all) : [el("p", { class: "missing" }, missing)]));
		if (focus)
			document.getElementById(focus)?.focus();
		else if (this.last && this.last !== page.id)
			scrollTo(0, 0);
		this.last = page.id;
		for (const side of this.main.querySelectorAll<HTMLElement>(".side")) {
			const at = side.querySelector<HTMLElement>(".at") ?? side.querySelector<HTMLElement>(".hot");
			if (at)
				side.scrollTop = at.offsetTop - side.clientHeight / 3;
		}
	}

	key(e: KeyboardEvent): void {
		const on = e.target as HTMLElement, s = state(this.all), k = Number(e.key), list = shown(this.all);
		if (e.ctrlKey || e.altKey || e.metaKey || on.matches("select, input:not([type=checkbox])"))
			return;
		if (k >= 1 && k <= list.length)
			location.hash = fragment({ page: list[k - 1].id, run: s.run ?? "", from: s.from ?? "", to: s.to ?? "" });
		else if (e.key === "/")
			this.box.focus();
		else if (e.key === "f" && document.getElementById("filter"))
			document.getElementById("filter")!.focus();
		else if (e.key === "t")
			nextTheme();
		else if (e.key === "?")
			this.help.showModal();
		else if (s.page === "pipeline" && (e.key === "[" || e.key === "]"))
			document.querySelector<HTMLElement>(`[aria-label="zoom ${e.key === "]" ? "in" : "out"}"]`)?.click();
		else if (s.page === "pipeline" && !on.closest(".scroll") && (e.key === "ArrowLeft" || e.key === "ArrowRight"))
			document.querySelector<HTMLElement>(`[aria-label="${e.key === "ArrowLeft" ? "earlier" : "later"} cycles"]`)?.click();
		else if (s.page === "pipeline" && !on.closest(".scroll") && (e.key === "ArrowDown" || e.key === "ArrowUp"))
			this.go({ inst: String(Math.max(0, Number(document.getElementById("chosen")?.dataset.inst ?? 0) + (e.key === "ArrowDown" ? 1 : -1))), pc: "" });
		else
			return;
		e.preventDefault();
	}
}

const LARGE = 1 << 19; // characters of data from which on the findings get a frame of their own

async function start(): Promise<void> {
	const done = drawEarly();
	if (document.readyState === "loading")
		await new Promise((ready) => document.addEventListener("DOMContentLoaded", ready, { once: true }));
	const packed = document.getElementById("data"), text = packed?.textContent ?? "";
	if (text.length > LARGE)
		await nextFrame();
	let all: All;
	try {
		all = await unpack(text);
	} catch (e) {
		document.body.append(el("p", { class: "warn", id: "cut", role: "alert" }, "The file is cut off or damaged: what comes after the findings is lost."));
		document.body.dataset.ready = "cut";
		return;
	}
	packed?.remove();
	done();
	const view = new View(all);
	addEventListener("hashchange", () => view.draw());
	addEventListener("keydown", (e) => view.key(e));
	view.draw();
	document.body.dataset.ready = "yes";
}

start();

// SPDX-License-Identifier: MIT
// Page Stacks: the CPI stack by every method, over the run and over the stretch that is chosen above.
import { Data } from "./data";
import { bar, button, count, el, percent, stackBar, svg, colour, table } from "./dom";
import { phasesOf, range } from "./phases";
import { Go, Page, State } from "./state";

const STRIP_W = 1000, STRIP_H = 56;

/** The stretch that is chosen, summed. */
function summed(d: Data, s: State): { label: string; parts: [string, number][]; cycles: number; instructions: number } | null {
	const phases = phasesOf(d), r = range(d, s);
	if (!r)
		return null;
	const sum = new Map<string, number>();
	let instructions = 0, cycles = 0, before = 0;
	phases.forEach((p, k) => {
		if (k < r[0])
			before += p.instructions;
		if (k < r[0] || k > r[1])
			return;
		instructions += p.instructions;
		cycles += p.cycles;
		for (const [name, part] of p.parts)
			sum.set(name, (sum.get(name) ?? 0) + part);
	});
	return { label: `instructions ${count(before)} to ${count(before + instructions)}`, parts: [...sum], cycles, instructions };
}

const drawn = new WeakMap<Data, SVGElement>();

/** The picture of the strip: its height is CPI, its colours are components. It is drawn once. */
function picture(d: Data): SVGElement {
	let g = drawn.get(d);
	if (g)
		return g;
	const phases = phasesOf(d), total = phases.reduce((a, p) => a + p.cycles, 0);
	const cpis = phases.map((p) => p.instructions ? p.cycles / p.instructions : 0), sortedCpis = cpis.slice().sort((a, b) => a - b);
	const high = Math.max(1e-9, Math.min(sortedCpis[sortedCpis.length - 1], 3 * sortedCpis[Math.floor(sortedCpis.length / 2)]));
	g = svg("svg", { viewBox: `0 0 ${STRIP_W} ${STRIP_H}`, preserveAspectRatio: "none", class: "strip", role: "img",
		"aria-label": `CPI over the run, ${phases.length} phases, highest ${sortedCpis[sortedCpis.length - 1].toFixed(2)}` });
	const outlines = new Map<string, string>();
	let x = 0;
	for (const [k, p] of phases.entries()) {
		const w = STRIP_W * p.cycles / total;
		let y = STRIP_H;
		for (const [name, part] of p.parts) {
			const h = p.instructions ? STRIP_H * (part / p.instructions) / high : 0, top = Math.max(0, y - h);
			if (h > 0.05 && y > top)
				outlines.set(colour(name), `${outlines.get(colour(name)) ?? ""}M${x.toFixed(2)} ${y.toFixed(2)}V${top.toFixed(2)}h${(w + 0.3).toFixed(2)}V${y.toFixed(2)}z`);
			y -= h;
		}
		const most = p.parts.slice().sort((a, b) => b[1] - a[1]).slice(0, 3).filter((c) => c[1] > 0);
		g.append(svg("rect", { x, y: 0, width: w, height: STRIP_H, class: "hover" },
			svg("title", {}, `phase ${k}: CPI ${cpis[k].toFixed(3)}; ${most.map((c) => `${c[0]} ${percent(c[1] / p.cycles)}`).join(", ")}`)));
		x += w;
	}
	g.prepend(...[...outlines].map(([cls, path]) => svg("path", { d: path, class: cls })));
	drawn.set(d, g);
	return g;
}

/** The run from its beginning to its end. Dragging chooses a stretch, to which the pages are restricted. */
export function strip(d: Data, s: State, go: Go): HTMLElement | null {
	const phases = phasesOf(d);
	if (phases.length < 2)
		return null;
	const g = picture(d), starts: number[] = [], r = range(d, s), total = phases.reduce((a, p) => a + p.cycles, 0);
	phases.reduce((x, p) => (starts.push(x), x + STRIP_W * p.cycles / total), 0);
	g.querySelector(".brush")?.remove();
	if (r)
		g.append(svg("rect", { x: starts[r[0]], y: 0, width: (r[1] + 1 < starts.length ? starts[r[1] + 1] : STRIP_W) - starts[r[0]], height: STRIP_H, class: "brush" }));
	const phaseAt = (e: PointerEvent): number => {
		const box = g.getBoundingClientRect(), at = (e.clientX - box.left) / box.width * STRIP_W;
		return Math.max(0, starts.filter((b) => b <= at).length - 1);
	};
	let down = -1;
	g.onpointerdown = (e): void => { down = phaseAt(e); };
	g.onpointerup = (e): void => {
		const up = phaseAt(e);
		if (down >= 0)
			go({ from: String(Math.min(down, up)), to: String(Math.max(down, up)) });
		down = -1;
	};
	const part = summed(d, s);
	return el("div", { id: "strip" }, g as unknown as Node, part ? el("p", { class: "tools", id: "stretch" },
		`Only ${part.label}: ${count(part.cycles)} cycles, ${percent(part.cycles / d.run.cycles)} of the run, CPI ${(part.cycles / part.instructions).toFixed(3)} `,
		button("whole run", () => go({ from: "", to: "" }))) : null);
}

/** Where the keyboard chooses the stretch. */
function chooser(d: Data, s: State, go: Go): HTMLElement {
	const n = phasesOf(d).length, r = range(d, s) ?? [0, n - 1];
	const box = (name: string, value: number): HTMLInputElement => {
		const b = el("input", { type: "number", min: "0", max: String(n - 1), "aria-label": name }) as HTMLInputElement;
		b.value = String(value);
		return b;
	};
	const from = box("first phase", r[0]), to = box("last phase", r[1]);
	const act = (): void => go({ from: from.value, to: to.value });
	from.addEventListener("change", act);
	to.addEventListener("change", act);
	return el("p", { class: "tools" }, "Stretch of the run: phases ", from, " to ", to, " ",
		button("whole run", () => go({ from: "", to: "" })), " (or drag over the strip above)");
}

function draw(d: Data, s: State, go: Go): Node[] {
	const doc = d.stack!, cpi = doc.cpi as number, out: Node[] = [], methods = doc.methods as any[];
	const most = Math.max(...methods.flatMap((m) => Object.values(m.components) as number[]), 1e-9);
	for (const m of methods) {
		const rows = Object.entries(m.components) as [string, number][];
		const error = m.max_error === null || m.max_error === undefined ? ""
			: `; largest error ${m.max_error.toFixed(2)}% of CPI, in ${m.max_error_component}`;
		out.push(el("section", { class: "method", "data-method": m.name },
			stackBar(rows.map((r) => [r[0], Math.max(0, r[1])]), cpi, 1),
			table(m.name + (m.reference ? " (simulated: the reference)" : ""), [
				{ name: "component", value: (r: [string, number]) => r[0] },
				{ name: "CPI", value: (r) => r[1], show: (r) => r[1].toFixed(4) },
				{ name: "share", value: (r) => r[1] / cpi, show: (r) => percent(r[1] / cpi) },
				{ name: "bar", value: (r) => r[1], show: (r) => r[1] < 0 ? bar(r[1] / cpi, true) : stackBar([r], cpi, r[1] / most) },
			], rows, "", null), el("p", { class: "keys" }, (m.summary ?? "") + error)));
	}
	const part = summed(d, s), top: Node[] = [];
	if (phasesOf(d).length > 1)
		top.push(chooser(d, s, go));
	if (part)
		top.push(table(`Only ${part.label}: CPI ${(part.cycles / part.instructions).toFixed(4)}`, [
			{ name: "component", value: (r: [string, number]) => r[0] },
			{ name: "CPI here", value: (r) => r[1] / part.instructions, show: (r) => (r[1] / part.instructions).toFixed(4) },
			{ name: "share", value: (r) => r[1] / part.cycles, show: (r) => percent(r[1] / part.cycles) },
			{ name: "bar", value: (r) => r[1], show: (r) => stackBar([r], part.cycles, r[1] / part.cycles) },
		], part.parts.filter((p) => p[1] !== 0), "", null));
	return [el("p", {}, `CPI ${cpi.toFixed(4)}. Every method splits the same cycles by another rule.`), ...top, el("div", { class: "many" }, ...out)];
}

export const stacks: Page = { id: "stacks", title: "Stacks", needs: "stack", draw };

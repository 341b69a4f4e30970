// SPDX-License-Identifier: MIT
// Page Stacks: the CPI stack by every method, over the run and over the stretch that is chosen above.
import { Data } from "./data";
import { bar, button, count, el, percent, stackBar, svg, colour, table } from "./dom";
import { Go, Page, State } from "./state";

interface Phase { instructions: number; cycles: number; parts: [string, number][] }

/** Phases of the run, with the parts in cycles. */
export function phasesOf(d: Data): Phase[] {
	return (d.stack?.phases ?? []).map((p: any) => ({ instructions: p.instructions, cycles: p.cycles,
		parts: Object.entries(p.stack ?? {}) as [string, number][] }));
}

function range(s: State, n: number): [number, number] | null {
	const from = Number(s.from ?? -1), to = Number(s.to ?? -1);
	return s.from !== undefined && from >= 0 && to >= from && to < n ? [from, to] : null;
}

/** The stretch that is chosen, summed. */
function chosen(d: Data, s: State): { label: string; parts: [string, number][]; cycles: number; instructions: number } | null {
	const phases = phasesOf(d), r = range(s, phases.length);
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

/** The run from its beginning to its end: height is CPI, colours are components. Dragging chooses a stretch. */
export function strip(d: Data, s: State, go: Go): HTMLElement | null {
	const phases = phasesOf(d);
	if (phases.length < 2)
		return null;
	const W = 1000, H = 56, total = phases.reduce((a, p) => a + p.cycles, 0);
	const cpis = phases.map((p) => p.instructions ? p.cycles / p.instructions : 0), sortedCpis = cpis.slice().sort((a, b) => a - b);
	const high = Math.max(1e-9, Math.min(sortedCpis[sortedCpis.length - 1], 3 * sortedCpis[Math.floor(sortedCpis.length / 2)]));
	const g = svg("svg", { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", class: "strip", role: "img",
		"aria-label": `CPI over the run, ${phases.length} phases, highest ${sortedCpis[sortedCpis.length - 1].toFixed(2)}` });
	const starts: number[] = [];
	let x = 0;
	for (const [k, p] of phases.entries()) {
		const w = W * p.cycles / total;
		let y = H;
		starts.push(x);
		for (const [name, part] of p.parts) {
			const h = p.instructions ? H * (part / p.instructions) / high : 0;
			if (h > 0.05)
				g.append(svg("rect", { x, y: Math.max(0, y - h), width: w + 0.3, height: Math.max(0, Math.min(h, y)), class: colour(name) },
					svg("title", {}, `phase ${k}: CPI ${cpis[k].toFixed(3)}, ${name} ${percent(part / p.cycles)}`)));
			y -= h;
		}
		x += w;
	}
	const r = range(s, phases.length);
	if (r)
		g.append(svg("rect", { x: starts[r[0]], y: 0, width: (r[1] + 1 < starts.length ? starts[r[1] + 1] : W) - starts[r[0]], height: H, class: "brush" }));
	const phaseAt = (e: PointerEvent): number => {
		const at = (e.clientX - g.getBoundingClientRect().left) / g.getBoundingClientRect().width * W;
		return Math.max(0, starts.filter((b) => b <= at).length - 1);
	};
	let down = -1;
	g.addEventListener("pointerdown", (e) => { down = phaseAt(e as PointerEvent); });
	g.addEventListener("pointerup", (e) => {
		const up = phaseAt(e as PointerEvent);
		if (down >= 0)
			go({ page: "stacks", from: String(Math.min(down, up)), to: String(Math.max(down, up)) });
		down = -1;
	});
	return el("div", { id: "strip" }, g as unknown as Node);
}

/** Where the keyboard chooses the stretch. */
function chooser(d: Data, s: State, go: Go): HTMLElement {
	const n = phasesOf(d).length, r = range(s, n) ?? [0, n - 1];
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
	const part = chosen(d, s), top: Node[] = [];
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

// SPDX-License-Identifier: MIT
// Page What would it buy: costs of categories, how they interact, and the graph's answer to any set of them.
import { Data } from "./data";
import { bar, command, count, el, percent, table } from "./dom";
import { Go, Page, State, link } from "./state";

const CATEGORIES = ["dl1", "bw", "bmisp", "dmiss", "shalu", "lgalu", "imiss", "win"];
/** A program can be changed to have fewer of these; the others belong to the machine. */
const SOFTWARE = ["bmisp", "dmiss", "imiss", "shalu", "lgalu"];

/** The sign of a share that percent() prints; none where that is zero. */
function sign(share: number): string {
	return Math.abs(share) < 0.00005 ? "" : share < 0 ? "−" : "+";
}

function words(d: Data, code: string): string {
	return d.categories[code] ?? code;
}

function builder(d: Data, s: State, go: Go): HTMLElement {
	const doc = d.icost!, cycles = doc.graph_cycles;
	const ticked = CATEGORIES.filter((c) => (s.set ?? "").split("+").includes(c));
	const choose = el("fieldset", {}, el("legend", {}, "Idealise these together"));
	const group = (title: string, list: string[]): void => {
		const line = el("p", { class: "ticks" }, el("em", {}, title + ": "));
		for (const c of list) {
			const box = el("input", { type: "checkbox", id: "cat-" + c }) as HTMLInputElement;
			box.checked = ticked.includes(c);
			box.addEventListener("change", () => go({ set: CATEGORIES.filter((x) => x === c ? box.checked : ticked.includes(x)).join("+") }));
			line.append(el("label", {}, box, ` ${words(d, c)} (${c})`), " ");
		}
		choose.append(line);
	};
	group("a program can change", SOFTWARE);
	group("only a machine can", CATEGORIES.filter((c) => !SOFTWARE.includes(c)));
	const cost = ticked.length ? doc.costs[ticked.join("+")] : 0;
	choose.append(el("p", { id: "answer", "data-value": String(cost) }, ticked.length && cost !== undefined
		? `Without ${ticked.map((c) => words(d, c)).join(" and ")} the run takes ${count(cycles - cost)} cycles: saves ${count(cost)}, ${percent(cost / cycles)}.`
		: "Tick at least one."));
	if (ticked.length > 1 && cost !== undefined) {
		const each = ticked.map((c) => doc.costs[c] as number), sum = each.reduce((a, b) => a + b, 0);
		choose.append(el("p", { class: "next" }, `One by one they save ${each.map((e) => percent(e / cycles)).join(" + ")} = ${percent(sum / cycles)}; `
			+ `together ${percent(Math.abs(cost - sum) / cycles)} ${cost >= sum ? "more" : "less"}.`));
	}
	const truth = doc.simulated_costs?.[ticked.join("+")];
	if (truth !== undefined && truth !== null)
		choose.append(el("p", {}, `Simulated: saves ${count(truth)}, ${percent(truth / cycles)}.`));
	else if (ticked.length)
		choose.append(el("p", { class: "next" }, "proof, by simulating the run with these idealised: ", command(`culprit icost ${d.file} --multisim`)));
	return choose;
}

function cell(d: Data, a: string, b: string, go: Go, picked: string): HTMLElement {
	const doc = d.icost!, key = CATEGORIES.filter((c) => c === a || c === b).join("+"), v = doc.icosts[key], share = v / doc.graph_cycles;
	const td = el("td", { class: "number " + (sign(share) === "−" ? "minus" : "plus") + (key === picked ? " at" : ""), "data-set": key, "data-value": String(v) });
	// stronger where more is at stake; the sign and the number say the same
	td.style.setProperty("--heat", Math.min(45, Math.abs(share) * 300).toFixed(0) + "%");
	td.append(v === undefined ? "" : link(sign(share) + percent(Math.abs(share)), { page: "buy", set: key }));
	return td;
}

function sentence(d: Data, set: string): HTMLElement | null {
	const pair = CATEGORIES.filter((c) => set.split("+").includes(c)), doc = d.icost!;
	if (pair.length !== 2)
		return null;
	const v = doc.icosts[pair.join("+")], share = percent(Math.abs(v) / doc.graph_cycles), [a, b] = pair.map((c) => words(d, c));
	return el("p", { id: "sentence" }, Math.abs(v) < 0.0005 * doc.graph_cycles ? `${a} and ${b} do not interact.`
		: v > 0 ? `${a} and ${b} interact in parallel: ${share} of all cycles go only if both are fixed.`
			: `${a} and ${b} interact serially: fixing one takes ${share} of all cycles from what fixing the other would give; fix either.`);
}

function matrix(d: Data, s: State, go: Go): HTMLElement {
	const set = s.set ?? "", body = el("tbody");
	const head = el("tr", {}, el("th", {}), ...CATEGORIES.map((c) => el("th", { scope: "col", title: words(d, c) }, c)));
	for (const a of CATEGORIES)
		body.append(el("tr", {}, el("th", { scope: "row", title: words(d, a) }, `${words(d, a)} (${a})`), ...CATEGORIES.map((b) => cell(d, a, b, go, set))));
	return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "matrix" }, el("table", { class: "matrix" },
		el("caption", {}, "Costs (diagonal) and interaction costs, of all cycles: − serial, + parallel"), el("thead", {}, head), body));
}

/** Functions and what each category costs there. */
function places(d: Data): Node[] {
	const doc = d.icost!, cycles = doc.graph_cycles, ids = new Map(d.functions.map((f) => [f.name, String(f.id)]));
	const rows = (doc.functions ?? []).slice(0, 30);
	if (!rows.length)
		return [];
	const sampled = d.facts.find((f) => f[0] === "icost_sampled_share");
	return [table("By function, of all cycles" + (sampled ? ` (from ${percent(Number(sampled[1]))} of the instructions)` : ""), [
		{ name: "function", value: (r: any) => r.symbol, show: (r: any) => ids.has(r.symbol) ? link(r.symbol, { page: "code", fn: ids.get(r.symbol)! }) : r.symbol },
		{ name: "cycles", value: (r: any) => r.cycles, show: (r: any) => count(r.cycles) },
		...CATEGORIES.map((c) => ({ name: c, help: words(d, c), value: (r: any) => r.costs[c] as number,
			show: (r: any) => sign(r.costs[c] / cycles).replace("+", "") + percent(Math.abs(r.costs[c]) / cycles) })),
	], rows, "", null)];
}

function draw(d: Data, s: State, go: Go): Node[] {
	const doc = d.icost!, cycles = doc.graph_cycles;
	const single = CATEGORIES.map((c) => [c, doc.costs[c] as number] as [string, number]).sort((a, b) => b[1] - a[1]);
	const cost = [
		{ name: "category", value: (r: [string, number]) => r[0], show: (r: [string, number]) => link(`${words(d, r[0])} (${r[0]})`, { page: "buy", set: r[0] }) },
		{ name: "saves", value: (r: [string, number]) => r[1], show: (r: [string, number]) => count(r[1]) },
		{ name: "share", value: (r: [string, number]) => r[1] / cycles, show: (r: [string, number]) => percent(r[1] / cycles) },
		{ name: "bar", value: (r: [string, number]) => r[1], show: (r: [string, number]) => bar(r[1] / Math.max(single[0][1], 1), r[1] < 0) },
	];
	const said = sentence(d, s.set ?? "");
	return [builder(d, s, go), ...(said ? [said] : []), el("div", { class: "many" },
		table("What a program can change", cost, single.filter((r) => SOFTWARE.includes(r[0])), "", null),
		table("What only a machine can", cost, single.filter((r) => !SOFTWARE.includes(r[0])), "", null)),
	matrix(d, s, go), ...places(d)];
}

export const buy: Page = { id: "buy", title: "What would it buy", needs: "icost", draw };

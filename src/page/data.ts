// SPDX-License-Identifier: MIT
// The data of the page as src/view/html_model.c writes them, and how they are unpacked.

export type Stack = [string, number][];
/** address, disassembly, file, line, cycles, executions, cycles by set of events, source text */
export type Inst = [string, string, string | null, number, number, number, Stack, string | null];
export interface Func { id: number; name: string; image: string | null; cycles: number; insts: Inst[] }
export interface Finding { text: string; share: number; pc?: string; function?: number }
export type Doc = { [key: string]: any } | null;

export interface Data {
	run: { program: string; machine: string; instructions: number; cycles: number; ipc: number; class: string };
	/** a profile made from points of the run; null for a whole run */
	estimated: { points: number; cpi: number; low: number | null; high: number | null } | null;
	cycle_stack: [string, number][];
	/** names of costs in words */
	categories: { [code: string]: string };
	events: [string, string, number][];
	findings: Finding[];
	functions: Func[];
	stack: Doc; stack_missing: string | null;
	icost: Doc; icost_missing: string | null;
	accuracy: Doc; accuracy_missing: string | null;
	parameters: [string, string, string][];
	facts: [string, string][];
}

export async function unpack(base64: string): Promise<Data> {
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	return JSON.parse(await new Response(stream).text());
}

export function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

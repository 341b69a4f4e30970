// Queens on a board, and a table of words by their letters.
const n = parseInt(scriptArgs[1]);
function place(row, columns, left, right) {
	if (row === n) return 1;
	let found = 0;
	for (let c = 0; c < n; c++)
		if (!columns[c] && !left[row + c] && !right[row - c + n]) {
			columns[c] = left[row + c] = right[row - c + n] = true;
			found += place(row + 1, columns, left, right);
			columns[c] = left[row + c] = right[row - c + n] = false;
		}
	return found;
}
const solutions = place(0, [], [], []);
const table = new Map();
for (let i = 0; i < 300 * n; i++) {
	const key = (i * 7919 % 1000).toString(36).split("").sort().join("");
	table.set(key, (table.get(key) || []).concat(i));
}
console.log(solutions, table.size, JSON.stringify([...table.values()].map(v => v.length)).length);

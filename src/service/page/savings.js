// SPDX-License-Identifier: MIT
// Tokens kept out of prompts: totals, over time, and by way, task or agent.
"use strict";

const savings = (() => {
	const {choice, el, remark, shown} = dom;
	const RANGES = [["7d", "7 days"], ["30d", "30 days"], ["90d", "90 days"], ["all", "all time"]];
	const GROUPS = [["way", "Way"], ["task", "Task"], ["agent", "Agent"]];
	const MEASURES = [["saved", "Saved"], ["offloaded", "Kept out"], ["pointers", "Pointers shown"],
		["read", "Read back"]];
	const NUMBERS = ["results", "offloaded", "pointers", "read", "saved"];
	const SERIES_MAX = 8, BINS_MAX = 120, ROWS_MAX = 50;
	const DAY_MS = format.DAY * 1000;
	const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

	function sum(rows) {
		const total = Object.fromEntries(NUMBERS.map((n) => [n, 0]));
		for (const row of rows) NUMBERS.forEach((n) => (total[n] += row[n]));
		return total;
	}

	/** Groups rows by the column `key` and sums them up, with the largest `measure` first. */
	function groupBy(rows, key, measure) {
		const groups = new Map();
		for (const row of rows) {
			const name = row[key] ?? "";
			if (!groups.has(name)) groups.set(name, []);
			groups.get(name).push(row);
		}
		return Array.from(groups, ([name, of]) => ({name, of, ...sum(of)})).sort((a, b) => b[measure] - a[measure]);
	}

	/** Returns the first day of each bin up to today, their width in days, and the bin of a day. */
	function timeline(rows, range) {
		const today = Math.floor(Date.now() / DAY_MS);
		const number = (day) => Math.floor(Date.parse(day + "T00:00:00Z") / DAY_MS);
		const first = range === "all" ? rows.reduce((least, row) => Math.min(least, number(row.day)), today)
			: today - parseInt(range, 10) + 1;
		const width = today - first < BINS_MAX ? 1 : 7;
		const days = [];
		for (let day = first; day <= today; day += width) days.push(dayOf(day * DAY_MS));
		return {days, width, bin: (day) => Math.max(0, Math.floor((number(day) - first) / width))};
	}

	function plot(rows, groups, {range, measure}) {
		const {days, width, bin} = timeline(rows, range);
		const large = groups.slice(0, SERIES_MAX), small = groups.slice(SERIES_MAX);
		const parts = large.map((g) => [nameOf(g), g.of]);
		if (small.length) parts.push([`${small.length} others`, small.flatMap((g) => g.of)]);
		const series = parts.map(([label, of]) => {
			const values = days.map(() => 0);
			for (const row of of) {
				const at = bin(row.day);
				if (at < values.length) values[at] += row[measure];
			}
			return {label, values};
		}).filter(({values}) => values.some((n) => n !== 0));
		const what = MEASURES.find(([value]) => value === measure)[1];
		return plots.bars(days, series,
			`Tokens, ${what.toLowerCase()}, by ${width === 1 ? "day" : "week"}; the table has the sums`);
	}

	const nameOf = (group) => group.name || "none";

	function tiles(total) {
		const share = total.offloaded ? Math.round((100 * total.saved) / total.offloaded) : null;
		const tile = (label, value, note) => el("div", {}, el("dt", {}, label),
			el("dd", {title: format.count(value)}, format.brief(value), note && el("small", {}, note)));
		return el("dl", {class: "tiles"},
			tile("Tokens saved", total.saved, share !== null && `${share}% of what was kept out`),
			tile("Kept out", total.offloaded, format.plural(total.results, "result")),
			tile("Pointers shown", total.pointers),
			tile("Read back", total.read));
	}

	async function section(page) {
		const range = page.query.get("range") || "30d";
		const group = page.query.get("group") || "way";
		const measure = page.query.get("measure") || "saved";
		const since = range === "all" ? ""
			: dayOf(Date.now() - (parseInt(range, 10) - 1) * DAY_MS);
		const stats = await server.stats({since, by: `day,${group}`}, page.signal);
		const rows = stats.rows.filter((row) => row.day >= since);
		const groups = groupBy(rows, group, measure);
		const number = (title, key, kind = "number") => ({title, kind, cell: (row) => format.count(row[key])});
		return el("section", {"aria-labelledby": "savings"},
			el("div", {class: "head"}, el("h2", {id: "savings"}, "Tokens saved"),
				choice("range", "Range", RANGES, range, (value) => page.set({range: value})),
				choice("group", "By", GROUPS, group, (value) => page.set({group: value})),
				choice("measure", "Plot", MEASURES, measure, (value) => page.set({measure: value}))),
			tiles(sum(rows)),
			rows.length > 0 && plot(rows, groups, {range, measure}),
			table.make(`Tokens by ${group}`, [
				{title: GROUPS.find(([value]) => value === group)[1], heading: true,
					cell: (row) => (row.total ? "All" : shown(nameOf(row)))},
				number("Results", "results", "number optional"),
				number("Kept out", "offloaded"),
				number("Pointers", "pointers", "number optional"),
				number("Read back", "read", "number optional"),
				number("Saved", "saved"),
			], groups.slice(0, ROWS_MAX), {
				foot: {total: true, ...sum(rows)},
				empty: "Nothing was offloaded in this period. Agents offload by hooks (offload hook install) "
					+ "and by offload run.",
			}),
			groups.length > ROWS_MAX && remark(`The ${ROWS_MAX} largest of ${format.count(groups.length)}.`));
	}

	return {section};
})();

// SPDX-License-Identifier: MIT
// What is stored, by tier and category, and how much of the disk it takes.
"use strict";

const storage = (() => {
	const {choice, el, remark, shown} = dom;
	const MEASURES = [["stored_bytes", "On disk"], ["bytes", "Size"], ["tokens", "Tokens"], ["files", "Files"]];
	const TIERS = ["working", "long-term", "archive"];

	const sum = (groups, key) => groups.reduce((total, g) => total + g[key], 0);
	const name = (group) => group.category ?? "none";
	const link = (page, group) => server.report ? null
		: page.link("files", {tier: group.tier, category: group.category ?? ""});

	function nameCell(page, group) {
		if (!group.tier) return "All";
		const href = link(page, group);
		return href ? el("a", {href}, shown(name(group))) : shown(name(group));
	}

	function map(page, groups, measure) {
		const text = measure === "bytes" || measure === "stored_bytes" ? format.bytes : format.count;
		return plots.treemap(TIERS.map((tier, i) => {
			const parts = groups.filter((g) => g.tier === tier);
			return {
				label: `${tier} · ${text(sum(parts, measure))}`,
				className: `tier-${i}`,
				parts: parts.map((g) => ({label: name(g), value: g[measure], text: text(g[measure]), href: link(page, g)})),
			};
		}).filter((tier) => tier.parts.length > 0));
	}

	function disk(status) {
		const d = status?.disk;
		return d && remark(`The store takes ${format.bytes(d.packs + d.index + d.journal)} of the disk: `
			+ `packs ${format.bytes(d.packs)}, index ${format.bytes(d.index)}, journal ${format.bytes(d.journal)}; `
			+ `${format.bytes(d.free)} are free.`);
	}

	async function section(page, status) {
		const measure = page.query.get("stored") || "stored_bytes";
		const groups = (await server.usage(page.signal)).groups
			.sort((a, b) => TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier) || b[measure] - a[measure]);
		const total = Object.fromEntries(MEASURES.map(([key]) => [key, sum(groups, key)]));
		const number = (title, key, text, kind = "number") => ({title, kind, cell: (g) => text(g[key])});
		return el("section", {"aria-labelledby": "storage"},
			el("div", {class: "head"}, el("h2", {id: "storage"}, "What is stored"),
				choice("stored", "By", MEASURES, measure, (value) => page.set({stored: value}))),
			groups.length > 0 && map(page, groups, measure),
			table.make("Files by tier and category", [
				{title: "Category", heading: true, cell: (g) => nameCell(page, g)},
				number("Files", "files", format.count), number("Size", "bytes", format.bytes),
				number("On disk", "stored_bytes", format.bytes),
				number("Tokens", "tokens", format.count, "number optional"),
			], groups, {foot: total, groupOf: (g) => g.tier, empty: "Nothing is stored yet."}),
			disk(status));
	}

	return {section};
})();

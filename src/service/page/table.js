// SPDX-License-Identifier: MIT
// Tables: a column is {title, cell(row), number, optional}; optional ones go where it is narrow.
"use strict";

const table = (() => {
	const {el} = dom;
	const kind = (c) => [c.number && "number", c.optional && "optional", c.wide && "wide", c.text && "text", c.tier && "tier"].filter(Boolean).join(" ") || null;

	const line = (columns, row) => el("tr", {}, columns.map((c, i) =>
		el(c.heading ? "th" : "td", {class: kind(c), scope: c.heading && "row"}, c.cell(row))));

	/** `groupOf`, where given, names the group of a row; rows of a group are next to each other. */
	function make(caption, columns, rows, {empty = "There is nothing.", foot, groupOf} = {}) {
		if (rows.length === 0) return el("p", {class: "dim"}, empty);
		const head = el("tr", {}, columns.map((c) => el("th", {scope: "col", class: kind(c)}, c.title)));
		const body = el("tbody");
		let group = null;
		for (const row of rows) {
			if (groupOf && groupOf(row) !== group) {
				group = groupOf(row);
				body.append(el("tr", {class: "group"}, el("th", {scope: "rowgroup", colspan: columns.length}, group)));
			}
			body.append(line(columns, row));
		}
		return el("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": caption},
			el("table", {}, el("caption", {class: "hidden"}, caption), el("thead", {}, head), body,
				foot && el("tfoot", {}, line(columns, foot))));
	}

	return {make};
})();

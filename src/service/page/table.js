// SPDX-License-Identifier: MIT
// Makes tables. A column is {title, cell(row), heading, kind}. `kind` has classes of the style
// sheet; columns that are "optional" are hidden on narrow screens.
"use strict";

const table = (() => {
	const {el, remark} = dom;
	const line = (columns, row) => el("tr", {}, columns.map((c) => c.heading
		? el("th", {class: c.kind, scope: "row"}, c.cell(row)) : el("td", {class: c.kind}, c.cell(row))));

	/** Makes a table. `groupOf` returns the group of a row. Rows of a group must be adjacent. */
	function make(caption, columns, rows, {empty = "There is nothing.", foot, groupOf} = {}) {
		if (rows.length === 0) return remark(empty);
		const head = el("tr", {}, columns.map((c) => el("th", {scope: "col", class: c.kind}, c.title)));
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

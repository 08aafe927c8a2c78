// SPDX-License-Identifier: MIT
// Makes elements. Text is never markup, and characters that could mislead a reader or control a
// terminal are shown as escapes, whatever the source of the text.
"use strict";

const dom = (() => {
	// Control characters except tab, marks of direction, and characters without a width.
	const ACTING =
		/[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]+/gu;
	const SHORT = {"\n": "\\n", "\r": "\\r"};

	function escapes(run) {
		return Array.from(run, (c) => {
			const hex = c.codePointAt(0).toString(16);
			if (SHORT[c]) return SHORT[c];
			if (hex.length <= 2) return "\\x" + hex.padStart(2, "0");
			return hex.length <= 4 ? "\\u" + hex.padStart(4, "0") : `\\u{${hex}}`;
		}).join("");
	}

	/** Returns a text with escapes, for attributes, options and canvases. */
	function plain(text) {
		return String(text).replace(ACTING, escapes);
	}

	/** Returns an element with a text from the server, whose direction affects nothing else. */
	function shown(text) {
		const isolated = document.createElement("bdi");
		let from = 0;
		text = String(text);
		for (const {0: run, index} of text.matchAll(ACTING)) {
			const escape = document.createElement("span");
			escape.className = "escape";
			escape.textContent = escapes(run);
			isolated.append(text.slice(from, index), escape);
			from = index + run.length;
		}
		isolated.append(text.slice(from));
		return isolated;
	}

	/** Makes an element. Attributes that are functions are listeners; null and false are left out. */
	function el(tag, attributes, ...children) {
		const element = document.createElement(tag);
		for (const [name, value] of Object.entries(attributes ?? {})) {
			if (typeof value === "function") element.addEventListener(name, value);
			else if (value === true) element.setAttribute(name, "");
			else if (value !== null && value !== undefined && value !== false)
				element.setAttribute(name, plain(value));
		}
		for (const child of children.flat(Infinity)) {
			if (child === null || child === undefined || child === false) continue;
			element.append(child instanceof Node ? child : plain(child));
		}
		return element;
	}

	/** A paragraph in a less prominent colour. */
	const remark = (...children) => el("p", {class: "dim"}, ...children);

	const section = (id, title, ...content) =>
		el("section", {"aria-labelledby": id}, el("h2", {id}, title), ...content);

	/** Makes a labelled choice of [value, label]. Adds `chosen` if it is not among `choices`. */
	function choice(id, label, choices, chosen, onchange) {
		if (!choices.some(([value]) => value === chosen)) choices = [...choices, [chosen, chosen]];
		const select = el("select", {id, change: (e) => onchange(e.target.value)},
			choices.map(([value, text]) => el("option", {value}, text)));
		// Set the exact values: el() has put escapes into the attributes.
		choices.forEach(([value], i) => (select.options[i].value = value));
		select.value = chosen;
		return el("label", {}, label + " ", select);
	}

	function field(id, label, value, attributes) {
		const input = el("input", {id, name: id, autocomplete: "off", spellcheck: "false", ...attributes});
		input.value = value ?? "";
		return el("label", {}, label + " ", input);
	}

	return {choice, el, field, plain, remark, section, shown};
})();

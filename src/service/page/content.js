// SPDX-License-Identifier: MIT
// Shows a file: what is known about it, and its lines. The page has only the visible lines, and
// memory those near them, so a file may have millions. A long line is cut, and can be shown whole
// as a passage.
"use strict";

const content = (() => {
	const {el, field, remark, shown} = dom;
	const ROW = 19; // height of a line in pixels, the same as in the style sheet
	const HEIGHT_MAX = 12e6; // pixels; above that browsers lose precision or fail
	const AHEAD = 15, CHUNK = 400, KEEP = 20000;
	const LONG = 2000; // characters shown of a line
	const PASSAGE = 65536;

	/** Parses a slice after its colon. Returns {from, to} for lines, {bytes}, or null. */
	function parseSlice(text, lines) {
		const [, a, dash, b] = /^(\d+)?(-)?(\d+)?$/.exec(text ?? "") ?? [];
		const [, first, last] = /^b(\d+)-(\d+)$/.exec(text ?? "") ?? [];
		if (first) return {bytes: [Number(first), Number(last)]};
		if (!a && !b) return null;
		const from = a ? Number(a) : Math.max(1, lines - Number(b) + 1);
		const to = !a || (dash && !b) ? lines : b ? Number(b) : from;
		return {from: Math.min(from, lines), to: Math.min(Math.max(from, to), lines)};
	}

	/** Loads the lines of a file that are wanted. Calls `changed` when some have arrived. */
	function lineSource(id, total, signal, changed) {
		const lines = new Map(); // number: {text, more}
		let wanted = null, busy = false;

		function keep(answer, from) {
			const parts = answer.text.split("\n");
			if (parts.at(-1) === "") parts.pop();
			const cut = answer.next !== null && !answer.text.endsWith("\n");
			// A cut line is requested again, unless it fills an answer by itself.
			if (cut && parts.length > 1) parts.pop();
			parts.forEach((text, i) => lines.set(from + i, {
				text: text.length > LONG ? text.slice(0, LONG) : text,
				more: text.length > LONG || (cut && parts.length === 1),
			}));
			if (parts.length === 0) lines.set(from, {text: "", more: false});
		}

		function forget() {
			if (lines.size <= KEEP) return;
			for (const number of lines.keys())
				if (number < wanted.from - CHUNK || number > wanted.to + CHUNK) lines.delete(number);
		}

		async function load() {
			busy = true;
			try {
				for (;;) {
					let from = wanted.from;
					while (from <= wanted.to && lines.has(from)) from++;
					if (from > wanted.to) break;
					const query = {line_start: from, line_end: Math.min(total, from + CHUNK - 1)};
					const answer = await server.fetch(id, query, signal);
					keep(answer, from);
					forget();
					changed();
				}
			} catch (e) {
				if (e.name !== "AbortError") notice.fail(e, () => want(wanted.from, wanted.to));
			} finally {
				busy = false;
			}
		}

		function want(from, to) {
			wanted = {from, to};
			if (!busy) load();
		}
		return {get: (number) => lines.get(number), want};
	}

	/** The scrolling list of lines. */
	function lineView(page, id, total, slice) {
		const box = el("div", {class: "lines", id: "lines", tabindex: "0", role: "region", "aria-label": "Lines"});
		const space = el("div", {class: "space"}), rows = el("div", {class: "rows"});
		const height = Math.min(total * ROW, HEIGHT_MAX);
		const scaled = total * ROW > HEIGHT_MAX;
		const digits = String(total).length;
		let first = 1; // the line at the top of the view
		const visible = () => Math.max(1, Math.floor(box.clientHeight / ROW));
		const source = lineSource(id, total, page.signal, () => draw());

		space.style.height = `${height}px`;
		box.style.setProperty("--digits", digits);
		box.append(space, rows);

		function row(number) {
			const line = source.get(number);
			const selected = slice && number >= slice.from && number <= slice.to;
			return el("div", {class: selected ? "line selected" : "line"},
				el("a", {class: "number", href: page.file(id, number), tabindex: "-1", "data-line": number}, number),
				line ? shown(line.text) : "…",
				line?.more && el("a", {class: "more", id: `more-${number}`, href: page.file(id, number, {whole: 1})},
					" … the whole line"));
		}

		function draw() {
			if (!box.isConnected) return;
			const from = Math.max(1, first - AHEAD), to = Math.min(total, first + visible() + AHEAD);
			const shownRows = [];
			for (let n = from; n <= to; n++) shownRows.push(row(n));
			const focused = rows.contains(document.activeElement) && document.activeElement.id;
			rows.replaceChildren(...shownRows);
			if (focused) (document.getElementById(focused) ?? box).focus({preventScroll: true});
			rows.style.top = `${box.scrollTop - (first - from) * ROW - (scaled ? 0 : box.scrollTop % ROW)}px`;
			const last = Math.min(total, first + visible() - 1);
			box.setAttribute("aria-label", format.range("Lines", first, last, total));
			source.want(from, to);
		}

		const firstMax = () => Math.max(1, total - visible() + 1);
		const ratio = () => (box.scrollHeight - box.clientHeight) / Math.max(1, firstMax() - 1);

		function show(number) {
			first = Math.min(Math.max(1, number), firstMax());
			box.scrollTop = Math.round(scaled ? (first - 1) * ratio() : (first - 1) * ROW);
			draw();
		}

		box.addEventListener("scroll", () => {
			// In a scaled height a pixel is several lines: keep the one that show() has set.
			const at = scaled ? box.scrollTop / ratio() + 1 : box.scrollTop / ROW + 1;
			if (!scaled || Math.abs(at - first) * ratio() > 1) first = Math.min(Math.floor(at), firstMax());
			draw();
		});
		box.addEventListener("keydown", (e) => {
			const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: visible() - 1, PageUp: 1 - visible(),
				Home: -total, End: total};
			if (!(e.key in steps) || e.altKey || e.target !== box) return;
			e.preventDefault();
			show(first + steps[e.key]);
		});
		box.addEventListener("wheel", (e) => {
			if (!scaled || e.deltaX || e.ctrlKey) return;
			e.preventDefault();
			show(first + Math.sign(e.deltaY) * Math.max(1, Math.round(Math.abs(e.deltaY) / ROW)));
		}, {passive: false});
		// A click with Shift extends the selection to this line.
		box.addEventListener("click", (e) => {
			const number = Number(e.target.dataset?.line);
			if (!number || !e.shiftKey || !slice) return;
			e.preventDefault();
			location.hash = page.file(id, `${Math.min(slice.from, number)}-${Math.max(slice.to, number)}`);
		});
		new ResizeObserver(() => draw()).observe(box);
		// Only works once the element is in the page.
		requestAnimationFrame(() => show(slice ? slice.from - 3 : 1));
		return box;
	}

	/** Shows bytes from `begin` on, or a long line, in pieces with wrapped lines. */
	function passageView(page, id, begin, what) {
		const box = el("div", {class: "passage", id: "passage", tabindex: "0", role: "region", "aria-label": what});
		const at = el("span", {class: "dim"});
		const done = [];
		let next = null;
		const button = (key, text, click) => el("button", {type: "button", id: key, click}, text);
		const previous = button("previous", "Previous piece", () => { done.pop(); load(done.pop()); });
		const following = button("next", "Next piece", () => load(next));

		async function load({memory_id: _, ...query}) {
			try {
				const answer = await server.fetch(id, query, page.signal);
				done.push(query);
				next = answer.next;
				let lines = answer.text.split("\n");
				// The line ends here; further pieces would go on to the end of the file.
				if (begin.line_end && lines.length > 1) {
					lines = [lines[0]];
					next = null;
				}
				box.replaceChildren(...lines.map((line) => el("div", {}, shown(line))));
				box.scrollTop = 0;
				at.textContent = format.range("Bytes", answer.byte_offset,
					answer.byte_offset + answer.byte_len - 1, answer.bytes);
				previous.disabled = done.length < 2;
				following.disabled = next === null;
			} catch (e) {
				if (e.name !== "AbortError") notice.fail(e, () => load(query));
			}
		}
		load(begin);
		return [el("p", {class: "row"}, at, previous, following), box];
	}

	const FIRST_FACTS = ["ref", "path", "tier", "category", "task", "tags", "size", "lines", "tokens",
		"stored_bytes"];

	function fact(name, value) {
		if ((value ?? "") === "" || value === false || value.length === 0) return null;
		let text = value;
		if (name === "size" || name === "stored_bytes") text = `${format.bytes(value)} (${format.count(value)})`;
		else if (typeof value === "number") text = format.count(value);
		else if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) text = format.moment(value);
		else if (typeof value === "object") text = Array.isArray(value) ? value.join(", ") : JSON.stringify(value);
		return el("div", {class: String(text).length > 30 && "long"},
			el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, shown(text)));
	}

	function facts(info) {
		const names = new Set([...FIRST_FACTS, ...Object.keys(info)]);
		names.delete("title");
		return el("details", {open: matchMedia("(min-width: 60rem)").matches},
			el("summary", {}, "About this file"),
			el("dl", {class: "facts"}, Array.from(names, (n) => fact(n, info[n]))));
	}

	async function copy(input) {
		input.select();
		try {
			await navigator.clipboard.writeText(input.value);
			notice.say("Copied. An agent can read it with cat, like any file.");
		} catch {
			notice.say("The browser does not let this page copy. The path is selected: copy it from there.");
		}
	}

	function pointerForm(page, info, slice) {
		const name = `refs/${info.ref}${slice ? `:${slice}` : ""}`;
		const path = page.mountpoint ? `${page.mountpoint}/${name}` : name;
		const input = field("pointer", "Pointer", path, {readonly: true, size: 36});
		return el("form", {class: "row", submit: (e) => { e.preventDefault(); copy(input.querySelector("input")); }},
			input, el("button", {id: "copy"}, "Copy pointer"));
	}

	function sliceForm(page, id, slice) {
		const input = field("slice", "Lines", slice ?? "", {size: 14, placeholder: "120-180, -50"});
		return el("form", {class: "row", submit: (e) => {
			e.preventDefault();
			location.hash = page.file(id, input.querySelector("input").value.trim());
		}}, input, el("button", {id: "go"}, "Go"));
	}

	function contentOf(page, id, info, slice) {
		const pieces = (begin, what) => passageView(page, id, begin, what);
		if (info.size === 0) return remark("The file is empty.");
		if (slice?.bytes) {
			const [first, last] = slice.bytes;
			return pieces({byte_offset: first, byte_len: last - first + 1}, "Content");
		}
		if (page.query.get("whole") && slice)
			return pieces({line_start: slice.from, line_end: slice.from}, `Line ${format.count(slice.from)}`);
		return info.lines ? lineView(page, id, info.lines, slice)
			: pieces({byte_offset: 0, byte_len: PASSAGE}, "Content");
	}

	/** page.rest is ID or ID:SLICE, encoded. */
	async function view(page) {
		const [, encoded, , given] = /^(.*?)(:([\d-]+|b\d+-\d+))?$/.exec(page.rest);
		const id = decodeURIComponent(encoded);
		const info = await server.info(id, page.signal);
		const file = {...info, id: info.ref ?? id, lifecycle: info.important ? "important" : info.lifecycle};
		const slice = parseSlice(given, info.lines ?? 0);
		return [
			el("h1", {}, shown(info.title || format.baseName(info.path))),
			el("div", {class: "bar"}, pointerForm(page, info, given), info.lines > 0 && sliceForm(page, id, given),
				el("span", {class: "actions"}, actions.buttons(file, page.reload))),
			facts(info),
			contentOf(page, id, info, slice),
		];
	}

	return {view};
})();

// SPDX-License-Identifier: MIT
// Searches all that is offloaded, by words or by a regular expression.
"use strict";

const search = (() => {
	const {choice, el, field, remark, shown} = dom;
	const WAYS = [["words", "words or a question"], ["grep", "regular expression"]];
	const LIMIT = {words: 50, grep: 500};
	const TIERS = [["", "any"], ["working", "working"], ["long-term", "long-term"], ["archive", "archive"]];

	function form(page, way) {
		const get = (name) => page.query.get(name) ?? "";
		const fields = way === "grep" ? ["path", "glob"] : ["path", "category", "task", "tag"];
		const titles = {path: "Below", glob: "Names", category: "Category", task: "Task", tag: "Tag"};
		const submit = (e) => {
			e.preventDefault();
			page.set(Object.fromEntries(["q", ...fields].map((n) => [n, e.target.elements[n].value])));
		};
		return el("form", {class: "filters", submit},
			field("q", "For", get("q"), {type: "search", size: 30}),
			choice("way", "As", WAYS, way, (value) => page.set({way: value})),
			way === "words" && choice("search-tier", "Tier", TIERS, get("tier"), (value) => page.set({tier: value})),
			fields.map((n) => field(n, titles[n], get(n), {size: 10})),
			el("button", {class: "main"}, "Search"));
	}

	const sliceOf = (from, to) => [...new Set([from, to])].filter((n) => n !== null).join("-");

	const found = (n, noun) => (n ? format.plural(n, noun) + "." : "Nothing was found.");

	function hit(page, path, lines, text, id) {
		return el("li", {},
			path && el("a", {id, href: page.file(path, lines)}, shown(path), lines && `:${lines}`), text);
	}

	async function byWords(page, q) {
		const query = {query: q, limit: LIMIT.words};
		for (const name of ["tier", "path", "category", "task", "tag"]) query[name] = page.query.get(name);
		const {hits, note} = await server.search(query, page.signal);
		return [
			remark(found(hits.length, "hit"), note && [" ", shown(note)]),
			el("ol", {class: "hits"}, hits.map((h, i) => hit(page, h.path, sliceOf(h.line_start, h.line_end),
				el("pre", {}, h.snippet.split("\n").map((line) => el("div", {}, shown(line)))), `hit-${i}`))),
		];
	}

	async function byPattern(page, q) {
		const query = {pattern: q, limit: LIMIT.grep, path: page.query.get("path"), glob: page.query.get("glob")};
		const {lines, matches, complete} = await server.grep(query, page.signal);
		const byPath = new Map();
		for (const text of lines) {
			const [, path, number, line] = /^(.*?):(\d+):(.*)$/s.exec(text) ?? [null, "", null, text];
			if (!byPath.has(path)) byPath.set(path, []);
			byPath.get(path).push({number, line});
		}
		return [
			remark(found(matches, "matching line"), !complete && " There may be more."),
			el("ol", {class: "hits"}, Array.from(byPath, ([path, of], i) => hit(page, path, "", el("pre", {},
				of.map(({number, line}, n) => el("div", {},
					number && [el("a", {id: `hit-${i}-${n}`, href: page.file(path, number)}, number), " "],
					shown(line)))), `hit-${i}`))),
		];
	}

	async function view(page) {
		const q = page.query.get("q")?.trim();
		const way = page.query.get("way") === "grep" ? "grep" : "words";
		let answer = remark("Ask as you would ask a person; quotes, +word, -word and begin* match exactly.");
		if (q) {
			try {
				answer = await (way === "grep" ? byPattern : byWords)(page, q);
			} catch (e) {
				// The query is wrong: keep the form, so that it can be corrected.
				if (e.status !== 400) throw e;
				answer = el("p", {class: "wrong", role: "alert"}, shown(e.message));
			}
		}
		return [el("h1", {}, "Search"), form(page, way), answer];
	}

	return {view};
})();

// SPDX-License-Identifier: MIT
// Lists of files: all files, filtered and in pages, and those that will expire.
"use strict";

const files = (() => {
	const {choice, el, field, remark, section, shown} = dom;
	const PAGE = 100;
	const ANY = ["", "any"];
	const TIERS = [ANY, ["working", "working"], ["long-term", "long-term"], ["archive", "archive"]];
	const SORTS = [["used", "last used"], ["modified", "last changed"], ["size", "size"], ["tokens", "tokens"],
		["stored", "on disk"], ["expires", "expiry"], ["path", "path"]];
	const FILTERS = ["path", "tier", "category", "task", "tag"];
	let trail = []; // cursors of the pages visited so far; that of the first page is ""

	function nameCell(page, file) {
		const name = shown(file.title || format.baseName(file.path));
		return [
			server.report ? name : el("a", {id: `file-${file.id}`, href: page.file(file.id)}, name),
			file.lifecycle === "important" && el("span", {class: "tag"}, "pinned"),
			file.tags.map((tag) => el("span", {class: "tag"}, shown(tag))),
			el("small", {class: "path"}, shown(file.path)),
		];
	}

	const columns = {
		name: (page) => ({title: "File", heading: true, kind: "wide", cell: (f) => nameCell(page, f)}),
		tier: {title: "Tier", kind: "tier optional", cell: (f) => f.tier},
		category: {title: "Category", kind: "text optional", cell: (f) => shown(f.category ?? format.NONE)},
		task: {title: "Task", kind: "text optional", cell: (f) => shown(f.task ?? format.NONE)},
		size: {title: "Size", kind: "number", cell: (f) => format.bytes(f.bytes)},
		lines: {title: "Lines", kind: "number optional", cell: (f) => format.count(f.lines)},
		tokens: {title: "Tokens", kind: "number optional", cell: (f) => format.brief(f.tokens)},
		stored: {title: "On disk", kind: "number optional", cell: (f) => format.bytes(f.stored_bytes)},
		used: {title: "Used", kind: "number optional", cell: (f) => `${format.duration(f.age_seconds)} ago`},
		expires: {title: "Expires", kind: "number", cell: expiry},
		does: (page) => ({title: "", cell: (f) => el("span", {class: "actions"}, actions.buttons(f, page.reload))}),
	};

	function expiry(file) {
		if (file.lifecycle === "important") return "pinned";
		if (file.lifecycle === "evictable" || (file.expires && format.seconds(file.expires) < 0)) return "evictable";
		return file.expires ? format.relative(file.expires) : "never";
	}

	const pick = (page, ...names) =>
		names.map((n) => (typeof columns[n] === "function" ? columns[n](page) : columns[n]));

	const totals = (total) => `${format.plural(total.files, "file")}, ${format.bytes(total.bytes)}, `
		+ `${format.bytes(total.stored_bytes)} on disk, ${format.brief(total.tokens)} tokens`;

	function filterForm(page) {
		const get = (name) => page.query.get(name) ?? "";
		const submit = (e) => {
			e.preventDefault();
			const given = ["path", "category", "task", "tag"].map((n) => [n, e.target.elements[n].value]);
			page.set({...Object.fromEntries(given), cursor: ""});
		};
		const set = (name) => (value) => page.set({[name]: value, cursor: ""});
		return el("form", {class: "filters", submit},
			choice("tier", "Tier", TIERS, get("tier"), set("tier")),
			field("category", "Category", get("category"), {size: 10}),
			field("task", "Task", get("task"), {size: 12}),
			field("tag", "Tag", get("tag"), {size: 8}),
			field("path", "Below", get("path"), {size: 14, placeholder: "tasks/T"}),
			choice("sort", "By", SORTS, get("sort") || "used", set("sort")),
			el("button", {type: "button", id: "reverse", "aria-pressed": String(get("reverse") === "true"),
				click: () => set("reverse")(get("reverse") === "true" ? "" : "true")}, "Reverse"),
			el("button", {id: "filter"}, "Filter"),
			FILTERS.some(get) && el("a", {href: page.link("files")}, "Clear"));
	}

	function pager(page, cursor, next) {
		const at = trail.indexOf(cursor);
		const turn = (id, text, to) =>
			to !== null && el("a", {id, class: "button", href: page.here({cursor: to})}, text);
		return el("nav", {class: "row", "aria-label": "Pages of the list"},
			turn("first", "First page", cursor ? "" : null),
			turn("previous", "Previous page", at > 0 ? trail[at - 1] : null),
			turn("next", "Next page", next));
	}

	async function browse(page) {
		const query = {limit: PAGE};
		for (const name of [...FILTERS, "sort", "reverse", "cursor"]) query[name] = page.query.get(name);
		const cursor = query.cursor ?? "";
		const answer = await server.list(query, page.signal);
		if (!cursor) trail = [""];
		if (answer.next_cursor && trail.at(-1) === cursor) trail.push(answer.next_cursor);
		return [
			el("h1", {}, "Files"),
			filterForm(page),
			el("p", {class: "dim", id: "totals"}, totals(answer.total)),
			table.make("Files", pick(page, "name", "tier", "category", "task", "size", "lines", "tokens", "stored",
				"used", "expires", "does"), answer.files,
				{empty: FILTERS.some((f) => query[f]) ? "No file matches." : "Nothing is stored yet."}),
			pager(page, cursor, answer.next_cursor),
		];
	}

	/** The heading of a file in the list of those that expire. */
	function horizon(file) {
		if (file.lifecycle === "important") return "Pinned";
		if (!file.expires) return "Never";
		const s = format.seconds(file.expires);
		if (s < 0) return "Evictable: removed when room is needed, or when its grace is over";
		if (s < format.HOUR) return "Within an hour";
		if (s < format.DAY) return "Within a day";
		return s < 7 * format.DAY ? "Within a week" : "Later";
	}

	async function expiringTable(page) {
		const cursor = page.query.get("cursor");
		const query = {tier: "working", sort: "expires", limit: PAGE, cursor};
		const answer = await server.list(query, page.signal);
		return [
			remark(`Working tier: ${totals(answer.total)}. Expired files stay while there is room.`,
				!server.report && " Pin keeps a file where it is; Promote moves it to where nothing expires."),
			table.make("Files of the working tier, the first to expire first",
				pick(page, "name", "category", "task", "size", "used", "expires", ...(server.report ? [] : ["does"])),
				answer.files, {groupOf: horizon, empty: "The working tier is empty, so nothing expires."}),
			!server.report && pager(page, cursor ?? "", answer.next_cursor),
		];
	}

	const expiring = async (page) => [
		el("h1", {}, "What will expire"),
		await expiringTable(page),
	];

	/** Sections of a report: the files that expire first, and those used last. */
	async function expiringSection(page) {
		return section("expiring", "What will expire", await expiringTable(page));
	}

	async function recentSection(page) {
		const answer = await server.list({sort: "used", limit: PAGE}, page.signal);
		return section("recent", "Files used last",
			[remark(`Of ${totals(answer.total)}.`),
				table.make("Files used last", pick(page, "name", "tier", "category", "task", "size", "tokens", "stored",
					"used", "expires"), answer.files)]);
	}

	return {browse, expiring, expiringSection, recentSection};
})();

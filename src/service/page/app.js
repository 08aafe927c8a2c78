// SPDX-License-Identifier: MIT
// The page: shows the view that the address names, and what surrounds all views.
//
//     #/VIEW/REST?QUERY      agent=NAME in QUERY selects the tree of an agent
"use strict";

(() => {
	const {el, plain, remark} = dom;
	const THEMES = ["auto", "light", "dark"];
	const byId = (id) => document.getElementById(id);
	const main = byId("content");

	async function overview(page) {
		const stats = await server.stats({by: "way"}, page.signal);
		const parts = await Promise.all([savings.section(page), storage.section(page, stats.status)]);
		return [el("h1", {class: "hidden"}, "Overview"), parts];
	}

	async function report(page) {
		const where = server.report.stats.status?.mountpoint;
		return [
			el("h1", {}, "What offloadfs kept out of prompts"),
			remark(`As of ${format.moment(server.report.made)}`,
				where && [", in ", dom.shown(where)], "."),
			await savings.section(page), await storage.section(page, server.report.stats.status),
			await files.expiringSection(page), await tasks.sections(page), await files.recentSection(page),
		];
	}

	const VIEWS = {
		"": {title: "Overview", show: server.report ? report : overview, nav: true},
		files: {title: "Files", show: files.browse, nav: true},
		expiring: {title: "Expiring", show: files.expiring, nav: true},
		tasks: {title: "Tasks", show: tasks.view, nav: true},
		log: {title: "Log", show: log.view, nav: true},
		search: {title: "Search", show: search.view},
		file: {title: "File", show: content.view},
	};

	let current = null; // {name, abort} of the view shown

	function address(view, query, rest) {
		const given = Object.entries(query).filter(([, value]) => (value ?? "") !== "");
		return `#/${view}${rest ? "/" + rest : ""}${given.length ? "?" + new URLSearchParams(given) : ""}`;
	}

	/** The parameter of a view: its address, and links to others. */
	function makePage(name, rest, query, signal) {
		const agent = query.get("agent") ?? "";
		const here = (changes) => address(name, {...Object.fromEntries(query), ...changes}, rest);
		return {
			rest, query, signal, here,
			link: (view, params = {}) => address(view, {agent, ...params}),
			file: (id, slice, params = {}) => address("file", {agent, ...params},
				id.split("/").map(encodeURIComponent).join("/") + (slice ? `:${slice}` : "")),
			set: (changes) => {
				location.hash = here(changes);
			},
			reload: () => show(),
		};
	}

	/** Returns the path of the tree shown, for pointers. The mountpoint is requested only once. */
	let mountpoint = null;
	async function findRoot(page) {
		mountpoint ??= (await server.stats({by: "way"}, page.signal, "")).status?.mountpoint;
		return mountpoint && mountpoint + server.agent.replace(/[^/]+/g, "/agents/$&").replaceAll("//", "/");
	}

	async function show() {
		server.takeToken();
		const [, path, search] = /^#?\/?([^?]*)\??(.*)$/s.exec(location.hash);
		const [name, ...rest] = path.split("/");
		const view = VIEWS[server.report ? "" : name];
		const moved = current && current.name !== name;
		current?.abort.abort();
		const abort = new AbortController();
		current = {name, abort};
		const page = makePage(name, rest.join("/"), new URLSearchParams(search), abort.signal);
		server.agent = page.query.get("agent") ?? "";
		notice.hide();
		frame(page, name);
		main.setAttribute("aria-busy", "true");
		try {
			if (!view) throw new server.Failure(404, "There is no such page here.");
			if (name === "file") page.mountpoint = await findRoot(page);
			const focused = document.activeElement?.id;
			const parts = await view.show(page);
			if (abort.signal.aborted) return;
			main.replaceChildren(...[parts].flat(Infinity).filter(Boolean));
			plots.trim();
			document.title = `${main.querySelector("h1").textContent} – offloadfs`;
			if (moved) {
				main.focus({preventScroll: true});
				scrollTo(0, 0);
			}
			else if (focused) byId(focused)?.focus();
			if (!server.report) await Promise.all([showAgents(page), showFooter()]);
		} catch (e) {
			if (e.name === "AbortError" || abort.signal.aborted) return;
			if (moved) main.replaceChildren();
			notice.fail(e, show);
		} finally {
			if (current.abort === abort) main.removeAttribute("aria-busy");
		}
	}

	/** Updates what surrounds a view. */
	function frame(page, name) {
		if (server.report) return;
		byId("nav").replaceChildren(...Object.entries(VIEWS).filter(([, v]) => v.nav).map(([key, v]) =>
			el("a", {href: page.link(key), "aria-current": key === name && "page"}, v.title)));
		document.querySelector(".brand").href = page.link("");
	}

	async function showAgents(page) {
		const select = byId("agent");
		const chosen = server.agent;
		const names = (await server.agents(page.signal, "")).agents.map((a) => a.name);
		if (chosen && !names.includes(chosen)) names.push(chosen);
		select.replaceChildren(...["", ...names].map((value) => {
			const option = el("option", {}, value ? `agent ${plain(value)}` : "whole tree");
			option.value = value;
			return option;
		}));
		select.value = chosen;
		select.hidden = names.length === 0;
	}

	async function showFooter() {
		const {version} = await server.health();
		byId("footer").replaceChildren(`offloadfs ${version} · `, el("a", {href: "licences.txt"}, "licences"));
	}

	function setTheme(theme) {
		document.documentElement.dataset.theme = theme;
		byId("theme").textContent = {auto: "◐", light: "☀", dark: "☾"}[theme];
		byId("theme").setAttribute("aria-label", `Colours: ${theme}`);
		byId("theme").title = `Colours: ${theme}`;
		try {
			localStorage.setItem("offload-theme", theme);
		} catch {
			// A page from a file may not store anything.
		}
	}

	function storedTheme() {
		try {
			return THEMES.find((t) => t === localStorage.getItem("offload-theme")) ?? "auto";
		} catch {
			return "auto";
		}
	}

	setTheme(storedTheme());
	byId("theme").addEventListener("click", () => {
		setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
		show();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
	byId("find").addEventListener("submit", (e) => {
		e.preventDefault();
		location.hash = address("search", {agent: server.agent, q: byId("find-query").value});
	});
	byId("agent").addEventListener("change", (e) => (location.hash = address("", {agent: e.target.value})));
	document.querySelector(".skip").addEventListener("click", (e) => {
		e.preventDefault(); // the fragment of the address names the view
		main.focus();
	});
	document.addEventListener("keydown", (e) => {
		if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select")) return;
		e.preventDefault();
		byId("find-query").focus();
	});
	document.documentElement.classList.toggle("report", server.report !== null);
	addEventListener("hashchange", show);
	show();
})();

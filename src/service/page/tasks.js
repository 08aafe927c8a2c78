// SPDX-License-Identifier: MIT
// Tasks and agents.
"use strict";

const tasks = (() => {
	const {el, shown} = dom;
	const state = {title: "State", cell: (x) => shown(x.state ?? format.NONE)};
	const count = {title: "Files", number: true, cell: (x) => format.count(x.files)};
	const size = {title: "Size", number: true, cell: (x) => format.bytes(x.bytes)};

	function name(title, href) {
		return {title, heading: true, wide: true,
			cell: (x) => (server.report ? shown(x.name) : el("a", {href: href(x)}, shown(x.name)))};
	}

	const section = (id, title, content) => el("section", {"aria-labelledby": id}, el("h2", {id}, title), content);

	async function sections(page) {
		const [{tasks: all}, {agents}] = await Promise.all([server.tasks(page.signal), server.agents(page.signal)]);
		const used = {title: "Used", number: true, cell: (a) => format.relative(a.used)};
		return [
			section("tasks", "Tasks", table.make("Tasks", [name("Task", (t) => page.link("files", {task: t.name})), state, count, size],
				all, {empty: "There is no task. A session of an agent is one, and so is what put -t names."})),
			section("agents", "Agents", table.make("Agents",
				[name("Agent", (a) => page.link("", {agent: server.agent ? `${server.agent}/${a.name}` : a.name})), state, count, size, used],
				agents, {empty: "No agent has a tree of its own here. offload agent run makes one."})),
		];
	}

	const view = async (page) => [el("h1", {}, "Tasks and agents"), await sections(page)];

	return {sections, view};
})();

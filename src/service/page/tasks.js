// SPDX-License-Identifier: MIT
// Tasks and agents.
"use strict";

const tasks = (() => {
	const {el, section, shown} = dom;
	const state = {title: "State", cell: (x) => shown(x.state ?? format.NONE)};
	const count = {title: "Files", kind: "number", cell: (x) => format.count(x.files)};
	const size = {title: "Size", kind: "number", cell: (x) => format.bytes(x.bytes)};

	function name(title, href) {
		return {title, heading: true, kind: "wide",
			cell: (x) => (server.report ? shown(x.name) : el("a", {href: href(x)}, shown(x.name)))};
	}

	async function sections(page) {
		const [{tasks: all}, {agents}] = await Promise.all([server.tasks(page.signal), server.agents(page.signal)]);
		const inner = (name) => (server.agent ? `${server.agent}/${name}` : name);
		const used = {title: "Used", kind: "number", cell: (a) => format.relative(a.used)};
		return [
			section("tasks", "Tasks", table.make("Tasks",
				[name("Task", (t) => page.link("files", {task: t.name})), state, count, size], all,
				{empty: "There are no tasks. Each session of an agent is one, and so is a name given to put -t."})),
			section("agents", "Agents", table.make("Agents",
				[name("Agent", (a) => page.link("", {agent: inner(a.name)})), state, count, size, used], agents,
				{empty: "No agent has its own tree here. offload agent run makes one."})),
		];
	}

	const view = async (page) => [el("h1", {}, "Tasks and agents"), await sections(page)];

	return {sections, view};
})();

// SPDX-License-Identifier: MIT
// The log, live.
"use strict";

const log = (() => {
	const {choice, el, shown} = dom;
	const ROWS_MAX = 500, RETRY_MS = 3000;
	const RECENT = 50000; // bytes of the log that are shown at first
	const EVENTS = ["offload", "rewrite", "promote", "archive", "demote", "move", "expire", "evict", "repair",
		"task-end", "task-reopen", "agent-end", "agent-reopen", "agent-remove", "lost"];

	function row(page, {event, data}) {
		let entry;
		try {
			entry = JSON.parse(data);
		} catch {
			entry = {title: data};
		}
		const name = entry.title ?? entry.path ?? "";
		return el("tr", {class: `event-${EVENTS.indexOf(event)}`},
			el("td", {class: "moment"}, format.moment(entry.time, 19)),
			el("td", {}, shown(event ?? "")),
			el("td", {class: "wide"},
				entry.ref ? el("a", {href: page.file(entry.ref)}, shown(name)) : shown(name),
				entry.title && entry.path && el("small", {class: "path"}, shown(entry.path)),
				entry.from && el("small", {class: "path"}, "from ", shown(entry.from)),
				entry.cause && el("small", {class: "path"}, shown(entry.cause))),
			el("td", {class: "optional"}, shown(entry.task ?? "")),
			el("td", {class: "number"}, entry.size === undefined ? "" : format.bytes(entry.size)));
	}

	function view(page) {
		const body = el("tbody"), state = el("span", {id: "log-state", class: "dim", role: "status"});
		const only = page.query.get("event") ?? "";
		let paused = false, waiting = [], last = -RECENT, problem = null;

		const pause = el("button", {type: "button", id: "pause", "aria-pressed": "false", click: () => {
			paused = !paused;
			pause.setAttribute("aria-pressed", String(paused));
			if (!paused) add(waiting.splice(0));
			tell();
		}});

		function tell() {
			pause.textContent = paused ? "Resume" : "Pause";
			state.textContent = problem ?? (paused ? `Paused; ${format.count(waiting.length)} new.` : "Live.");
		}

		function add(events) {
			body.prepend(...events.map((e) => row(page, e)).reverse());
			while (body.rows.length > ROWS_MAX) body.deleteRow(-1);
		}

		function tellProblem(text) {
			problem = text;
			tell();
		}

		function opened() {
			notice.hide();
			tellProblem(null);
		}

		async function follow() {
			for await (const event of server.events(last, page.signal, opened)) {
				last = event.id ?? last;
				if (only && event.event !== only) continue;
				if (!paused) add([event]);
				else if (waiting.push(event) > ROWS_MAX) waiting.shift();
				tell();
			}
		}

		async function keepFollowing() {
			while (!page.signal.aborted) {
				try {
					tellProblem("Waiting for the server…");
					await follow();
				} catch (e) {
					if (e.name === "AbortError") return;
					notice.fail(e, page.reload);
					if (e.status !== 0 && e.status !== 503) return;
				}
				tellProblem("The server does not answer; trying again.");
				await new Promise((done) => setTimeout(done, RETRY_MS));
			}
		}
		keepFollowing();
		return [
			el("h1", {}, "Log"),
			el("p", {class: "row"}, pause, state,
				choice("event", "Only", [["", "all events"], ...EVENTS.map((e) => [e, e])], only,
					(value) => page.set({event: value}))),
			el("div", {class: "scroll", role: "log", "aria-live": "off", tabindex: "0",
				"aria-label": "What happens in the tree, newest first"},
				el("table", {class: "log"},
					el("thead", {}, el("tr", {}, ["Time", "Event", "File"].map((t) => el("th", {scope: "col"}, t)),
						el("th", {scope: "col", class: "optional"}, "Task"), el("th", {scope: "col", class: "number"}, "Size"))),
					body)),
		];
	}

	return {view};
})();

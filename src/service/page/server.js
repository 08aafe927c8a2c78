// SPDX-License-Identifier: MIT
// The API of the server. In a report, the answers that are embedded in its file are used instead.
"use strict";

const server = (() => {
	const embedded = document.getElementById("answers");
	const report = embedded ? JSON.parse(embedded.textContent) : null;
	const TOKEN = "offload-token";
	let token = null, agent = "";

	/** An error with a message for the reader. `status` is that of HTTP; 0: no answer. */
	class Failure extends Error {
		constructor(status, message) {
			super(message);
			this.status = status;
		}
	}

	function setToken(value) {
		token = value;
		sessionStorage.setItem(TOKEN, value);
	}

	/** Takes a token out of the address, so that it is not visible or kept in the history. */
	function takeToken() {
		const given = /^#token=(.+)$/.exec(location.hash);
		if (report) return;
		token = sessionStorage.getItem(TOKEN);
		if (!given) return;
		setToken(decodeURIComponent(given[1]));
		history.replaceState(null, "", location.pathname + "#/");
	}

	/** Encodes a text as UTF-8, in characters that a header may have. */
	const asBytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

	/** Sends a request for the tree of the agent `of`, or for the server's own tree (""). */
	async function request(path, {method = "GET", query, body, signal, headers = {}, of = agent} = {}) {
		const given = Object.entries(query ?? {}).filter(([, value]) => (value ?? "") !== "");
		const address = path + (given.length ? "?" + new URLSearchParams(given) : "");
		headers["Offload-Reader"] = "person";
		if (token) headers.Authorization = "Bearer " + asBytes(token);
		if (of) headers["Offload-Agent"] = asBytes(of);
		if (body) headers["Content-Type"] = "application/json";
		let response;
		try {
			response = await fetch(address, {
				method, headers, signal,
				body: body && JSON.stringify(body),
				cache: "no-store", credentials: "omit", redirect: "error",
			});
		} catch (e) {
			if (e.name === "AbortError") throw e;
			throw new Failure(0, "The server does not answer.");
		}
		if (response.ok) return response;
		const answer = await response.json().catch(() => null);
		throw new Failure(response.status, answer?.error?.message ?? `The server answered ${response.status}.`);
	}

	async function json(path, options) {
		const response = await request(path, options);
		try {
			return await response.json();
		} catch (e) {
			if (e.name === "AbortError") throw e;
			throw new Failure(0, "The answer of the server was cut off.");
		}
	}

	const memory = (id, rest = "") => `/v1/memories/${encodeURIComponent(id)}${rest}`;
	const either = (name, path, query, signal, of) => (report ? report[name] : json(path, {query, signal, of}));

	/**
	 * Yields the events of the log after position `after`, and further ones as they occur. Calls
	 * opened() when the server has answered.
	 */
	async function* events(after, signal, opened) {
		const headers = {Accept: "text/event-stream"};
		const response = await request("/v1/events", {signal, headers, query: {after}});
		opened();
		const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
		let rest = "";
		for (;;) {
			const {value, done} = await reader.read().catch((e) => {
				if (e.name === "AbortError") throw e;
				return {done: true};
			});
			if (done) return;
			const blocks = (rest + value).split(/\r?\n\r?\n/);
			rest = blocks.pop();
			for (const block of blocks) {
				const event = {};
				for (const line of block.split(/\r?\n/)) {
					const [, name, text] = /^([a-z]+): ?(.*)$/s.exec(line) ?? [];
					if (name) event[name] = name in event ? event[name] + "\n" + text : text;
				}
				if (event.data !== undefined) yield event;
			}
		}
	}

	return {
		Failure, events, report, setToken, takeToken,
		get agent() { return agent; },
		set agent(name) { agent = name; },
		health: () => json("/health"),
		stats: (query, signal, of) => either("stats", "/v1/stats", query, signal, of),
		usage: (signal) => either("usage", "/v1/usage", {}, signal),
		tasks: (signal) => either("tasks", "/v1/tasks", {}, signal),
		agents: (signal, of) => either("agents", "/v1/agents", {}, signal, of),
		list: (query, signal) =>
			either(query.sort === "expires" ? "expiring" : "recent", "/v1/memories", query, signal),
		info: (id, signal) => json(memory(id, "/info"), {signal}),
		fetch: (id, query, signal) => json(memory(id), {query, signal}),
		pin: (id, important) => json(memory(id, "/pin"), {method: "POST", body: {important}}),
		promote: (id, body) => json(memory(id, "/promote"), {method: "POST", body}),
		search: (query, signal) => json("/v1/search", {query, signal}),
		grep: (query, signal) => json("/v1/grep", {query, signal}),
	};
})();

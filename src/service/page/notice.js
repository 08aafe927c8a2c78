// SPDX-License-Identifier: MIT
// Messages to the reader: what was done; or what is wrong, and how to correct it.
"use strict";

const notice = (() => {
	const {el, shown} = dom;
	const SECONDS = 10;
	let timer = 0;

	/** Reports for a while what was done; `undo`, if given, is offered as a button. */
	function say(text, undo) {
		const box = document.getElementById("notice");
		const close = () => box.replaceChildren();
		const wait = () => {
			clearTimeout(timer);
			timer = setTimeout(() => (box.matches(":hover, :focus-within") ? wait() : close()), SECONDS * 1000);
		};
		box.replaceChildren(el("p", {}, shown(text),
			undo && el("button", {type: "button", click: () => { close(); undo(); }}, "Undo"),
			el("button", {type: "button", "aria-label": "Dismiss", click: close}, "×")));
		wait();
	}

	const code = (text) => el("code", {}, text);

	function remedy(failure) {
		if (failure.status === 0)
			return ["Start it again with ", code("offload serve"), " and open the address that it prints."];
		if (failure.status === 410) return ["The file has expired, so its pointer no longer works."];
		if (failure.status === 404 && server.agent)
			return ["This is the tree of an agent: it has no files of others."];
		if (failure.status === 503)
			return ["Mount the tree with ", code("offload up"), " in its workspace, and try again."];
		return [];
	}

	function tokenForm(retry) {
		const token = el("input",
			{id: "token", type: "password", autocomplete: "off", "aria-label": "Token", required: true});
		return el("form", {submit: (e) => { e.preventDefault(); server.setToken(token.value.trim()); retry(); }},
			el("p", {}, "The server needs the token that ", code("offload serve"),
				" printed. Open the address that it printed, which contains the token, or enter the token:"),
			token, el("button", {}, "Continue"));
	}

	/** Shows what went wrong, until hide() is called. */
	function fail(failure, retry) {
		const box = document.getElementById("problem");
		const again = el("button", {type: "button", click: retry}, "Try again");
		if (!(failure instanceof server.Failure)) console.error(failure);
		if (failure.status === 401) box.replaceChildren(tokenForm(retry));
		else box.replaceChildren(el("p", {}, shown(failure.message), " ", remedy(failure)), again);
		box.hidden = false;
	}

	function hide() {
		document.getElementById("problem").hidden = true;
	}

	return {fail, hide, say};
})();

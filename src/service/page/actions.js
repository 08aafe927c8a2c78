// SPDX-License-Identifier: MIT
// Actions on a file: pin, unpin and promote.
"use strict";

const actions = (() => {
	const {choice, el, field, shown} = dom;

	async function pin(file, important, done) {
		try {
			await server.pin(file.id, important);
			notice.say(`${important ? "Pinned" : "Unpinned"} ${file.title || file.path}`,
				() => pin(file, !important, done));
			await done();
		} catch (e) {
			notice.fail(e, () => pin(file, important, done));
		}
	}

	/** Asks for the destination and moves the file there. */
	function promote(file, done) {
		const opener = document.activeElement;
		const tiers = [["long-term", "long-term: kept, can be changed"],
			["archive", "archive: kept, read-only, smallest"]];
		let tier = "long-term";
		const send = async (e) => {
			e.preventDefault();
			const tags = dialog.querySelector("#promote-tags").value.split(",").map((t) => t.trim()).filter(Boolean);
			const category = dialog.querySelector("#promote-category").value.trim();
			dialog.close();
			try {
				const moved = await server.promote(file.id,
					{tier, ...(category && {category}), ...(tags.length && {tags})});
				notice.say(`Kept as ${moved.path}`);
				await done();
			} catch (error) {
				notice.fail(error, () => promote(file, done));
			}
		};
		const close = () => {
			dialog.remove();
			opener?.focus();
		};
		const dialog = el("dialog", {"aria-labelledby": "promote-title", close},
			el("form", {submit: send},
				el("h2", {id: "promote-title"}, "Keep a file"),
				el("p", {}, shown(file.title || file.path)),
				choice("promote-tier", "Tier", tiers, tier, (value) => (tier = value)),
				field("promote-category", "Category", file.category),
				field("promote-tags", "More tags, separated by commas"),
				el("p", {class: "row"}, el("button", {class: "main"}, "Promote"),
					el("button", {type: "button", click: () => dialog.close()}, "Cancel"))));
		document.body.append(dialog);
		dialog.showModal();
	}

	/** Returns the buttons for a file. `done` is called after an action, to update the view. */
	function buttons(file, done) {
		if (server.report) return [];
		const name = file.title || file.path;
		const pinned = file.lifecycle === "important";
		const button = (key, text, click) =>
			el("button", {type: "button", id: `${key}-${file.id}`, "aria-label": `${text} ${name}`, click}, text);
		return [
			file.tier === "working" && button("pin", pinned ? "Unpin" : "Pin", () => pin(file, !pinned, done)),
			file.tier !== "archive" && button("promote", "Promote", () => promote(file, done)),
		];
	}

	return {buttons};
})();

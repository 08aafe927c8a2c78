// SPDX-License-Identifier: MIT
// Formats numbers and times for people.
"use strict";

const format = (() => {
	const NONE = "–";
	const MINUTE = 60, HOUR = 3600, DAY = 86400;
	const known = (x) => x !== null && x !== undefined;

	function scaled(n, base, units) {
		let i = 0;
		while (Math.abs(n) >= base && i < units.length - 1) {
			n /= base;
			i++;
		}
		const digits = i > 0 && Math.abs(n) < 99.95 ? 1 : 0;
		return n.toLocaleString("en-US", {maximumFractionDigits: digits, minimumFractionDigits: digits}) + units[i];
	}

	const count = (n) => (known(n) ? n.toLocaleString("en-US") : NONE);
	const brief = (n) => (known(n) ? scaled(n, 1000, ["", " k", " M", " G", " T"]) : NONE);
	const bytes = (n) => (known(n) ? scaled(n, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]) : NONE);
	const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

	const range = (noun, first, last, total) => `${noun} ${count(first)} to ${count(last)} of ${count(total)}`;
	const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);

	function duration(seconds) {
		if (seconds < MINUTE) return `${Math.round(seconds)} s`;
		if (seconds < 2 * HOUR) return `${Math.round(seconds / MINUTE)} min`;
		if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)} h`;
		return `${Math.round(seconds / DAY)} days`;
	}

	const seconds = (time) => (new Date(time) - Date.now()) / 1000;

	/** "2026-01-31 14:05", in local time; with seconds if `digits` is 19. */
	function moment(time, digits = 16) {
		const d = new Date(time);
		if (!known(time) || isNaN(d)) return NONE;
		return new Date(d - d.getTimezoneOffset() * MINUTE * 1000).toISOString().slice(0, digits).replace("T", " ");
	}

	/** An element with "in 25 min" or "25 min ago", and the moment as its title. */
	function relative(time) {
		if (!known(time) || isNaN(new Date(time))) return NONE;
		const s = seconds(time);
		return dom.el("time", {datetime: time, title: moment(time)},
			s >= 0 ? `in ${duration(s)}` : `${duration(-s)} ago`);
	}

	return {baseName, brief, bytes, count, DAY, duration, HOUR, moment, NONE, plural, range, relative, seconds};
})();

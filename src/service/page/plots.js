// SPDX-License-Identifier: MIT
// Makes plots with Chart.js and d3-hierarchy. Without these there are only the tables.
"use strict";

const plots = (() => {
	const {el} = dom;
	const COLOURS = 9;
	let charts = [];

	/** Returns a colour of the style sheet in a form that a canvas accepts. */
	function colour(name) {
		const probe = el("span", {class: "probe"});
		probe.style.color = `var(${name})`;
		document.body.append(probe);
		const resolved = getComputedStyle(probe).color;
		probe.remove();
		return resolved;
	}

	/** Frees the plots that are no longer in the page. */
	function trim() {
		charts.filter((c) => !c.canvas.isConnected).forEach((c) => c.destroy());
		charts = charts.filter((c) => c.canvas);
	}

	const missing = (library, packages) => el("p", {class: "dim"},
		`There is no plot, since the program was built without ${library} (Debian: ${packages}).`);

	/** Makes stacked bars over time. `series` are {label, values}. */
	function bars(labels, series, summary) {
		if (!globalThis.Chart) return missing("Chart.js", "libjs-chart.js");
		const canvas = el("canvas", {role: "img", "aria-label": summary});
		const box = el("div", {class: "plot"}, canvas);
		const text = colour("--dim"), line = colour("--line");
		const axis = {
			stacked: true,
			ticks: {color: text, maxRotation: 0, autoSkipPadding: 16},
			grid: {color: line, borderColor: line, drawTicks: false},
		};
		Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
		Chart.defaults.font.size = 11;
		charts.push(new Chart(canvas, {
			type: "bar",
			data: {
				labels,
				datasets: series.map(({label, values}, i) => ({
					label: dom.plain(label),
					data: values,
					backgroundColor: colour(`--series-${i % COLOURS}`),
					barPercentage: 1,
					categoryPercentage: 0.86,
				})),
			},
			options: {
				animation: false,
				responsive: true,
				maintainAspectRatio: false,
				interaction: {mode: "index", intersect: false},
				scales: {
					x: {...axis, grid: {display: false, borderColor: line}},
					y: {...axis, ticks: {...axis.ticks, maxTicksLimit: 6, callback: format.brief}},
				},
				plugins: {
					legend: {
						position: "bottom", align: "start",
						labels: {color: text, boxWidth: 10, boxHeight: 10},
					},
					tooltip: {
						filter: (item) => item.raw !== 0,
						callbacks: {label: (item) => ` ${item.dataset.label}: ${format.count(item.raw)}`},
					},
				},
			},
		}));
		return box;
	}

	/**
	 * Makes nested rectangles. `groups` are {label, className, parts: [{label, value, text, href}]}.
	 * Screen readers ignore them, since a table has the same links.
	 */
	function treemap(groups) {
		if (!globalThis.d3?.treemap) return missing("d3-hierarchy", "node-d3-hierarchy");
		const box = el("div", {class: "treemap", "aria-hidden": "true"});
		const place = (element, node) => {
			element.style.left = `${node.x0}px`;
			element.style.top = `${node.y0}px`;
			element.style.width = `${node.x1 - node.x0}px`;
			element.style.height = `${node.y1 - node.y0}px`;
			return element;
		};
		const draw = () => {
			const root = d3.hierarchy({parts: groups}, (d) => d.parts)
				.sum((d) => d.value ?? 0)
				.sort((a, b) => b.value - a.value);
			d3.treemap().size([box.clientWidth, box.clientHeight])
				.paddingInner(2).paddingTop((n) => (n.depth === 1 ? 18 : 0))(root);
			box.replaceChildren(
				...(root.children ?? []).map((n) => place(el("div", {class: "group"}, n.data.label), n)),
				...root.leaves().filter((n) => n.depth === 2 && n.value > 0).map(({data, parent, ...at}) => place(
					el(data.href ? "a" : "div",
						{class: "cell " + parent.data.className, href: data.href, tabindex: data.href && "-1",
							title: `${data.label}: ${data.text}`},
						at.x1 - at.x0 > 44 && at.y1 - at.y0 > 20 && [data.label, el("small", {}, data.text)]), at)),
			);
		};
		new ResizeObserver(draw).observe(box);
		return box;
	}

	return {bars, treemap, trim};
})();

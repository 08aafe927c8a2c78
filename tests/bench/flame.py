# SPDX-License-Identifier: MIT
"""Draws stacks as a flame graph: an SVG that is readable on light and dark pages.

Stacks are a dict of folded stack to weight. A folded stack is the names of its frames from the
outermost to the innermost, joined by semicolons, each followed by its library: `ZSTD_compress
(libzstd)`. The width of a frame's box is the share of the stacks that contain it, and the box
stands on that of its caller.
"""
from xml.sax.saxutils import escape

LEAST = 0.002  # share of the whole below which boxes are left out
BYTES = 150_000  # maximum size of the picture: to keep it, more is left out
WIDTH, ROW, LEFT, TOP, BOTTOM = 1200, 17, 16, 78, 16
CHARACTER = 6.7  # width of a character
# Fills on light and on dark pages, by library. The last one is for all others.
COLOURS = {
    "kernel": ("#f5c3a4", "#8a4a20"),
    "offloadfs": ("#a9cdfb", "#1f5394"),
    "libsqlite3": ("#cfe6a6", "#4b6a1c"),
    "libzstd": ("#d7c4f5", "#5c4091"),
    "libcrypto": ("#f4bccb", "#8b3550"),
    "libc": ("#f3e29b", "#6b5b12"),
    "other": ("#dadfe4", "#4a525b"),
}


class Frame:
    """A frame below certain callers. `weight` is that of all stacks through it."""

    def __init__(self, name):
        self.name, self.weight, self.calls = name, 0, {}

    def add(self, names, weight):
        self.weight += weight
        if names:
            self.calls.setdefault(names[0], Frame(names[0])).add(names[1:], weight)

    def boxes(self, left, level, least):
        """Yields (frame, left, level) for this frame and all above it that weigh enough."""
        yield self, left, level
        for _, call in sorted(self.calls.items()):
            if call.weight >= least:
                yield from call.boxes(left, level + 1, least)
            left += call.weight


def picture(stacks, title, subtitle=""):
    """Returns the text of the SVG."""
    whole = Frame("all")
    for stack, weight in stacks.items():
        whole.add(stack.split(";"), weight)
    least = LEAST
    while True:
        svg = _draw(whole, list(whole.boxes(0, 0, whole.weight * least)), title, subtitle)
        if len(svg) <= BYTES:
            return svg
        least *= 1.25


def _draw(whole, boxes, title, subtitle):
    width = WIDTH + 2 * LEFT
    floor = TOP + max(level for _, _, level in boxes) * ROW
    height = floor + ROW + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}</title>',
        _style(),
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
        f'<text class="heading" x="{LEFT}" y="26">{escape(title)}</text>',
        f'<text class="small" x="{LEFT}" y="44">{escape(subtitle)}</text>',
        *_legend({_kind(frame.name) for frame, _, level in boxes if level}),
    ]
    scale = WIDTH / max(whole.weight, 1)
    for frame, left, level in boxes:
        share = frame.weight / max(whole.weight, 1)
        lines.append(_box(frame, share, LEFT + left * scale, floor - level * ROW))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(frame, share, x, y):
    name, width = frame.name.rpartition(" (")[0] or frame.name, share * WIDTH
    label = _clipped(name, int((width - 6) / CHARACTER))
    if label:
        label = f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(label)}</text>'
    return (
        f"<g><title>{escape(frame.name)}: {share:.1%}</title>"
        f'<rect class="box {_kind(frame.name)}" x="{x:.2f}" y="{y}" width="{width:.2f}"'
        f' height="{ROW - 1}"/>{label}</g>'
    )


def _clipped(text, characters):
    if len(text) <= characters:
        return text
    return text[: characters - 2] + ".." if characters >= 4 else ""


def _kind(name):
    library = name.rpartition(" (")[2].removesuffix(")")
    return library if library in COLOURS else "other"


def _legend(kinds):
    x = LEFT
    for kind in COLOURS:
        if kind in kinds:
            yield f'<rect class="{kind}" x="{x}" y="56" width="10" height="10"/>'
            yield f'<text class="small" x="{x + 15}" y="65">{kind}</text>'
            x += 36 + 7 * len(kind)


def _style():
    def fills(page):
        return "\n".join(f".{kind} {{ fill: {fill[page]} }}" for kind, fill in COLOURS.items())

    return f"""<style>
text {{ font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }}
g {{ pointer-events: all }}
g text {{ pointer-events: none }}
.heading, .small {{ font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif }}
.heading {{ font-size: 15px; font-weight: 600 }}
.small {{ fill: #59636e }}
.page {{ fill: #ffffff }}
{fills(0)}
@media (prefers-color-scheme: dark) {{
text {{ fill: #f0f6fc }}
.small {{ fill: #9198a1 }}
.page {{ fill: #0d1117 }}
{fills(1)}
}}
</style>"""

# SPDX-License-Identifier: MIT
"""Draws the figures of the speed benchmark as an SVG that is readable on light and dark pages."""
import json
import math
from xml.sax.saxutils import escape

from measure import Failure, ratio_text
from peers import CLASSIC, URING

HELP = "a picture (SVG) of what 'speed --json FILE' wrote"

WORKLOADS = (
    ("rg, warm", "ripgrep, warm"),
    ("grep, warm", "grep -r, warm"),
    ("cat, warm", "read all files, warm"),
    ("rg, cold", "ripgrep, cold"),
    ("create-4k", "create files of 4 KB"),
    ("fsync-8", "create + fsync, 8 writers"),
    ("write", "write a large file, fsync"),
    ("rm", "rm -rf"),
)
# Each has the same contrast on white and on black. The last one is for all others.
COLOURS = {
    URING: "#2f81f7",
    CLASSIC: "#8957e5",
    "bindfs": "#d2782a",
    "gocryptfs": "#c9485b",
    "squashfuse": "#3d9a50",
}
OTHER = "#808080"

LEFT, WIDTH, RIGHT = 190, 560, 60
TOP, BAR, GAP, BOTTOM = 96, 12, 14, 44


def add_arguments(parser):
    parser.add_argument("file", metavar="FILE", help="what 'speed --json FILE' wrote")
    parser.add_argument(
        "-o", "--output", metavar="FILE.svg", help="where to (default: beside it, as FILE.svg)"
    )


def draw(options):
    path = options.output or options.file.removesuffix(".json") + ".svg"
    try:
        with open(options.file) as f:
            speed = json.load(f)["speed"]
        svg = picture(speed)
        with open(path, "w") as f:
            f.write(svg)
    except OSError as e:
        raise Failure(f"cannot draw '{path}': {e}") from e
    except (ValueError, KeyError, TypeError) as e:
        raise Failure(f"'{options.file}' is not what 'speed --json' writes") from e
    print(path)


def picture(speed):
    """Returns the text of the SVG."""
    rows = [(title, _ratios(speed, key)) for key, title in WORKLOADS if key in speed["figures"]]
    rows = [(title, ratios) for title, ratios in rows if ratios]
    if not rows:
        raise Failure("none of the workloads that are drawn was measured")
    scale = Scale([ratio for _, ratios in rows for ratio in ratios.values()])
    height = TOP + sum(len(r) * BAR + GAP for _, r in rows) + BOTTOM
    width = LEFT + WIDTH + RIGHT
    bars, y = [], TOP
    for title, ratios in rows:
        bars += _group(title, ratios, scale, y)
        y += len(ratios) * BAR + GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(_title(speed))}</title>',
        f'<desc id="desc">{escape(_description(speed, rows))}</desc>',
        _STYLE,
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
        _text("heading", 16, 26, _title(speed)),
        _text("small", 16, 44, _subtitle(speed)),
        *_legend(speed, rows),
        *_axis(scale, height - BOTTOM, speed["plain"]),
        *bars,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _ratios(speed, key):
    """Returns the ratios by system, as measured. The plain filesystem is the line at 1."""
    ratios = speed["figures"][key]["ratio"]
    names = (name for name in speed["systems"] if name in ratios and name != speed["plain"])
    return {name: ratios[name] for name in names}


def _title(speed):
    return f"Time relative to {speed['plain']}: left of the line is faster"


def _subtitle(speed):
    machine = speed["machine"]
    return (
        f"{machine['processor']}, {machine['processors']} processors; medians of {speed['runs']}"
        f" runs; {'small numbers, for trying it out' if speed['quick'] else 'logarithmic scale'}"
    )


def _description(speed, rows):
    said = [
        f"{title}: " + ", ".join(f"{name} {ratio_text(ratio)}" for name, ratio in ratios.items())
        for title, ratios in rows
    ]
    return f"Times of {speed['plain']} in each workload. " + ". ".join(said) + "."


# --- Parts ----------------------------------------------------------------------------------------

_STYLE = """<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
text { font-size: 12px; fill: #1f2328 }
.heading { font-size: 15px; font-weight: 600 }
.small { font-size: 11px; fill: #59636e }
.value { font-size: 10px; fill: #59636e }
.page { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.one { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
text, .heading { fill: #f0f6fc }
.small, .value { fill: #9198a1 }
.page { fill: #0d1117 }
.grid { stroke: #3d444d }
.one { stroke: #f0f6fc }
}
</style>"""


class Scale:
    """Maps ratios to x on a logarithmic scale, with room for labels on both sides."""

    def __init__(self, ratios):
        low, high = min(0.5, *ratios), max(4, *ratios)
        room = (high / low) ** 0.07
        self.low, self.high = low / room, high * room

    def x(self, ratio):
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return LEFT + WIDTH * share

    def ticks(self):
        step = 2 if self.high / self.low < 200 else 10
        return [t for t in (step**n for n in range(-9, 10)) if self.low <= t <= self.high]


def _text(kind, x, y, text, anchor="start"):
    at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {at}>{escape(text)}</text>'


def _legend(speed, rows):
    shown = {name for _, ratios in rows for name in ratios}
    out, x = [], 16
    for name in (n for n in speed["systems"] if n in shown):
        colour = COLOURS.get(name, OTHER)
        out.append(f'<rect fill="{colour}" x="{x}" y="58" width="10" height="10"/>')
        out.append(_text("small", x + 15, 67, name))
        x += 36 + 6 * len(name)
    return out


def _axis(scale, bottom, plain):
    out = []
    for tick in scale.ticks():
        x = scale.x(tick)
        kind = "one" if tick == 1 else "grid"
        label = f"{plain} = 1" if tick == 1 else f"{tick:g}"
        out.append(f'<line class="{kind}" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}"/>')
        out.append(_text("small", x, bottom + 16, label, "middle"))
    return out


def _group(title, ratios, scale, y):
    """The bars of a workload start at the line. To its left is faster."""
    out = [_text("label", LEFT - 12, y + len(ratios) * BAR / 2 + 4, title, "end")]
    one = scale.x(1)
    for name, ratio in ratios.items():
        x = scale.x(ratio)
        out.append(
            f'<rect class="bar" fill="{COLOURS.get(name, OTHER)}" x="{min(x, one):.1f}" y="{y + 1}"'
            f' width="{max(abs(x - one), 1):.1f}" height="{BAR - 2}">'
            f"<title>{escape(f'{title}, {name}: {ratio_text(ratio)}')}</title></rect>"
        )
        beside, anchor = (x + 4, "start") if ratio >= 1 else (x - 4, "end")
        out.append(_text("value", beside, y + BAR - 2.5, ratio_text(ratio), anchor))
        y += BAR
    return out

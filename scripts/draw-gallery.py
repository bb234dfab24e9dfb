#!/usr/bin/env python3
"""Draw the results of the examples' kernels, for docs/gallery.md: a picture for each example.

python scripts/draw-gallery.py [FOLDER]   # writes docs/gallery/*.svg, or the same into FOLDER
"""

from __future__ import annotations

import base64
import math
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np

from gridjit import cuda
from gridjit.commands.markup import Markup, element, joined
from gridjit.commands.svg import number, whole_file, words

ROOT = Path(__file__).parents[1]
LEFT, TOP, WIDTH, HEIGHT = 16, 40, 328, 180
HUES = {"feFuncR": ".19 .5 .86 .99 .99", "feFuncG": ".1 .16 .32 .65 .96", "feFuncB": ".4 .5 .38 .2 .65"}
NAMES: dict[str, Any] = {}  # of all examples: their kernels and functions
for example in sorted((ROOT / "examples").glob("*.py")):
    NAMES |= runpy.run_path(str(example))


def curves(low: float, high: float, **named: tuple[str, Any]) -> Markup:
    """Return curves through values between low and high, with their names, each in a colour of the palette."""
    parts = []
    for place, (color, (said, values)) in enumerate(named.items()):
        across = np.linspace(LEFT, LEFT + WIDTH, len(values))
        points = zip(across, TOP + HEIGHT * (high - np.asarray(values, float)) / (high - low), strict=True)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(element("polyline", points=line, fill="none", stroke_width=2, class_=f"s-{color}"))
        below = {"x": LEFT + 110 * place, "y": TOP + HEIGHT + 24, "style": f"fill:var(--{color})"}
        parts.append(element("text", said, **below))
    return joined(*parts)


def images(high: float, *named: tuple[str, Any]) -> Markup:
    """Return pictures of matrices side by side, each from its least value, dark, to its greatest, with their names."""
    steps = [element(name, type="table", tableValues=table) for name, table in HUES.items()]
    hues = element("filter", element("feComponentTransfer", *steps), id="hue", color_interpolation_filters="sRGB")
    parts, side = [hues], (WIDTH + 8) / len(named)
    for place, (said, values) in enumerate(named):
        scaled = (values - values.min()) / (values.max() - values.min())
        data = base64.b64encode(NAMES["png"]((scaled * 255).astype(np.uint8))).decode()
        at = {"x": number(LEFT + side * place), "y": TOP, "width": number(side - 8), "height": high}
        how = {"preserveAspectRatio": "none", "filter": "url(#hue)", "style": "image-rendering:pixelated"}
        parts.append(element("image", href=f"data:image/png;base64,{data}", **at, **how))
        parts.append(words(LEFT + side * place, TOP + high + 24, said))
    return joined(*parts)


def saxpy() -> Markup:
    t = np.linspace(0, 2 * math.pi, 200, dtype=np.float32)
    x, y = np.sin(t), np.cos(5 * t)
    result = y.copy()
    NAMES["saxpy"][2, 128](np.float32(2), x, result)
    return curves(-3, 3, c6=("x", x), c3=("y", y), c0=("2 x + y", result))


def black_scholes() -> Markup:
    price, call, put = np.linspace(1, 60, 150), np.empty(150), np.empty(150)
    NAMES["black_scholes"].forall(150)(price, np.full(150, 30.0), np.ones(150), call, put)
    return curves(0, 32, c2=("call", call), c4=("put", put))


def reduction() -> Markup:
    x, sums = np.exp(-(np.linspace(-3, 3, 100_000) ** 2)), np.zeros(100)
    for place in range(100):
        NAMES["total"][8, 256](x[: (place + 1) * 1000], sums[place : place + 1])
    return curves(0, 1.05, c6=("items", x[::1000]), c0=("sums of the items so far", sums / sums[-1]))


def matmul() -> Markup:
    row, column = np.mgrid[:96, :96].astype(np.float32)
    band, rings = (abs(row - column) < 12).astype("f"), (np.hypot(row - 48, column - 48) % 32 < 16).astype("f")
    product = np.zeros((96, 96), np.float32)
    NAMES["matmul"][(6, 6), (16, 16)](band, rings, product)
    return images(HEIGHTS[matmul], ("a", band), ("b", rings), ("a @ b", product))


def stencil() -> Markup:
    first = np.zeros((64, 96))
    first[0], first[24:40, 40:56] = 100, 70
    here, there = first.copy(), first.copy()
    for _ in range(300):
        NAMES["diffuse"][(3, 8), (32, 8)](here, there)
        here, there = there, here
    return images(HEIGHTS[stencil], ("at first", first), ("after 300 steps", here))


def histogram() -> Markup:
    counts = np.zeros(64, np.int32)
    NAMES["histogram"][8, 256](np.random.default_rng(0).random((3, 200_000)).mean(axis=0), counts)
    return curves(0, counts.max(), c0=("values in each bin", np.repeat(counts, 8)))


def mandelbrot() -> Markup:
    picture = np.zeros((240, 300), np.uint8)
    NAMES["mandelbrot"][(10, 30), (32, 8)](picture)
    return images(HEIGHT, ("yellow: never, as far as 200 steps show", np.sqrt(255.0 - picture[40:200])))


def nbody() -> Markup:
    random = np.random.default_rng(3)
    position, mass, pull = random.normal(size=(90, 3)), random.random(90), np.empty((90, 3))
    NAMES["accelerations"][2, 64](position, mass, pull)
    begins = (position[:, :2] / 5.4 + 0.5) * (WIDTH, HEIGHT) + (LEFT, TOP)
    ends = begins + pull[:, :2] / np.linalg.norm(pull, axis=1)[:, None] * 16
    lines = " ".join(f"M{a:.1f},{b:.1f}L{c:.1f},{d:.1f}" for (a, b), (c, d) in zip(begins, ends, strict=True))
    discs = (element("circle", cx=number(x), cy=number(y), r=number(1 + 3 * m), class_="f-c0")
             for (x, y), m in zip(begins, mass, strict=True))  # fmt: skip
    return joined(element("path", d=lines, class_="s-c4"), *discs)


def scan() -> Markup:
    numbers = np.random.default_rng(8).integers(-100, 101, 600)
    totals = cuda.to_device(numbers)
    NAMES["scan"](totals)
    found = totals.copy_to_host()
    return curves(found.min(), found.max(), c6=("numbers", numbers), c0=("running totals", found))


def cooperative_sort() -> Markup:
    rows = np.random.default_rng(0).random((48, 64))
    result = rows.copy()
    NAMES["sort_rows"][48, 64](result)
    return images(HEIGHT, ("rows", rows), ("sorted rows", result))


TITLES = {
    saxpy: "2 x + y, for each item",
    black_scholes: "Options, by the price of the stock",
    reduction: "Sums of 1,000 to 100,000 items",
    matmul: "A product of matrices",
    stencil: "Heat on a plate",
    histogram: "200,000 values in 64 bins",
    mandelbrot: "Steps until a point escapes",
    nbody: "The pull on each of 90 bodies",
    scan: "600 numbers and their running totals",
    cooperative_sort: "48 rows of 64 numbers, a block for each",
}

HEIGHTS = {matmul: 104, stencil: 108}  # of matrices that are wider than the others

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "gallery"
    folder.mkdir(exist_ok=True)
    for draw, title in TITLES.items():
        parts = [words(LEFT, 26, title, size=15), draw()]
        height = HEIGHTS.get(draw, HEIGHT)
        (folder / f"{draw.__name__}.svg").write_text(whole_file(parts, WIDTH + 2 * LEFT, TOP + height + 36, title))

"""The colours of pictures and pages, in light and dark: CSS variables that follow `prefers-color-scheme`."""

from __future__ import annotations

_LIGHT = {
    "ground": "#f6f7fb", "card": "#ffffff", "ink": "#1a2030", "soft": "#5d6780", "line": "#e2e6ef", "chip": "#eef1f8",
    "accent": "#4f46e5", "hit": "#12a37a", "miss": "#f0772b", "bad": "#d92d4a",
    "c0": "#4f46e5", "c1": "#0b9fd8", "c2": "#0fa596", "c3": "#f2a51f", "c4": "#e0483e", "c5": "#c94fb0",
    "c6": "#8792ab", "c7": "#c3cad9",
}  # fmt: skip
_DARK = {
    "ground": "#0e1119", "card": "#171c28", "ink": "#e8ebf4", "soft": "#97a1b8", "line": "#293043", "chip": "#222a3b",
    "accent": "#9b95ff", "hit": "#2fc79a", "miss": "#ff9450", "bad": "#ff6b81",
    "c0": "#857dff", "c1": "#38bdf4", "c2": "#2dd0be", "c3": "#fbbf4a", "c4": "#ff7569", "c5": "#e77fd0",
    "c6": "#6b7690", "c7": "#48526a",
}  # fmt: skip
# Of a set of things, one colour each; after the last, they begin again.
COLORS = tuple(f"c{number}" for number in range(8))
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def variables() -> str:
    """Return the style rules that define the colours, and a class that fills with each."""
    fills = "".join(f".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}" for name in _LIGHT)
    return (
        f":root{{color-scheme:light dark;{_rules(_LIGHT)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_rules(_DARK)}}}}}{fills}"
    )


def _rules(colors: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colors.items())

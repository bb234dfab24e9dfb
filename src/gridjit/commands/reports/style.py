"""The style of a page and the few lines of script that sort its tables. The page is complete without the script."""

from __future__ import annotations

import base64
import hashlib

from gridjit.commands.svg import COLORS, FONT, variables

_RULES = (
    "*{box-sizing:border-box}"
    "html{-webkit-text-size-adjust:100%}"
    f"body{{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 {FONT}}}"
    "main{max-width:1280px;margin:0 auto;padding:28px 20px 64px}"
    "header{margin-bottom:22px}h1{font-size:26px;letter-spacing:-.02em;margin:0 0 2px;overflow-wrap:anywhere}"
    "h1 b{color:var(--accent)}h2{font-size:17px;margin:0 0 4px;letter-spacing:-.01em}"
    "p{margin:0 0 14px}.soft{color:var(--soft)}small,.small{font-size:13px}"
    "section,.tile{background:var(--card);border:1px solid var(--line);border-radius:14px}"
    "section{padding:20px 22px;margin:16px 0}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px}"
    ".tile{padding:14px 16px}.tile b{display:block;font-size:24px;line-height:1.2;letter-spacing:-.02em;"
    "font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}"
    "svg{display:block;overflow:hidden}svg.bar{border-radius:4px;background:var(--chip)}"
    "svg rect{shape-rendering:geometricPrecision}.columns rect{rx:2px}.timeline rect{rx:2px}"
    ".rows{display:grid;grid-template-columns:minmax(120px,30%) 1fr max-content;gap:8px 14px;align-items:center}"
    ".rows .name{overflow-wrap:anywhere;line-height:1.3}.rows .amount{text-align:right}"
    ".amount,td.n,th.n{font-variant-numeric:tabular-nums;text-align:right;white-space:nowrap}"
    ".legend{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;padding:0;margin:10px 0 16px;font-size:13px}"
    ".legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}"
    ".ends{display:flex;justify-content:space-between;font-size:12px;color:var(--soft);margin-top:4px}"
    ".wide{overflow-x:auto;margin:0 -22px;padding:0 22px}"
    "table{border-collapse:collapse;width:100%;font-size:13.5px}"
    "th,td{text-align:left;vertical-align:top;padding:7px 12px 7px 0;border-bottom:1px solid var(--line)}"
    "tbody tr:last-child td{border-bottom:0}tbody tr:hover td{background:var(--chip)}"
    "th{color:var(--soft);font-weight:600;white-space:nowrap;border-bottom-width:2px}"
    "th button{all:unset;cursor:pointer}th button:hover{color:var(--ink)}th button:focus-visible{outline:2px solid "
    "var(--accent);outline-offset:2px;border-radius:3px}"
    "th[aria-sort=ascending] button:after{content:' \\25B2';font-size:9px}"
    "th[aria-sort=descending] button:after{content:' \\25BC';font-size:9px}"
    "code,.code{font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
    "td.code{min-width:20em;max-width:26em;overflow-wrap:anywhere}td.code b{display:block;font-weight:600}"
    "td.why{min-width:20em;overflow-wrap:anywhere}td.why div{margin-top:3px}"
    "td .chip{white-space:nowrap;overflow:hidden;text-overflow:ellipsis;max-width:24em;vertical-align:bottom}"
    ".chip{display:inline-block;background:var(--chip);border-radius:6px;padding:1px 7px;margin:2px 4px 2px 0;"
    "overflow-wrap:anywhere}.chip b{font-weight:600}"
    ".split{padding:12px 0;border-top:1px solid var(--line)}.split h3{font-size:14px;margin:0 0 6px;"
    "overflow-wrap:anywhere}.split p{margin:4px 0}"
    "h3.lane{font-size:13px;font-weight:600;margin:14px 0 4px;overflow-wrap:anywhere}"
    "td svg{min-width:84px}footer{color:var(--soft);font-size:13px;margin-top:24px}"
    "@media(max-width:640px){main{padding:18px 12px 40px}section{padding:16px}.wide{margin:0 -16px;padding:0 16px}"
    ".rows{grid-template-columns:1fr max-content}.rows .name{grid-column:1/3}.rows{gap:2px 10px}"
    "td.code{min-width:14em}td.why{min-width:16em}"
    ".rows .name{margin-top:8px}.tiles{grid-template-columns:1fr 1fr}.tile b{font-size:20px}h1{font-size:22px}}"
    "@media print{body{background:#fff}section{break-inside:avoid}}"
)

# Headings become buttons here, so that none is shown where they would do nothing.
SCRIPT = """for (const table of document.querySelectorAll("table.sorted")) {
  table.querySelectorAll("th").forEach((th, column) => {
    const button = document.createElement("button");
    button.append(...th.childNodes);
    th.append(button);
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "ascending" ||
        (th.classList.contains("n") && th.getAttribute("aria-sort") !== "descending");
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const order = (a, b) => th.classList.contains("n") ? key(a) - key(b) : key(a).localeCompare(key(b));
      const rows = [...table.tBodies[0].rows].sort((a, b) => down ? order(b, a) : order(a, b));
      table.tBodies[0].append(...rows);
    });
  });
}"""


def style() -> str:
    """Return the style sheet of a page."""
    swatches = "".join(f".b-{name}{{background:var(--{name})}}" for name in ("hit", "miss", "bad", "soft", *COLORS))
    return variables() + swatches + _RULES


def policy() -> str:
    """Return the content security policy of a page: no network, and no script but ours, whatever a name may hold."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"

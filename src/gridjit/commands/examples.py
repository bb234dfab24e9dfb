"""Examples: how each command is used, and its page, for the end of its help."""

from __future__ import annotations

_EXAMPLES = {
    "": ("run script.py", "index.md"),
    "run": ("run --debug script.py 1000", "debugging.md"),
    "demo": ("demo --size 1000000", "first-kernel.md"),
    "info": ("info", "settings.md"),
    "explain": ('explain stats:scale --signature "void(float32[::1])" --config grid=4,block=128', "operating.md"),
    "warm": ("warm --from needs.jsonl --target sm_90", "operating.md"),
    "certify": ("certify needs.jsonl", "operating.md"),
    "serve": ("serve", "processes.md"),
    "report": ("report --html report.html", "seeing.md"),
    "cache": ("cache ls", "operating.md"),
    "cache ls": ("cache ls --kernel scale", "operating.md"),
    "cache du": ("cache du", "operating.md"),
    "cache stats": ("cache stats --kernel scale", "operating.md"),
    "cache show": ("cache show 3f9a", "operating.md"),
    "cache verify": ("cache verify --remove", "operating.md"),
    "cache sign": ("cache sign --key /etc/app/gridjit.key", "security.md"),
    "cache gc": ("cache gc --older-than 30d --dry-run", "operating.md"),
    "cache clear": ("cache clear --kernel stats.scale", "operating.md"),
    "cache export": ("cache export kernels.gridjit --target sm_90", "operating.md"),
    "cache import": ("cache import kernels.gridjit", "operating.md"),
    "cache push": ("cache push --remote https://cache.example.org/kernels", "remote.md"),
    "cache pull": ("cache pull --pack train", "remote.md"),
    "cache pack": ("cache pack train --from needs.jsonl", "remote.md"),
    "keys": ("keys list", "security.md"),
    "keys new": ("keys new ci", "security.md"),
    "keys trust": ("keys trust ci.pub --prefix main", "security.md"),
    "keys list": ("keys list", "security.md"),
    "keys withdraw": ("keys withdraw ci", "security.md"),
    "completion": ("completion bash", "operating.md"),
}


def end_of_help(program: str) -> str:
    """Return the lines after a command's options: an example, and the page; "" for a command without an example.

    program: the command as argparse names it, "gridjit cache ls".
    """
    name, _, words = program.partition(" ")
    if words not in _EXAMPLES:
        return ""
    example, page = _EXAMPLES[words]
    return f"\nexample: {name} {example}\npage: docs/{page}\n"

"""metrics: the counts of a cache as OpenMetrics text, for Prometheus and the like."""

from __future__ import annotations

from collections.abc import Mapping

from gridjit.cache.uses import UseTotals

# Of a remote's counts: how metrics name them, and what they count.
_REMOTE = {
    "hits": "look-ups that found an entry in a remote cache",
    "misses": "look-ups that found none there",
    "remembered": "look-ups that had been misses moments before",
    "silent": "look-ups during which a remote was left alone after a failure",
    "refused": "entries that were not as a trusted writer signed them",
    "failed": "requests that failed",
    "packs": "packs that were read",
    "written": "entries that were written to a remote cache",
    "dropped": "entries that were not written",
    "received_bytes": "bytes of entries and packs that were read",
    "sent_bytes": "bytes of entries that were written",
    "seconds": "seconds that look-ups waited",
}
_OWN = {"hits": "kernels found in the cache", "compiles": "kernels compiled"}


def openmetrics(kernels: Mapping[str, UseTotals], remotes: Mapping[str, Mapping[str, float]]) -> str:
    """Return the counts of kernels in the folder, and of remote caches, by name."""
    lines = list[str]()
    for name, meaning in _OWN.items():
        lines += _head(f"gridjit_cache_{name}", meaning)
        lines += [
            f"gridjit_cache_{name}_total{_labels(kernel=kernel)} {getattr(totals, name)}"
            for kernel, totals in kernels.items()
        ]
    for name, meaning in _REMOTE.items():
        lines += _head(f"gridjit_remote_{name}", meaning)
        field = name.removesuffix("_bytes")
        lines += [
            f"gridjit_remote_{name}_total{_labels(remote=remote)} {_number(sums[field])}"
            for remote, sums in remotes.items()
        ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _head(name: str, meaning: str) -> list[str]:
    return [f"# TYPE {name} counter", f"# HELP {name} {meaning}"]


def _labels(**labels: str) -> str:
    escaped = {
        name: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name, text in labels.items()
    }
    return "{" + ",".join(f'{name}="{text}"' for name, text in escaped.items()) + "}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)

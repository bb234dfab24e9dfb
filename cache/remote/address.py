"""RemoteAddress: one remote cache as a URL of the settings gives it. Only text is read here, no network is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gridjit.base.printable import printable
from gridjit.base.values import dataclass, field
from gridjit.cache.errors import CacheError

if TYPE_CHECKING:
    from urllib.parse import SplitResult

SCHEMES = ("https", "http", "s3", "gs", "az", "redis", "rediss", "file")
_OPTIONS = ("read-only", "prefix", "pack", "lease", "unsigned", "layout")
_FLAGS = ("read-only", "lease", "unsigned")
_LAYOUTS = ("bazel",)
_BUCKETS = ("s3", "gs", "az")
_NAME = r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAddress:
    """One remote: scheme, place (the URL without query), prefix, read_only, pack, lease, unsigned, layout.

    prefix: the folder of all names at the place; "" for none. pack: the name of the program's pack. layout: "bazel",
    or "" for names as they are.
    """

    scheme: str
    place: str = field(repr=False)  # it may hold a password
    prefix: str = ""
    read_only: bool = False
    pack: str = ""
    lease: bool = False
    unsigned: bool = False
    layout: str = ""

    @property
    def told(self) -> str:
        """The URL with its options, as the setting takes it, without its user and password."""
        flags = [name for name in _FLAGS if getattr(self, name.replace("-", "_"))]
        values = [f"{name}={getattr(self, name)}" for name in ("prefix", "pack", "layout") if getattr(self, name)]
        options = "&".join([*values, *flags])
        return f"{self.shown}?{options}" if options else self.shown

    @property
    def shown(self) -> str:
        """The URL without its user and password, for messages."""
        scheme, _, rest = self.place.partition("://")
        host, slash, path = rest.partition("/")
        return printable(f"{scheme}://{host.rpartition('@')[2]}{slash}{path}")


def addresses(text: str) -> tuple[RemoteAddress, ...]:
    """Return the remotes of URLs separated by whitespace; a ValueError names the URL and what is accepted."""
    return tuple(_address(url) for url in text.split())


def is_loopback(host: str) -> bool:
    """Return whether a host's name or number is this machine's own."""
    from ipaddress import ip_address

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def are_parts(name: str) -> bool:
    """Return whether a name is parts of letters, digits and `._-`, joined by slashes, none of which leads upwards."""
    return re.fullmatch(_NAME, name) is not None and {".", ".."}.isdisjoint(name.split("/"))


def is_name(name: str) -> bool:
    """Return whether bytes may have a name: parts, none of which begins with a dot, as temporary files do."""
    return are_parts(name) and not name.startswith(".") and "/." not in name


def check_name(name: str) -> str:
    """Return name; raises CacheError if bytes cannot have it."""
    if not is_name(name):
        raise CacheError(
            f"remote name {name!r}: give parts of letters, digits and ._- joined by /, none with a dot first"
        )
    return name


def _address(url: str) -> RemoteAddress:
    try:
        if url.endswith(","):
            raise ValueError("a comma ends it: separate addresses by spaces")
        split = _split(url)
        options = _options(split.query)
        _check_place(split)
        _check_layout(options.get("layout", ""), split.scheme)
    except ValueError as error:
        raise ValueError(f"remote cache {_shown(url)}: {error}") from None
    return RemoteAddress(
        scheme=split.scheme,
        place=f"{split.scheme}://{split.netloc}{split.path.rstrip('/')}",
        prefix=options.get("prefix", ""),
        read_only="read-only" in options,
        pack=options.get("pack", ""),
        lease="lease" in options,
        unsigned="unsigned" in options,
        layout=options.get("layout", ""),
    )


def _shown(url: str) -> str:
    """Return a URL, which may be wrong, without anything that may be a password or a token."""
    scheme, separator, rest = url.partition("://")
    kept = re.split(r"[?#]", rest.rpartition("@")[2])[0]
    return printable(f"{scheme}{separator}{kept}" if separator else re.split(r"[?#]", url.rpartition("@")[2])[0])


def _split(url: str) -> SplitResult:
    """Return the parts of a URL whose scheme is known."""
    from urllib.parse import urlsplit

    if "://" not in url:
        raise ValueError(f"not a URL: give one like https://HOST/FOLDER; {_known('scheme', SCHEMES)}")
    split = urlsplit(url)
    if split.scheme not in SCHEMES:
        raise ValueError(_unknown("scheme", split.scheme, SCHEMES))
    if split.fragment:
        raise ValueError("a '#' in it has no meaning: write it as %23")
    return split


def _options(query: str) -> dict[str, str]:
    """Return the options of a URL's query, each of which is known and has a value if it needs one."""
    from urllib.parse import parse_qsl

    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            raise ValueError(_unknown("option", printable(name), _OPTIONS))
        if name in options:
            raise ValueError(f"option {name!r} is given twice: give it once")
        if name in _FLAGS and value:
            raise ValueError(f"option {name!r} takes no value: write ?{name}, or leave it out")
        if name in ("prefix", "pack") and not are_parts(value):
            raise ValueError(
                f"{name}={printable(value)}: give a name of letters, digits and ._- joined by /, without .."
            )
        options[name] = value
    return options


def _check_layout(layout: str, scheme: str) -> None:
    if layout and (layout not in _LAYOUTS or scheme not in ("http", "https")):
        raise ValueError(f"layout={printable(layout)}: give layout=bazel, with https:// or http://, or leave it out")


def _check_place(split: SplitResult) -> None:
    """Raise ValueError for a place that its scheme cannot have."""
    from urllib.parse import unquote

    if ".." in unquote(split.path).split("/"):
        raise ValueError("its path has '..': write the path without")
    if split.scheme == "file":
        if split.netloc not in ("", "localhost") or len(split.path) < 2:
            raise ValueError("give the folder's whole path, as file:///mnt/cache")
    elif not split.hostname:
        raise ValueError(f"give {split.scheme}://{'BUCKET' if split.scheme in _BUCKETS else 'HOST'}/FOLDER")
    elif split.scheme in _BUCKETS and ("@" in split.netloc or ":" in split.netloc):
        raise ValueError("give the bucket's name only: keys and endpoints come from the provider's own variables")
    else:
        _check_server(split)


def _check_server(split: SplitResult) -> None:
    if split.port == 0:
        raise ValueError("port 0 is nobody's: give the server's, or leave it out")
    if split.scheme.startswith("redis") and re.fullmatch(r"/?\d{0,4}", split.path) is None:
        raise ValueError(f"give the database's number, as {split.scheme}://HOST:6379/0; prefix=NAME names a folder")
    if split.scheme == "http" and "@" in split.netloc and not is_loopback(split.hostname or ""):
        raise ValueError("its password would be sent in clear: use https://")


def _unknown(kind: str, name: str, known: tuple[str, ...]) -> str:
    import difflib

    near = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.6)
    meant = f": did you mean {near[0]!r}?" if near else ";"
    return f"unknown {kind} {name!r}{meant} {_known(kind, known)}"


def _known(kind: str, known: tuple[str, ...]) -> str:
    return f"{kind}s are {', '.join(known)}"

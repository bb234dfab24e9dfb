"""Key lines: an Ed25519 key as a line of text, with a word for its kind, its writer's name, and a check of its bytes.

`gridjit-writer NAME TEXT` is a public key, for everybody; `gridjit-signing-key NAME TEXT` is the private one.
"""

from __future__ import annotations

import base64
import re

from gridjit.base.digests import sha256
from gridjit.base.printable import printable
from gridjit.cache.errors import CacheError

WRITER, SIGNING_KEY = "gridjit-writer", "gridjit-signing-key"
KEY_BYTES = 32
_CHECK_BYTES = 4  # so that the text needs no padding, and a character that is lost or exchanged is noticed
_NAME = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"
NAMES = "letters, digits and . _ @ -, at most 64, the first a letter or a digit"


class WritersError(CacheError):
    """A key, the trust file or the library for signatures cannot be used; the message names it and the way on."""


def checked_name(name: str) -> str:
    """Return a writer's name; raises WritersError for a name that cannot be one."""
    if not re.fullmatch(_NAME, name):
        raise WritersError(f"{printable(name)!r} cannot be a writer's name: give {NAMES}")
    return name


def key_text(key: bytes) -> str:
    """Return a key of 32 bytes as 48 characters."""
    return base64.b64encode(key + sha256(key)[:_CHECK_BYTES]).decode("ascii")


def key_of(text: str) -> bytes:
    """Return the key of key_text's result; raises ValueError for any other text."""
    data = base64.b64decode(text, validate=True)
    key = data[:KEY_BYTES]
    if len(data) != KEY_BYTES + _CHECK_BYTES or key_text(key) != text:
        raise ValueError("a character of the key is missing or wrong")
    return key


def written(kind: str, name: str, key: bytes) -> str:
    """Return the line of a key."""
    return f"{kind} {name} {key_text(key)}"


def read(kind: str, line: str) -> tuple[str, bytes]:
    """Return the name and the key of a line of this kind; raises WritersError, which does not repeat the key."""
    words = line.split()
    if words[:1] != [kind]:
        is_private = kind == WRITER and words[:1] == [SIGNING_KEY]
        found = "it is a private key, which stays where it is" if is_private else f"it does not begin with {kind}"
        raise WritersError(f"give a line {kind} NAME KEY: {found}")
    if len(words) != 3:
        raise WritersError(f"give a line {kind} NAME KEY: it has {len(words)} words instead of 3")
    name = checked_name(words[1])
    try:
        return name, key_of(words[2])
    except ValueError:
        raise WritersError(f"the key of {name} is damaged: copy the whole line {kind} {name} KEY again") from None

"""Entries of a remote cache open only as their writer signed them, where that writer is trusted; no forgery opens."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gridjit.cache.errors import way_to_install
from gridjit.cache.remote import key_lines
from gridjit.cache.remote.key_lines import WRITER, WritersError
from gridjit.cache.remote.trust_file import Writer
from gridjit.cache.remote.writers import MAGIC, TRAILER, VERSION, Refused, SigningKey, Trust, fingerprint

pytest.importorskip("cryptography", reason="cryptography is not installed")

PREFIX, NAME, DATA = "main", "0123abcd/shape", bytes(range(256)) * 3
ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group of Ed25519


def key(name: str) -> SigningKey:
    """Return a writer's key, the same each time."""
    return SigningKey(name, random.Random(name).randbytes(32))


def writer(signing: SigningKey, *prefixes: str, withdrawn: str | None = None) -> Writer:
    name, public = key_lines.read(WRITER, signing.public)
    return Writer(name=name, key=public, prefixes=prefixes, withdrawn=withdrawn)


CI, OTHER, GONE, STRANGER = (key(name) for name in ("ci", "other", "gone", "stranger"))
OTHERS = (writer(OTHER, "nightly"), writer(GONE, "*", withdrawn="2026-01-31"))
TRUST = Trust(writer(CI, "main", "pr/*"), *OTHERS)
# Here nothing but the signature ties an entry to its prefix.
TRUST_EVERYWHERE = Trust(writer(CI, "*"), *OTHERS)
SIGNED = CI.sign(PREFIX, NAME, DATA)


def refusal(data: bytes, prefix: str = PREFIX, name: str = NAME, trust: Trust = TRUST) -> str:
    """Return why an entry is refused; fails if it opens."""
    with pytest.raises(Refused) as caught:
        trust.open(prefix, name, data)
    return caught.value.reason


@pytest.mark.parametrize("data", [b"", b"x", DATA, SIGNED, MAGIC, bytes(200_000)])
@pytest.mark.parametrize("prefix", ["main", "pr/12", "pr/12/again"])
def test_an_entry_opens_as_it_was_signed(prefix: str, data: bytes) -> None:
    assert TRUST.open(prefix, NAME, CI.sign(prefix, NAME, data)) == (data, "ci")


def test_a_refusal_says_why() -> None:
    assert refusal(b"") == refusal(DATA[:20]) == "is not signed"
    assert refusal(DATA) == refusal(SIGNED[:-1]) == "is not signed, or was cut short"
    assert refusal(STRANGER.sign(PREFIX, NAME, DATA)).startswith("is signed by an unknown writer (fingerprint ")
    assert refusal(GONE.sign(PREFIX, NAME, DATA)) == "is signed by gone, who was withdrawn on 2026-01-31"
    assert refusal(OTHER.sign(PREFIX, NAME, DATA)) == (
        "is signed by other, who is trusted for nightly, and not for 'main'"
    )
    altered = "is not as ci signed it: it was altered, renamed or moved"
    assert {refusal(b"x" + SIGNED), refusal(SIGNED, name="9" + NAME), refusal(SIGNED, prefix="pr/1")} == {altered}
    later = SIGNED[: -TRAILER.size] + TRAILER.pack(MAGIC, VERSION + 1, *TRAILER.unpack(SIGNED[-TRAILER.size :])[2:])
    assert refusal(later) == "has a signature of version 2, and this gridjit reads version 1"


Forged = tuple[str, str, bytes]
Forge = Callable[[random.Random, bytes], Forged]


def flipped(draw: random.Random, signed: bytes) -> Forged:
    """Return the entry with a bit or a few exchanged, in its data or its trailer."""
    forged = bytearray(signed)
    for at in draw.sample(range(len(forged)), draw.choice((1, 1, 2, 5))):
        forged[at] ^= 1 << draw.randrange(8)
    return PREFIX, NAME, bytes(forged)


def flipped_in_the_trailer(draw: random.Random, signed: bytes) -> Forged:
    forged = bytearray(signed)
    forged[-1 - draw.randrange(TRAILER.size)] ^= 1 << draw.randrange(8)
    return PREFIX, NAME, bytes(forged)


def cut(draw: random.Random, signed: bytes) -> Forged:
    """Return the entry with bytes missing at its end, its beginning, or before its trailer."""
    length = draw.randrange(1, len(signed))
    kept = (signed[:-length], signed[length:], signed[: -TRAILER.size][:-length] + signed[-TRAILER.size :])
    return PREFIX, NAME, draw.choice(kept)


def extended(draw: random.Random, signed: bytes) -> Forged:
    more = draw.randbytes(draw.choice((1, 2, 64, TRAILER.size, 300)))
    body, trailer = signed[: -TRAILER.size], signed[-TRAILER.size :]
    return PREFIX, NAME, draw.choice((more + signed, signed + more, body + more + trailer, signed + trailer))


def renamed(draw: random.Random, signed: bytes) -> Forged:
    """Return the entry under another name: a near one, one of another length, one with a part of its prefix."""
    other = draw.choice((f"{NAME}x", NAME[1:], NAME.upper(), f"{draw.getrandbits(64):016x}/shape", "", f"/{NAME}"))
    return PREFIX, other, signed


def moved(draw: random.Random, signed: bytes) -> Forged:
    """Return the entry under another prefix, for which its writer is trusted, too, or with the same text of both."""
    return draw.choice(
        (
            (f"pr/{draw.randrange(1 << 20)}", NAME, signed),
            (PREFIX[:-1], PREFIX[-1] + NAME, signed),
            (f"{PREFIX}{NAME[0]}", NAME[1:], signed),
            (f"{PREFIX}/0123abcd", "shape", signed),
            ("nightly", NAME, signed),
            ("", f"{PREFIX}{NAME}", signed),
        )
    )


def anothers_trailer(draw: random.Random, signed: bytes) -> Forged:
    """Return the entry with the trailer of another entry, or of another writer."""
    prefix, name = draw.choice((PREFIX, "pr/1")), f"{draw.getrandbits(32):08x}/shape"
    other = draw.choice((CI.sign(prefix, name, draw.randbytes(9)), OTHER.sign(PREFIX, NAME, signed[: -TRAILER.size])))
    return PREFIX, NAME, signed[: -TRAILER.size] + other[-TRAILER.size :]


def signed_by_another(draw: random.Random, signed: bytes) -> Forged:
    """Return the entry as signed by a writer who must not, and perhaps in the name of one who may."""
    made = draw.choice((OTHER, GONE, STRANGER, key(str(draw.random())))).sign(PREFIX, NAME, signed[: -TRAILER.size])
    if draw.random() < 0.5:
        made = made[: -TRAILER.size] + signed[-TRAILER.size : -64] + made[-64:]
    return PREFIX, NAME, made


def invented(draw: random.Random, signed: bytes) -> Forged:
    """Return data with an invented signature: drawn, of zeros, or the right one's other forms."""
    head, right = signed[-TRAILER.size : -64], signed[-64:]
    scalar = int.from_bytes(right[32:], "little")
    longer = right[:32] + (scalar + ORDER).to_bytes(32, "little")
    negative = right[:32] + (ORDER - scalar).to_bytes(32, "little")
    body = draw.choice((signed[: -TRAILER.size], draw.randbytes(draw.randrange(300))))
    forms = (draw.randbytes(64), bytes(64), b"\1" + bytes(63), longer, negative, right[32:] + right[:32])
    return PREFIX, NAME, body + head + draw.choice(forms)


FORGERIES = (
    *(flipped, flipped_in_the_trailer, cut, extended, renamed, moved),
    *(anothers_trailer, signed_by_another, invented),
)


@pytest.mark.parametrize("trust", [TRUST, TRUST_EVERYWHERE], ids=["by prefix", "everywhere"])
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_no_forgery_opens(forge: Forge, trust: Trust) -> None:
    draw = random.Random(forge.__name__)
    opened = []
    for _ in range(1000):
        signed = CI.sign(PREFIX, NAME, draw.randbytes(draw.choice((1, 40, 700))))
        prefix, name, data = forge(draw, signed)
        try:
            opened.append((prefix, name, data, trust.open(prefix, name, data)))
        except Refused:
            continue
        assert trust.open(PREFIX, NAME, signed)[1] == "ci"
    assert opened == []


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("main", ["main"], ["", "main/x", "mai", "mainx", "Main"]),
        ("pr/*", ["pr/1", "pr/1/2"], ["pr", "prx", "main", "xpr/1"]),
        ("*", ["main", "pr/1", ""], []),
        ("a/b", ["a/b"], ["a", "a/b/c", "a/c"]),
    ],
)
def test_a_pattern_is_a_prefix_or_all_below_one(pattern: str, inside: list[str], outside: list[str]) -> None:
    one = writer(CI, pattern)
    assert [one.writes(prefix) for prefix in [*inside, *outside]] == [True] * len(inside) + [False] * len(outside)


def test_a_writer_without_prefixes_writes_nothing() -> None:
    assert refusal(SIGNED, trust=Trust(writer(CI))) == "is signed by ci, who is trusted for none, and not for 'main'"


def test_a_key_that_is_not_a_point_of_the_curve_opens_nothing() -> None:
    for public in (bytes([2] + [0] * 31), b"\xff" * 32):
        trust = Trust(Writer(name="ci", key=public, prefixes=("*",)))
        head = TRAILER.pack(MAGIC, VERSION, fingerprint(public), bytes(64))
        assert refusal(DATA + head, trust=trust).startswith("is not as ci signed it")


PROGRAM = """
import sys
sys.modules["cryptography"] = None  # as if it were not installed
from pathlib import Path
from gridjit.cache.remote.trust_file import Writer
from gridjit.cache.remote.writers import Refused, SigningKey, Trust, WritersError

trust = Trust(Writer(name="ci", key=bytes.fromhex(sys.argv[1]), prefixes=("main",)))
signed = bytes.fromhex(sys.argv[2])
for prefix, data in (("main", b"x" * 200), ("other", signed)):
    try:
        trust.open(prefix, "name", data)
    except Refused as refused:
        print(refused.reason)
for attempt in (lambda: trust.open("main", "name", signed), lambda: SigningKey("ci", bytes(32))):
    try:
        attempt()
    except WritersError as error:
        print(error)
"""


def test_the_library_is_asked_for_only_where_a_trusted_signature_is_made_or_opened() -> None:
    public = key_lines.read(WRITER, CI.public)[1]
    words = [sys.executable, "-c", PROGRAM, public.hex(), CI.sign("main", "name", b"x").hex()]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ)
    missing = f"signatures of a remote cache need cryptography, which is not installed: {way_to_install('remote')}"
    said = ["is not signed, or was cut short", "is signed by ci, who is trusted for main, and not for 'other'"]
    assert (done.stdout.splitlines(), done.stderr) == ([*said, missing, missing], "")


def test_a_key_file_is_read_by_its_owner_alone_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = SigningKey.new("ci", path)
    assert path.stat().st_mode & 0o777 == 0o400
    assert SigningKey.read(path).public == made.public
    before = path.read_bytes()
    with pytest.raises(WritersError, match="is there already, and a key is never overwritten"):
        SigningKey.new("ci", path)
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(WritersError, match="is there already"):
        SigningKey.new("ci", tmp_path / "link")
    assert path.read_bytes() == before and not (tmp_path / "nothing").exists()
    path.chmod(0o440)
    with pytest.raises(WritersError, match=r"can be used by users other than its owner \(mode 440"):
        SigningKey.read(path)


def test_a_key_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o400)
    for name, said in (("missing", "cannot be read"), (".", "is not a regular file"), ("pipe", "is not a regular")):
        with pytest.raises(WritersError, match=said):
            SigningKey.read(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it does not begin with gridjit-signing-key"),
        (f"{CI.public}\n", "it does not begin with gridjit-signing-key"),
        ("gridjit-signing-key ci\n", "it has 2 words instead of 3"),
        (f"gridjit-signing-key ci {key_lines.key_text(bytes(32))[:-1]}\n", "the key of ci is damaged"),
        (f"gridjit-signing-key ci {'x' * 5000}\n", "the key of ci is damaged"),
        ("gridjit-signing-key ../ci x\n", "cannot be a writer's name"),
        ("\xff\0", "it does not begin with gridjit-signing-key"),
    ],
)
def test_a_damaged_key_file_is_refused_without_repeating_the_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "key"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o400)
    with pytest.raises(WritersError, match=said) as caught:
        SigningKey.read(path)
    assert str(path) in str(caught.value) and len(str(caught.value)) < 400


def test_a_key_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WritersError, match=r"cannot be written \(No space left on device\)"):
        SigningKey.new("ci", tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", range(48))
def test_a_wrong_character_of_a_public_line_is_noticed(where: int) -> None:
    text = CI.public.split()[2]
    wrong = text[:where] + ("A" if text[where] != "A" else "B") + text[where + 1 :]
    for damaged in (wrong, text[:where] + text[where + 1 :], text[:where] + "x" + text[where:]):
        with pytest.raises(WritersError, match="copy the whole line gridjit-writer ci KEY again"):
            key_lines.read(WRITER, f"gridjit-writer ci {damaged}")


def test_a_private_line_is_not_taken_for_a_public_one() -> None:
    secret = key_lines.written(key_lines.SIGNING_KEY, "ci", bytes(32))
    with pytest.raises(WritersError, match="it is a private key, which stays where it is") as caught:
        key_lines.read(WRITER, secret)
    assert secret.split()[2] not in str(caught.value)

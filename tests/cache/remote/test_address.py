"""URLs of remotes are read once, and a wrong one is told apart by its message, without its passwords."""

from __future__ import annotations

import pytest

from gridjit.cache.remote.address import RemoteAddress, addresses
from tests.programs import run_new_python


def one(url: str) -> RemoteAddress:
    (found,) = addresses(url)
    return found


def test_a_url_says_where_names_are_and_how_they_are_used():
    url = "https://cache.example.com:8443/kernels/?prefix=team/a&pack=train.v2&read-only&unsigned&layout=bazel"
    assert one(url) == RemoteAddress(
        scheme="https",
        place="https://cache.example.com:8443/kernels",
        prefix="team/a",
        read_only=True,
        pack="train.v2",
        unsigned=True,
        layout="bazel",
    )


@pytest.mark.parametrize(
    "url",
    ["https://h", "http://h/a", "s3://b/a/b", "gs://b", "az://b/c", "redis://h:6379/0", "rediss://h", "file:///a/b"],
)
def test_every_scheme_is_known(url):
    found = one(url)
    assert (found.place, found.shown, found.scheme) == (url, url, url.partition(":")[0])
    assert (found.prefix, found.read_only, found.pack, found.unsigned, found.layout) == ("", False, "", False, "")


def test_several_urls_are_separated_by_whitespace():
    assert [found.shown for found in addresses(" file:///a\n\thttps://h/b?read-only ")] == ["file:///a", "https://h/b"]
    assert addresses("") == ()


@pytest.mark.parametrize("url", ["redis://:secret@h:6379/1", "https://user:secret@h/x", "http://u:secret@[::1]:80/x"])
def test_a_password_is_never_shown(url):
    found = one(url)
    assert "secret" in found.place
    assert "secret" not in found.shown + repr(found)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("cache.example.com/x", "not a URL: give one like https://"),
        ("htps://h/x", "unknown scheme 'htps': did you mean 'https'? schemes are https, http, s3,"),
        ("ftp://h/x", "schemes are https, http, s3, gs, az, redis, rediss, file"),
        ("https://h/x?read_only", "unknown option 'read_only': did you mean 'read-only'?"),
        ("https://h/x?zzz=1", "unknown option 'zzz'; options are read-only, prefix, pack, lease, unsigned, layout"),
        ("https://h/x?read-only=1", "'read-only' takes no value"),
        ("https://h/x?prefix=a&prefix=b", "'prefix' is given twice"),
        ("https://h/x?prefix=a/../b", "prefix=a/../b: give a name of letters"),
        ("https://h/x?prefix", "prefix=: give a name of letters"),
        ("https://h/x?pack=a%20b", "pack=a b: give a name of letters"),
        ("https://h/x?layout=nix", "layout=nix: give layout=bazel"),
        ("s3://b/x?layout=bazel", "layout=bazel: give layout=bazel, with https:// or http://"),
        ("https:///x", "give https://HOST/FOLDER"),
        ("s3:///x", "give s3://BUCKET/FOLDER"),
        ("s3://key:secret@b/x", "give the bucket's name only"),
        ("https://h/a/%2e%2e/b", "its path has '..'"),
        ("https://h/a#b", "a '#' in it has no meaning"),
        ("https://h:99999/a", "Port out of range"),
        ("https://[::1/a", "Invalid IPv6 URL"),
        ("file://server/share", "give the folder's whole path, as file:///mnt/cache"),
        ("file:///", "give the folder's whole path"),
        ("redis://h/kernels", "give the database's number"),
        ("http://u:secret@cache.example.com/x", "its password would be sent in clear: use https://"),
    ],
)
def test_a_wrong_url_is_named_with_the_way_on(url, said):
    with pytest.raises(ValueError, match=r"^remote cache ") as caught:
        addresses(f"file:///right {url}")
    message = str(caught.value)
    assert said in message
    assert "secret" not in message
    shown = message.removeprefix("remote cache ").partition(": ")[0]
    assert shown == url.replace("key:secret@", "").replace("u:secret@", "").partition("?")[0].partition("#")[0]


@pytest.mark.parametrize("url", ["redis://:sec/ret@h", "redis://:sec?ret@h", "redis://:sec#ret@h", ":secret@h"])
def test_a_password_that_is_not_encoded_is_not_shown_either(url):
    with pytest.raises(ValueError, match="remote cache") as caught:
        addresses(url)
    assert "sec" not in str(caught.value).partition(": ")[0]
    assert "ret" not in str(caught.value).replace("rediss", "").partition(": ")[0]


def test_reading_addresses_imports_no_network():
    code = """
import sys
slow = {"urllib.parse", "ipaddress", "socket", "ssl", "http.client", "difflib"}
for name in slow:  # how gridjit is installed may have imported some
    sys.modules.pop(name, None)
from gridjit.cache.remote.address import addresses
print(sorted(slow & sys.modules.keys()))
addresses("https://h/x?read-only")
print(sorted((slow - {"urllib.parse", "ipaddress"}) & sys.modules.keys()))  # the one imports the other
"""
    assert run_new_python("-c", code).stdout.split("\n")[:2] == ["[]", "[]"]

"""`gridjit cache sign`: sign a folder's entries with a key, after a look at whether others could have written them."""

from __future__ import annotations

import argparse

from gridjit.cache.errors import CacheError
from gridjit.cache.files import list_files
from gridjit.cache.folder import Distrusted, close, folder_at, open_folder
from gridjit.cache.signing import sign_entries
from gridjit.commands import printing
from gridjit.commands.inventory import KEY_DIGITS, open_cache
from gridjit.commands.progress import steps
from gridjit.compiler.values.errors import ConfigError, GridjitError
from gridjit.runtime.process.secret import read_secret
from gridjit.runtime.process.session import session


def run(given: argparse.Namespace) -> int:
    """Sign entries that are not signed; returns 0, or 1 if some were refused."""
    secret = read_secret(given.key, "--key ") if given.key else session().secret
    if secret is None:
        raise ConfigError("no key is named: give --key FILE, or set GRIDJIT_CACHE_KEY_FILE")
    old = [read_secret(file, "--old-key ") for file in given.old_key]
    # Never as a shared folder: a signature would vouch for entries of others.
    place = folder_at(open_cache(given.dir).folder)
    try:
        close(open_folder(place))
    except Distrusted as error:
        raise GridjitError(
            f"cache folder {place.path} is not signed: {error}, and a signature would vouch for what they put there"
        ) from None
    except FileNotFoundError:  # nothing was stored yet
        pass
    try:
        with steps(given, "signing", sum(1 for _ in list_files(place))) as step:
            done = sign_entries(place, secret, old=old, each=lambda key: step(key[:KEY_DIGITS]))
    except CacheError as error:
        raise GridjitError(str(error)) from None
    if given.json:
        refused = [{"name": name, "reason": reason} for name, reason in done.refused]
        printing.print_json({"signed": done.signed, "known": done.known, "refused": refused})
    else:
        for name, reason in done.refused:
            printing.say(f"{name} {reason}")
        printing.say(f"{done.signed} signed, {done.known} known, {len(done.refused)} refused")
    return 1 if done.refused else 0

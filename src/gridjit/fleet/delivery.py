"""delivery: a job's entries as a bundle, from the cache that has them to a cache that lacks them."""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.cache.bundle import Imported, bundle_bytes, import_bundle
from gridjit.cache.errors import CacheError
from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.process.session import session


def bundle_of(keys: Iterable[str]) -> bytes:
    """Return a bundle of entries of this process's cache; raises GridjitError if one is not there."""
    here = session()
    store = here.store()
    infos = [store.find(key) for key in keys]
    if not here.settings.cache or None in infos:
        raise GridjitError(f"the cache folder {here.settings.cache_dir} did not keep it")
    return bundle_bytes(store, [info for info in infos if info is not None], here.secret)


def deliver(bundle: bytes) -> Imported:
    """Add the entries of a bundle to this process's cache, checked as by `gridjit cache import`.

    bundle: the bytes of a file that `gridjit cache export` wrote. Entries that are there stay, so a second delivery
    changes nothing.
    Raises GridjitError if it is not a whole bundle.
    """
    here = session()
    try:
        return import_bundle(bundle, here.store(), here.locks(), here.secret)
    except CacheError as error:
        raise GridjitError(str(error)) from None


def why_not_kept(done: Imported) -> str:
    """Return why entries of a bundle are not in this process's cache; empty if all are."""
    if done.refused:
        return "its entries are damaged, or not signed with the key of GRIDJIT_CACHE_KEY_FILE here"
    return f"the cache folder {session().settings.cache_dir} did not keep it" if done.dropped else ""

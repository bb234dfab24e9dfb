"""Setting words: each setting's values and meaning, for errors, `gridjit info` and docs/settings.md."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """A variable's accepted values, its default, and its meaning; the last two in Markdown."""

    accepts: str
    unset: str
    meaning: str


SIZES = "bytes above 0, such as 1073741824, 512M or 2G"
_SWITCH = "1 or 0 (also: on, off, yes, no, true, false)"
_NUMBER = "a whole number from 1 to 65536"
_LIMIT = "seconds, such as 10 or 0.5, or 0 for no limit"
_FILE, _FOLDER = "the path of a file", "the path of a folder"
_GENERATORS = "[decision 38](decisions/0038-llvm-makes-ptx.md)"
_CHECKS = "[debugging](debugging.md)"
_PASSES = "[host-target](host-target.md#the-passes)"
_STEPPING = "[debugging](debugging.md#stepping-through-a-kernel)"
_REMOTE = "([remote caches](remote.md#servers))"
_SYMBOLS = "[debugging](debugging.md#native-debuggers)"
_DEVICE = "[a name or a JSON file](host-target.md#the-gpu-that-it-stands-in-for)"
_TRACES = "`%p` in its name is the process ID ([seeing](seeing.md#a-trace))"
_WRITERS = "[security](security.md#writers-of-a-remote-cache)"
_WAITING = "[host-target](host-target.md#waiting-for-other-threads-and-blocks)"

WORDS = {
    "GRIDJIT_TARGET": Words(
        "cuda or host, or unset it to use a GPU if there is one",
        "`cuda` if a driver and a device are found, else `host`",
        "where kernels run",
    ),
    "GRIDJIT_CACHE": Words(_SWITCH, "`1`", "`0`: keep results in this process's memory only, and write nothing"),
    "GRIDJIT_CACHE_DIR": Words(
        _FOLDER,
        "`$XDG_CACHE_HOME/gridjit`, else `~/.cache/gridjit`",
        "the cache's folder, preferably used for nothing else; `~` is the home directory",
    ),
    "GRIDJIT_CACHE_SIZE": Words(SIZES, "`1G`", "the most it may hold, in bytes or with the suffix K, M, G or T"),
    "GRIDJIT_CACHE_ENTRIES": Words("a whole number from 1", "`100000`", "the most entries it may hold"),
    "GRIDJIT_CACHE_BASE": Words(
        "paths of folders, separated as in PATH",
        "",
        "more folders, read after a miss in the cache's own folder and never written; "
        "entries found there are copied into the cache's own folder",
    ),
    "GRIDJIT_CACHE_KEY_FILE": Words(
        _FILE, "", "a file with a secret that signs entries; only entries signed with it are read"
    ),
    "GRIDJIT_CACHE_REMOTE": Words(
        "URLs with the schemes https, http, s3, gs, az, redis, rediss and file, separated by spaces",
        "",
        "remote caches, asked in this order after a miss in the folders, and written to ([remote caches](remote.md))",
    ),
    "GRIDJIT_CACHE_REMOTE_TOKEN": Words(
        _FILE, "", f"a file with the bearer token that HTTP servers of remote caches want {_REMOTE}"
    ),
    "GRIDJIT_CACHE_REMOTE_CERT": Words(
        _FILE, "", f"this machine's certificate for such servers, with its key (PEM) {_REMOTE}"
    ),
    "GRIDJIT_CACHE_REMOTE_CA": Words(
        _FILE, "", f"certificates of the authorities that such servers are trusted by (PEM) {_REMOTE}"
    ),
    "GRIDJIT_CACHE_WRITERS": Words(
        _FILE,
        "`$XDG_CONFIG_HOME/gridjit/trusted-writers.json`, else `~/.config/gridjit/trusted-writers.json`",
        f"the writers whose entries of a remote cache are run ({_WRITERS})",
    ),
    "GRIDJIT_CACHE_SIGNING_KEY": Words(
        _FILE, "", f"a file with the private key that signs entries for a remote cache ({_WRITERS})"
    ),
    "GRIDJIT_CACHE_ALLOW_SHARED": Words(
        _SWITCH, "`0`", "`1`: use folders that other users can write to. Their entries are run as code"
    ),
    "GRIDJIT_RECORD": Words(_FILE, "", "a file to which a run adds a line for each specialization that it needs"),
    "GRIDJIT_CERTIFICATE": Words(
        _FILE,
        "",
        "a file that `gridjit certify` wrote: with `GRIDJIT_ASSERT_NO_COMPILE=1`, errors say how a launch is outside "
        "of it ([operating](operating.md#a-certificate-that-nothing-compiles))",
    ),
    "GRIDJIT_TRACE": Words(
        _FILE,
        "",
        f"a file to which runs add their compiles, finds and launches from Python, with times; {_TRACES}",
    ),
    "GRIDJIT_LOG": Words(
        "compiles, or none",
        "`none`",
        "`compiles`: one line on standard error for each specialization that is compiled or loaded",
    ),
    "GRIDJIT_TRACEBACK": Words(
        "short or full",
        "`short`",
        "`full`: compile errors show everything that numba and gridjit know, and all frames",
    ),
    "GRIDJIT_DEBUG": Words(
        _SWITCH,
        "`0`",
        "`1`: compile every kernel as with `debug=True`; findings are listed at the end, and the exit status is 1 "
        "([debugging](debugging.md#debugging-a-whole-program))",
    ),
    "GRIDJIT_ASSERT_NO_COMPILE": Words(
        _SWITCH, "`0`", "`1`: a compile raises a `CompileDisabledError` that says what is missing and why"
    ),
    "GRIDJIT_COMPILE_PROCESSES": Words(
        "a whole number from 0 to 65536",
        "",
        "how many other processes compile declared signatures; `0`: none ([processes](processes.md))",
    ),
    "GRIDJIT_COMPILE_PATIENCE": Words(
        _LIMIT,
        "`120`",
        "how long processes that compile may neither run nor answer, in seconds "
        "([processes](processes.md#the-processes))",
    ),
    "GRIDJIT_COMPILE_SERVER": Words(
        _SWITCH,
        "`0`",
        "`1`: let `gridjit serve` compile, while it runs ([processes](processes.md#a-compile-server))",
    ),
    "GRIDJIT_NATIVE_LAUNCH": Words(
        _SWITCH, "`1`", "`0`: launch from Python instead of through machine code, with equal results"
    ),
    "GRIDJIT_CHECK_STREAMS": Words(
        _SWITCH,
        "`0`",
        "`1`: two streams that use the same memory, in no order, raise a `HazardError` "
        "([streams and events](streams.md#hazards))",
    ),
    "GRIDJIT_CODEGEN": Words(
        "llvm or nvvm",
        "llvm",
        f"the maker of kernels' PTX: the LLVM that llvmlite holds, where it can, or NVVM ({_GENERATORS})",
    ),
    "GRIDJIT_HOST_THREADS": Words(_NUMBER, "the usable cores", "how many threads run blocks on the host target"),
    "GRIDJIT_HOST_DEVICE": Words(
        "the name of a GPU, or the path of a JSON file", "`h100`", f"the GPU that the host stands in for: {_DEVICE}"
    ),
    "GRIDJIT_HOST_DEVICES": Words(_NUMBER, "`1`", "how many such GPUs there are"),
    "GRIDJIT_HOST_LIMITS": Words(_SWITCH, "`1`", "`0`: run launches on the host that such a GPU would refuse"),
    "GRIDJIT_HOST_PATIENCE": Words(
        _LIMIT,
        "`10`",
        f"how long threads on the host may wait for each other in vain, in seconds ({_WAITING})",
    ),
    "GRIDJIT_HOST_CHECKS": Words(
        "any of bounds, uninitialized and races, separated by commas, or none",
        "all",
        f"what to check debug kernels on the host for ({_CHECKS})",
    ),
    "GRIDJIT_HOST_STEP": Words(
        _SWITCH, "`0`", f"`1`: run kernels on the host as plain Python, one thread at a time ({_STEPPING})"
    ),
    "GRIDJIT_HOST_SYMBOLS": Words(_FOLDER, "", f"a folder for object files with line tables, for gdb ({_SYMBOLS})"),
    "GRIDJIT_HOST_PLAIN": Words(
        _SWITCH, "`0`", f"`1`: compile kernels for the host without gridjit's own optimizations ({_PASSES})"
    ),
    "GRIDJIT_HOST_PASSES": Words(
        "print", "", f"`print`: write a kernel to standard error after each of the host's passes ({_PASSES})"
    ),
}


def table() -> str:
    """Return them as a table in Markdown, as in docs/settings.md."""
    rows = ["| variable | accepts | default | meaning |", "|---|---|---|---|"]
    rows += [f"| `{name}` | {' | '.join(words)} |".replace("|  |", "| |") for name, words in WORDS.items()]
    return "\n".join(rows) + "\n"

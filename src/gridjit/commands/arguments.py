"""The command line's words: every command and its arguments, declared without importing the code that runs them.

So `--help`, `--version`, completion and wrong usage cost only the parsing. Each command names the function that runs
it: `main` imports that function once all arguments are valid.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gridjit import __version__
from gridjit.commands import values

_JSON = "print JSON"
_QUIET = "without progress"


class _Parser(argparse.ArgumentParser):
    """A parser that proposes its nearest word for an unknown word, and ends its help with an example."""

    def format_help(self) -> str:
        """Return the help, then the command's example and page."""
        from gridjit.commands.examples import end_of_help

        return super().format_help() + end_of_help(self.prog)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError:
            from gridjit.runtime.environment.misspelt import near_names

            if not (near := near_names(str(value), map(str, action.choices or ()))):
                raise
            words = f"invalid choice: {value!r}; did you mean {' or '.join(near)}?"
            raise argparse.ArgumentError(action, words) from None


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; `run` of its result is "module:function"."""
    made = _Parser(prog="gridjit", description="GPU kernels in Python, compiled once and kept.")
    made.add_argument("--version", action="version", version=f"gridjit {__version__}")
    made.set_defaults(run=None, shown=made)
    commands = made.add_subparsers(title="commands", metavar="COMMAND")
    for add in (_run, _demo, _info, _explain, _warm, _certify, _serve, _report, _cache, _keys, _completion):
        add(commands)
    return made


def program_at(words: Sequence[str]) -> int:
    """Return where a program begins in the words of a command line: after the options of `gridjit run`, else nowhere.

    From there on, all words are for Python: a file, "-", "-m" or "-c", and the program's arguments.
    """
    at = 1 if words[:1] == ["run"] else len(words)
    while at < len(words) and words[at] not in ("-", "--") and re.match(r"-(?![mc])", words[at]):
        # argparse takes the beginning of an option for it.
        takes_word = any(name.startswith(words[at]) for name in ("--json", "--target"))
        at += 2 if takes_word else 1
    return min(at, len(words))


def _run(commands: Any) -> None:
    run = _add(
        commands,
        "run",
        help="run a program as python does, with its numba.cuda kernels compiled by gridjit",
        usage="%(prog)s [-h] [--debug] [--target {cuda,host}] [--json FILE] "
        "(PROGRAM | - | -m MODULE | -c CODE) [ARGUMENT ...]",
        description="At the end, a line on standard error says how many kernels went through gridjit, and why others "
        "did not. Exit status: the program's own; 1 if --debug finds a mistake.",
    )
    run.add_argument(
        "--debug", action="store_true", help="compile all kernels with debug=True, and list what they find"
    )
    run.add_argument("--target", choices=("cuda", "host"), help="where kernels run (default: GRIDJIT_TARGET)")
    run.add_argument("--json", metavar="FILE", type=values.file, help="write what was counted and found to a file, too")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="a script, a folder or an archive")
    run.set_defaults(run="run:run")


def _demo(commands: Any) -> None:
    demo = _add(commands, "demo", help="sum a few million floats with a kernel whose shared array fits the launch")
    demo.add_argument(
        "--size", type=values.count("--size"), default=4_000_000, help="how many floats (default: %(default)s)"
    )
    demo.add_argument(
        "--keep", action="store_true", help="use your own cache instead of an empty one made for the demo"
    )
    _add_quiet(demo)
    demo.set_defaults(json=False)  # it is for people
    demo.set_defaults(run="demo:run")


def _info(commands: Any) -> None:
    info = _add(commands, "info", help="show versions, targets and GPUs, the cache, and settings with their origin")
    _finish(info, "info:run", quiet=False)


def _explain(commands: Any) -> None:
    explain = _add(
        commands,
        "explain",
        help="show what is stored for a kernel, and why it would be compiled",
        description="With --signature, the status is 0 if its code is in the cache and 1 if it would be compiled.",
    )
    explain.add_argument(
        "kernel", metavar="KERNEL", type=values.kernel, help="a kernel: stats.rows:scale, or script.py:scale"
    )
    _add_launch(explain)
    _add_target(explain, "T", '"host", or an architecture: sm_90 (default: this machine)')
    _finish(explain, "explain:run", quiet=False)


def _warm(commands: Any) -> None:
    warm = _add(
        commands,
        "warm",
        help="compile kernels ahead of their first launch",
        description="Status 1 if something could not be compiled or stored; the rest is then in the cache.",
    )
    warm.add_argument(
        "kernels",
        metavar="MODULE[:KERNEL]",
        nargs="*",
        help="kernels of modules or scripts (script.py); without :KERNEL, all that declare signatures",
    )
    _add_launch(warm, action="append", default=[])
    warm.add_argument("--from", dest="file", type=values.file, metavar="FILE", help="what GRIDJIT_RECORD=FILE recorded")
    _add_target(warm, "T,T", "sm_80,sm_90,host (default: as recorded, or this machine)")
    _add_jobs(warm)
    warm.add_argument(
        "--on",
        metavar="ENGINE",
        type=values.engine,
        help="have the workers of an engine compile FILE: dask://HOST:8786, ray://HOST:10001, ray://auto, or mpi",
    )
    _finish(warm, "compiling.warm:run")


def _certify(commands: Any) -> None:
    certify = _add(
        commands,
        "certify",
        help="say which specializations a program can need, and which of them the cache lacks",
        description="Status 0 if the cache has all of them, 1 if one is missing. GRIDJIT_CERTIFICATE=FILE names the "
        "file of --output to programs that run with GRIDJIT_ASSERT_NO_COMPILE=1.",
    )
    certify.add_argument(
        "files", metavar="NEEDS", nargs="*", type=values.file, help="what GRIDJIT_RECORD=NEEDS recorded"
    )
    certify.add_argument(
        "--kernels",
        metavar="MODULE[:KERNEL]",
        action="append",
        default=[],
        help="also the signatures that these kernels declare, or --signature",
    )
    _add_launch(certify, action="append", default=[])
    certify.add_argument(
        "--launches",
        metavar="FILE",
        type=values.file,
        help='also these launches, in JSON: {"module:kernel": [{"grid": 8, "block": 64}]}',
    )
    _add_target(certify, "T,T", "sm_80,sm_90,host (default: as recorded, or this machine)")
    certify.add_argument(
        "--fill", action="store_true", help="compile the missing specializations, as gridjit warm does"
    )
    _add_jobs(certify)
    certify.add_argument("--output", metavar="FILE", type=values.file, help="write the certificate to a file, in JSON")
    _finish(certify, "compiling.certify:run")


def _serve(commands: Any) -> None:
    serve = _add(
        commands,
        "serve",
        help="compile for all programs that set GRIDJIT_COMPILE_SERVER=1, until Ctrl-C",
        description="Imports the compiler once. Programs of this user, interpreter and cache folder "
        "(GRIDJIT_CACHE_DIR) then need not import it.",
    )
    serve.add_argument(
        "--jobs",
        metavar="N",
        type=values.count("--jobs"),
        help="processes for each program (default: the usable cores)",
    )
    serve.set_defaults(run="compiling.serve:run")


def _report(commands: Any) -> None:
    report = _add(
        commands,
        "report",
        help="show what a cache or a traced run holds and spent; as a page with --html",
        description="Kernels, what splits them, compile time by phase, hits and misses, sizes, registers, occupancy.",
    )
    report.add_argument(
        "trace", metavar="TRACE", type=values.file, nargs="?", help="what GRIDJIT_TRACE=TRACE wrote (else: the cache)"
    )
    report.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help='write a page that works without network and scripts; "-" is standard output',
    )
    _add_selection(report)
    _finish(report, "reports.command:run")


def _cache(commands: Any) -> None:
    cache = _add(
        commands,
        "cache",
        help="inspect, check, tidy, export and import the cache",
        description="Exit status: 0 if all is well, 1 if problems were found, 2 for wrong usage.",
    )
    cache.set_defaults(shown=cache)
    actions = cache.add_subparsers(title="actions", metavar="ACTION")
    for add in (_ls, _du, _stats, _show, _verify, _sign, _gc, _clear, _export, _import, _push, _pull, _pack):
        add(actions)


def _ls(actions: Any) -> None:
    ls = _add(actions, "ls", help="list the compiled kernels in the cache")
    ls.add_argument("--all", action="store_true", help="list every entry, manifests and histories too")
    ls.add_argument("--sort", choices=values.ORDERS, default="kernel", help="the order (default: %(default)s)")
    _add_selection(ls)
    _finish(ls, "cache_ls:run_ls")


def _du(actions: Any) -> None:
    du = _add(actions, "du", help="show how much space kernels take")
    _add_selection(du)
    _finish(du, "cache_ls:run_du")


def _stats(actions: Any) -> None:
    stats = _add(actions, "stats", help="show how often kernels were found and compiled, and when last")
    stats.add_argument(
        "--metrics", metavar="FILE", type=Path, help='write OpenMetrics text for machines; "-" is standard output'
    )
    _add_selection(stats)
    _finish(stats, "cache_ls:run_stats")


def _show(actions: Any) -> None:
    show = _add(actions, "show", help="show what one entry holds")
    show.add_argument("key", metavar="KEY", help="the entry's key, or a unique prefix of it")
    show.add_argument("--asm", action="store_true", help="print the PTX that a GPU's code was generated from")
    _add_folder(show)
    _finish(show, "cache_show:run")


def _verify(actions: Any) -> None:
    verify = _add(actions, "verify", help="read every entry; status 1 if one is damaged or not signed")
    verify.add_argument("--remove", action="store_true", help="remove what is damaged")
    _add_folder(verify)
    _finish(verify, "cache_upkeep:run_verify")


def _sign(actions: Any) -> None:
    sign = _add(
        actions,
        "sign",
        help="sign entries that are not signed; status 1 if some are refused",
        description="Damaged entries are refused, and entries signed with a key that is not given.",
    )
    sign.add_argument("--key", metavar="FILE", type=values.file, help="the key (default: GRIDJIT_CACHE_KEY_FILE)")
    sign.add_argument(
        "--old-key",
        metavar="FILE",
        action="append",
        default=[],
        type=values.file,
        help="also sign entries anew that are signed with this key; more than once for several",
    )
    _add_folder(sign)
    _finish(sign, "cache_sign:run")


def _gc(actions: Any) -> None:
    gc = _add(actions, "gc", help="remove what dead processes left, and the oldest entries beyond the bounds")
    gc.add_argument(
        "--max-size", metavar="SIZE", type=values.size, help="bytes to keep, such as 512M (default: GRIDJIT_CACHE_SIZE)"
    )
    gc.add_argument(
        "--max-entries",
        metavar="N",
        type=values.count("--max-entries", least=0),
        help="entries to keep (default: GRIDJIT_CACHE_ENTRIES)",
    )
    gc.add_argument("--older-than", metavar="AGE", type=values.age, help="remove entries older than this: 36h, 30d, 8w")
    _add_dry_run(gc)
    _add_folder(gc)
    _finish(gc, "cache_upkeep:run_gc")


def _clear(actions: Any) -> None:
    clear = _add(actions, "clear", help="remove the entries of a kernel, or all; status 1 if it has none")
    _add_dry_run(clear)
    _add_selection(clear)
    _finish(clear, "cache_upkeep:run_clear")


def _export(actions: Any) -> None:
    export = _add(actions, "export", help="write entries to a file for other machines")
    export.add_argument("file", type=values.file, metavar="FILE")
    _add_target(export, "T,T", 'only code for these: "sm_90", "host"')
    _add_selection(export)
    _finish(export, "cache_bundle:run_export")


def _import(actions: Any) -> None:
    importing = _add(actions, "import", help="add a file's entries; status 1 if some are refused or dropped")
    importing.add_argument("file", type=values.file, metavar="FILE")
    _add_folder(importing)
    _finish(importing, "cache_bundle:run_import")


def _push(actions: Any) -> None:
    push = _add(actions, "push", help="write compiled code to remote caches that lack it")
    _add_remote(push)
    _add_selection(push)
    _finish(push, "cache_remote:run_push")


def _pull(actions: Any) -> None:
    pull = _add(actions, "pull", help="add a remote cache's entries, or a pack's; status 1 if some are refused")
    pull.add_argument("--pack", metavar="NAME", type=values.pack, help="only a pack that `gridjit cache pack` wrote")
    _add_remote(pull)
    _add_folder(pull)
    _finish(pull, "cache_remote:run_pull")


def _pack(actions: Any) -> None:
    pack = _add(actions, "pack", help="write a program's entries to remote caches, to be read with one request")
    pack.add_argument("name", metavar="NAME", type=values.pack, help="programs name it so: ...?pack=NAME")
    pack.add_argument("--from", dest="file", type=values.file, metavar="FILE", help="only what GRIDJIT_RECORD recorded")
    _add_remote(pack)
    _add_selection(pack)
    _finish(pack, "cache_remote:run_pack")


def _keys(commands: Any) -> None:
    keys = _add(
        commands,
        "keys",
        help="make keys that sign entries of a remote cache, and choose the writers that are trusted",
        description="The trust file is GRIDJIT_CACHE_WRITERS. Exit status: 0 if it was done, 1 if it could not be, 2 "
        "for wrong usage.",
    )
    keys.set_defaults(shown=keys)
    actions = keys.add_subparsers(title="actions", metavar="ACTION")
    for add in (_new, _trust, _list, _withdraw):
        add(actions)


def _new(actions: Any) -> None:
    new = _add(actions, "new", help="write a private key, and print the public line that others trust")
    new.add_argument("name", metavar="NAME", type=values.writer, help="the writer's name: ci, alice")
    new.add_argument(
        "--file",
        metavar="FILE",
        type=values.file,
        help="where to write it (default: GRIDJIT_CACHE_SIGNING_KEY, else NAME.key beside the trust file)",
    )
    new.set_defaults(run="keys:run_new")


def _trust(actions: Any) -> None:
    trust = _add(actions, "trust", help="run entries that a writer signed, or those under more prefixes")
    trust.add_argument(
        "line",
        metavar="LINE",
        nargs="+",
        help='"gridjit-writer NAME KEY", a file that holds this line, or the name of a writer that is trusted already',
    )
    trust.add_argument(
        "--prefix",
        metavar="PREFIX",
        action="append",
        type=values.prefix,
        help="only those under this prefix; more than once for several: main, 'pr/*' (default: all)",
    )
    trust.set_defaults(run="keys:run_trust")


def _list(actions: Any) -> None:
    listing = _add(actions, "list", help="list the writers of the trust file")
    _finish(listing, "keys:run_list", quiet=False)


def _withdraw(actions: Any) -> None:
    withdraw = _add(actions, "withdraw", help="no longer run a writer's entries, whenever it signed them")
    withdraw.add_argument("name", metavar="NAME", type=values.writer, help="a name that `gridjit keys list` shows")
    withdraw.add_argument(
        "--prefix",
        metavar="PREFIX",
        action="append",
        type=values.prefix,
        help="only those under this prefix, as the list shows it; the writer stays trusted for its others",
    )
    withdraw.set_defaults(run="keys:run_withdraw")


def _completion(commands: Any) -> None:
    completion = _add(
        commands,
        "completion",
        help="print a shell script that completes gridjit's commands and options",
        description='In ~/.bashrc or ~/.zshrc: eval "$(gridjit completion bash)", with your shell\'s name. '
        "In fish: gridjit completion fish > ~/.config/fish/completions/gridjit.fish",
    )
    completion.add_argument("shell", choices=values.SHELLS)
    rest = completion.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    rest.required = False  # it may be empty, and a message would name it
    completion.set_defaults(run="completion:run")


def _add(to: Any, name: str, *, help: str, description: str = "", **more: Any) -> Any:
    """Return the parser of a new command, whose own help begins as the list of commands describes it."""
    return to.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}. {description}".strip(), **more)


def _add_folder(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--dir", metavar="FOLDER", type=values.folder, help="use this cache folder instead of the one in use"
    )


def _add_remote(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--remote", metavar="URL", type=values.remotes, help="the remote cache (default: GRIDJIT_CACHE_REMOTE)"
    )


def _add_selection(made: argparse.ArgumentParser) -> None:
    """Add the options that say which entries are meant."""
    made.add_argument("--kernel", metavar="NAME", help="of this kernel only: its full name, its end, or a pattern")
    _add_folder(made)


def _add_launch(made: argparse.ArgumentParser, **several: Any) -> None:
    """Add the options that describe a launch. several: the keywords that allow them to be given more than once."""
    made.add_argument("--signature", metavar="S", help='argument types, such as "void(float32[::1], int64)"', **several)
    made.add_argument(
        "--config",
        metavar="C",
        type=values.launch,
        help="a launch, such as grid=4,block=128,sharedmem=1024",
        **several,
    )


def _add_target(made: argparse.ArgumentParser, metavar: str, words: str) -> None:
    made.add_argument("--target", metavar=metavar, type=values.targets, help=words)


def _add_jobs(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--jobs", metavar="N", type=values.count("--jobs"), help="parallel processes (default: the usable cores)"
    )


def _add_dry_run(made: argparse.ArgumentParser) -> None:
    made.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def _add_quiet(made: argparse.ArgumentParser) -> None:
    made.add_argument("--quiet", action="store_true", help=_QUIET)


def _finish(made: argparse.ArgumentParser, run: str, *, quiet: bool = True) -> None:
    """Add the options that nearly all commands take, and the function that runs the command."""
    made.add_argument("--json", action="store_true", help=f"{_JSON}, {_QUIET}" if quiet else _JSON)
    if quiet:
        _add_quiet(made)
    made.set_defaults(run=run)


def check(given: argparse.Namespace) -> None:
    """Raise WrongWord where words that are right by themselves make no sense together."""
    match given.run:
        case "run:run" if not given.program or given.program in (["-m"], ["-c"], ["--"]):
            raise values.WrongWord("run: give a program: script.py, -m MODULE or -c CODE")
        case "compiling.warm:run" if bool(given.kernels) == (given.file is not None):
            raise values.WrongWord("give kernels (module:kernel) or --from FILE, but not both")
        case "compiling.certify:run" if not (given.files or given.kernels):
            raise values.WrongWord("give files of recorded needs, or --kernels MODULE:KERNEL")
        case "compiling.certify:run" if given.signature and not given.kernels:
            raise values.WrongWord("--signature describes arguments of a kernel: give --kernels MODULE:KERNEL with it")
        case "compiling.warm:run" if given.on and not given.file:
            raise values.WrongWord(f"--on {given.on}: give --from FILE with it")
        case "compiling.warm:run" if given.on and given.jobs:
            raise values.WrongWord(f"--on {given.on}: the engine says how many jobs run at once; leave --jobs out")
        case "reports.command:run" if given.trace and given.dir:
            raise values.WrongWord("give TRACE or --dir, but not both")
        case "reports.command:run" if given.json and str(given.html) == "-":
            raise values.WrongWord("--html - and --json both write to standard output: give one")
        case "explain:run" if not given.signature and (given.config or given.target):
            raise values.WrongWord("--config and --target describe the launch to ask about: give --signature with them")
        case "explain:run" if given.target and len(given.target) > 1:
            raise values.WrongWord(f"--target {','.join(given.target)}: give one")

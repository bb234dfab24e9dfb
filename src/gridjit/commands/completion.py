"""`gridjit completion`: scripts for shells, which ask gridjit for the words that may come next on the line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from gridjit.commands import printing
from gridjit.commands.arguments import parser
from gridjit.commands.values import WrongWord

# Where nothing fits, shells complete names of files.
_SCRIPTS = {
    "bash": """_gridjit() {
    local IFS=$'\\n'
    COMPREPLY=($(gridjit completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _gridjit gridjit""",
    "zsh": """#compdef gridjit
_gridjit() {
    local -a found
    found=("${(@f)$(gridjit completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _gridjit gridjit""",
    "fish": """function __gridjit_complete
    gridjit completion fish -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c gridjit -a '(__gridjit_complete)'""",
}


def run(given: argparse.Namespace) -> int:
    """Print the script, or the candidates for the last of some words; returns 0."""
    words = given.words[given.words[:1] == ["--"] :]
    for line in candidates(words) if given.words else [_SCRIPTS[given.shell]]:
        printing.say_lines(line)
    return 0


def candidates(words: Sequence[str]) -> list[str]:
    """Return the candidates for the last word, after the words before it."""
    *before, last = words or [""]
    here = parser()
    expected: argparse.Action | None = None  # the option whose value comes next
    for word in before:
        if expected is not None:
            expected = None
        elif (option := options_of(here).get(word)) is not None:
            expected = option if option.nargs != 0 else None
        else:
            here = subcommands_of(here).get(word, here)
    known = _choices(expected) if expected is not None else _next(here, last)
    return sorted(word for word in known if word.startswith(last))


def _next(here: argparse.ArgumentParser, last: str) -> Iterator[str]:
    """Yield the words that may come next: options where one is begun, else subcommands and choices."""
    if last.startswith("-"):
        yield from options_of(here)
        return
    yield from subcommands_of(here)
    for action in here._get_positional_actions():
        if not isinstance(action, argparse._SubParsersAction):
            yield from _choices(action)


def options_of(here: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return a command's options by their long names."""
    return {name: action for name, action in here._option_string_actions.items() if name.startswith("--")}


def subcommands_of(here: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands below a command, by name."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in here._get_positional_actions():
        if isinstance(action, argparse._SubParsersAction):
            found |= action.choices
    return found


def _choices(action: argparse.Action) -> Iterator[str]:
    yield from map(str, action.choices or ())


def refused(parser: argparse.ArgumentParser, arguments: Sequence[str], unknown: Sequence[str]) -> WrongWord:
    """Return the error for arguments that the parser did not recognize."""
    from gridjit.runtime.environment.misspelt import near_names

    here = parser
    for word in arguments:
        here = subcommands_of(here).get(word, here)
    word = next((one for one in unknown if one.startswith("-")), unknown[0]).partition("=")[0]
    if not word.startswith("-"):
        return WrongWord(f"{here.prog} takes no further argument {word!r}; `{here.prog} --help` shows what it takes")
    near = near_names(word, options_of(here))
    meant = f"did you mean {' or '.join(near)}?" if near else f"`{here.prog} --help` lists its options"
    return WrongWord(f"{here.prog} has no option {word}; {meant}")

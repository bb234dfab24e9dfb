"""libdevice: NVIDIA's functions of mathematics that modules call, as texts, with their questions answered.

The library asks by __nvvm_reflect whether denormals are flushed, roots are rounded exactly, and for which architecture
it is compiled. NVVM answers by its flags; here the answers are written into the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping

import llvmlite.binding as binding

from gridjit.compiler.options import Options
from gridjit.compiler.targets.ptx.toolkit import libdevice
from gridjit.regexes import regex

_DECLARED = regex(r'\ndeclare [^\n]*@"?(__nv_\w+)')
_CALLED = regex(r"@([\w.$]+)")
_FUNCTION = regex(r"^define [^\n]*?@([\w.$]+)\([^\n]*\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_OTHER = regex(r"^(?:declare [^\n]*?)?@([\w.$]+)[^\n]*", re.MULTILINE)
_LINKAGE = regex(r"^define (?:internal )?")
_NOTES = regex(r",? !\w[\w.]* !\d+| #\d+(?=[ ,\n])")
_TYPE = regex(r"^%[^\n]*", re.MULTILINE)
_QUESTION = regex(r"call i32 @__nvvm_reflect\(ptr @([\w.]+)\)[^\n]*")


@functools.cache
def _parts() -> Mapping[str, str]:
    """Return the library's definitions, declarations and constants by name, and its types under an empty one."""
    text = _NOTES.sub("", str(binding.parse_bitcode(libdevice())))
    made = {found[1]: _LINKAGE.sub("define linkonce_odr ", found[0]) for found in _FUNCTION.finditer(text)}
    made.update((found[1], found[0]) for found in _OTHER.finditer(text))
    return {**made, "": "\n".join(_TYPE.findall(text))}


def functions_for(texts: Iterable[str], arch: str, options: Options) -> Iterator[str]:
    """Yield the module of the functions that texts declare, and what these need; nothing if there are none."""
    left = {name for text in texts for name in _DECLARED.findall(text)}
    if not left:
        return
    parts, needed = _parts(), dict[str, str]()
    while left:
        name = left.pop()
        if name in parts and name not in needed:
            needed[name] = parts[name]
            left.update(_CALLED.findall(parts[name]))
    answers = {
        "__CUDA_FTZ": int(bool(options.fastmath)),
        "__CUDA_PREC_SQRT": int(not options.fastmath),
        "__CUDA_ARCH": 10 * int(arch.strip("sm_af")),
    }
    asked = {
        name: answer for name, text in needed.items() for word, answer in answers.items() if f'c"{word}\\00"' in text
    }
    whole = "\n".join((parts[""], *needed.values()))
    whole = _QUESTION.sub(lambda found: f"add i32 {asked[found[1]]}, 0", whole)
    yield whole

"""Code that runs while compiling is followed wherever it goes; what nobody can follow is named, with its line."""

from __future__ import annotations

import math
import random
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from gridjit.compiler.key.fingerprint import SourceFingerprint, fingerprint_values
from gridjit.compiler.key.running import RunningWalk
from gridjit.compiler.source.put_on_libraries import put_on
from tests.programs import run_python

HELPERS = """
TILE, OTHER = 3, 1
DEPTH = 2
def deeper():
    return DEPTH
class Late:
    SIZE = 4
"""
BASE = """
import codecs, configparser, contextlib, decimal, enum, functools, gzip, importlib, io, itertools, json, logging, math
import numpy, operator, os, random, re, sys, threading, time, types, uuid, warnings
import datetime as dates
from collections import namedtuple
from dataclasses import make_dataclass
from datetime import datetime
from os import environ
from pathlib import Path, PurePath
from random import random as drawn
from time import perf_counter
from typing import NamedTuple
import running_helpers
LOCK = threading.Lock()
"""


@pytest.fixture
def load() -> Iterator[Callable[..., ModuleType]]:
    """Make a module of a text, in a file of its own name that need not be there."""

    def load(text: str, name: str = "running") -> ModuleType:
        module = ModuleType(name)
        module.__dict__.update(__file__=f"/nowhere/{name}.py", __package__="")
        sys.modules[name] = module
        exec(compile(textwrap.dedent(text), f"/nowhere/{name}.py", "exec", dont_inherit=True), module.__dict__)
        return module

    load(HELPERS, "running_helpers")
    yield load
    for name in ("running", "running_helpers"):
        sys.modules.pop(name, None)


@pytest.fixture
def look(load: Callable[..., ModuleType]) -> Callable[[str], SourceFingerprint]:
    """Return the fingerprint of the function `run` of a text."""
    return lambda text: fingerprint_values([("run", load(BASE + textwrap.dedent(text)).run)], running=True)


# Where something is kept that nobody can follow, and how it is used.
KEPT = {
    "partial": ("get = functools.partial(os.getenv, 'TILE')", "get()", "os.getenv"),
    "list": ("held = [os.getenv]", "held[0]('TILE')", "os.getenv"),
    "default": ("def get(n, f=os.getenv): return f(n)", "get('TILE')", "os.getenv"),
    "attribute of a class": ("class C:\n    get = staticmethod(os.getenv)", "C.get('TILE')", "os.getenv"),
    "lru_cache": ("get = functools.lru_cache(os.getenv)", "get('TILE')", "os.getenv"),
    "wrapper": ("def get(): pass\nget.__wrapped__ = os.getenv", "get.__wrapped__('TILE')", "os.getenv"),
    "bound method": ("now = [datetime.now]", "now[0]()", "datetime.datetime.now"),
    "module handed on": ("def read(m): return m.environ", "read(os)", "os.environ"),
    "module in a list": ("held = [os]", "held[0].environ", "os.environ"),
    "module's module": ("running_helpers.os = os\ndef read(m): return m.os.environ", "read(running_helpers)", "os.env"),
    "what an added-to list gives back": ("held = [3]", "held.append.__self__[0]", "__self__"),
    "namespace": ("def read(m): return m.__dict__", "read(running_helpers)", "running_helpers.__dict__"),
    "class handed on": ("def read(c): return c.now()", "read(datetime)", "datetime.datetime.now"),
    "set of texts": ("S = {'a', 'b'}", "[one for one in S]", "the order of the set S"),
    "set of an object": ("class C:\n    held = {'a', 'b'}", "list(C.held)", "the order of the set held"),
    "set in a local name": ("S = {int, float}", "(lambda s: next(iter(s)))(S)", "the order of the set S"),
    "set that is written there": ("", "[one for one in {'a', 'b'}]", "the order of the set"),
    "class in a local name": ("", "(lambda d: d.now())(dates.datetime)", "datetime.datetime.now"),
    "history of a kernel": (
        "import gridjit\n@gridjit.jit\ndef k(o): pass\ndef read(k): return k.stats",
        "read(k)",
        "stats of a kernel",
    ),
    "file that NumPy opens": ("", "numpy.lib.format.open_memmap('a.npy')", "open_memmap"),
    "address of an array": ("A = numpy.arange(4)", "A.ctypes.data", "ctypes"),
    "address of an array in a list": ("held = [numpy.arange(4)]", "held[0].ctypes.data", "ctypes"),
    "address of an array's items": ("A = numpy.arange(4)", "A.data", "data of A"),
    "array around an array": ("A = numpy.arange(4)[1:]", "A.base[0]", "base of A"),
    "array's interface": ("A = numpy.arange(4)", "A.__array_interface__['data']", "__array_interface__"),
    "getattr": ("get = getattr", "get(running_helpers, x)", "getattr under another name"),
    "attrgetter": ("from operator import attrgetter as get", "get(x)(x)", "attrgetter under another name"),
}


@pytest.mark.parametrize(("before", "code", "what"), KEPT.values(), ids=KEPT)
def test_what_nobody_can_follow_is_found_wherever_it_is_kept(
    look: Callable[[str], SourceFingerprint], before: str, code: str, what: str
) -> None:
    reasons = look(f"{before}\ndef run(x):\n    return {code}\n").opaque
    assert any(what in reason and "can be something else in another process" in reason for reason in reasons), reasons


UNFOLLOWED = {
    "eval": ("eval('1')", "eval()"),
    "exec": ("exec(x)", "exec()"),
    "compile": ("compile(x, '', 'eval')", "compile()"),
    "globals": ("globals()['TILE']", "globals()"),
    "locals": ("locals()", "locals()"),
    "vars": ("vars(x)", "vars()"),
    "dir": ("dir(x)", "dir()"),
    "getattr": ("getattr(running_helpers, x)", "getattr with a computed name"),
    "setattr": ("setattr(x, 'a' + x, 1)", "setattr with a computed name"),
    "hasattr": ("hasattr(x, x)", "hasattr with a computed name"),
    "import_module": ("importlib.import_module(x)", "import_module with a computed name"),
    "import_module of a package": ("importlib.import_module('.config', x)", "import_module with a computed name"),
    "import_module with more": ("importlib.import_module('.config', *x)", "import_module with a computed name"),
    "relative __import__": ("__import__('config', globals(), None, ['A'], 1)", "__import__ with a computed name"),
    "__import__": ("__import__(x + '.config')", "__import__ with a computed name"),
    "os.environ": ("os.environ['TILE']", "os.environ"),
    "environ": ("environ.get('TILE')", "os.environ"),
    "os.getenv": ("os.getenv('TILE')", "os.getenv"),
    "os.path.exists": ("os.path.exists(x)", "posixpath.exists"),
    "os under another name": ("[o := os, o.getpid()]", "os."),
    "sys.argv": ("sys.argv[1]", "sys.argv"),
    "sys.modules": ("sys.modules['a'].TILE", "sys.modules"),
    "open": ("open(x).read()", "open()"),
    "io.open": ("io.open(x)", "io.open"),
    "a path's class": ("Path(x).exists()", "pathlib.Path"),
    "a library nobody listed": ("configparser.ConfigParser().read(x)", "configparser.ConfigParser"),
    "a file by codecs": ("codecs.open(x)", "codecs.open"),
    "compressed files": ("gzip.open(x)", "gzip.open"),
    "decimal's context": ("decimal.getcontext().prec", "decimal.getcontext"),
    "NumPy's state": ("numpy.geterr()", "numpy.geterr"),
    "NumPy's files": ("numpy.load(x)", "numpy.load"),
    "NumPy's random numbers": ("numpy.random.rand()", "numpy.random"),
    "a logger's level": ("logging.getLogger('a').level", "level of logging"),
    "a lock's state": ("LOCK.locked()", "locked of LOCK"),
    "subclasses": ("x.__subclasses__()", "__subclasses__"),
    "lines of code": ("[*x.__code__.co_lines()]", "co_lines"),
    "constants of code": ("x.__code__.co_consts", "co_consts"),
    "hash of code": ("x.__code__.__hash__()", "__hash__"),
    "size of a class's objects": ("x.__basicsize__", "__basicsize__"),
    "a name for code in a text": ("getattr(x, 'co_lines')", "co_lines"),
    "standard output": ("sys.stdout.isatty()", "sys.stdout.isatty"),
    "warnings' filters": ("warnings.filters", "warnings.filters"),
    "attrgetter": ("operator.attrgetter(x)(x)", "attrgetter with a computed name"),
    "a path": ("Path(x).read_text()", "read_text"),
    "time": ("time.time()", "time.time"),
    "time's function": ("perf_counter()", "time.perf_counter"),
    "datetime": ("datetime.now()", "datetime.datetime.now"),
    "datetime's module": ("dates.datetime.utcnow()", "datetime.datetime.utcnow"),
    "random": ("random.randint(1, 2)", "random.randint"),
    "random's function": ("drawn()", "random.random"),
    "uuid": ("uuid.uuid4()", "uuid.uuid4"),
    "a thread": ("threading.get_ident()", "threading.get_ident"),
    "id": ("id(x)", "id()"),
    "hash": ("hash('text')", "hash()"),
    "the kernel": ("x.dispatcher.tile", "an attribute of the kernel"),
    "the kernel's name for it": ("[k := x.dispatcher, k.tile]", "an attribute of the kernel"),
}


@pytest.mark.parametrize(("code", "what"), UNFOLLOWED.values(), ids=UNFOLLOWED)
def test_what_nobody_can_follow_is_named_with_its_line(
    look: Callable[[str], SourceFingerprint], code: str, what: str
) -> None:
    text = f"\ndef helper(x):\n    y = 1\n    return {code}\n\ndef run(x):\n    return helper(x)\n"
    line = (BASE + text).splitlines().index(f"    return {code}") + 1
    reasons = [reason for reason in look(text).opaque if reason.startswith(f"running.helper uses {what}")]
    assert reasons and f" at running.py:{line}, which can be" in reasons[0]


def test_an_import_inside_a_function_hides_nothing(look: Callable[[str], SourceFingerprint]) -> None:
    for code in ("import time\n    return time.time()", "from os import environ\n    return environ['A']"):
        assert "which can be something else in another process" in look(f"def run(x):\n    {code}\n").opaque[0]


HARMLESS = {
    "names that are written": "return getattr(x, 'a', None), hasattr(x, 'b'), setattr(x, 'c', 1)",
    "paths that are not looked at": "return os.path.join('a', os.sep, 'b'), os.fspath('a')",
    "paths that cannot be looked at": "return PurePath('a', 'b').name, PurePath('a') / 'b'",
    "facts of the interpreter": "return sys.version_info >= (3, 10), sys.maxsize, sys.byteorder",
    "arithmetic": "return math.sqrt(2), operator.add(1, 2), list(itertools.chain([1], [2])), sum(range(3))",
    "texts": "return re.sub('a', 'b', 'c'), json.dumps({}), 'a{}'.format(1), ' '.join(map(str, [1]))",
    "containers": "return sorted({1: 2}.items()), [1].index(1), (1,).count(1), namedtuple('P', 'a')",
    "NumPy": "return numpy.dtype('f4'), numpy.float32(1), numpy.prod((1, 2)), numpy.linalg.norm, numpy.int8",
    "log entries": "logging.getLogger('a').debug('text')\n    return warnings.warn('text')",
    "exceptions": "try:\n        return x\n    except (json.JSONDecodeError, configparser.Error):\n        return 1",
    "contexts": "with LOCK, contextlib.suppress(KeyError):\n        return datetime(2000, 1, 1)",
    "streams": "print(1, file=sys.stderr)\n    return sys.stderr.write('')",
    "locks": "return threading.Lock(), threading.RLock()",
    "buffers": "return io.StringIO()",
    "a mark on the kernel": "return x.dispatcher.mark_launch_config_sensitive('blockdim')",
    "an import that is written": "return importlib.import_module('running_helpers').TILE",
    "a name like a builtin's": "vars = len\n    return vars(x)",
}


@pytest.mark.parametrize("body", HARMLESS.values(), ids=HARMLESS)
def test_what_is_the_same_everywhere_keeps_nothing_private(look: Callable[[str], SourceFingerprint], body: str) -> None:
    assert look(f"def run(x):\n    {body}\n").opaque == ()


WAYS_TO_A_MODULE = {
    "import": "import running_helpers as h\n    return h.TILE",
    "from": "from running_helpers import TILE\n    return TILE",
    "local": "from running_helpers import Late, TILE as t\n    return t + Late.SIZE",
    "import_module": "return importlib.import_module('running_helpers').TILE",
    "import_module imported": "from importlib import import_module\n    return import_module('running_helpers').TILE",
    "__import__": "return __import__('running_helpers').TILE",
    "container": "return HELD['one'].TILE",
    "argument": "return take(running_helpers)",
    "default": "return defaulted()",
    "result": "return give().TILE",
    "partial": "return bound()",
    "lru_cache": "return remembered()",
    "getattr": "return getattr(running_helpers, 'TILE')",
    "class pattern": "match running_helpers:\n        case types.ModuleType(TILE=tile):\n            return tile",
    "dotted attrgetter": "import operator\n    return operator.attrgetter('running_helpers.TILE')(running)",
    "format": "return '{0.TILE}'.format(running_helpers)",
    "format by name": "return 'x{m.TILE:>4}'.format(m=running_helpers)",
}
WAYS = """
import running
HELD = {"one": running_helpers}
def take(module):
    return module.TILE
def give():
    import running_helpers
    return running_helpers
def defaulted(module=running_helpers):
    return module.TILE
bound = functools.partial(take, running_helpers)
@functools.lru_cache
def remembered():
    return running_helpers.TILE
"""


@pytest.mark.parametrize("body", WAYS_TO_A_MODULE.values(), ids=WAYS_TO_A_MODULE)
def test_a_modules_value_counts_however_code_came_to_it(load: Callable[..., ModuleType], body: str) -> None:
    run = load(f"{BASE}{WAYS}def run(x):\n    {body}\n").run
    before = fingerprint_values([("run", run)], running=True)
    assert before.opaque == ()
    sys.modules["running_helpers"].OTHER = 7  # type: ignore[attr-defined]
    assert fingerprint_values([("run", run)], running=True) == before
    sys.modules["running_helpers"].TILE = 4  # type: ignore[attr-defined]
    assert fingerprint_values([("run", run)], running=True) != before


SPACES = """
def space(tile):
    held = {'__name__': 'plugin', 'TILE': tile}
    exec('def f(): return TILE\\ndef g(): return -TILE\\nclass C:\\n    def m(self): return TILE', held)
    return types.SimpleNamespace(**held)
one, other = space(3), space(4)
f, g, picked = one.f, other.f, one.g
K, L = one.C, other.C
sys.modules['running_one'], sys.modules['running_two'] = (types.ModuleType('running_alike') for _ in 'ab')
import running_one, running_two
running_one.TILE, running_two.TILE = 3, 4
held = [running_one, running_two, running_one]
sys.modules['running_three'] = running_one
"""
CHANGES = {
    "name of a function": (
        "def f(): pass\nf.__name__ = 'three'\ndef name(of): return of.__name__\ndef run(x): return name(f)",
        "three",
        "four",
    ),
    "name of a class": ("class C: pass\nC.__name__ = 'three'\ndef run(x): return type(C()).__name__", "three", "four"),
    "name in a function's code": (
        "def f(): pass\nf.__code__ = f.__code__.replace(co_name='three')\ndef run(x): return f.__code__.co_name",
        "three",
        "four",
    ),
    "class of an enum's member": (
        "E = enum.Enum('Three', {'A': 1}, qualname='E')\ndef run(x): return str(E.A)",
        "Three",
        "Four",
    ),
    "order of a class's attributes": (
        "class C: pass\nfor name in 'ab': setattr(C, name, 1)\ndef run(x): return [*C.__dict__]",
        "'ab'",
        "'ba'",
    ),
    "order of a function's attributes": (
        "def f(): pass\nfor name in 'ab': setattr(f, name, 1)\ndef run(x): return [*f.__dict__]",
        "'ab'",
        "'ba'",
    ),
    "namespace of a function": (
        SPACES + "def run(x): return f() + 2 * g() + 3 * picked()",
        "picked = one.f, other.f, one.g",
        "picked = one.f, other.f, other.g",
    ),
    "namespace of a function of another __module__": (
        SPACES + "picked.__module__ = 'elsewhere'\ndef run(x): return f() + 2 * g() + 3 * picked()",
        "picked = one.f, other.f, one.g",
        "picked = one.f, other.f, other.g",
    ),
    "which of two modules of one name": (
        SPACES + "def run(x): return held[0].TILE + 2 * held[1].TILE + 3 * held[2].TILE",
        "running_two, running_one]",
        "running_two, running_two]",
    ),
    "which of two modules of one name is imported": (
        SPACES
        + "def run(x):\n    import running_one, running_two, running_three as three\n"
        + "    return running_one.TILE, running_two.TILE, three.TILE",
        "['running_three'] = running_one",
        "['running_three'] = running_two",
    ),
    "which of two classes of one name is registered": (
        SPACES
        + "import abc\nclass A(metaclass=abc.ABCMeta): pass\n[*map(A.register, (K, L))]\n"
        + "def run(x): return issubclass(K, A), issubclass(L, A)",
        "(K, L)",
        "(L,)",
    ),
    "attribute of a function": ("def f(): pass\nf.TILE = 3\ndef run(x): return f.TILE", "3", "4"),
    "annotation": ("def f(a: 3): pass\ndef run(x): return f.__annotations__['a']", "a: 3", "a: 4"),
    "docstring": ("def f():\n    'three'\ndef run(x): return f.__doc__", "three", "four"),
    "enum's method": (
        "class E(enum.Enum):\n    A = 1\n    def f(self): return 3\ndef run(x): return E.A.f()",
        "3",
        "4",
    ),
    "member's attribute": (
        "TILE = 3\n"
        "class E(enum.Enum):\n    A = 1\n    def __init__(self, n): self.tile = TILE\ndef run(x): return E.A.tile",
        "TILE = 3",
        "TILE = 4",
    ),
    "functional enum": ("E = enum.Enum('E', {'A': 3})\ndef run(x): return E.A.value", "3", "4"),
    "named tuple's property": (
        "class P(NamedTuple):\n    a: int\n    @property\n    def area(self): return 3\np = P(1)\n"
        "def run(x): return p.area",
        "return 3",
        "return 4",
    ),
    "named tuple's base": (
        "class P(namedtuple('P', 'a')):\n    def area(self): return 3\np = P(1)\ndef run(x): return p.area()",
        "return 3",
        "return 4",
    ),
    "metaclass": (
        "class M(type):\n    def tile(cls): return 3\nclass C(metaclass=M): pass\ndef run(x): return C.tile()",
        "return 3",
        "return 4",
    ),
    "order of an enum's members": (
        "E = enum.Enum('E', (('A', 1), ('B', 2)))\ndef run(x): return list(E)",
        "('A', 1), ('B', 2)",
        "('B', 2), ('A', 1)",
    ),
    "attribute of a number of a class of its own": (
        "class L(numpy.float64): pass\nvalue = L(1)\nvalue.tile = 3\ndef run(x): return value.tile",
        "tile = 3",
        "tile = 4",
    ),
    "class of a number": (
        "class L(numpy.float64):\n    def tile(self): return 3\nvalue = L(1)\ndef run(x): return value.tile()",
        "return 3",
        "return 4",
    ),
    "default in a signature of numba's": (
        "import inspect, numba.cuda.typing.typeof\nfrom numba.core import types as nt, typing\ndef f(a=3): pass\n"
        "s = typing.signature(nt.int64, nt.int64).replace(pysig=inspect.signature(f))\ndef run(x): return s.pysig",
        "a=3",
        "a=4",
    ),
    "type in a signature of numba's": (
        "import numba.cuda.typing.typeof\nfrom numba.core import types as nt, typing\n"
        "class T(nt.Type):\n    key = 3\nT.tile = 3\n"
        "s = typing.signature(nt.int64, T(name='T'))\ndef run(x): return s.args[0].tile",
        "tile = 3",
        "tile = 4",
    ),
    "class of a logger": (
        "import logging\nclass L(logging.Logger):\n    tile = 3\nlog = L('log')\ndef run(x): return log.tile",
        "tile = 3",
        "tile = 4",
    ),
    "__call__": ("class C:\n    def __call__(self): return 3\ndef run(x): return C()()", "return 3", "return 4"),
    "__class_getitem__": (
        "class C:\n    def __class_getitem__(cls, n): return 3\ndef run(x): return C[1]",
        "return 3",
        "return 4",
    ),
    "__slots__": ("class C:\n    __slots__ = ('a3',)\ndef run(x): return C", "a3", "a4"),
    "own dunder": ("class C:\n    __tile__ = 3\ndef run(x): return C.__tile__", "= 3", "= 4"),
    "class docstring": ("class C:\n    'three'\ndef run(x): return C.__doc__", "three", "four"),
    "new_class": (
        "C = types.new_class('C', (), {}, lambda names: names.update(TILE=3))\ndef run(x): return C.TILE",
        "TILE=3",
        "TILE=4",
    ),
    "make_dataclass": (
        "C = make_dataclass('C', ['a'], namespace={'TILE': 3})\ndef run(x): return C.TILE",
        "'TILE': 3",
        "'TILE': 4",
    ),
    "class without a module": (
        "space = {}\nexec('class C:\\n    TILE = 3', space)\nC = space['C']\ndef run(x): return C.TILE",
        "TILE = 3",
        "TILE = 4",
    ),
    "function in a library's name": (
        "space = {'__name__': 'json'}\nexec('def f(): return 3', space)\nf = space['f']\ndef run(x): return f()",
        "return 3",
        "return 4",
    ),
    "class of a wrapper": (
        "class W:\n    def __init__(self, f): functools.update_wrapper(self, f)\n    def __call__(self): return 3\n"
        "@W\ndef one(): return 1\ndef run(x): return one()",
        "return 3",
        "return 4",
    ),
    "attribute of a wrapper's class": (
        "class W:\n    K = 3\n    def __init__(self, f): functools.update_wrapper(self, f)\n"
        "    def __call__(self): return self.K\n@W\ndef one(): return 1\ndef run(x): return one()",
        "K = 3",
        "K = 4",
    ),
    "slot of a wrapper": (
        "class W:\n    __slots__ = ('n', '__wrapped__')\n    def __call__(self): return self.n\n"
        "def one(): return 1\nw = W()\nw.n, w.__wrapped__ = 3, one\ndef run(x): return w()",
        "n, w.__wrapped__ = 3",
        "n, w.__wrapped__ = 4",
    ),
    "annotation that inspect reads": (
        "import inspect\ndef f(a: 3): pass\ndef run(x): return inspect.signature(f)",
        "a: 3",
        "a: 4",
    ),
    "docstring that inspect reads": (
        "from inspect import getdoc as read\ndef f():\n    'three'\ndef run(x): return read(f)",
        "three",
        "four",
    ),
    "type hint": (
        "import typing\nclass C:\n    x: typing.Literal[3]\ndef run(x): return typing.get_type_hints(C)",
        "3",
        "4",
    ),
    "name in a type hint that is a text": (
        "import typing\nT = int\ndef f(x: 'list[T]'): pass\ndef run(x): return typing.get_type_hints(f)",
        "T = int",
        "T = float",
    ),
    "name in a hint inside another": (
        "import typing\nT = int\nclass C:\n    x: typing.Optional['T']\ndef run(x): return typing.get_type_hints(C)",
        "T = int",
        "T = float",
    ),
    "metadata of a field": (
        "from dataclasses import *\n@dataclass\nclass C:\n    x: int = field(default=1, metadata={'tile': 3})\n"
        "def run(x): return fields(C)[0]",
        "3",
        "4",
    ),
    "fields of make_dataclass": (
        "import dataclasses\nC = make_dataclass('C', ['a', 'b'])\ndef run(x): return len(dataclasses.fields(C))",
        ", 'b']",
        "]",
    ),
    "what a library's class was given": (
        "import fractions\nfractions.Fraction.TILE = 3\ndef run(x): return fractions.Fraction.TILE",
        "TILE = 3",
        "TILE = 4",
    ),
    "what a library's class was given, of a local name": (
        "import fractions\nfractions.Fraction.TILE = 3\ndef run(x):\n    c = fractions.Fraction\n    return c.TILE",
        "TILE = 3",
        "TILE = 4",
    ),
    "what a library's function was given": (
        "import textwrap\ntextwrap.dedent.TILE = 3\ndef read(f): return f.TILE\n"
        "def run(x): return read(textwrap.dedent)",
        "TILE = 3",
        "TILE = 4",
    ),
    "an attribute hung on a kernel": (
        "import gridjit\n@gridjit.jit\ndef k(o): pass\nk.tile = 3\ndef run(x): return k.tile",
        "tile = 3",
        "tile = 4",
    ),
    "an attribute hung on a device function in a list": (
        "import gridjit\n@gridjit.jit(device=True)\ndef f(o): pass\nf.tile = 3\nheld = [f]\n"
        "def run(x): return held[0].tile",
        "tile = 3",
        "tile = 4",
    ),
    "all that a function was given": (
        "def f(): pass\nf.TILE = 3\ndef run(x): return list(f.__dict__.values())",
        "TILE = 3",
        "TILE = 4",
    ),
    "all that a kernel was given": (
        "import gridjit\n@gridjit.jit\ndef k(o): pass\nk.tile = 3\ndef run(x): return k.__dict__",
        "tile = 3",
        "tile = 4",
    ),
    "a class that was registered with an abstract one": (
        "import abc\nclass W(abc.ABC): pass\nW.register(int)\ndef run(x): return issubclass(int, W)",
        "register(int)",
        "register(str)",
    ),
    "a class that was registered with a subclass": (
        "import abc\nclass W(abc.ABC): pass\nclass N(W): pass\nN.register(int)\ndef run(x): return issubclass(int, W)",
        "N.register(int)",
        "N",
    ),
    "bound method": ("class C:\n    @classmethod\n    def f(cls): return 3\nf = C.f\ndef run(x): return f()", "3", "4"),
    "order of the attributes that a pattern takes": (
        "class C:\n    __match_args__ = ('a', 'b')\n    a, b = 3, 4\n"
        "def run(x):\n    match C():\n        case C(one, two): return one",
        "('a', 'b')",
        "('b', 'a')",
    ),
    "call of a partial": ("class C:\n    __call__ = functools.partial(max, 3)\ndef run(x): return C()(1)", "3", "4"),
    "item by a builtin": ("class C:\n    __getitem__ = [3].__getitem__\ndef run(x): return C()[0]", "[3]", "[4]"),
    "operator by an object": (
        "class Call:\n    def __call__(self, *x): return 3\nclass Other(Call):\n    def __call__(self, *x): return 4\n"
        "class C:\n    __add__ = functools.partial(Call)\ndef run(x): return C() + 1",
        "partial(Call)",
        "partial(Other)",
    ),
    "whether objects have a hash": (
        "class C:\n    __hash__ = object.__hash__\ndef run(x): return {C(): 3}",
        "object.__hash__",
        "None",
    ),
    "default of a named tuple's field": (
        "P = namedtuple('P', 'x', defaults=(1,))\nP.__new__.__defaults__ = (3,)\ndef run(x): return P().x",
        "(3,)",
        "(4,)",
    ),
    "whether two lists are one": ("A = []\nB = [] or A\ndef run(x): return A is B", "[] or A", "[]"),
    "whether two arrays in a tuple are one": (
        "A = numpy.zeros(3)\nB = (A, A[:])\ndef run(x): return B[0] is B[1]",
        "A[:]",
        "A",
    ),
    "which of two partials it is": (
        "A, B = functools.partial(max, 3), functools.partial(max, 3)\nC = [A, B]\ndef run(x): return C.index(B)",
        "C = [A, B]",
        "C = [B, A]",
    ),
    "attribute of a partial": (
        "f = functools.partial(int, '1')\nf.tile = 3\ndef run(x): return f.tile",
        "tile = 3",
        "tile = 4",
    ),
    "attribute of a static method": (
        "class C:\n    f = staticmethod(max)\n    f.tile = 3\ndef run(x): return C.__dict__['f'].tile",
        "tile = 3",
        "tile = 4",
    ),
    "size of a memo": (
        "@functools.lru_cache(maxsize=3)\ndef f(): pass\ndef run(x): return f.cache_parameters()['maxsize']",
        "maxsize=3",
        "maxsize=4",
    ),
    "number that a member is": (
        "OFF = 3\nclass E(int, enum.Enum):\n    def __new__(cls, n):\n        made = int.__new__(cls, n + OFF)\n"
        "        made._value_ = n\n        return made\n    A = 1\nOFF = 0\ndef run(x): return int(E.A)",
        "OFF = 3",
        "OFF = 4",
    ),
    "what an enum does with other bits": (
        "class E(enum.IntFlag):\n    A = 1\nE._boundary_ = 3\ndef run(x): return E(6)",
        "= 3",
        "= 4",
    ),
    "call of a partial in an enum": (
        "class E(enum.Enum):\n    A = 1\nE.__call__ = functools.partial(max, 3)\ndef run(x): return E.A(1)",
        "max, 3",
        "max, 4",
    ),
    "which member has another value": (
        "class E(enum.Enum):\n    A = 1\n    B = 2\nE._value2member_map_[9] = E.A\ndef run(x): return E(9)",
        "= E.A",
        "= E.B",
    ),
    "default of a frozen data class": (
        "from dataclasses import *\n@dataclass(frozen=True)\nclass C:\n    x: int = 3\ndef run(x): return {C(): 1}",
        "3",
        "4",
    ),
    "what makes a named tuple": (
        "P = namedtuple('P', 'x')\nP._make = classmethod(lambda cls, x: cls(3))\ndef run(x): return P._make([1])",
        "3",
        "4",
    ),
}


@pytest.mark.parametrize(("text", "before", "after"), CHANGES.values(), ids=CHANGES)
def test_what_code_takes_of_functions_classes_and_members_counts(
    look: Callable[[str], SourceFingerprint], text: str, before: str, after: str
) -> None:
    one, again, changed = look(text), look(text), look(text.replace(before, after))
    assert one == again
    assert one != changed
    assert one.opaque == ()


@pytest.mark.parametrize(
    "body",
    [
        "S = {'a', 'b'}\ndef run(x): return x in S",
        "S = {'a', 'b'}\ndef run(x): return sorted(S), len(S), S.issubset(x)",
        "S = {1, 2.5}\ndef run(x): return [one for one in S]",
        "class C:\n    held = {'a', 'b'}\n    def has(x): return x not in C.held\ndef run(x): return C.has(x)",
        "def run(x): return x in {'a', 'b'}",
    ],
)
def test_what_is_only_asked_of_a_set_is_the_same_in_any_order(
    look: Callable[[str], SourceFingerprint], body: str
) -> None:
    assert look(body).opaque == ()
    assert look(body) == look(body)


@pytest.mark.parametrize(
    ("name", "other"), [("math.floor", "math.ceil"), ("operator.add", "operator.sub"), ("numpy.sin", "numpy.cos")]
)
@pytest.mark.parametrize("text", ["return {0}.{1}(3, 5)", "return take({0})", "m = {0}\n    return m.{1}(3)"])
def test_another_function_of_a_library_in_place_of_one_counts(
    look: Callable[[str], SourceFingerprint], monkeypatch: pytest.MonkeyPatch, text: str, name: str, other: str
) -> None:
    text = "def take(m): return m.{1}(3)\ndef run(x):\n    " + text
    text = text.format(*name.split("."))
    before = look(text)
    assert look(text) == before
    module, _, attribute = other.rpartition(".")
    monkeypatch.setattr(name, getattr(sys.modules[module], attribute))
    after = look(text)
    assert after != before
    assert after.opaque == ()


def test_an_object_in_place_of_a_librarys_function_cannot_be_seen(
    look: Callable[[str], SourceFingerprint], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Rounding:
        def __call__(self, value: float) -> int:
            return 3

    monkeypatch.setattr("math.floor", Rounding())
    assert "Rounding object" in look("def run(x): return math.floor(3.5)").opaque[0]


# What a program sets for its process or its thread, and code that comes out differently for it without naming it.
SETTINGS = {
    "context of decimals": ("decimal.getcontext().prec = 3", "decimal.Decimal(2) / decimal.Decimal(3)"),
    "traps of decimals": ("decimal.getcontext().traps[decimal.Inexact] = True", "decimal.Decimal(2) / x"),
    "how NumPy prints": ("numpy.set_printoptions(precision=3)", "str(x)"),
    "what NumPy does about errors": ("numpy.seterr(divide='raise')", "x / numpy.float32(0)"),
    "warnings that are errors": ("warnings.simplefilter('error', FutureWarning)", "warnings.warn('x', FutureWarning)"),
    "warnings that are collected": ("warnings.simplefilter('once')", "warnings.catch_warnings(record=True)"),
    "how a class is copied": ("copyreg.pickle(Tile, lambda tile: 'other')", "copy.copy(Tile())"),
    "a method with underscores": ("fractions.Fraction.__float__ = lambda one: 3.0", "float(fractions.Fraction(x))"),
    "a function that a library's own calls": ("statistics._sum = lambda data: (int, 3, 1)", "statistics.mean([x])"),
    "a function of an inner module": ("json.encoder.py_encode_basestring = lambda one: '3'", "json.dumps(x)"),
    "a value of a library's class": ("json.JSONEncoder.item_separator = ';'", "json.JSONEncoder().encode([x, x])"),
    "what a library's abstract class takes": ("numbers.Number.register(Tile)", "isinstance(Tile(), numbers.Number)"),
    "a library's class in a list": ("fractions.Fraction.__float__ = lambda one: 3.0", "float(HELD[0](x))"),
    "a library's module handed on": (
        "statistics._sum = lambda data: (int, 3, 1)",
        "(lambda m: m.mean([x]))(statistics)",
    ),
}
# Run in a process of its own, which the settings end with.
SET = """
import copy, copyreg, decimal, fractions, json, numbers, numpy, statistics, sys, warnings
from gridjit.compiler.key.fingerprint import fingerprint_values
class Tile: pass
HELD = [fractions.Fraction]
def run(x): return {code}
def look(function): return fingerprint_values([("run", function)], running=True)
before = look(run)
assert look(run) == before
{set}
after = look(run)
assert after != before and after.opaque == before.opaque == (), (after, before)
assert look(run) == after
"""


@pytest.mark.some(4)
@pytest.mark.parametrize(("change", "code"), SETTINGS.values(), ids=SETTINGS)
def test_what_a_program_sets_for_code_that_does_not_name_it_counts(change: str, code: str) -> None:
    done = run_python("-c", SET.format(set=change, code=code))
    assert done.returncode == 0, done.stderr


def test_a_librarys_own_filters_of_warnings_do_not_count(look: Callable[[str], SourceFingerprint]) -> None:
    text = "def run(x):\n    with warnings.catch_warnings(record=True): return x"
    with warnings.catch_warnings():
        before = look(text)
        warnings.filterwarnings("ignore", message="numpy.ndarray size changed")
        assert look(text) == before


def test_the_time_zone_cannot_be_followed(look: Callable[[str], SourceFingerprint]) -> None:
    (reason,) = look("def run(x): return datetime(2020, 1, 1).timestamp()").opaque
    assert "datetime.datetime.timestamp at running.py" in reason


def test_another_builtin_in_place_of_one_counts(
    look: Callable[[str], SourceFingerprint], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look("def run(x): return min(3, 5)")
    monkeypatch.setattr("builtins.min", max)
    assert look("def run(x): return min(3, 5)") != before


def test_results_that_were_kept_before_any_compile_cannot_be_told(look: Callable[[str], SourceFingerprint]) -> None:
    text = "G = 3\n@functools.lru_cache\ndef pick(): return G\n{}\ndef run(x): return pick()"
    assert look(text.format("")).opaque == ()
    assert "has results that were worked out before" in look(text.format("pick()\nG = 7")).opaque[0]


def test_an_attribute_that_no_code_takes_does_not_count(look: Callable[[str], SourceFingerprint]) -> None:
    text = "def f(a: {0}):\n    'text {0}'\nf.OTHER = {0}\ndef run(x): return f(1)"
    assert look(text.format(3)) == look(text.format(4))


def test_two_namespaces_of_one_name_stay_apart(look: Callable[[str], SourceFingerprint]) -> None:
    text = """
        def plugin(tile):
            space = {"__name__": "plugin"}
            exec(f"TILE = {tile}\\ndef f(): return TILE", space)
            return space["f"]
        one, other = plugin(%s), plugin(%s)
        def run(x): return one() - other()
    """
    assert len({look(text % tiles).digest for tiles in ((1, 2), (2, 1), (1, 1), (2, 2))}) == 4


def test_a_file_that_is_read_is_named(look: Callable[[str], SourceFingerprint], tmp_path: Path) -> None:
    (reason,) = look(
        f"PLACE = {str(tmp_path)!r}\ndef run(x):\n    with open(PLACE) as file:\n        return 1\n"
    ).opaque
    assert reason.startswith("running.run uses open() at running.py:")


def test_a_further_part_does_not_ask_modules_again_for_the_attributes_that_they_were_asked_for() -> None:
    space: dict[str, Any] = {"__name__": "mine", "math": math, "random": random}
    exec(f"def extension(a):\n    return math, random, {', '.join(f'a.field_{n}' for n in range(500))}\n", space)
    walk = RunningWalk()
    walk.add("extension", space["extension"])
    lines = 0

    def counted(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return counted if frame.f_code is RunningWalk._read_holders.__code__ else None

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        walk.add("another", 1)
    finally:
        sys.settrace(before)
    assert 0 < lines < 100


def test_one_attribute_of_a_class_is_looked_up_without_a_look_at_the_others() -> None:
    asked: list[object] = []
    held = type("Held", (), {f"field_{n}": n for n in range(500)})
    assert put_on(held, "field_7", lambda item: not asked.append(item)) == {"field_7": 7}
    assert asked == [7]
    assert len(put_on(held, "__dict__", lambda item: True)) == 500

"""Keeping: one compile's use of units. A callee is taken from a unit that holds, or compiled and kept at the end.

Before a unit is used, all its questions are asked again, down to the last callee's. In doubt, the callee is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeAlias

from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.kept.asked import Asking, Question, offers_what_it_is_called_with
from gridjit.compiler.frontend.kept.drafts import Draft, Drafts, ResultPlace, Unit
from gridjit.compiler.frontend.kept.library import is_code_alone, let_go_of_the_way, print_once
from gridjit.compiler.frontend.kept.places import OfKernel, SharedPlace
from gridjit.compiler.frontend.kept.plain import is_numbas, is_plain
from gridjit.compiler.frontend.kept.reviving import Demands
from gridjit.compiler.frontend.kept.shelving import Shelving
from gridjit.compiler.frontend.kept.stored_record import MOST_ALIKE
from gridjit.compiler.frontend.kept.surroundings import Surroundings
from gridjit.compiler.frontend.kept.told import calls_others
from gridjit.compiler.view.config import ConfigView

# The units of a callee by argument types and options, the newest first.
UnitTable: TypeAlias = "MutableMapping[object, tuple[Unit, ...]]"
_MOST_OF_ONE = 1024
# The units of numba-cuda's own functions: functions that its lowering compiles, or with names in any process.
NUMBAS_OWN: UnitTable = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Callee:
    """A function and one list of argument types, for which units are looked up.

    place: where numba looks for its result. table: its units, by key; None: no unit is made of it. shelved: its key on
    the shelf, None if it has none. function: None for a function of numba-cuda's own that another process's unit names.
    """

    place: ResultPlace
    function: FunctionType | None
    table: UnitTable | None = None
    key: object = None
    shelved: str | None = None


class Keeping:
    """The reused callees of one kernel, and the units that it will keep of the others."""

    def __init__(
        self,
        view: ConfigView,
        asking: Asking,
        look_around: Callable[[], Surroundings],
        drafts: Drafts,
        empty: Callable[[Any], None],
    ) -> None:
        self.reused: dict[str, None] = {}
        self._view = view
        self._asking = asking
        self._look_around = look_around
        self._around: list[Surroundings] = []
        self._drafts = drafts
        self._empty = empty
        self._made: list[tuple[UnitTable, object, Unit]] = []
        # By the identity of a result of this compile, which stays alive here: its unit, if any.
        self._units: dict[int, tuple[Any, Unit | None]] = {}
        # By the identity of a unit, which stays alive here, even if another thread's compile takes it out of its table.
        self._answers: dict[int, tuple[Unit, tuple[Question | Unit, ...] | None]] = {}
        self._shelving: list[Shelving | None] = []
        self._demands = Demands(callee=self._callee, numbas=self._numbas)
        self._from_disk: dict[int, Unit] = {}
        self._looking = 0

    def look(self) -> None:
        """Look at the surroundings of the compile, once, before any callee is compiled or found."""
        if not self._around:
            self._around.append(self._look_around())

    @property
    def has_looked(self) -> bool:
        """Whether the surroundings are known. Earlier results are not kept."""
        return bool(self._around)

    @property
    def surroundings(self) -> Surroundings:
        """The surroundings of the compile."""
        self.look()
        return self._around[0]

    def result(self, callee: Callee, compile_it: Callable[[], Any]) -> Any:
        """Return a callee's result: from a unit that holds, else from compile_it()."""
        if self._drafts.suspended:
            return compile_it()
        if callee.table is not None:
            self.look()
        if callee.place.told is not None and (found := callee.place.found(self._empty)) is not None:
            return found
        if (unit := self._found(callee)) is not None:
            self._adopt(unit)
            return unit.result
        return self._compiled(callee, compile_it)

    def kernel(
        self, function: FunctionType, arguments: Any, options: tuple[str, ...], compile_it: Callable[[], Any]
    ) -> Any:
        """Return the result of the kernel's own code: from disk, or by compile_it().

        If the kernel calls no function, compiling it takes less time than looking for it.
        """
        if self._drafts.suspended or not calls_others(function) or self.shelving is None:
            return compile_it()
        shelved = self.shelving.key(function, arguments, None, ("kernel", *options))
        if shelved is None:
            return compile_it()
        callee = Callee(place=OfKernel(), function=function, table={}, key=shelved, shelved=shelved)
        return self.result(callee, compile_it)

    def use(self, result: Any) -> None:
        """Note the use of a result in the innermost draft."""
        if (unit := self._unit_of(result)) is None:
            self._drafts.spoil("it uses what is not kept")
        else:
            self._drafts.note(unit)

    def meet_recursion(self) -> None:
        """Note that a function is called whose compile has not ended.

        Raises RecursionError if that compile only finds out whether something on the shelf holds, since the function
        that is called would be missing. Then that does not hold, or everything is compiled without the shelf.
        """
        shelf = self._asking.recording.shelf
        if self._looking and shelf is not None:
            shelf.was_used = True
            raise RecursionError("functions on the shelf came to call each other")

    def keep(self) -> None:
        """End a compile that went well: later compiles may use the units that it made or found."""
        if not self.has_looked or not self.surroundings.hold or not self.surroundings.allow_keeping:
            return
        if self._shelving and self._shelving[0] is not None:
            self._shelving[0].put()
        if (shelf := self._asking.recording.shelf) is None:
            self._keep()
        else:
            shelf.when_it_went_well(self._keep)

    def _keep(self) -> None:
        for table, key, unit in self._made:
            if len(table) >= _MOST_OF_ONE:
                table.clear()
            table[key] = (unit, *table.get(key, ())[: MOST_ALIKE - 1])

    @property
    def shelving(self) -> Shelving | None:
        """The shelf of units that processes share; None if this compile does not use it."""
        if not self._shelving:  # a kernel that calls nothing does not need it
            no_shelf = self._asking.recording.shelf is None
            self._shelving.append(None if no_shelf else _shelving(self._asking, self.surroundings))
        return self._shelving[0]

    def _found(self, callee: Callee) -> Unit | None:
        """Return a unit that holds, of this process or else of another."""
        if callee.table is None:
            return None
        for unit in callee.table.get(callee.key, ()):
            if self._holds(unit):
                return unit
        if callee.shelved is not None and (found := self._from_shelf(callee.shelved, callee)) is not None:
            self._made.append((callee.table, callee.key, found))
            return found
        return None

    def _from_shelf(self, shelved: str, callee: Callee) -> Unit | None:
        """Return the unit that another process kept under a key, if it holds."""
        if self.shelving is None:
            return None
        # The questions record their own answers, which are not part of the unit that asks.
        self._drafts.begin(None)
        self._looking += 1
        try:
            found = self.shelving.found(shelved, callee.function, self._asking, self._demands)
        finally:
            self._looking -= 1
            self._drafts.end(None)
        if found is None:
            return None
        result, events = found
        unit = self._unit(callee, result, events)
        self._answers[id(unit)] = (unit, events)
        self._from_disk[id(unit)] = unit
        return unit if self._fits(unit, set()) else None

    def _callee(self, dispatcher: Any, arguments: tuple[Any, ...]) -> Unit | None:
        """Return the unit of a function that a unit on the shelf calls; the function is compiled if need be."""
        if not offers_what_it_is_called_with(dispatcher):
            return None
        return self._unit_of(dispatcher.compile_device(arguments))

    def _numbas(self, place: SharedPlace) -> Unit | None:
        """Return the unit of a function of numba-cuda's own, if it is there already."""
        if (result := place.found(self._empty)) is not None:
            unit = self._unit_of(result)
            return unit if unit is not None and unit.place == place else None
        if (unit := self._found(numbas_own(place, None))) is not None:
            self._adopt(unit)
        return unit

    def _unit_of(self, result: Any) -> Unit | None:
        return self._units.get(id(result), (None, None))[1]

    def _compiled(self, callee: Callee, compile_it: Callable[[], Any]) -> Any:
        assert callee.function is not None  # only units are looked for without one
        draft, hooks = Draft(callee.function), self._hooks()
        self._drafts.begin(draft)
        try:
            result = compile_it()
        except BaseException as error:
            let_through(error)
            self._drafts.fail(draft)
            raise
        self._drafts.end(draft)
        keeps = callee.table is not None and hooks == self._hooks() and _makes_a_unit(draft, callee.place, result)
        unit = self._unit(callee, result, tuple(draft.events)) if keeps else None
        self._units[id(result)] = (result, unit)
        if callee.table is not None and unit is not None:
            print_once(result.library)
            let_go_of_the_way(result)
            self._made.append((callee.table, callee.key, unit))
            if self.shelving is not None and callee.shelved is not None:
                self.shelving.will_put(callee.shelved, unit, callee.function)
        return result

    def _unit(self, callee: Callee, result: Any, events: tuple[Question | Unit, ...]) -> Unit:
        name = _name(callee, result.signature.args)
        return Unit(place=callee.place, result=result, surroundings=self.surroundings, events=events, name=name)

    def _hooks(self) -> tuple[int, ...]:
        return tuple(map(id, self._view.pre_launch_callbacks))

    def _holds(self, unit: Unit) -> bool:
        return self._todays(unit) is not None and self._fits(unit, set())

    def _todays(self, unit: Unit) -> tuple[Question | Unit, ...] | None:
        """Return a unit's events with today's answers; None if one has changed, of the unit's or of its callees'."""
        if id(unit) not in self._answers:
            self._answers[id(unit)] = (unit, self._asked_again(unit))
        return self._answers[id(unit)][1]

    def _asked_again(self, unit: Unit) -> tuple[Question | Unit, ...] | None:
        if unit.surroundings is not self.surroundings:
            return None
        answers: list[Question | Unit] = []
        for event in unit.events:
            if isinstance(event, Unit):
                answer: Question | Unit | None = None if self._todays(event) is None else event
            else:
                answer = _today(event, self._asking)
            if answer is None:
                return None
            answers.append(answer)
        return tuple(answers)

    def _fits(self, unit: Unit, seen: set[int]) -> bool:
        """Return whether this compile has no other result in place of a unit, or of a unit that it uses."""
        if id(unit) in seen:
            return True
        seen.add(id(unit))
        found = unit.place.found(self._empty)
        if found is not None and found is not unit.result:
            return False
        return all(self._fits(event, seen) for event in unit.events if isinstance(event, Unit))

    def _adopt(self, unit: Unit) -> None:
        """Make a unit count as compiled now, and record all that its compile would have recorded, in that order."""
        if unit.place.found(self._empty) is unit.result:
            return
        self._drafts.begin(None)
        for answer in self._todays(unit) or ():
            if isinstance(answer, Unit):
                self._adopt(answer)
            else:
                answer.record(self._asking)
        self._drafts.end(None)
        unit.place.put(unit.result)
        self._units[id(unit.result)] = (unit.result, unit)
        if unit.name:
            self.reused[f"{unit.name} from disk" if id(unit) in self._from_disk else unit.name] = None


def _shelving(asking: Asking, surroundings: Surroundings) -> Shelving | None:
    """Return the use of the shelf; None if there is no shelf, or the surroundings have no text."""
    shelf = asking.recording.shelf
    told = None if shelf is None or not surroundings.allow_keeping else surroundings.told
    return None if shelf is None or told is None else Shelving(shelf, told)


def _today(question: Question, asking: Asking) -> Question | None:
    try:
        return question.today(asking)
    except Exception as error:  # an attribute may be computed by the program's code
        let_through(error)
        return None


def numbas_own(place: SharedPlace, function: FunctionType | None) -> Callee:
    """Return a function of numba-cuda's own that has a name in any process, as its units are looked up."""
    return Callee(place=place, function=function, table=NUMBAS_OWN, key=place.key, shelved=place.key)


def _makes_a_unit(draft: Draft, place: ResultPlace, result: Any) -> bool:
    """Return whether a draft's result may stand for a later compile."""
    signature = result.signature
    if draft.spoiled or not all(map(is_plain, (*signature.args, signature.return_type))):
        return False
    # A kernel's metadata also lists its reads; a mark has spoiled its draft.
    is_marked = (result.metadata or {}).get("launch_config_sensitive") and not isinstance(place, OfKernel)
    return not is_marked and _is_told(result.library, draft)


def _is_told(library: Any, draft: Draft) -> bool:
    """Return whether a library is only code, and links nothing but the libraries of the draft's units."""
    told = {id(event.result.library) for event in draft.events if isinstance(event, Unit)}
    return is_code_alone(library) and all(id(linked) in told for linked in library._linking_libraries)


def _name(callee: Callee, arguments: tuple[Any, ...]) -> str:
    """Return a callee's name for people; "" for numba-cuda's own, and for the kernel, which is not a callee."""
    function = callee.function
    if function is None or is_numbas(function) or isinstance(callee.place, OfKernel):
        return ""
    return f"{function.__module__}.{function.__qualname__}({', '.join(map(str, arguments))})"

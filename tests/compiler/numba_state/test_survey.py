from __future__ import annotations

import numba.core.cgutils
import pytest

from gridjit.compiler.numba_state.survey import Survey


def test_a_survey_in_place_of_an_interrupted_one_tells_only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = Survey()
    interrupted.look()
    function, other = numba.core.cgutils.is_nonelike, numba.core.cgutils.is_null
    interrupted.watch([function, other])
    monkeypatch.setattr(other, "__defaults__", (None,))
    anew = Survey(interrupted)
    anew.look()
    anew.watch([function, other])
    changed = [anew.functions[index] for index in anew.changed_functions]
    assert (changed, anew.changed_owners, anew.changed_cells) == ([other], [], [])

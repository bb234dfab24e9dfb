"""Distribution names are compared in one form, and read from folders as installers name them."""

from __future__ import annotations

import pytest

from gridjit.compiler.key.site_folders import described_by, normalized


def test_all_spellings_of_a_name_are_one() -> None:
    assert {normalized(name) for name in ("Numba-CUDA", "numba_cuda", "numba.cuda", "numba-_.cuda")} == {"numba-cuda"}


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("numba_cuda-0.20.1.dist-info", ("numba-cuda", "0.20.1")),
        ("numba-cuda-0.20.1.dist-info", ("numba-cuda", "0.20.1")),
        ("Old.Style-1.0-py3.11.egg-info", ("old-style", "1.0")),
        ("developed.egg-info", ("developed", "")),
        ("py-3.11.dist-info", ("py", "3.11")),
        ("named-py3.11.egg-info", ("named", "py3.11")),
        ("a--py3.11.dist-info", ("a-", "py3.11")),
        ("-1.0.dist-info", ("-1-0", "")),
        ("numba_cuda-0.20.1", None),
        (".dist-info", None),
        ("share-info", None),
    ],
)
def test_a_folder_of_metadata_says_name_and_version(folder: str, expected: tuple[str, str] | None) -> None:
    assert described_by(folder) == expected

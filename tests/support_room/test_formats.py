from __future__ import annotations

from pathlib import Path

import pytest

from incfed import __version__
from incfed.support.formats import FormatError, check_format


def test_the_current_format_is_read() -> None:
    check_format("a.json", 2, 2, "0.2.0")


@pytest.mark.parametrize(
    ("found", "writer", "said"),
    [
        (1, None, "incfed 0.2.0"),
        (None, None, "incfed 0.2.0"),
        (1, "0.1.0", "incfed 0.1.0"),
        (3, "0.9.1", "incfed 0.9.1"),
        (3, None, "a newer incfed"),
        (2.0, None, "incfed 0.2.0"),
        ("2", None, "incfed 0.2.0"),
        (3, __version__, f"another build of incfed {__version__}"),
        (1, {"0": 1}, "incfed 0.2.0"),
        (3, "0.9\x1b[31m\n", "a newer incfed"),
    ],
)
def test_another_format_is_refused_in_one_sentence(
    found: object, writer: object, said: str
) -> None:
    with pytest.raises(FormatError) as refused:
        check_format(Path("kept") / "a.json", found, 2, writer)
    place = Path("kept") / "a.json"
    assert str(refused.value) == (
        f"{place}: has the format of {said}, which reads it; this version does not"
    )


def test_true_is_not_the_first_format() -> None:
    with pytest.raises(FormatError, match="which reads it"):
        check_format("a.json", True, 1)

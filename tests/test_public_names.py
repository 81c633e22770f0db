"""The names that `import incfed` offers: loaded on first use, known to type checkers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import incfed


def printed_by(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_a_name_is_loaded_when_it_is_used() -> None:
    code = "import sys, incfed; before = 'numpy' in sys.modules; incfed.Trace; "
    assert printed_by(code + "print(before, 'numpy' in sys.modules)") == "False True"


def test_worlds_and_results_load_neither_the_compiler_nor_the_rules() -> None:
    code = "import sys, incfed; incfed.Synthetic(); incfed.ReplayLog; incfed.load; "
    assert printed_by(code + "print({'numba', 'pydantic'} & set(sys.modules))") == "set()"


def test_the_package_itself_loads_neither_numpy_nor_pydantic() -> None:
    code = "import sys, incfed; print({'numpy', 'pydantic'} & set(sys.modules))"
    assert printed_by(code) == "set()"


def test_every_name_is_there_and_keeps_its_own() -> None:
    names = dir(incfed)
    assert {"IncFedUCB", "simulate", "__version__"} < {*names}
    assert "lazy_names" not in names
    for name in names:
        value = getattr(incfed, name)
        assert getattr(value, "__name__", name).rpartition(".")[2] == name
        assert vars(incfed)[name] is value  # the next use is an ordinary attribute


def test_a_star_imports_every_name() -> None:
    code = "import incfed; from incfed import *; print({*dir(incfed)} - {*globals()})"
    assert printed_by(code) == "set()"


# mypy checks these two as well: an ignored error that it no longer sees is an error.


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'incfed' has no attribute 'IncFedUBC'"):
        incfed.IncFedUBC  # type: ignore[attr-defined] # noqa: B018


def test_an_argument_of_a_wrong_type_is_an_input_error() -> None:
    with pytest.raises(incfed.InputError, match="mechanism: got 3"):
        incfed.IncFedUCB(mechanism=3)  # type: ignore[arg-type]

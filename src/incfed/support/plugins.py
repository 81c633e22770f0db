"""Classes of the user's own: "my_file.py:MyClass" or "package.module:MyClass".

Loading one runs its code: only ever load what the user's config or command names. The folder of the
config is searched for modules too, after everything else, so that a file there can import its
neighbours.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..errors import InputError, hint, listed
from .files import digest

# The SHA-256 of the files of loaded modules, as they were then.
_LOADED: WeakKeyDictionary[ModuleType, str] = WeakKeyDictionary()


class LoadedClass(NamedTuple):
    """A class, and the file that it stands in."""

    made: type[Any]
    file: Path | None
    sha256: str  # of the file, as it was loaded


def load(where: str, folder: Path) -> ModuleType:
    """The module in a file ("my_file.py", relative to `folder`) or of a name ("package.module")."""
    return _file(folder / where) if where.endswith(".py") else _module(where, folder)


def classes(module: ModuleType, base: type) -> dict[str, LoadedClass]:
    """By name, all classes in a module that derive from `base` and can be used."""
    found = {name: one for name, one in vars(module).items() if _fits(one, base)}
    return {n: _plugin(one, module) for n, one in found.items() if not inspect.isabstract(one)}


def find_class(address: str, base: type, folder: Path) -> LoadedClass:
    """The class at `address`, which must derive from `base`."""
    where, _, name = address.rpartition(":")
    if not where or not name.isidentifier():
        raise InputError(f"got {address!r}, must be like 'my_file.py:MyClass' or 'package:MyClass'")
    module = load(where, folder)
    found = getattr(module, name, None)
    if found is None:
        fitting = [key for key, value in vars(module).items() if _fits(value, base)]
        raise InputError(
            f"{where} has no {name}{hint(name, fitting)}; its {base.__name__} classes: "
            f"{listed(fitting)}"
        )
    if not _fits(found, base):
        raise InputError(f"{address} must be a class derived from incfed.{base.__name__}")
    if inspect.isabstract(found):
        lacking = ", ".join(sorted(found.__abstractmethods__))
        raise InputError(f"{address} is not finished: it does not define {lacking}")
    return _plugin(found, module)


def explain(error: BaseException, files: list[str]) -> str:
    """An error in somebody's class in one line, with the line of `files` where it happened."""
    kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
    lines = [
        f" ({Path(frame.filename).name}, line {frame.lineno})"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename in files
    ]
    text = " ".join(str(error).split())
    return (kind + text if text else type(error).__name__) + (lines[-1] if lines else "")


def _plugin(found: type, module: ModuleType) -> LoadedClass:
    source = inspect.getsourcefile(found)
    if source is None:
        return LoadedClass(found, None, "")
    loaded = _LOADED.get(module) if source == getattr(module, "__file__", None) else None
    return LoadedClass(found, Path(source), loaded or digest(Path(source)))


def _fits(value: object, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base) and value is not base


def _file(path: Path) -> ModuleType:
    path = path.resolve()
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"file not found: {path}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    # What is hashed is what runs: no compiled file of an earlier version comes in between. Each
    # content has a module name of its own: in a process that lives long, an edited file is another
    # module. (Dataclasses look their module up by name.)
    content = hashlib.sha256(source).hexdigest()
    mark = hashlib.sha256(f"{path} {content}".encode()).hexdigest()[:8]
    name = f"incfed_plugin_{path.stem}_{mark}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # the name ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _reach(path.parent)
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InputError(f"{path.name} cannot be loaded: {explain(error, [str(path)])}") from None
    _LOADED[module] = content
    return module


def _module(name: str, folder: Path) -> ModuleType:
    _reach(folder)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise InputError(f"{name} cannot be imported: {explain(error, [])}") from None
    file = Path(getattr(module, "__file__", None) or "")
    if file.is_file() and _LOADED.setdefault(module, digest(file)) != digest(file):
        raise InputError(f"{file} has changed since this process loaded it; start a new process")
    return module


def _reach(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

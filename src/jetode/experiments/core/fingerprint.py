"""Which state of the code a result belongs to.

A fingerprint of code is the SHA-256 of every source file that the work can reach by its imports (comments, docstrings
apart, so that writing documentation invalidates nothing), of the shipped data and of the libraries' versions.  A change
in the command line or in a page leaves a finished measurement as it is; a change in a spline redoes it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[2]
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "reservoirpy", "pysindy", "cvxpy")


def fingerprint(*parts: Any) -> str:
    """Changes with any of the parts, which are plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def code_fingerprint(module: str) -> str:
    """Of all the code that ``module`` can reach; modules beside it count where it is a script's."""
    files = reached(module)
    shown = sorted((_name(path), _digest(path)) for path in files)
    data = sorted((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in (PACKAGE / "data").iterdir())
    return fingerprint(shown, data, libraries())


@cache
def commit() -> str:
    """The commit that the source is of, with a + where it has been changed since; "" where it is no checkout."""
    from subprocess import run  # needed by few

    def said(*words: str) -> str:
        try:
            asked = run(["git", *words], cwd=PACKAGE, capture_output=True, text=True, timeout=10, check=False)
        except (OSError, ValueError):
            return ""
        return asked.stdout.strip() if asked.returncode == 0 else ""

    found = said("rev-parse", "--short=10", "HEAD")
    return f"{found}+" if found and said("status", "--porcelain", "--untracked-files=no", ".") else found


def libraries() -> dict[str, str]:
    """Versions of those libraries that are there and can move a digit."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def reached(module: str) -> frozenset[Path]:
    """Source files that ``module`` imports, directly or not, at its top or inside a function, and its own."""
    first = _file(module)
    if first is None:
        raise ModuleNotFoundError(f"No source of module {module!r}.")
    folder, seen, waiting = first.parent, set[Path](), [first]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in _imports(path):
            waiting += _files(name, folder)
    return frozenset(seen)


def _files(name: str, folder: Path) -> list[Path]:
    """Files of an imported name: one of the package, or of a script's folder.  The package itself, whose names are
    found lazily, stands for all of it."""
    top, *rest = name.split(".")
    if top == PACKAGE.name and not rest:
        return [*PACKAGE.rglob("*.py")]
    if top == PACKAGE.name:
        inside = _inside(rest)
        return [inside] if inside is not None else _files(name.rpartition(".")[0], folder)
    beside = folder / f"{top}.py"
    return [beside] if not folder.is_relative_to(PACKAGE) and beside.exists() else []


def _inside(parts: list[str]) -> Path | None:
    place = PACKAGE.joinpath(*parts)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.exists()), None)


def _file(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    return None if spec is None or spec.origin is None else Path(spec.origin).resolve()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _imports(path: Path) -> Iterator[str]:
    """Every name that a file imports; of ``from a import b`` a.b, which may be a module or a name in a."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ImportError(f"{path} has a relative import, which the fingerprint of code does not follow.")
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _digest(path: Path) -> str:
    """Of what a file does: its syntax tree without docstrings."""
    tree = _tree(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [s for i, s in enumerate(node.body) if i or not _is_text(s)]
    return hashlib.sha256(ast.dump(tree, annotate_fields=False).encode()).hexdigest()


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else path.name

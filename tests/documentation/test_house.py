"""The house in numbers: modules of at most 400 lines, functions of at most complexity 15 and 8 parameters.

Kernels are left out of the last two: compiled loops are long, and inlined ones take their arrays one by one.  A
command's parameters are its options, and the public face of a method takes its options by keyword.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from radon.complexity import cc_visit_ast

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
LINES, COMPLEXITY, PARAMETERS = 400, 15, 8
COMPILED = ("kernel", "leaf", "inlined", "Deferred")


def decorators(function: ast.FunctionDef) -> set[str]:
    """Their bare names: kernel of @kernel(...), command of @click.command()."""
    called = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    return {d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in called}


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(ROOT / "src").as_posix())
def test_a_module_is_small_and_so_are_its_functions(path):
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    assert text.count("\n") <= LINES
    compiled = {f.lineno for f in functions(tree) if decorators(f) & set(COMPILED)}
    compiled |= {f.decorator_list[0].lineno for f in functions(tree) if decorators(f) & set(COMPILED)}
    for block in cc_visit_ast(tree):
        if hasattr(block, "is_method") and block.lineno not in compiled:
            assert block.complexity <= COMPLEXITY, f"{block.name} has complexity {block.complexity}"
    for function in functions(tree):
        if decorators(function) & {*COMPILED, "command"}:
            continue
        arguments = function.args
        positional = len(arguments.posonlyargs) + len(arguments.args)
        by_keyword = len(arguments.kwonlyargs) if function.name.startswith("_") else 0
        assert positional + by_keyword <= PARAMETERS, f"{function.name} has {positional + by_keyword} parameters"


def test_no_test_imports_another():
    tests = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not tests & {part for name in names for part in name.split(".")}, path


def test_the_tour_fits_on_one_page():
    """A page holds some 60 lines of 120 characters and the figure."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    assert len(text.splitlines()) <= 75 and len(text.split()) <= 800 and "layers.svg" in text
    for added in ("input format", "closure form", "check", "export", "command"):
        assert f"| a new {added} |" in text

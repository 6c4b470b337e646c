"""The cache of compiled kernels: an edit of anything that a kernel contains ends it, nothing else does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jetode
from jetode.support.compiled import ROOT, stamp

HELPER = "from jetode.support.compiled import leaf\n\n\n@leaf()\ndef helper(x):\n    return x + {}\n"
KERNEL = (
    "from jetode.{} import helper\nfrom jetode.support.compiled import kernel\n\n\n"
    "@kernel()\ndef twice(x):\n    return helper(helper(x))\n"
)
RUN = (
    "from jetode.support.compiled import told_of_compilation\nfrom jetode.kernels import twice\n"
    "with told_of_compilation(lambda line: print(line, end=' ')):\n    print(twice(1.0))"
)


@pytest.fixture
def package(tmp_path):
    """A small jetode of its own: a kernel that calls a helper in another file."""
    root = tmp_path / "jetode"
    root.mkdir()
    (root / "__init__.py").touch()
    shutil.copytree(ROOT / "support", root / "support", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "helpers.py").write_text(HELPER.format(1.0))
    (root / "other.py").write_text("CONSTANT = 1\n")
    (root / "kernels.py").write_text(KERNEL.format("helpers"))
    return root


def test_an_edit_of_an_inlined_helper_recompiles_its_callers(package):
    def run():
        environment = {
            **os.environ,
            "PYTHONPATH": str(package.parent),
            "NUMBA_CACHE_DIR": str(package.parent / "cache"),
        }
        result = subprocess.run(
            [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True
        )
        return result.stdout.split()

    *told, value = run()
    assert "Compiling," in told and value == "3.0"
    assert run() == ["3.0"]  # from the cache, and nobody is told
    (package / "helpers.py").write_text(HELPER.format(2.0))
    *told, value = run()
    assert "Compiling," in told and value == "5.0"


@pytest.mark.parametrize("statement", ["helpers import helper", " import helpers", " import (\n    helpers,\n)"])
def test_stamp_covers_what_is_imported_and_nothing_else(package, statement):
    kernels, helpers, other = (package / name for name in ("kernels.py", "helpers.py", "other.py"))
    if not statement.startswith("helpers"):
        kernels.write_text(f"from jetode{statement}\n")
    before = stamp(kernels, package)
    os.utime(helpers)
    assert stamp(kernels, package) == before
    if "(" not in statement:  # of names in brackets all modules of the package may be meant
        other.write_text("CONSTANT = 2\n")
        assert stamp(kernels, package) == before
    helpers.write_text(HELPER.format(2.0))
    assert stamp(kernels, package) != before


def test_every_kernel_is_declared_here():
    """numba's own decorators would cache by one file only."""
    for path in Path(jetode.__file__).parent.rglob("*.py"):
        if path != ROOT / "support" / "compiled.py":
            text = path.read_text(encoding="utf-8")
            assert "import njit" not in text and "numba.njit" not in text and "numba.jit" not in text, path


@pytest.mark.long
def test_after_warmup_the_demo_compiles_nothing(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    jetode_command = [sys.executable, "-m", "jetode"]
    subprocess.run([*jetode_command, "warmup", "--order", "3", "--quiet"], env=environment, check=True)
    script = (
        "import sys\nfrom click.testing import CliRunner\nfrom jetode.cli.main import cli\n"
        "from jetode.support.compiled import counting_compilations\n"
        "with counting_compilations() as count:\n"
        f"    CliRunner().invoke(cli, ['demo', '--out', {str(tmp_path / 'out')!r}])\n"
        "print(count())"
    )
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "0", result.stdout
    assert (tmp_path / "out" / "report.html").exists()

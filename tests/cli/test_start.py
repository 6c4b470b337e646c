"""Help is there at once: the command line imports its numerics only when a command runs."""

import subprocess
import sys

import pytest

from jetode.cli.simulate import NOISE_KINDS
from jetode.signal import noise


def test_kinds_of_noise_are_those_of_the_library():
    assert noise.NOISE_KINDS == NOISE_KINDS


@pytest.mark.parametrize(
    "start", ["import jetode", "from jetode.cli.main import cli; cli(['--help'], standalone_mode=False)"]
)
def test_starting_imports_no_numerics(start):
    script = (
        f"import sys\ntry:\n    {start}\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'numba', 'matplotlib', 'sympy', 'plotly'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)

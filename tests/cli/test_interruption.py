"""Ctrl-C and --max-seconds during ``jetode reconstruct``: the best model so far is kept, and marked as such."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import jetode

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and terminals")]

COMMAND = [sys.executable, "-m", "jetode", "reconstruct", "torus.csv", "--dt", "0.01", "--out", "out"]
MARK = "The fit was stopped before it had finished; this is the best model so far."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A noisy torus of three frequencies: no rung of the ladder satisfies, so the fit goes on longer than the test."""
    path = tmp_path_factory.mktemp("torus")
    t = 0.01 * np.arange(3001)
    values = sum(np.sin(2 * np.pi * frequency * t) for frequency in (1.0, np.sqrt(2.0), np.sqrt(5.0)))
    np.savetxt(path / "torus.csv", jetode.add_noise(values, 0.15, np.random.default_rng(2)))
    return path


def interrupted_at(stage, folder):
    """Exit code and what the terminal showed of a run that got Ctrl-C when ``stage`` appeared on its terminal."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    with subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown, sent = b"", False
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            shown += block
            if not sent and stage in shown:
                sent = True
                process.send_signal(signal.SIGINT)
    os.close(ours)
    assert sent, shown
    return process.returncode, shown.decode()


def check_marked(folder):
    saved = json.loads((folder / "out" / "model.json").read_text(encoding="utf-8"))
    assert saved["verdict"]["trusted"] is False and saved["verdict"]["reason"] == MARK
    model = jetode.load(folder / "out" / "model.json")
    assert model.regular is not None and np.all(np.isfinite(model.forecast(0.1, samples=0).values))


@pytest.mark.long
def test_ctrl_c_keeps_the_best_model_so_far(folder):
    code, shown = interrupted_at(b"eliminating", folder)
    assert code == 3 and "Stopping with the best model so far" in shown and "Traceback" not in shown
    check_marked(folder)


@pytest.mark.long
def test_a_time_limit_keeps_the_best_model_so_far(folder):
    done = subprocess.run([*COMMAND, "--max-seconds", "3"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 3 and "best model so far" in " ".join(done.stdout.split())
    check_marked(folder)

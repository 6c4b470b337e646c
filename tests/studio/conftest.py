"""A studio for tests: an application without a socket, and a real server in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the studio's extra is not installed: pip install 'jetode[studio]'")

TOKEN = "t" * 40
HOST = "127.0.0.1:8642"


def tiny_record(seed: int = 0, n: int = 900) -> str:
    """A noisy record that is fitted within seconds, a swing that fades: x'' = −x − 0.02 x' − 0.3 x³."""
    t = 0.1 * np.arange(n)
    x, v, out = 1.5, 0.0, []
    for _ in t:
        out.append(x)
        for _ in range(10):
            v += 0.01 * (-x - 0.02 * v - 0.3 * x**3)
            x += 0.01 * v
    noisy = np.array(out) + 0.03 * np.random.default_rng(seed).standard_normal(n)
    return "t [s],x [mV],y\n" + "".join(f"{a:.1f},{b:.6f},{-b:.6f}\n" for a, b in zip(t, noisy, strict=True))


@pytest.fixture(scope="session")
def tiny() -> str:
    return tiny_record()


class RealStudio:
    """``jetode studio`` as a process that can be killed and started again on the same port and data."""

    def __init__(self, data: Path) -> None:
        self.data, self.port, self.url = data, 0, ""
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> str:
        command = [sys.executable, "-m", "jetode", "studio", "--no-browser", "--data", str(self.data)]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port), *options], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        found = re.match(r"http://127\.0\.0\.1:(\d+)/\?token=[\w-]{32,}", self.url)
        assert found, self.url
        self.port = int(found[1])
        for _ in range(100):
            try:
                urllib.request.urlopen(self.url, timeout=5).close()
                return self.url
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """As the operating system would, without a word."""
        assert self._process is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def stop(self) -> int:
        """Ctrl-C."""
        assert self._process is not None and self._process.stdout is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(timeout=30)
        finally:
            if self._process.poll() is None:
                self.kill()
            self._process.stdout.close()


@contextmanager
def real_studio(data: Path, *options: str):
    studio = RealStudio(data)
    studio.start(*options)
    try:
        yield studio
    finally:
        studio.stop()

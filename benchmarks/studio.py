"""The studio as a person meets it: first paint, diagnosis of 100,000 samples, an upload of 200 MB.

    python benchmarks/studio.py [--megabytes 200] [--repeats 5]

A real server and a real Chromium (``apt-get install chromium``, ``pip install playwright``).  Wall times are what a
person waits for on this machine as loaded as it is, so the load stands beside them; CPU seconds of the process that
looks at a record, and the peak memory of every process of the server (``VmHWM`` of /proc), do not depend on it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jetode.catalogue.systems import systems

FLAGS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--use-angle=swiftshader",
]
WORD = "data:text/html,<p>word</p>"  # what the browser itself needs
LINE = 19  # bytes of a sample in a table of one column
SAMPLES = 100_000
PATIENCE = 600_000  # ms
TICKS = os.sysconf("SC_CLK_TCK")
# from the drop to the words, measured by the page itself
DROP = """([text, name]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  window.dropped = performance.now();
  new MutationObserver((_, self) => {
    if (document.getElementById("diagnosis")) { window.told = performance.now(); self.disconnect(); }
  }).observe(document.body, { childList: true, subtree: true });
  const how = { dataTransfer: data, bubbles: true, cancelable: true };
  document.getElementById("drop").dispatchEvent(new DragEvent("drop", how));
}"""


def load() -> str:
    """Processes that want a core, over the last minute."""
    return f"load {os.getloadavg()[0]:.1f}"


def peak(pid: int) -> float:
    """Most memory that a process has had, in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def cpu(pid: int) -> float:
    """CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def children(pid: int) -> list[int]:
    """The server's processes."""
    return [int(p) for p in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()]


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, str]]:
    """A studio of its own: process and address."""
    command = [sys.executable, "-m", "jetode", "studio", "--no-browser", "--port", "0", "--data", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.pid, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def home(page: Any) -> None:
    """The first page."""
    page.evaluate("location.hash = '#home'")
    page.wait_for_selector("#drop")


def painted(browser: Any, url: str) -> tuple[Any, float]:
    """A page in a fresh context, and its first paint in ms from the moment it was asked for."""
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.screenshot()  # painted by now
    return page, float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))


def paints(launch: Callable[[], Any], url: str, repeats: int) -> Any:
    """First paints of browsers that have just been started, beside a page of one word; the last page."""
    word, first, later = [], [], []
    for _ in range(repeats):
        browser = launch()
        word.append(painted(browser, WORD)[1])
        browser.close()
        browser = launch()
        first.append(painted(browser, url)[1])
        page, time = painted(browser, url)
        later.append(time)
        if len(first) < repeats:
            browser.close()
    for name, seen in {
        "page of one word, browser just started": word,
        "first paint, browser just started (asked: < 1000 ms)": first,
        "first paint in a fresh context": later,
    }.items():
        print(f"{name}: median {np.median(seen):.0f} ms of {', '.join(f'{t:.0f}' for t in seen)}; {load()}")
    return page


def diagnoses(page: Any, server: int, repeats: int) -> np.ndarray:
    """Drops of 100,000 samples; the record."""
    values = systems["lorenz"].simulate(SAMPLES * 0.01, dt=0.01).observe("x").values[:SAMPLES]
    values = values + 0.3 * np.random.default_rng(0).standard_normal(values.size)
    text = "t,x\n" + "".join(f"{0.01 * i:.2f},{v:.6f}\n" for i, v in enumerate(values))
    for _ in range(repeats):
        home(page)
        before = {pid: cpu(pid) for pid in children(server)}
        page.evaluate(DROP, [text, "hundred thousand.csv"])
        page.wait_for_selector("#diagnosis")
        wall = page.evaluate("window.told - window.dropped") / 1000
        spent = max(cpu(pid) - before.get(pid, 0.0) for pid in children(server))
        print(f"drop to diagnosis, {SAMPLES:,} samples (asked: < 2 s): {spent:.2f} s CPU, {wall:.2f} s wall; {load()}")
    return values


def upload(page: Any, server: int, values: np.ndarray, folder: Path, megabytes: int) -> None:
    """One very long recording through the page."""
    path = folder / "long.csv"
    block = "".join(f"{v:+.15e}"[: LINE - 1] + "\n" for v in values)
    with path.open("w") as file:
        file.write("x\n")
        while file.tell() < megabytes * 1e6:
            file.write(block)
    home(page)
    page.set_input_files("#file", path)
    page.wait_for_selector("#diagnosis, [role=alert]")
    told = page.inner_text("#diagnosis li >> nth=0") if page.locator("#diagnosis").count() else "refused"
    workers = ", ".join(f"{peak(pid):.0f}" for pid in children(server))
    size = path.stat().st_size / 1e6
    print(
        f"upload of {size:.0f} MB (asked: server < 1000 MB): {peak(server):.0f} MB, its processes {workers} MB; {told}"
    )


def main() -> None:
    """Measure and print."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("No Chromium on this machine: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started, served(Path(folder)) as (server, url):
        page = paints(lambda: started.chromium.launch(executable_path=chromium, args=FLAGS), url, given.repeats)
        values = diagnoses(page, server, given.repeats)
        upload(page, server, values, Path(folder), given.megabytes)
        page.context.browser.close()


if __name__ == "__main__":
    main()

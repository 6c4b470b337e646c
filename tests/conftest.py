"""What several tests look at: made once per process, read by all."""

import shutil
from collections import Counter

import numpy as np
import pytest
from hypothesis import settings

import jetode

settings.register_profile("the same examples everywhere", derandomize=True)  # make fuzz draws fresh ones
settings.load_profile("the same examples everywhere")


@pytest.fixture(scope="session")
def lorenz():
    """Lorenz x without noise, 6,001 samples."""
    return jetode.systems["lorenz"].simulate(60.0).observe("x")


@pytest.fixture(scope="session")
def noisy_lorenz(lorenz):
    """The same with 15 % noise."""
    return lorenz.with_values(jetode.add_noise(lorenz.values, 0.15, np.random.default_rng(0)))


@pytest.fixture(scope="session")
def lorenz_model(noisy_lorenz):
    """The joint fit of it."""
    return jetode.reconstruct(noisy_lorenz)


@pytest.fixture(scope="session")
def browser():
    """A real Chromium, without a network of its own accord and drawing in software."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    flags = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium, args=flags)
        yield launched
        launched.close()


def pytest_collection_modifyitems(items):
    """Modules with most slow tests first: a worker that gets one last would work alone at the end."""
    slow = Counter(i.path for i in items if i.get_closest_marker("slow") or i.get_closest_marker("long"))
    items.sort(key=lambda item: -slow[item.path])

"""Cases: damaged model files through forecast and export."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz.contract import Case
from fuzz.mutations import in_bytes, in_values

SAVED = (Path(__file__).parents[1] / "reconstruction" / "saved", Path(__file__).parent / "saved")
HORIZONS = ("0.05", "0.5", "1", "2", "1e-9", "1e9", "1e300", "0", "-1", "nan")
FORMATS = ("python", "c", "julia", "ode", "sbml")


def prepare(folder: Path) -> list[Path]:
    """Models of every kind, of earlier versions and of this one."""
    from jetode.reconstruction.model import load

    paths = []
    for path in (path for folder_ in SAVED for path in sorted(folder_.glob("*.json"))):
        (folder / path.name).write_text(path.read_text())
        load(path).save(folder / f"new_{path.name}")
        paths += [folder / path.name, folder / f"new_{path.name}"]
    return paths


def make(random: Random, samples: list[Path], folder: Path) -> Case:
    """A damaged model, and a command that loads it."""
    sample = random.choice(samples)
    path = folder / "model.json"
    data = sample.read_bytes()
    if random.random() < 0.2:
        for _ in range(random.choice((1, 1, 2, 4))):
            data = in_bytes(random, data)
    else:
        data = in_values(random, data)
    path.write_bytes(data)
    out = folder / "out" if random.random() < 0.3 else None
    written = () if out is None else ("--out", str(out))
    if random.random() < 0.3:
        return Case(("export", str(path), "--format", random.choice(FORMATS), *written), path, out)
    horizon = random.choice(HORIZONS) if random.random() < 0.2 else random.choice(HORIZONS[:3])
    return Case(("forecast", str(path), "--horizon", horizon, *written), path, out)

"""Channels without an equation in the family, and those not found: never exact when wrong, and no peer farther ahead.

    python benchmarks/controls.py [--trajectories 5] [--noise 0,0.05,0.15] [--only NAME ...] [--no-peers] [--out OUT]

The panel's records, ours and the peers' forecasts ahead (``jetode benchmark panel``), one chunk for each in the folder
``OUT``; a second run goes on with those not yet there.  A run is lost where a peer forecasts farther than the returned
model, which is short of the horizon; the best of nine peers is the luckiest of nine, so the cells' medians are printed
too.  Exact is wrong where the equation is not the true one (of Chua z and YuWang2 x: where its function is not) or,
where none is known, where a clean record's forecast ends before the horizon or the record is noisy; Lorenz z is looked
at term by term by ``filtered.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from cells import by_cell, options
from filtered import TRUTHS

from jetode.experiments.panel.bench import Places, Plan, run

CHANNELS = {
    "panel.csv": ("Halvorsen x", "Chua z", "YuWang2 x", "Lorenz z", "IsothermalChemical z", "SprottO z"),
    "panel_more.csv": ("HindmarshRose z",),
}
EVERY = tuple(name for names in CHANNELS.values() for name in names)
TIE = 0.999  # of the horizon


def is_wrong(result: Mapping[str, Any]) -> bool:
    """Whether an exact grade is not deserved."""
    if not result["trusted"] or result["channel"] in TRUTHS:
        return False
    for known in ("right", "function"):
        if known in result:
            return not result[known]
    return bool(result["noise"] > 0 or result["vpt"] < TIE * result["horizon"])


def is_lost(result: Mapping[str, Any]) -> bool:
    """Whether a peer forecasts farther."""
    best = max(result["peers"].values(), default=-np.inf)
    return bool(result["vpt"] < best and result["vpt"] < TIE * result["horizon"])


def report(results: Sequence[Mapping[str, Any]]) -> str:
    """One line a cell, then the totals."""
    lines = []
    for channel, noise, cell in by_cell(results, "channel"):
        names = sorted({name for result in cell for name in result["peers"]})
        medians = {name: float(np.median([r["peers"][name] for r in cell if name in r["peers"]])) for name in names}
        best = max(medians, key=lambda name: medians[name], default="no peer")
        lines.append(
            f"{channel:21} {noise:5g}  {len(cell)} runs: VPT {np.median([r['vpt'] for r in cell]):5.2f} of "
            f"{cell[0]['horizon']:.1f}, {best} {medians.get(best, np.nan):5.2f}; lost {sum(map(is_lost, cell))}, exact "
            f"{sum(r['trusted'] for r in cell)}, wrong and exact {sum(map(is_wrong, cell))}, "
            f"{np.median([r['seconds'] for r in cell]):.0f} CPU s"
        )
    compared = [r for r in results if r["peers"]]
    kept = sum(not is_lost(r) for r in compared)
    lines.append(
        f"{len(results)} runs: {sum(map(is_wrong, results))} wrong and exact; as good as every peer in {kept} of "
        f"{len(compared)} runs that peers were measured on"
    )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing and print."""
    parser = options(__doc__, EVERY, "0,0.05,0.15", "controls-out")
    parser.add_argument("--trajectories", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    places = Places(given.out, None if given.no_peers else given.out)
    results: list[Mapping[str, Any]] = []
    for table, names in CHANNELS.items():
        wanted = [name for name in names if name in given.only]
        if wanted:
            compared = 0 if given.no_peers else given.trajectories
            for line in run(
                Plan(",".join(wanted), given.noise, given.trajectories, compared, table), places, given.jobs, print
            ):
                print(line, flush=True)
            results += [r for r in places.results(table, print) if r["channel"] in wanted and r["noise"] in given.noise]
    print(report(results))


if __name__ == "__main__":
    main()

"""``jetode paper``: every table and figure of the paper by one command."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from jetode.support.errors import InputError


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("paper-out"), show_default=True)
@click.option("--realizations", type=click.IntRange(min=1), help="Per system and noise level (default: 5000).")
@click.option("--joint", type=click.IntRange(min=0), help="Realizations per cell by the joint fit (default: 0).")
@click.option(
    "--joint-beyond",
    type=click.IntRange(min=0),
    help="The same in --other-noise and --transfer (default: as --joint, at most 10).",
)
@click.option("--other-noise", type=click.IntRange(min=0), help="Realizations per other kind of noise (default: 0).")
@click.option("--transfer", type=click.IntRange(min=0), help="Realizations of cross-trajectory transfer (default: 0).")
@click.option("--peers", type=click.IntRange(min=1), help="Records on which other methods are measured (default: 8).")
@click.option("--only", multiple=True, help="Only this table or figure; may be given several times (see below).")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--quick", is_flag=True, help="Every table and figure from few realizations, in minutes.")
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes (default: one per core).")
@click.option("--dask", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler instead.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@click.option("--fresh", is_flag=True, help="Delete the run in --out and start again.")
def paper(
    out: Path,
    realizations: int | None,
    joint: int | None,
    joint_beyond: int | None,
    other_noise: int | None,
    transfer: int | None,
    peers: int | None,
    only: tuple[str, ...],
    seed: int,
    quick: bool,
    workers: int | None,
    dask: str | None,
    resume: bool,
    fresh: bool,
) -> int:
    """Repeat the paper's study: all tables and figures, with the joint fit beside them.

    \b
    Example:
      jetode paper --quick --out OUT
      jetode paper --out OUT --joint 100 --other-noise 100 --transfer 100
      jetode paper --out OUT --joint 100 --resume

    --only takes coefficients, attractors, vpt, overlays, readings, decoupling, methods, observability, settings,
    tolerance, fnn, pipeline, observability-maps, noise, transfer.
    """
    from joblib import cpu_count

    from jetode.experiments.core.store import ChunkStore
    from jetode.experiments.core.sweep import cluster, local
    from jetode.experiments.study.run import QUICK, chosen, run, write
    from jetode.experiments.study.sections import Plan

    given = {
        "realizations": realizations,
        "joint": joint,
        "joint_beyond": min(joint or 0, 10) if joint_beyond is None and not quick else joint_beyond,
        "other_noise": other_noise,
        "transfer": transfer,
        "peers": peers,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    plan = replace(QUICK if quick else Plan(), seed=seed, **asked)
    chosen(only)
    store = ChunkStore(out / "chunks")
    if fresh:
        store.clear()
    elif not resume and not store.empty:
        raise InputError(f"{out} holds the chunks of an earlier run: add --resume to go on with it, or --fresh.")
    begin = time.perf_counter()
    count = workers or cpu_count()
    with cluster(dask) if dask else local(count) as execute:
        study = run(plan, store, execute, only, lambda text: click.echo(text, err=True), _bar)
    write(study, out, begin, {"workers": None if dask else count, "dask": dask})
    for section in study.sections:
        click.echo(f"{section.title}: {section.sentence}")
    click.echo(f"\nWritten: {out / 'index.html'}, results.json, realizations.csv, timings.json and the figures.")
    return 0


def _bar(total: int) -> AbstractContextManager[Any]:
    from tqdm import tqdm

    terminal = sys.stderr.isatty()
    return tqdm(total=total, unit=" realizations", mininterval=0.2 if terminal else 30.0, dynamic_ncols=terminal)

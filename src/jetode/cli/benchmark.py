"""``jetode benchmark``: the panel of channels and real recordings (docs/mathematics.md §5), resumable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from jetode.cli.common import command_line, numbers, positive
from jetode.support.files import write_text


@click.group()
def benchmark() -> None:
    """Measure jetode and its peers on records they have not seen (extra: jetode[bench])."""


@benchmark.command()
@click.option(
    "--channels", default="all", show_default=True, help="Names or classes, by commas: R0-R2, 'Lorenz x', all."
)
@click.option("--noise", default="0,0.05,0.15", show_default=True, help="Noise levels in std, by commas.")
@click.option("--trajectories", type=click.IntRange(1), default=5, show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--peers/--no-peers", default=True, show_default=True, help="Also measure the peers on every record.")
@click.option(
    "--peer-trajectories", type=click.IntRange(min=1), help="Measure the peers on so many trajectories (default: all)."
)
@click.option("--more", is_flag=True, help="The further channels of panel_more.csv instead of the panel.")
@click.option("--only-peers", is_flag=True, help="Measure the peers and nothing else; no page.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("panel-out"), show_default=True)
@click.option("--peers-out", type=click.Path(path_type=Path), help="Directory of the peers' results (default: --out).")
@click.option("--page", type=click.Path(path_type=Path), help="HTML page (default: panel.html in --out).")
def panel(
    channels: str,
    noise: str,
    trajectories: int,
    jobs: int,
    peers: bool,
    peer_trajectories: int | None,
    more: bool,
    only_peers: bool,
    out: Path,
    peers_out: Path | None,
    page: Path | None,
) -> int:
    """Every channel × noise level × trajectory: form, terms, forecasts ahead, verdict, time, peers.

    The page and the summary show every result that is in the --out directory, this run's and earlier ones'.

    \b
    Example:
      jetode benchmark panel --channels R0-R2 --noise 0.05 --trajectories 1 --no-peers
    """
    from jetode.experiments.panel import bench
    from jetode.experiments.panel.page import page as render
    from jetode.experiments.panel.page import summarise, summary_text

    levels = numbers("noise", noise)
    count = 0 if not peers and not only_peers else min(peer_trajectories or trajectories, trajectories)
    plan = bench.Plan(channels, levels, trajectories, count, "panel_more.csv" if more else "panel.csv")
    places = bench.Places(None if only_peers else out, (peers_out or out) if count else None)
    typed = command_line("channels", "noise", "trajectories", leave_out=("jobs", "out", "peers_out", "page"))

    def say(text: str) -> None:
        click.echo(text, err=True)

    for shown in bench.run(plan, places, jobs, say):
        click.echo(shown)
    places.note(typed)
    if only_peers:
        return 0
    results = places.results(plan.table, say)
    click.echo(summary_text(summarise(results)))
    write_text(page or out / "panel.html", render(results, places.commands()))
    return 0


@benchmark.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--rate", type=float, default=200.0, show_default=True, help="Samples per second.")
@click.option("--starts", type=click.IntRange(1), default=50, show_default=True)
@click.option("--peers/--no-peers", default=True, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="JSON file to write.")
def nickel(path: Path, rate: float, starts: int, peers: bool, out: Path | None) -> int:
    """A real recording, one number per line: identified on its first half, forecast ahead from many starts in the
    second.

    \b
    Example:
      jetode benchmark nickel ni_electrodissolution_raw.csv --starts 50
    """
    from jetode.experiments.peers.registry import available
    from jetode.experiments.recording import measure_recording
    from jetode.records.reading import read

    record = read(path, dt=1.0 / rate)
    names = [name for name, call in available().items() if call is not None] if peers else []
    result = measure_recording(record, names, starts, lambda name: click.echo(f"measuring {name}", err=True))
    click.echo(recording_text(result))
    if out is not None:
        write_text(out, json.dumps(result, ensure_ascii=False, indent=1) + "\n")
    return 0


def recording_text(result: dict[str, Any]) -> str:
    """The table of a recording for a terminal."""
    times = list(next(iter(result["results"].values()))["error"])
    lines = [
        f"{result['samples']} samples, {result['samples_per_oscillation']:.0f} per oscillation; first half fitted, "
        f"{result['starts']} past-only starts in the second; drift of the mean {result['drift']:.2f} std",
        f"{'':14}VPT (osc.)  blow-ups  CPU s   median error (std) at " + ", ".join(times) + " oscillations",
    ]
    for name, found in sorted(result["results"].items(), key=lambda item: -item[1]["vpt"]):
        errors = "  ".join("   –" if e is None else f"{e:4.2f}" for e in found["error"].values())
        lines.append(f"{name:14}{found['vpt']:9.2f} {found['blown']:9.2f} {found['seconds']:7.1f}   {errors}")
    lines.append(("Trusted: " if result["trusted"] else "Not trusted: ") + result["reason"])
    lines.append(result["conclusion"])
    return "\n".join(lines)


@benchmark.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--only", help="Recordings, by commas (default: all).")
@click.option("--methods", help="Methods, by commas: jetode, kernel-ridge, … (default: all that are installed).")
@click.option(
    "--starts", type=click.IntRange(min=1), default=96, show_default=True, help="Starts per system, at least."
)
@click.option("--dt", type=float, help="Sampling interval, where the files do not tell it.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("recordings-out"), show_default=True)
def recordings(
    folder: Path, only: str | None, methods: str | None, starts: int, dt: float | None, jobs: int, out: Path
) -> int:
    """Every CSV file of a folder: jetode, its peers and baselines into what nobody has seen.

    name_1.csv, name_2.csv … are records of one system.  The first three quarters of each record are known; forecasts
    start in the rest, each from the samples up to it.  A second run goes on with what is finished.

    \b
    Example:
      jetode benchmark recordings DIR --out recordings-out
    """
    from jetode.experiments.recordings import bench

    names = tuple(only.split(",")) if only else ()
    chosen = tuple(methods.split(",")) if methods else ()
    plan = bench.Plan(folder, names, chosen, starts, None if dt is None else positive("dt", dt))
    results = []
    for result in bench.measure(plan, out, jobs, lambda text: click.echo(text, err=True)):
        click.echo(bench.text(result))
        results.append(result)
        bench.write(results, out, command_line())
    click.echo(f"Written: {out / 'index.html'}, results.json, results.csv.")
    return 0


@benchmark.command()
@click.option("--records", type=click.IntRange(0), default=10_000, show_default=True, help="Records, one a seed.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="First seed.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--dask", help="Address of a running Dask scheduler, instead of processes of this machine.")
@click.option(
    "--also", type=click.Path(path_type=Path), multiple=True, help="outcomes.csv of earlier sittings, to be added."
)
@click.option("--contest/--no-contest", default=True, help="Without: exact or not, twice as many records an hour.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("trust-out"), show_default=True)
def trust(
    records: int, first: int, jobs: int, dask: str | None, also: tuple[Path, ...], contest: bool, out: Path
) -> int:
    """Records of systems drawn by their seeds: how often an exact grade is wrong, what bands and intervals hold.

    Every seed draws a flow, a coordinate, a length, a rate and a noise of its own, or a record without dynamics.  A
    second run goes on with what is finished.  Files of earlier sittings, each with the commit that its rows are from,
    are added with --also; a seed that several have counts once, by the last.

    \b
    Example:
      jetode benchmark trust --records 200 --out trust-out
      jetode benchmark trust --records 0 --also monday.csv --also tuesday.csv --out trust-page
    """
    from jetode.experiments.core import sweep
    from jetode.experiments.trust import bench, summary, table

    earlier = [table.read_rows(path) for path in also]
    outcomes = []
    with sweep.cluster(dask) if dask else sweep.jobs(jobs) as execute:
        for found in bench.run(first, records, out, execute, lambda text: click.echo(text, err=True), contest):
            click.echo(bench.line(found))
            outcomes.append(found)
    outcomes = table.merged([*earlier, outcomes])
    bench.write(outcomes, out, command_line("records", "first", leave_out=("jobs", "dask", "also", "out")))
    click.echo(summary.text(outcomes))
    click.echo(f"Written: {out / 'index.html'}, outcomes.csv.")
    return 0


@benchmark.command()
@click.option("--cases", help="Systems, by commas: pendulum, 'Chua x' … (default: all).")
@click.option("--noise", default="0.01,0.05,0.15", show_default=True, help="Noise levels in std, by commas.")
@click.option("--seeds", type=click.IntRange(1), default=20, show_default=True, help="Records of each.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("elements-out"), show_default=True)
def elements(cases: str | None, noise: str, seeds: int, jobs: int, out: Path) -> int:
    """Systems with a function that is no polynomial: how often it is found and named, and its parameters.

    A second run goes on with what is finished.

    \b
    Example:
      jetode benchmark elements --cases "pendulum,abs jerk" --noise 0.05 --seeds 2 --out elements-out
    """
    from jetode.experiments.core import sweep
    from jetode.experiments.elements import bench

    named = tuple(name.strip() for name in cases.split(",")) if cases else ()
    plan = bench.Plan(named, numbers("noise", noise), seeds)
    found = []
    with sweep.jobs(jobs) as execute:
        for result in bench.measure(plan, out, execute, lambda text: click.echo(text, err=True)):
            click.echo(bench.line(result))
            found.append(result)
    click.echo(bench.table(found))
    return 0

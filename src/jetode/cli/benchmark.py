"""``jetode benchmark``: the panel of channels and the real recording (mathematics.md §4–§6), resumable and in parallel.

One JSON file per run, written whole or not at all; a run whose file is there is not repeated.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from jetode.support.errors import InputError
from jetode.support.files import make_directory, write_text

Run = tuple[str, int, float, str]  # channel, trajectory, noise, table
COMMANDS = "commands.txt"


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
    from jetode.experiments.panel.runs import select

    try:
        levels = [float(level) for level in noise.split(",")]
    except ValueError:
        raise InputError(f"The '--noise' option must be numbers with commas. Got {noise!r} instead.") from None
    table = "panel_more.csv" if more else "panel.csv"
    compared = min(peer_trajectories or trajectories, trajectories)
    runs: list[Run] = [
        (c.name, trajectory, level, table)
        for trajectory in range(compared if only_peers else trajectories)
        for level in levels
        for c in select(channels.split(","), table)
    ]
    places = Places(
        None if only_peers else make_directory(out),
        make_directory(peers_out or out) if peers or only_peers else None,
        compared,
    )
    words = ["--channels", channels, "--noise", noise, "--trajectories", str(trajectories)]
    words += ["--more"] if more else []
    words += ["--only-peers"] if only_peers else [] if peers else ["--no-peers"]
    words += ["--peer-trajectories", str(peer_trajectories)] if peer_trajectories else []
    for result in _results(runs, places, jobs):
        click.echo(str(result["peers"]) if only_peers else line(result))
    for place in dict.fromkeys(filter(None, (places.out, places.peers))):
        _note(place, shlex.join(["jetode", "benchmark", "panel", *words]))
    if places.out is None:
        return 0
    from jetode.experiments.panel.page import page as render
    from jetode.experiments.panel.page import summarise, summary_text

    results = list(places.kept({c.name for c in select(["all"], table)}))
    click.echo(summary_text(summarise(results)))
    write_text(page or out / "panel.html", render(results, places.commands()))
    return 0


def _note(place: Path, command: str) -> None:
    """Add a command to the list of those that a directory's results come from."""
    notes = place / COMMANDS
    known = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    if command not in known:
        write_text(notes, "\n".join([*known, command]) + "\n")


def line(result: dict[str, Any]) -> str:
    """One run in one line."""
    if "right" in result:
        word = "RIGHT" if result["right"] else "terms" if result["terms"] else "form " if result["form"] else "wrong"
        differ = " ".join([*(f"-[{t}]" for t in result["missing"]), *(f"+[{t}]" for t in result["extra"])])
        limit = f"/{result['oracle']:.2f}"
        error = "" if result["error"] is None else f" N {result['error']:.1e}"
    else:
        word, differ, limit, error = "-    ", "", "", ""
    trust = "trusted" if result["trusted"] else "refused"
    chi2 = result["chi2"]
    best = max(result["peers"].items(), key=lambda item: item[1], default=None)
    beside = "" if best is None else f" best peer {best[0]} {best[1]:.2f}"
    return (
        f"{word} {trust} {result['channel']:<20} {result['class']:<3} {result['noise']:<4g} t{result['trajectory']} "
        f"{result['seconds']:6.1f}s vpt {result['vpt']:.2f}{limit} of {result['horizon']:.1f}{beside}{error} "
        f"chi2 {'?' if chi2 is None else format(chi2, '.3f')} {differ}"
        + ("" if result["trusted"] else f" | {result['reason'][:70]}")
    )


def _results(runs: list[Run], places: Places, jobs: int) -> Iterator[dict[str, Any]]:
    """Results in the order in which they come."""
    from joblib import Parallel, delayed

    waiting = []
    for run in runs:
        done = places.found(run)
        if done is None:
            waiting.append(run)
        else:
            yield done
    if jobs == 1:
        yield from (_measure(run, places) for run in waiting)
    else:
        yield from Parallel(jobs, return_as="generator_unordered")(delayed(_measure)(run, places) for run in waiting)


@dataclass(frozen=True)
class Places:
    """Where results lie: ours in ``out``, those of the peers (which our changes leave as they are) in ``peers``.

    A place that is None is not wanted; peers are wanted on the first ``compared`` trajectories.
    """

    out: Path | None
    peers: Path | None
    compared: int

    def ours_file(self, run: Run) -> Path | None:
        return None if self.out is None else self.out / f"{_file_name(run)}.json"

    def peers_file(self, run: Run) -> Path | None:
        if self.peers is None or run[1] >= self.compared:
            return None
        return self.peers / f"{_file_name(run)}.peers.json"

    def found(self, run: Run) -> dict[str, Any] | None:
        """The whole result where every file of it is there."""
        parts = [_read(path) for path in (self.ours_file(run), self.peers_file(run)) if path is not None]
        if any(part is None for part in parts):
            return None
        return {key: value for part in parts if part is not None for key, value in part.items()}

    def kept(self, names: set[str]) -> Iterator[dict[str, Any]]:
        """Every result of these channels that is there, with its peers where they have been measured too."""
        assert self.out is not None
        for path in sorted(self.out.glob("*_n*_t*.json")):
            result = json.loads(path.read_text(encoding="utf-8"))
            beside = self.peers / f"{path.stem}.peers.json" if self.peers is not None else None
            if not path.stem.endswith(".peers") and result["channel"] in names:
                yield result | (_read(beside) or {} if beside is not None else {})

    def commands(self) -> list[str]:
        """The commands that left the results here."""
        notes = [p / COMMANDS for p in dict.fromkeys((self.out, self.peers)) if p is not None]
        found = [line for n in notes if n.exists() for line in n.read_text(encoding="utf-8").splitlines()]
        return list(dict.fromkeys(found))


def _file_name(run: Run) -> str:
    name, trajectory, noise, _ = run
    return f"{name.replace(' ', '_')}_n{noise:g}_t{trajectory}"


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _measure(run: Run, places: Places) -> dict[str, Any]:
    """Measure what is missing of one run and leave its files."""
    from jetode.experiments.panel.runs import measure, measure_peers, select

    name, trajectory, noise, table = run
    task = select([name], table)[0].record(trajectory, noise)
    for path, measured in (
        (places.ours_file(run), lambda: measure(task)),
        (places.peers_file(run), lambda: {"peers": measure_peers(task)}),
    ):
        if path is not None and not path.exists():
            write_text(path, json.dumps(measured(), ensure_ascii=False) + "\n")
    result = places.found(run)
    assert result is not None
    return result


@benchmark.command()
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    default=Path("../shared/data/ni_electrodissolution_raw.csv"),
    show_default=True,
    help="The recording, one number per line.",
)
@click.option("--rate", type=float, default=200.0, show_default=True, help="Samples per second.")
@click.option("--starts", type=click.IntRange(1), default=50, show_default=True)
@click.option("--peers/--no-peers", default=True, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="JSON file to write.")
def nickel(path: Path, rate: float, starts: int, peers: bool, out: Path | None) -> int:
    """A real recording: identified on its first half, forecast ahead from many starts in the second.

    \b
    Example:
      jetode benchmark nickel --file ../shared/data/ni_electrodissolution_raw.csv --starts 50
    """
    if not path.exists():
        click.echo(f"Skipped: the recording {str(path)!r} is not there.")
        return 0
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
    for name, numbers in sorted(result["results"].items(), key=lambda item: -item[1]["vpt"]):
        errors = "  ".join("   –" if e is None else f"{e:4.2f}" for e in numbers["error"].values())
        lines.append(f"{name:14}{numbers['vpt']:9.2f} {numbers['blown']:9.2f} {numbers['seconds']:7.1f}   {errors}")
    lines.append(("Trusted: " if result["trusted"] else "Not trusted: ") + result["reason"])
    lines.append(result["conclusion"])
    return "\n".join(lines)

"""The figures, in one style: serif-free, thin lines, readable in grey (lines differ in dash as well as in colour)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from jetode.catalogue.systems import systems
from jetode.experiments.study.cells import DT, Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette in order of lightness, so that grey prints keep the lines apart
INK, BLUE, ORANGE, SKY, PALE = "#111111", "#0072B2", "#D55E00", "#56B4E9", "#BBBBBB"
POLE_RANGE = 3.0  # of the pole that is shown; the record has a std of 7.9
WIDTH = 7.0  # inches: a full text width
STYLE: Any = {  # names and values of matplotlib's rc parameters
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "axes.grid": False,
}
PIPELINE = (
    ("Scalar signal + noise", "samples, observation noise, robust noise scale"),
    ("Differential embedding", "Reinsch spline for u0, u1 and u2"),
    ("Weak-form identification", "windowed integrals against test functions"),
    ("Closure recovery", "denominator, then numerator"),
    ("Forecast + VPT", "DOP853, eight starts"),
)
JOINT_PIPELINE = (
    ("Scalar signal + noise", "samples, gaps, several records"),
    ("Differential embedding", "smoothing spline, λ by likelihood"),
    ("Pole scan", "regular closure u1' = a + D w, w' = P"),
    ("Joint fit", "coefficients and path, continuity annealed"),
    ("Past-only state, forecast, verdict", "no pole to cross, bands from the posterior"),
)


@contextmanager
def styled() -> Iterator[None]:
    """The style, and nothing of it outside."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def _panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    figure = _figure(height)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def _letter(axes: Axes, index: int, title: str) -> None:
    axes.set_title(f"({chr(97 + index)}) {title}", loc="left")


def false_neighbours(found: Mapping[str, dict[str, Any]]) -> Figure:
    """Fraction against dimension, both systems."""
    figure, panels = _panels(1, 2, 2.6)
    share, information = panels[0]
    marks = {"lorenz": (BLUE, "o", "-"), "rossler": (ORANGE, "s", "--")}
    for name, data in found.items():
        colour, marker, dash = marks[name]
        label = f"{systems[name].title} (τ = {data['delay']})"
        dimensions = np.arange(1, len(data["fractions"]) + 1)
        percent = np.maximum(100 * np.array(data["fractions"]), 1e-2)
        share.semilogy(dimensions, percent, dash, color=colour, marker=marker, markersize=4, label=label)
        curve = data["mutual_information"]
        information.plot(np.arange(len(curve)), curve, dash, color=colour, label=label)
        information.plot(data["delay"], curve[data["delay"]], marker, color=colour, markersize=5)
    share.axhline(1.0, color=INK, linestyle=":", linewidth=0.8)
    share.text(share.get_xlim()[1], 1.1, "1 %", ha="right", va="bottom", fontsize=7.5)
    share.set_xlabel("embedding dimension m")
    share.set_ylabel("false neighbours [%]")
    share.text(0.02, 0.02, "none: shown at 0.01 %", transform=share.transAxes, fontsize=7)
    share.legend()
    information.set_xlabel("delay τ [samples]")
    information.set_ylabel("mutual information [nats]")
    information.legend()
    _letter(share, 0, "false nearest neighbours")
    _letter(information, 1, "delay at the first minimum")
    return figure


def attractors(runs: Mapping[str, dict[str, Any]]) -> Figure:
    """Truth and rollout side by side in three dimensions."""
    figure = _figure(5.4)
    index = 0
    for row, (name, run) in enumerate(runs.items()):
        truth = np.array(run["truth"])
        low, high = truth.min(axis=0), truth.max(axis=0)
        for column, (title, states, colour) in enumerate(
            (
                ("truth", truth, INK),
                (f"recovered closure, run of {run['duration']:.0f}", np.array(run["rollout"]), BLUE),
            )
        ):
            axes = figure.add_subplot(2, 2, 2 * row + column + 1, projection="3d")
            axes.plot(*states.T, color=colour, linewidth=0.3)
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(low[1], high[1])
            axes.set_zlim(low[2], high[2])
            axes.set_xlabel("u0", labelpad=-5)
            axes.set_ylabel("u1", labelpad=-5)
            axes.set_zlabel("u2", labelpad=-4)
            axes.tick_params(pad=-2, labelsize=6)
            axes.tick_params(axis="z", pad=2)
            for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
                axis.set_pane_color((1.0, 1.0, 1.0, 1.0))
                axis.set_major_locator(_few_ticks())
            axes.grid(False)
            axes.set_box_aspect((1.3, 1.0, 0.95), zoom=1.0)
            axes.view_init(elev=24, azim=-58)
            axes.set_title(f"({chr(97 + index)}) {systems[name].title}, {title}", fontsize=9, y=0.98)
            index += 1
    return figure


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def overlays(runs: Mapping[float, dict[str, Any]], system: str) -> Figure:
    """One panel per noise level, VPT marked."""
    figure, panels = _panels(len(runs), 1, 1.75 * len(runs))
    unit = f"{systems[system].title} time"
    for index, ((fraction, run), axes) in enumerate(zip(runs.items(), panels[:, 0], strict=True)):
        truth = np.array(run["truth"])
        t = DT * np.arange(truth.size)
        low, high = truth.min(), truth.max()
        room = 0.15 * (high - low)
        if fraction > 0:
            every = slice(None, None, 4)
            samples = np.array(run["samples"])[every]
            axes.plot(t[every], samples, ".", color=PALE, markersize=1.2, zorder=0, label="samples")
        axes.plot(t, truth, color=INK, linewidth=1.6, label="truth")
        for name, colour, dash, title in (
            ("paper", ORANGE, (0, (4, 1.5)), "paper's method"),
            ("joint", SKY, (0, (1.2, 1.0)), "joint fit, past only"),
        ):
            if name in run:
                values = np.array(run[name])
                inside = np.abs(values - (low + high) / 2) < 0.5 * (high - low) + 3 * room
                end = values.size if inside.all() else int(np.argmin(inside))
                vpt = run[f"{name}_vpt"]
                axes.plot(
                    t[:end], values[:end], color=colour, linestyle=dash, linewidth=1.4, label=f"{title}: {vpt:.2f}"
                )
                mark = "v" if name == "paper" else "^"
                edge = high + room if name == "paper" else low - room
                axes.plot(vpt, edge, mark, color=colour, markersize=6, clip_on=False)
        axes.set_ylim(low - 2 * room, high + 2 * room)
        axes.set_xlim(0, t[-1])
        axes.set_ylabel("x")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="VPT (triangles)", title_fontsize=7.5)
        noise = "clean" if fraction == 0 else f"{fraction:.0%} noise"
        _letter(axes, index, noise)
    panels[-1, 0].set_xlabel(f"time ahead [{unit}]")
    return figure


def decoupling(rows: Mapping[float, Sequence[dict[str, Any]]], aligned: float) -> Figure:
    """cos_D against VPT, and the pole against VPT."""
    figure, panels = _panels(2, 2, 4.6, sharex=True)
    for column, (fraction, found) in enumerate(rows.items()):
        best = np.array([row["best"] for row in found])
        cos_d = np.array([row["cos_d"] for row in found])
        pole = np.array([np.nan if row["pole"] is None else row["pole"] for row in found])
        high = cos_d > aligned
        size = 7.0 if best.size < 500 else 2.5
        top, bottom = panels[0, column], panels[1, column]
        for axes, y in ((top, cos_d), (bottom, pole)):
            axes.scatter(best[~high], y[~high], s=size, color=PALE, linewidths=0, rasterized=best.size > 2000)
            axes.scatter(best[high], y[high], s=size, color=BLUE, linewidths=0, rasterized=best.size > 2000)
        median = float(np.median(cos_d))
        top.axhline(median, color=INK, linestyle="--", linewidth=0.8)
        top.text(0.99, 0.03, f"median {median:.2f} (dashed)", transform=top.transAxes, ha="right", fontsize=7.5)
        top.set_ylim(min(-0.05, float(cos_d.min())), 1.03)
        bottom.axhline(0.0, color=INK, linewidth=0.8)
        bottom.set_ylim(-POLE_RANGE, POLE_RANGE)
        inside = pole[high & np.isfinite(pole)]
        if inside.size:
            outside = float(np.mean(~(np.abs(pole) <= POLE_RANGE)))
            says = f"sd {np.std(inside):.2f}, {np.mean(inside < 0):.0%} negative (blue); {outside:.0%} off the scale"
            bottom.text(
                0.99, 0.04, says, transform=bottom.transAxes, ha="right", fontsize=7.5,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
            )  # fmt: skip
        _letter(top, column, f"direction, {fraction:.0%} noise (blue: cos_D > {aligned:g})")
        _letter(bottom, 2 + column, f"pole, {fraction:.0%}")
        bottom.set_xlabel("VPT, best of 8 [Lorenz time]")
    panels[0, 0].set_ylabel("cos_D")
    panels[1, 0].set_ylabel("pole p̂")
    return figure


def pipeline() -> Figure:
    """Two columns of stages."""
    from matplotlib.patches import FancyBboxPatch

    figure = _figure(4.4)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(0, 10)
    axes.set_ylim(-0.1, 6.1)
    for left, title, stages, colour in (
        (0.1, "The paper", PIPELINE, "#f4f4f4"),
        (5.2, "The joint fit", JOINT_PIPELINE, "#e6f1f8"),
    ):
        axes.text(left + 2.35, 5.85, title, ha="center", va="center", fontsize=10, weight="bold")
        for row, (name, words) in enumerate(stages):
            low = 4.75 - 1.15 * row
            box = FancyBboxPatch(
                (left, low), 4.7, 0.78, boxstyle="round,pad=0.02,rounding_size=0.08",
                facecolor=colour, edgecolor=INK, linewidth=0.8,
            )  # fmt: skip
            axes.add_patch(box)
            axes.text(left + 2.35, low + 0.53, name, ha="center", va="center", fontsize=9, weight="bold")
            axes.text(left + 2.35, low + 0.22, words, ha="center", va="center", fontsize=7.5)
            if row + 1 < len(stages):
                arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.9}
                axes.annotate("", (left + 2.35, low - 0.35), (left + 2.35, low - 0.03), arrowprops=arrow)
    return figure


def observability_maps(maps: Mapping[str, Any], system: str) -> Figure:
    """log10 δ on the attractor, three observables."""
    from matplotlib.colors import Normalize

    states = np.array(maps["states"])
    plane, labels = ((0, 2), ("x", "z")) if system == "lorenz" else ((0, 1), ("x", "y"))
    figure, panels = _panels(1, 3, 2.7, sharey=True)
    values = {name: np.maximum(np.array(maps[name]), -16.0) for name in ("x", "y", "z")}
    everything = np.concatenate(list(values.values()))
    low, high = np.percentile(everything, [0.5, 99.5])
    scale = Normalize(low, high)
    drawn = None
    for index, (name, value) in enumerate(values.items()):
        axes = panels[0, index]
        order = np.argsort(-value, kind="stable")  # the weak points on top
        drawn = axes.scatter(
            states[order, plane[0]], states[order, plane[1]], c=value[order], s=1.8, linewidths=0,
            cmap="cividis", norm=scale, rasterized=True,
        )  # fmt: skip
        weak = float(np.mean(value < -3.0))
        _letter(axes, index, f"s = {name}: {weak:.0%} below 1e-3")
        axes.set_xlabel(labels[0])
        if name == "x":
            pole = 0.0 if system == "lorenz" else 5.9
            axes.axvline(pole, color=INK, linestyle=":", linewidth=0.8)
    panels[0, 0].set_ylabel(labels[1])
    assert drawn is not None
    figure.colorbar(drawn, ax=panels[0].tolist(), label="log10 δ", shrink=0.9, aspect=25)
    return figure


def tolerance(data: Mapping[str, dict[str, Any]]) -> Figure:
    """Predicted and measured VPT against rtol."""
    figure, panels = _panels(1, 2, 2.7)
    for index, (name, found) in enumerate(data.items()):
        axes = panels[0, index]
        rtol = [row["rtol"] for row in found["rows"]]
        axes.semilogx(rtol, [row["predicted"] for row in found["rows"]], ":", color=INK, label="Eq. (vpt_ceiling)")
        for key, colour, dash, marker, label in (
            ("rational", ORANGE, "--", "s", "N/D, exact"),
            ("regular", BLUE, "-", "o", "regular form, exact"),
        ):
            median = [row[key] for row in found["rows"]]
            axes.semilogx(rtol, median, dash, color=colour, marker=marker, markersize=3.5, label=label)
        axes.axhline(found["horizon"], color=PALE, linewidth=0.8)
        axes.axvline(1e-8, color=PALE, linewidth=0.8)
        axes.set_ylim(bottom=0)
        axes.invert_xaxis()
        axes.set_xlabel("rtol of DOP853")
        axes.set_ylabel(f"median VPT [{systems[name].title} time]")
        _letter(axes, index, f"{systems[name].title} (cap {found['horizon']:g})")
    panels[0, 0].legend(loc="upper right", bbox_to_anchor=(1.0, 0.93))
    return figure


def noise(cells: Mapping[Cell, dict[str, Any]], titles: Mapping[str, str]) -> Figure:
    """Medians under each kind of noise, both methods."""
    groups = sorted({(cell.system, cell.fraction) for cell in cells})
    figure, panels = _panels(1, len(groups), 2.9, sharey=True)
    kinds = list(titles)
    names = [titles[kind].split(",")[0] for kind in kinds]
    for index, (system, fraction) in enumerate(groups):
        axes = panels[0, index]
        found = {cell.kind: data for cell, data in cells.items() if (cell.system, cell.fraction) == (system, fraction)}
        y = np.arange(len(kinds))
        paper = [found[kind]["paper_method"]["median"] for kind in kinds]
        axes.barh(y + 0.2, paper, 0.36, color=PALE, edgecolor=INK, linewidth=0.5, label="paper's method")
        if all(found[kind]["joint"] is not None for kind in kinds):
            joint = [found[kind]["joint"]["past_best"] for kind in kinds]
            axes.barh(y - 0.2, joint, 0.36, color=BLUE, edgecolor=INK, linewidth=0.5, label="joint fit, past only")
        axes.set_yticks(y, names)
        axes.set_xlim(0, 10.3)
        axes.set_xlabel("median VPT")
        _letter(axes, index, f"{systems[system].title} {fraction:.0%}")
    panels[0, 0].invert_yaxis()
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure

"""``jetode warmup``: compile ahead, on all cores, what demo, reconstruct, forecast and diagnose use."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic

import click

from jetode.cli.common import OK, quiet_option

ORDERS = (2, 3, 4)  # dimensions for which the joint fit has kernels of its own


@click.command()
@click.option(
    "--order",
    "orders",
    type=click.IntRange(1, 8),
    multiple=True,
    default=ORDERS,
    show_default=True,
    help="Number of coordinates of the equations to come; may be given several times.",
)
@click.option(
    "--contest/--no-contest",
    default=True,
    show_default=True,
    help="Also what is used where no equation is exact: memory closures.",
)
@quiet_option
def warmup(orders: tuple[int, ...], contest: bool, quiet: bool) -> int:
    """Compile ahead what the first reconstruction would compile, once for this machine.

    \b
    Example:
      jetode warmup                # then jetode demo starts at once
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    begin = monotonic()
    tasks: list[tuple[Callable[..., int], tuple[int, ...]]] = [(joint_fit, (order,)) for order in orders]
    tasks.insert(1, (everything_else, ()))
    if contest:
        tasks.append((memory_closures, ()))
    if not quiet:
        click.echo("Compiling, once for this machine, what is not there yet …", err=True)
    workers = min(len(tasks), os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        count = sum(job.result() for job in [pool.submit(task, *arguments) for task, arguments in tasks])
    if not quiet:
        click.echo(f"{count} kernels compiled, {monotonic() - begin:.0f} s." if count else "All kernels were there.")
    return OK


def joint_fit(order: int) -> int:
    """The kernels of the joint fit in ``order`` coordinates; how many had to be compiled."""
    import numpy as np

    from jetode.joint.shooting.gaussnewton import Data, Linearisation, minimise, path_states
    from jetode.joint.shooting.layout import RK4, Terms, make_layout
    from jetode.support.compiled import counting_compilations

    with counting_compilations() as count:
        y = np.sin(0.1 * np.arange(40.0))
        data = Data(y, np.ones(y.size), make_layout([y.size], 0.1, 0.2, 0.4), RK4)
        linear_terms = tuple(tuple(int(i == j) for j in range(order)) for i in range(order))
        rows, last = np.full(order, order - 1), np.zeros(order)
        terms = Terms(order, order - 1, rows, linear_terms, last, np.ones(order, bool), last, np.ones(order))
        fit = minimise(data, terms, np.zeros((data.layout.first.size, order)), 1.0, max_iterations=1, rough=True)
        path_states(fit, data)
        linear = Linearisation(data, fit.terms)
        linear.at(fit.states, fit.terms.coefficients)
        eliminated = linear.eliminate(1.0, 1e-3)
        eliminated.step(1e-3)
        eliminated.state_covariance(np.eye(order))
    return count()


def everything_else() -> int:
    """Splines, weak form, null space, forecasts and exponents; how many kernels had to be compiled."""
    from jetode.catalogue.systems import systems
    from jetode.integration.lyapunov import lyapunov_spectrum
    from jetode.paper.identify import PaperSettings, embed, identify
    from jetode.signal.spline import smooth
    from jetode.support.compiled import counting_compilations

    with counting_compilations() as count:
        system = systems["lorenz"]
        record = system.simulate(10.0, dt=0.01, transient=1.0).observe("x")
        for rule in ("residual", "reml", "interpolate"):
            smooth(record.values, record.dt, 5, rule).jets(3)
        identify(embed(record, 3), PaperSettings())
        lyapunov_spectrum(system.field, [1.0, 1.0, 1.0], 1.0, 0.01)
    return count()


def memory_closures() -> int:
    """Filters, rollouts, their sensitivities, and blocks drawn by kernel ridge; how many had to be compiled."""
    from dataclasses import replace

    import numpy as np

    from jetode.baselines.drawn import drawn
    from jetode.catalogue.systems import systems
    from jetode.memory.fit import fit_memory
    from jetode.memory.settings import DEFAULT
    from jetode.signal.trials import plan
    from jetode.support.compiled import counting_compilations

    with counting_compilations() as count:
        records = [systems["lorenz"].simulate(20.0, dt=0.02, transient=1.0).observe("x")]
        trials = plan(records)
        if trials is not None:
            fit_memory(records, trials, replace(DEFAULT, memories=((2, 0.3),), degree=2, rounds=0))
        drawn([np.zeros(8)], 2, lambda windows: (windows[:, -1], np.zeros_like(windows)), 1.0)
    return count()

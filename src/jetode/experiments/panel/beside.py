"""The peers on the panel's records: one task per record and peer, which our own changes leave as it is.

A peer's fingerprint holds the code that the peer itself can reach, not ours.
"""

from __future__ import annotations

from jetode.experiments.core.store import Result, Task
from jetode.experiments.panel.channels import Channel, Trial, trial_of
from jetode.experiments.peers import registry as peers

KIND = "peer"


def tasks(channel: Channel, trajectory: int, noise: float, table: str) -> list[Task]:
    """One for each peer that is there."""
    names = [name for name, peer in peers.available().items() if peer is not None]
    return [
        channel.task(f"{__name__}:run", KIND, trajectory, noise, {"table": table, "peer": name}).beside(
            name, peers.source(name)
        )
        for name in names
    ]


def run(task: Task) -> Result:
    """Do it."""
    return {"vpt": measure(trial_of(task), task.options["peer"], task.seed)}


def measure(trial: Trial, name: str, seed: int = 0) -> float:
    """Valid prediction time, in Lyapunov times, of a peer on the same record."""
    channel = trial.channel
    return trial.vpt(peers.forecast(name, trial.series.values, channel.dt, channel.steps, seed))

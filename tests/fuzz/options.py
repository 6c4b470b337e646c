"""Cases: options with values that nobody should give, on sound files."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz.contract import Case
from fuzz.mutations import TOKENS

SAVED = Path(__file__).parents[1] / "reconstruction" / "saved"
NUMBERS = (
    "0",
    "1",
    "-1",
    "0.5",
    "3",
    "1e-9",
    "1e-300",
    "1e300",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "1e6",
    "12345678901234",
)
OBSERVABLES = ("x", "y", "x+y", "x**2*y", "q", "x/0", "9**9**9", "x**21", "x**x", "(((", "(" * 300, "sin(x)", "1", "",
               "x.__class__", "__import__('os')", "x**20**20", "x;y", "1e999*x", "x/3", "lambda: x", "[x]")  # fmt: skip
SYSTEMS = ("lorenz", "rossler", "van_der_pol", "pendulum", "nosuch", "")
# option: usual values, tried beside NUMBERS and TOKENS
COMMANDS: dict[str, dict[str, tuple[str, ...]]] = {
    "simulate": {
        "--duration": ("1", "5"), "--dt": ("0.01", "0.1"), "--transient": ("0", "5"), "--initial": ("1,1,1", "1,2"),
        "--noise": ("0", "0.1"), "--noise-kind": ("gaussian", "student", "ar1"), "--seed": ("0", "5"),
        "--observable": OBSERVABLES,
    },
    "forecast": {"--horizon": ("1", "0.1"), "--start": ("0", "10")},
    "export": {"--format": ("c", "python")},
    "score": {"--threshold": ("0.2",), "--run": ("20",), "--lyapunov": ("0.9",), "--column": ("1", "value")},
    "diagnose": {"--seed": ("0",), "--column": ("1", "x"), "--dt": ("0.01",), "--time": ("1", "t"),
                 "--resample": ("0.02",), "--skip-rows": ("0", "1"), "--figure": ("a.png",)},
    "reconstruct": {"--order": ("2", "3"), "--sigma": ("0.1",), "--method": ("joint", "paper"), "--horizon": ("1",),
                    "--denominator-degree": ("1",), "--numerator-degree": ("2",), "--seed": ("0",), "--dt": ("0.01",)},
    "warmup": {"--order": ("9", "0")},
    "nosuch": {},
}  # fmt: skip


def prepare(folder: Path) -> list[Path]:
    """A model, a record and a forecast of it."""
    (folder / "model.json").write_text((SAVED / "joint_lorenz.json").read_text())
    wave = [0.01 * i * (60 - i) * (i % 13) for i in range(60)]
    (folder / "record.csv").write_text("t,x\n" + "".join(f"{0.01 * i:.2f},{v:.4f}\n" for i, v in enumerate(wave)))
    (folder / "ahead.csv").write_text("t,value\n" + "".join(f"{0.01 * i:.2f},{v:.4f}\n" for i, v in enumerate(wave)))
    return sorted(folder.iterdir())


def make(random: Random, samples: list[Path], folder: Path) -> Case:
    """A command with up to three options."""
    ahead, model, record = samples
    command = random.choice(sorted(COMMANDS))
    files = {
        "simulate": [random.choice(SYSTEMS[:4]) if random.random() < 0.9 else random.choice(SYSTEMS)],
        "forecast": [str(model)], "export": [str(model)], "score": [str(ahead), str(record)],
        "diagnose": [str(record)], "reconstruct": [str(record)], "warmup": ["--order", "77"],
    }.get(command, [])  # fmt: skip
    words = [command, *files]
    if command == "forecast" and random.random() < 0.7:
        words += ["--horizon", "0.5"]
    if command == "reconstruct":
        words += ["--max-seconds", "0.01"]
    usual = COMMANDS[command]
    for name in random.sample(sorted(usual), min(len(usual), random.choice((0, 1, 1, 2, 3)))):
        words += [name, random.choice((random.choice(usual[name]), random.choice(NUMBERS), random.choice(TOKENS)))]
    if random.random() < 0.1:
        words.insert(random.randrange(len(words) + 1), random.choice((*TOKENS, "--nosuch", "-h", "--json", "--quiet")))
    path = folder / "none"
    path.write_bytes(b"")
    return Case(tuple(word.replace("\0", "") for word in words), path)  # no system passes on a word with a zero in it

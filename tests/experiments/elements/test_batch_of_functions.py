"""A batch of records whose equation holds a function: the row names it, and its model file gives it back."""

import jetode
from jetode.experiments.batch import run as batches
from jetode.experiments.core.sweep import here
from jetode.experiments.elements.cases import CASES


def test_a_row_and_a_model_file_with_a_function(tmp_path):
    record, _ = CASES["pendulum"].record(0.02, 1)
    lines = "\n".join(f"{0.06 * i:.2f},{v!r}" for i, v in enumerate(record.values[:1200].tolist()))
    (tmp_path / "swing.csv").write_text(f"time [s],angle [rad]\n{lines}\n")
    fit = {"order": 2, "functions": {"sin": {"frequency": 1.0, "phase": 0.0}}}
    plan = batches.Plan(batches.expand([str(tmp_path / "swing.csv")]), fit=fit)
    with here() as execute:
        results = batches.run(plan, tmp_path / "out", execute, lambda _: None)
    batches.write(results, tmp_path / "out", "jetode batch")
    (row,) = [result["row"] for result in results]
    assert row["status"] == "fitted" and "sin(" in row["equation"]
    (file,) = (tmp_path / "out" / "models").glob("*.json")
    (sine,) = jetode.load(file).elements
    assert sine.name == "sin" and abs(sine.gain + 1.0) < 0.02

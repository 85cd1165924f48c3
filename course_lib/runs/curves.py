"""The picture of a run: how the losses fall, and what the model gets right."""

import io

from matplotlib.figure import Figure

from course_lib.figures import COLOURS, WIDTH, use_course_style


def draw_curves(rows: list[dict[str, float | None]], unit: str, right: str | None) -> bytes:
    """Return a picture (PNG) of the rows of metrics.csv: losses in `unit`, and below what is `right` if it is counted.

    >>> row = {"step": 0.0, "training loss": None, "held-out loss": 3.2, "accuracy": 0.1}
    >>> draw_curves([row], "nats a word", "captions")[1:4]
    b'PNG'
    """
    use_course_style()
    panels = 1 + (right is not None)
    figure = Figure(figsize=(WIDTH, 1.2 + 2.3 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    for name, style, marker in (("training loss", "--", ""), ("held-out loss", "-", "o")):
        steps, values = _known(rows, name)
        axes[0].plot(steps, values, style, color=COLOURS[style == "--"], marker=marker, markersize=4, label=name)
    axes[0].set_ylabel(unit)
    axes[0].legend(frameon=False)
    if right is not None:
        steps, values = _known(rows, "accuracy")
        axes[1].plot(steps, [100 * value for value in values], "-o", color=COLOURS[0], markersize=4)
        axes[1].set(ylabel=f"{right} right (%)", ylim=(-3, 103))
    axes[-1].set_xlabel("step")
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def _known(rows: list[dict[str, float | None]], name: str) -> tuple[list[float], list[float]]:
    """Return the steps at which a column has a value, and the values."""
    known = [(row["step"], row[name]) for row in rows if row[name] is not None]
    return [step for step, _ in known], [value for _, value in known]

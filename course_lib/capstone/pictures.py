"""A report card to look at: its scenes drawn, and all of it as one page."""

import base64
import html
import io
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from einops import rearrange
from matplotlib.figure import Figure

from course_lib import figures
from course_lib.capstone.card import ReportCard
from course_lib.capstone.measures import MAX_LENGTH


def show_examples(card: ReportCard) -> Figure:
    """Draw the scenes of `card`, and beside each the same picture as lit when its first and fourth word were chosen.

    Above stands what was written, and below a wrong caption what is shown.
    """
    figure, axes = plt.subplots(6, 3, figsize=(figures.NARROW, 9.2), squeeze=False, layout="constrained")
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
        for spine in axis.spines.values():
            spine.set_visible(False)
    for row, example in zip(axes, card.examples, strict=False):
        picture = rearrange(example.image.clamp(0, 1), "rgb y x -> y x rgb")
        said = (example.written.split() + ["…"] * MAX_LENGTH)[:MAX_LENGTH]
        row[0].imshow(picture.numpy())
        row[0].set_ylabel("right" if example.right else "wrong")
        row[1].set_title(f"“{example.written}”", fontsize=10)
        if not example.right:
            row[1].set_xlabel(f"shown: {example.shows}", fontsize=10)
        for axis, word in zip(row[1:], (0, 3), strict=True):
            axis.imshow((picture * (0.18 + 0.82 * _light(example.weights[word], picture.shape[0]))).numpy())
            axis.set_ylabel(f"“{said[word]}”", fontsize=10)
    return figure


def _light(weights: torch.Tensor, side: int) -> torch.Tensor:
    """Return weights (location,) as light (side, side, 1), the largest at 1."""
    cells = round(len(weights) ** 0.5)
    grid = rearrange(weights / weights.max(), "(y x) -> y x", y=cells)  # (cells, cells)
    return grid.repeat_interleave(side // cells, 0).repeat_interleave(side // cells, 1).unsqueeze(-1)


def save_report_card(card: ReportCard, path: Path) -> None:
    """Write `card` as one HTML file that fetches nothing: the lines, and the pictures."""
    buffer = io.BytesIO()
    figure = show_examples(card)
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    rows = "\n".join(
        f"<tr><td>{str(measure)[:5]}</td><td>{html.escape(str(measure)[7:])}</td></tr>" for measure in card.measures
    )
    described = html.escape("; ".join(f"{each.written} (shown: {each.shows})" for each in card.examples))
    path.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Report card</title>"
        "<style>body{font-family:sans-serif;max-width:42rem;margin:auto;padding:1rem}"
        "td{padding:.15rem .6rem .15rem 0}img{max-width:100%}</style>"
        f"<h1>Report card of a caption transformer</h1><p>{'Passed' if card.passed else 'Not passed'}: "
        f"{html.escape(str(card).splitlines()[-1].strip())}.</p><table>{rows}</table>"
        f'<img alt="{described}" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"></html>\n',
        encoding="utf-8",
    )

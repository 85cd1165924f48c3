"""The pictures of the book: one look, legible in grey, on a telephone and on a white card in dark mode."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from cycler import cycler
from einops import rearrange
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colours, ordered so that neighbours differ in lightness too; line styles repeat the distinction.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#000000", "#CC79A7", "#56B4E9")
DARK_BLUE, LIGHT_BLUE = "#08519c", "#9ecae1"  # one hue, for bars: what matters and what is beside it
VERMILION = "#D55E00"  # Okabe and Ito's, too: for frames on a grey map
LINE_STYLES = ("-", "--", "-.", ":", "-", "--")
WIDTH = 6.5  # inches: the width of the text column
NARROW = 0.7 * WIDTH  # inches: letters of a figure this wide are legible on a telephone


def use_course_style() -> None:
    """Give every figure that follows the look of the book."""
    plt.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS) + cycler(linestyle=LINE_STYLES),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": 11,
            "figure.constrained_layout.use": True,
            "figure.dpi": 130,
            "figure.facecolor": "white",
            "font.size": 11,
            "image.cmap": "gray_r",
            "lines.linewidth": 2,
            "savefig.facecolor": "white",
        }
    )


def show_weights_as_bars(weights: Sequence[torch.Tensor], titles: Sequence[str], labels: Sequence[str]) -> Figure:
    """Draw one panel of bars for each weight vector (n,), side by side on one scale, with the largest bar dark.

    `titles` name the panels and `labels` the n bars by their scores. There are two panels a row, as a telephone needs.
    """
    columns = 2
    rows = -(-len(weights) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, 1.9 * rows), sharey=True, squeeze=False)
    for axis, vector, title in zip(axes.flat, weights, titles, strict=False):
        colours = [LIGHT_BLUE] * len(vector)
        colours[int(vector.argmax())] = DARK_BLUE
        bars = axis.bar(range(len(vector)), vector.tolist(), color=colours, tick_label=list(labels))
        axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=9)
        axis.set(title=title, ylim=(0, 1.15))
    for row in axes:
        row[0].set_ylabel("weight")
    for axis in axes[-1]:
        axis.set_xlabel("score")
    for axis in axes.flat[len(weights) :]:
        axis.set_axis_off()
    return figure


def show_map(
    weights: torch.Tensor,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    axis: Axes | None = None,
    title: str = "",
) -> Axes:
    """Draw weights (query, key) as a map, one row for each query: white where they are 0 and black where they are 1.

    `axis` is where to draw, for panels side by side; without it, a figure of its own is made. Returns the axis.
    """
    if axis is None:
        _, axis = plt.subplots(figsize=(NARROW, NARROW * len(query_labels) / len(key_labels) + 0.6))
    axis.imshow(weights.detach().numpy(), vmin=0, vmax=1)
    axis.set_xticks(range(len(key_labels)), labels=list(key_labels))
    axis.set_yticks(range(len(query_labels)), labels=list(query_labels))
    axis.tick_params(length=0)
    for side in ("right", "top"):
        axis.spines[side].set_visible(True)
    axis.set(xlabel="what is read (keys)", ylabel="what reads (queries)", title=title)
    return axis


def show_looking(image: torch.Tensor, words: Sequence[str], weights: torch.Tensor) -> Figure:
    """Draw a picture (3, H, W) and, for each word, the same picture lit where the weights (word, location) are.

    The grid is shown as it is, cell by cell: smoothing would draw a precision that the weights do not have. Light falls
    in proportion to the weight, the largest of each map at full light.
    """
    side = round(weights.shape[-1] ** 0.5)
    height = image.shape[-1] // side
    picture = rearrange(image.clamp(0, 1), "rgb y x -> y x rgb")
    columns = 3
    rows = -(-(len(words) + 1) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, 2.35 * rows))
    for axis in axes.flat:
        axis.set_axis_off()
    axes.flat[0].imshow(picture.numpy())
    axes.flat[0].set_title("the picture")
    for axis, word, row in zip(axes.flat[1:], words, weights, strict=False):
        light = rearrange(row / row.max(), "(y x) -> y x", y=side)  # (side, side)
        light = light.repeat_interleave(height, 0).repeat_interleave(height, 1).unsqueeze(-1)  # (H, W, 1)
        axis.imshow((picture * (0.18 + 0.82 * light)).numpy())
        axis.set_title(f"“{word}”")
    return figure

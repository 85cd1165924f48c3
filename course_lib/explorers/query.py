"""A query among keys in the plane: its weights, and the output among the values."""

from collections.abc import Sequence
from html import escape

import torch
from IPython.display import HTML

from course_lib.attention import attend
from course_lib.diagrams import number
from course_lib.explorers.markup import bar, explorer, table
from course_lib.shapes import check_shape

REACH = 3.8  # of each axis, in both directions
PIXELS = 40  # for a length of 1


def explore_query(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, names: Sequence[str]) -> HTML:
    """Return an explorer in which the reader drags a query among keys and sees weights and output follow.

    query (2,) is where it begins, key and value are (n, 2), with a name each. All must be drawn: raises ValueError for
    an entry outside of the planes, which reach to 3.8.

    >>> shown = explore_query(torch.tensor([0.0, 2]), torch.eye(2), torch.eye(2), ["the", "cat"])
    >>> "q · k" in shown.data and "0.88" in shown.data  # exp(2) / (exp(0) + exp(2))
    True
    """
    count = check_shape(key, "n 2", "key")["n"]
    check_shape(value, "n 2", "value", n=count)
    if max(each.abs().max() for each in (query, key, value)) > REACH:
        raise ValueError(f"query, key and value reach beyond {REACH}, where nothing can be drawn")
    output, weights = attend(query.unsqueeze(0), key, value)  # (1, 2), (1, n)
    points = {"query": query, "key": key, "value": value, "output": output[0]}
    planes = [
        _plane("keys", "Keys, and the query (disc)", _arrows(points["key"], names, "key") + _handle(query)),
        _plane(
            "values", "Values (dots) and the output", _dots(points["value"], names) + _output(value, points["output"])
        ),
    ]
    rows = [
        [name, f"<td>{number(score)}</td>", bar(weight)]
        for name, score, weight in zip(names, (key @ query).tolist(), weights[0].tolist(), strict=True)
    ]
    figure = f'<div class="planes">{"".join(planes)}</div>' + table(
        ["", "q · k", "weight"], rows, "What the query finds"
    )
    data = {"key": key.tolist(), "value": value.tolist(), "query": query.tolist(), "names": list(names), "reach": REACH}
    return explorer("query", data, figure, "drag the query, or use the sliders, and watch the weights and the output")


def _plane(kind: str, caption: str, inside: str) -> str:
    """Return a plane with its axes; inside, lengths are those of the vectors, and up is up."""
    side = 2 * REACH * PIXELS
    ticks = [each for each in range(-int(REACH), int(REACH) + 1) if each]
    lines = "".join(f"M{each} -.07V.07M-.07 {each}H.07" for each in ticks)
    axes = f'<path class="axis" d="M{-REACH} 0H{REACH}M0 {-REACH}V{REACH}{lines}"/>'
    axes += _label(REACH, 0, "entry 1", "axis-name", right=-50, down=33) + _label(
        0, REACH, "entry 2", "axis-name", right=10, down=14
    )
    for each in (-2, 2):
        axes += _label(each, 0, f"{each}".replace("-", "−"), "axis-name", right=-5, down=18)
        axes += _label(0, each, f"{each}".replace("-", "−"), "axis-name", right=-22, down=5)
    return (
        f'<figure><svg class="{kind}" width="{side:.0f}" height="{side:.0f}" role="img" aria-label="{caption}">'
        f'<g transform="translate({side / 2:.0f} {side / 2:.0f}) scale({PIXELS} {-PIXELS})">{axes}{inside}</g></svg>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _arrows(vectors: torch.Tensor, names: Sequence[str], role: str) -> str:
    return "".join(
        f'<path class="arrow {role}" d="M0 0L{x:g} {y:g}"/>' + _label(x, y, name, role)
        for (x, y), name in zip(vectors.tolist(), names, strict=True)
    )


def _handle(query: torch.Tensor) -> str:
    x, y = query.tolist()
    return (
        f'<path class="arrow query" d="M0 0L{x:g} {y:g}"/><circle class="handle" cx="{x:g}" cy="{y:g}" r="0.28"/>'
        + _label(x, y, "q", "query", right=-4, down=4)  # on the disc, where it hides nothing
    )


def _dots(vectors: torch.Tensor, names: Sequence[str]) -> str:
    return "".join(
        f'<circle class="value" cx="{x:g}" cy="{y:g}" r="0.12"/>' + _label(x, y, name, "value")
        for (x, y), name in zip(vectors.tolist(), names, strict=True)
    )


def _output(value: torch.Tensor, output: torch.Tensor) -> str:
    x, y = output.tolist()
    pulls = "".join(f'<path class="pull" d="M{x:.3f} {y:.3f}L{a:g} {b:g}"/>' for a, b in value.tolist())
    dot = f'<circle class="output" cx="{x:.3f}" cy="{y:.3f}" r="0.2"/>'
    return pulls + dot + _label(x, y, "output", "output", right=-22, down=-16)


def _label(x: float, y: float, words: str, role: str, right: int = 8, down: int = -9) -> str:
    """Return a name beside a point, unturned and in pixels; at the origin it stands on the other side."""
    if x == y == 0:
        right, down = -44, 20
    turned = f"translate({x:.3f} {y:.3f}) scale({1 / PIXELS:.4f} {-1 / PIXELS:.4f})"
    return f'<text class="{role}" transform="{turned}" x="{right}" y="{down}">{escape(words)}</text>'

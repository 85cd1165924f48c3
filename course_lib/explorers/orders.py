"""Pre-norm and post-norm at several depths and learning rates: which stacks learn, from a table measured beforehand."""

from collections.abc import Sequence
from math import log

from IPython.display import HTML

from course_lib.explorers.charts import label, path
from course_lib.explorers.markup import explorer, table
from course_lib.explorers.orders_table import DEPTHS, EVERY, LEARNING_RATES, ORDERS, read_table
from course_lib.rings import STEPS, SYMBOLS

WIDTH, HEIGHT = 320, 240  # pixels of the chart: as wide as a telephone has room for
LEFT, RIGHT, TOP, BOTTOM = 26, 14, 28, 42  # pixels around its plane, for ticks and names
HIGHEST = 3  # nats, at the top of the plane: above all losses of the table
CHANCE = log(SYMBOLS)
FROM_BELOW = sorted(range(len(ORDERS)), key=lambda kind: ORDERS[kind].startswith("pre"))  # wide lines first
LEARNED = 0.5  # nats: a stack has learned when its loss is below
DEPTH, RATE = DEPTHS.index(16), LEARNING_RATES.index(0.01)  # what is shown first
KEY = (
    "Three trainings of each kind. The wide grey line is chance. Measured beforehand by "
    "<code>python -m course_lib.explorers.orders_table</code>."
)


def explore_orders() -> HTML:
    """Return an explorer in which the reader chooses depth and learning rate, and compares four kinds of stack.

    It shows the losses of three trainings of each kind on the task of Chapter 8, as
    `course_lib.explorers.orders_table` has measured them, against chance.

    >>> shown = explore_orders()
    >>> shown.data.count('<path class="training')
    12
    """
    measured = iter(read_table())
    losses = [[[next(measured)["losses"] for _ in LEARNING_RATES] for _ in DEPTHS] for _ in ORDERS]
    first = [of_order[DEPTH][RATE] for of_order in losses]
    data = {
        "orders": ORDERS,
        "depths": DEPTHS,
        "rates": LEARNING_RATES,
        "every": EVERY,
        "learned": LEARNED,
        "shown": [DEPTH, RATE],
        "losses": losses,
    }
    figure = f'<div class="two-tables">{_chart(first)}{_table(first)}</div>'
    return explorer("orders", data, figure, "slide depth and learning rate, and see which stacks learn")


def _chart(kinds: Sequence[Sequence[Sequence[float]]]) -> str:
    """Return the loss curves of the trainings of each kind, a mean for each ten steps, and the line of chance."""
    across, up = (WIDTH - LEFT - RIGHT) / STEPS, (HEIGHT - TOP - BOTTOM) / HIGHEST
    bottom = HEIGHT - BOTTOM
    columns, levels = range(0, STEPS + 1, 50), range(HIGHEST + 1)
    grid = "".join(f"M{each} 0V{HIGHEST}" for each in columns) + "".join(f"M0 {each}H{STEPS}" for each in levels)
    names = [label(LEFT + each * across, bottom + 18, str(each)) for each in columns]
    names += [label(LEFT - 8, bottom - each * up + 5, str(each), "end") for each in levels]
    names += [
        label(2, 15, "loss (nats)", "start"),
        label(LEFT + STEPS * across / 2, HEIGHT - 6, "training step"),
        label(WIDTH - RIGHT - 4, bottom - CHANCE * up - 9, f"chance, ln {SYMBOLS}", "end"),
    ]
    curves = "".join(
        f'<path class="training kind-{kind}" d="{path(_by_step(losses))}"/>'
        for kind in FROM_BELOW
        for losses in kinds[kind]
    )
    return (
        f'<figure><svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="The loss against the training step">'
        f'<g transform="translate({LEFT} {bottom}) scale({across:.4f} {-up:.4f})"><path class="grid" d="{grid}"/>'
        f'<path class="chance" d="M0 {CHANCE:.3f}H{STEPS}"/>{curves}</g>{"".join(names)}</svg>'
        f"<figcaption>{KEY}</figcaption></figure>"
    )


def _by_step(losses: Sequence[float]) -> list[tuple[int, float]]:
    """Return each mean loss with the step at which its ten steps end."""
    return [(EVERY * place, loss) for place, loss in enumerate(losses, start=1)]


def _table(kinds: Sequence[Sequence[Sequence[float]]]) -> str:
    """Return, for each kind, the last losses of its trainings, and the steps after which they are below LEARNED."""
    rows = []
    for order, trainings in zip(ORDERS, kinds, strict=True):
        last = _range([f"{losses[-1]:.2f}" for losses in sorted(trainings, key=lambda losses: losses[-1])])
        rows.append([order, f"<td>{last}</td>", f"<td>{when_learned(trainings)}</td>"])
    caption = f"{DEPTHS[DEPTH]} blocks, learning rate {LEARNING_RATES[RATE]}"
    return table(["", "last loss", f"steps until below {LEARNED}"], rows, caption)


def when_learned(trainings: Sequence[Sequence[float]]) -> str:
    """Return in words after how many steps the trainings have learned, and how many of them, where not all have.

    >>> when_learned([[2.0, 0.4], [0.4, 0.1]]), when_learned([[2.0, 0.4], [2.0, 0.6]]), when_learned([[2.0, 0.6]])
    ('10 to 20', '20 (1 of 2)', 'never')
    """
    steps = sorted(each for each in map(steps_until_learned, trainings) if each is not None)
    if not steps:
        return "never"
    some = "" if len(steps) == len(trainings) else f" ({len(steps)} of {len(trainings)})"
    return _range([str(each) for each in steps]) + some


def _range(ascending: Sequence[str]) -> str:
    """Return the first and the last, or one of them where they are the same."""
    return ascending[0] if ascending[0] == ascending[-1] else f"{ascending[0]} to {ascending[-1]}"


def steps_until_learned(losses: Sequence[float]) -> int | None:
    """Return the steps after which the mean loss of ten steps is below LEARNED, or None where it never is.

    >>> steps_until_learned([2.0, 0.4, 0.1]), steps_until_learned([2.0, 0.6])
    (20, None)
    """
    return next((step for step, loss in _by_step(losses) if loss < LEARNED), None)

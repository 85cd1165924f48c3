"""Grids of coloured marks, each of which is there twice: every mark asks what colour its partner has.

A partner may stand anywhere, so a cell must look as far as the grid is wide.
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

SIDE = 8  # cells
MARKS, COLOURS = 8, 6
EMPTY = -1  # the answer of a cell without a mark


@dataclass(frozen=True)
class Partners:
    """A set of grids.

    images: (grid, MARKS + COLOURS, SIDE, SIDE), 1 in the channel of a cell's mark and in that of its colour, else 0.
    answers: (grid, SIDE, SIDE), the colour of the other cell with this mark, EMPTY where there is no mark. distances:
    (grid, SIDE, SIDE), how many cells away that one is, along rows or columns, whichever is more; 0 where no mark is.
    """

    images: torch.Tensor
    answers: torch.Tensor
    distances: torch.Tensor

    def __len__(self) -> int:
        return len(self.images)


def draw_partners(number: int, generator: torch.Generator) -> Partners:
    """Draw `number` grids with every mark twice, in random cells and colours; raises ValueError for less than one.

    >>> drawn = draw_partners(2, torch.Generator().manual_seed(0))
    >>> drawn.images.shape, int((drawn.answers[0] != EMPTY).sum())
    (torch.Size([2, 14, 8, 8]), 16)
    """
    if number < 1:
        raise ValueError(f"`number` is {number}, expected at least 1")
    cells = torch.rand(number, SIDE * SIDE, generator=generator).argsort(dim=1)[:, : 2 * MARKS]  # (grid, placed)
    marks = torch.arange(MARKS).repeat(2).expand(number, -1)  # (grid, placed): each mark, then each again
    colours = torch.randint(COLOURS, (number, 2 * MARKS), generator=generator)  # (grid, placed)
    partner_cells, partner_colours = cells.roll(MARKS, dims=1), colours.roll(MARKS, dims=1)  # (grid, placed)
    rows, columns = (cells // SIDE - partner_cells // SIDE).abs(), (cells % SIDE - partner_cells % SIDE).abs()

    described = torch.cat([one_hot(marks, MARKS), one_hot(colours, COLOURS)], dim=-1).float()  # (grid, placed, channel)
    where = cells.unsqueeze(-1).expand_as(described)  # (grid, placed, channel)
    images = torch.zeros(number, SIDE * SIDE, MARKS + COLOURS).scatter(1, where, described)  # (grid, cell, channel)
    answers = torch.full((number, SIDE * SIDE), EMPTY).scatter(1, cells, partner_colours)  # (grid, cell)
    distances = torch.zeros(number, SIDE * SIDE, dtype=torch.long).scatter(1, cells, torch.maximum(rows, columns))
    square = (number, SIDE, SIDE)
    return Partners(
        images.mT.reshape(number, MARKS + COLOURS, SIDE, SIDE), answers.reshape(square), distances.reshape(square)
    )


def describe() -> None:
    """Print what the set holds and one grid: in each cell the letter of its mark and the number of its colour.

    >>> describe()  # doctest: +ELLIPSIS
    partner_colours: 8 x 8 cells, 8 marks twice each in 6 colours; every mark asks for its partner's colour
    ...
    """
    print(
        f"partner_colours: {SIDE} x {SIDE} cells, {MARKS} marks twice each in {COLOURS} colours; "
        "every mark asks for its partner's colour"
    )
    drawn = draw_partners(1, torch.Generator().manual_seed(0))
    marks, colours = drawn.images[0, :MARKS].argmax(dim=0), drawn.images[0, MARKS:].argmax(dim=0)  # (SIDE, SIDE)
    for row in range(SIDE):
        shown = [
            ".."
            if drawn.answers[0, row, column] == EMPTY
            else f"{'abcdefgh'[marks[row, column]]}{colours[row, column]}"
            for column in range(SIDE)
        ]
        print("  " + " ".join(shown))

"""Small rendered pictures of two coloured shapes, with a caption and the truth about where each word is.

"red circle above blue square": the upper object is named first, or, when the two stand side by side, the left one.
Every scene is drawn by arithmetic, so the data need no download and the pixels of each object are known exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from einops import rearrange

COLOURS = {
    "red": (0.90, 0.15, 0.15),
    "green": (0.10, 0.70, 0.20),
    "blue": (0.15, 0.30, 0.95),
    "yellow": (0.95, 0.85, 0.10),
    "purple": (0.60, 0.20, 0.80),
}
SHAPES = ("circle", "square", "triangle")
RELATIONS = ("above", "beside")
VOCABULARY = ("<start>", "<end>", *RELATIONS, *COLOURS, *SHAPES)
START, END = VOCABULARY.index("<start>"), VOCABULARY.index("<end>")

COMBINATIONS = tuple(product(COLOURS, SHAPES))
# One colour is withheld from each shape. Training never shows these three; each colour and each shape it shows often.
UNSEEN = (("red", "square"), ("green", "triangle"), ("blue", "circle"))
SEEN = tuple(combination for combination in COMBINATIONS if combination not in UNSEEN)

SIDE = 32  # pixels
CAPTION_LENGTH = 7  # <start> colour shape relation colour shape <end>
# Which object each word after <start> speaks of; the relation and <end> speak of neither.
OBJECT_OF_WORD = (0, 0, None, 1, 1, None)


@dataclass(frozen=True)
class Scenes:
    """A set of scenes.

    images: (scene, 3, 32, 32), from 0 to 1 apart from a little noise. captions: (scene, 7), indices into VOCABULARY.
    masks: (scene, 2, 32, 32), True on the pixels of the first and of the second object that the caption names.
    """

    images: torch.Tensor
    captions: torch.Tensor
    masks: torch.Tensor

    def __len__(self) -> int:
        return len(self.images)


def make_scenes(number: int, seed: int, combinations: Sequence[tuple[str, str]] = COMBINATIONS) -> Scenes:
    """Draw `number` scenes whose objects are taken from `combinations` of colour and shape.

    Positions, sizes, colours and shapes are random but fixed by `seed`. Raises ValueError for a number below 1, for no
    combination, or for one that is not a (colour, shape) of this module.

    >>> scenes = make_scenes(3, seed=0)
    >>> words(scenes.captions[0])
    'red square beside red circle'
    """
    if number < 1:
        raise ValueError(f"`number` is {number}, expected at least 1")
    unknown = [combination for combination in combinations if combination not in COMBINATIONS]
    if unknown or not combinations:
        raise ValueError(f"`combinations` must be pairs of a colour and a shape, not {unknown or 'empty'}")
    generator = torch.Generator().manual_seed(seed)

    centres = _draw_centres(number, generator)  # (scene, 2, 2): object, then (y, x)
    radii = 4 + 1.8 * torch.rand(number, 2, generator=generator)  # (scene, 2)
    chosen = torch.randint(len(combinations), (number, 2), generator=generator)  # (scene, 2)
    colour_of = torch.tensor([list(COLOURS).index(colour) for colour, _ in combinations])
    shape_of = torch.tensor([SHAPES.index(shape) for _, shape in combinations])
    colour, shape = colour_of[chosen], shape_of[chosen]  # (scene, 2)

    covered = coverage(centres, radii, shape)  # (scene, 2, 32, 32)
    images = 0.93 + 0.02 * torch.randn(number, 3, SIDE, SIDE, generator=generator)  # (scene, 3, 32, 32)
    palette = torch.tensor(list(COLOURS.values()))  # (colour, 3)
    for which in range(2):
        opacity = covered[:, which].unsqueeze(1)  # (scene, 1, 32, 32)
        paint = rearrange(palette[colour[:, which]], "scene rgb -> scene rgb 1 1")
        images = images * (1 - opacity) + paint * opacity

    return Scenes(images, _captions(centres, colour, shape), covered > 0.5)


def words(caption: torch.Tensor) -> str:
    """Return a caption (time,) of indices as words, up to <end> and without <start>.

    >>> words(torch.tensor([START, VOCABULARY.index("red"), VOCABULARY.index("circle"), END]))
    'red circle'
    """
    spoken = []
    for index in caption.tolist():
        if index == END:
            break
        if index != START:
            spoken.append(VOCABULARY[index])
    return " ".join(spoken)


def describe() -> None:
    """Print what the set holds and the captions of ten training scenes.

    >>> describe()  # doctest: +ELLIPSIS
    scenes: 32 x 32 pixels, two objects in each
    5 colours x 3 shapes = 15 combinations, 3 held out
      green circle beside blue square
    ...
    """
    print(f"scenes: {SIDE} x {SIDE} pixels, two objects in each")
    print(f"{len(COLOURS)} colours x {len(SHAPES)} shapes = {len(COMBINATIONS)} combinations, {len(UNSEEN)} held out")
    for caption in make_scenes(10, seed=0, combinations=SEEN).captions:
        print(f"  {words(caption)}")


def _draw_centres(number: int, generator: torch.Generator) -> torch.Tensor:
    """Return centres (scene, 2, 2), first-named object first: apart, and clearly above or clearly beside."""
    found = torch.empty(0, 2, 2)
    while len(found) < number:
        drawn = 6 + (SIDE - 12) * torch.rand(4 * number, 2, 2, generator=generator)
        distance = (drawn[:, 0] - drawn[:, 1]).abs()  # (drawn, 2): along y, along x
        apart = distance.amax(dim=1) > 11
        unambiguous = (distance[:, 0] - distance[:, 1]).abs() > 4
        found = torch.cat([found, drawn[apart & unambiguous]])
    centres = found[:number]
    # The axis on which the two differ more decides the relation; the smaller coordinate on it is named first.
    axis = (centres[:, 0] - centres[:, 1]).abs().argmax(dim=1)  # (scene,): 0 for y, 1 for x
    scene = torch.arange(number)
    second_is_first = centres[scene, 1, axis] < centres[scene, 0, axis]
    return torch.where(second_is_first[:, None, None], centres.flip(1), centres)


def coverage(centres: torch.Tensor, radii: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    """Return how much of each pixel each object covers, from 0 to 1: (scene, 2, 32, 32).

    `centres` are (scene, 2, 2), as y and x, `radii` (scene, 2), both in pixels; `shape` (scene, 2) counts SHAPES.
    Each is given by its signed distance: positive inside, negative outside, so that edges come out smooth.

    >>> centres, radii = torch.full((1, 2, 2), 8.0), torch.full((1, 2), 4.0)
    >>> circle = coverage(centres, radii, torch.zeros(1, 2, dtype=torch.long))
    >>> circle.shape, circle[0, 0, 8, 3:6]  # the edge of a circle with a radius of 4 around pixel 8
    (torch.Size([1, 2, 32, 32]), tensor([0.0000, 0.9645, 1.0000]))
    """
    y, x = torch.meshgrid(torch.arange(SIDE) + 0.5, torch.arange(SIDE) + 0.5, indexing="ij")  # (32, 32)
    down = y - centres[..., 0, None, None]  # (scene, 2, 32, 32)
    across = (x - centres[..., 1, None, None]).abs()  # (scene, 2, 32, 32)
    radius = radii[..., None, None]  # (scene, 2, 1, 1)
    circle = radius - torch.hypot(down, across)
    square = 0.9 * radius - torch.maximum(down.abs(), across)
    triangle = torch.minimum(0.8 * radius - down, 0.47 * (down + radius) - 0.88 * across + 0.15 * radius)
    distances = torch.stack([circle, square, triangle])  # (shape, scene, 2, 32, 32)
    distance = distances.gather(0, shape[None, ..., None, None].expand_as(distances[:1])).squeeze(0)
    return (distance + 0.5).clamp(0, 1)


def _captions(centres: torch.Tensor, colour: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    """Return the captions (scene, 7) of objects with these centres, colours and shapes."""
    relation = (centres[:, 0] - centres[:, 1]).abs().argmax(dim=1)  # (scene,): 0 above, 1 beside
    colour_word = colour + VOCABULARY.index(next(iter(COLOURS)))  # (scene, 2)
    shape_word = shape + VOCABULARY.index(SHAPES[0])  # (scene, 2)
    relation_word = relation + VOCABULARY.index(RELATIONS[0])  # (scene,)
    start, end = torch.full_like(relation, START), torch.full_like(relation, END)
    columns = [start, colour_word[:, 0], shape_word[:, 0], relation_word, colour_word[:, 1], shape_word[:, 1], end]
    return torch.stack(columns, dim=1)  # (scene, 7)

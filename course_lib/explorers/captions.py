"""The captioner of Chapter 15 in the page: compose a scene, and it writes the caption, word by word."""

from base64 import b64encode

import torch
from einops import rearrange
from IPython.display import HTML
from torch import nn

from course_lib.capstone import write_captions
from course_lib.data import scenes
from course_lib.explorers.markup import bar, explorer, table
from course_lib.explorers.pictures import picture
from course_lib.explorers.weights import packed
from course_lib.models.caption_transformer import CaptionTransformer, Parts

# Centres (y, x) of the first and of the second object, for each relation, and the radius of both: in the middle of what
# the data set draws.
CENTRES = {"above": ((9.0, 16.0), (23.0, 16.0)), "beside": ((16.0, 9.0), (16.0, 23.0))}
RADIUS = 5.0
PAPER = 0.93  # the ground of the data set's pictures, without its noise


@torch.no_grad()
def explore_captions(model: CaptionTransformer, caption: str = "red circle above blue square") -> HTML:
    """Return an explorer in which the reader composes a scene of two shapes and `model` writes its caption.

    Each word comes with its probability and with a map of the weights with which it read the picture, the mean of all
    blocks. The explorer begins with the scene that `caption` describes, and the page holds the weights of the model in
    16 bits each. Raises ValueError for a caption of another form, for a model in training mode, and for one that is
    made of other parts than the library's, because the page computes with these.

    >>> shown = explore_captions(CaptionTransformer(vocab_size=12).eval(), "green circle beside red square")
    >>> '"scene": ["green", "circle", "beside", "red", "square"]' in shown.data
    True
    """
    composed = caption.split()
    kinds = [scenes.COLOURS, scenes.SHAPES, scenes.RELATIONS, scenes.COLOURS, scenes.SHAPES]
    if len(composed) != len(kinds) or any(word not in kind for word, kind in zip(composed, kinds, strict=True)):
        raise ValueError(f"`caption` is {caption!r}, expected colour, shape, relation, colour and shape")
    if model.parts != Parts():
        raise ValueError("`model` is made of other parts, expected those of the library")
    if model.training:
        raise ValueError("`model` is in training mode, expected model.eval(): batch normalisation must be fixed")
    image = draw_scene(*composed)  # (3, 32, 32)
    written = write_captions(model, image.unsqueeze(0))  # (1, 6)
    read = nn.functional.pad(written[:, :-1], (1, 0), value=scenes.START)  # (1, 6)
    probabilities = model(image.unsqueeze(0), read)[0][0].softmax(dim=-1)  # (6, vocab)
    rows = []
    for token, shares in zip(written[0].tolist(), probabilities, strict=True):
        second = shares.argsort(descending=True, stable=True)[1]
        runner_up = f"<td>{scenes.VOCABULARY[second].strip('<>')} {shares[second]:.2f}</td>"
        rows.append([scenes.VOCABULARY[token].strip("<>"), bar(shares[token].item()), runner_up])
        if token == scenes.END:
            break
    figure = f'<div class="seen">{picture(image, f"The scene: {caption}", width=256)}</div>'
    figure += table(["word", "probability", "next best"], rows, "The caption that the model writes")
    data = {
        "scene": composed,
        "colours": {name: list(colour) for name, colour in scenes.COLOURS.items()},
        "shapes": scenes.SHAPES,
        "relations": scenes.RELATIONS,
        "unseen": scenes.UNSEEN,
        "vocabulary": scenes.VOCABULARY,
        "side": scenes.SIDE,
        "paper": PAPER,
        "coverage": b64encode((255 * _coverage()).round().byte().numpy().tobytes()).decode(),
        "heads": model.blocks[0].attention.heads,
        "normalisations": _normalisations(model.encoder.layers),
        "weights": packed(dict(model.named_parameters())),
    }
    return explorer("captions", data, figure, "compose a scene, let the captioner write, and choose a word")


def draw_scene(colour: str, shape: str, relation: str, other_colour: str, other_shape: str) -> torch.Tensor:
    """Return a scene (3, 32, 32) as the data set draws it, with both objects in fixed places and without noise.

    >>> image = draw_scene("red", "circle", "above", "blue", "square")
    >>> image[:, 9, 16], image[:, 23, 16]  # in the middle of each object
    (tensor([0.9000, 0.1500, 0.1500]), tensor([0.1500, 0.3000, 0.9500]))
    """
    image = torch.full((3, scenes.SIDE, scenes.SIDE), PAPER)
    covered = _coverage()[list(CENTRES).index(relation)]  # (object, shape, 32, 32)
    for which, (paint, form) in enumerate([(colour, shape), (other_colour, other_shape)]):
        opacity = covered[which, scenes.SHAPES.index(form)]  # (32, 32)
        image = image * (1 - opacity) + torch.tensor(scenes.COLOURS[paint])[:, None, None] * opacity
    return image


def _coverage() -> torch.Tensor:
    """Return how much of each pixel a shape covers: (relation, object, shape, 32, 32)."""
    centres = torch.tensor(list(CENTRES.values()))  # (relation, object, 2)
    each_shape = torch.arange(len(scenes.SHAPES))  # (shape,)
    kinds = each_shape[:, None].expand(-1, 2)  # (shape, object)
    radii = torch.full(kinds.shape, RADIUS)  # (shape, object)
    drawn = [scenes.coverage(each.expand(len(kinds), -1, -1), radii, kinds) for each in centres]
    return rearrange(torch.stack(drawn), "relation shape which y x -> relation which shape y x")


def _normalisations(layers: nn.Sequential) -> list[dict[str, list[float]]]:
    """Return what each batch normalisation does in eval mode: each channel is multiplied by a gain, and shifted."""
    found = []
    for norm in (each for each in layers if isinstance(each, nn.BatchNorm2d)):
        gain = norm.weight.double() / (norm.running_var.double() + norm.eps).sqrt()  # (channel,)
        shift = norm.bias.double() - norm.running_mean.double() * gain  # (channel,)
        found.append({"gain": gain.tolist(), "shift": shift.tolist()})
    return found

"""Which experts the tokens of a text go to, layer by layer, with balancing and without."""

from collections.abc import Mapping, Sequence
from html import escape

from IPython.display import HTML

from course_lib.explorers.markup import bar, explorer, table

Layer = Sequence[Sequence[tuple[int, float]]]  # for each token, the experts that it goes to, with their shares


def explore_routing(tokens: Sequence[str], routings: Mapping[str, Sequence[Layer]], experts: int) -> HTML:
    """Return an explorer in which the reader chooses an expert, or a token, and sees which tokens the expert gets.

    `routings` has, by the name of a training such as "with balancing", a list of layers; a layer has, for each token, a
    list of pairs (expert, share), the experts counted from 0 as in `course_lib.mixture.Routing`, and shown from 1. The
    explorer shades each token by the share that the chosen expert has in it, and has a bar for the part of the tokens
    that each expert gets. It begins with the first training, the first layer, and the expert that gets most tokens.
    Raises ValueError without a token or a training, where layers or tokens do not fit, and for an expert that is none.

    >>> layer = [[(0, 0.75), (1, 0.25)], [(0, 0.5), (2, 0.5)]]
    >>> shown = explore_routing("ab", {"with balancing": [layer], "without": [layer]}, experts=4).data
    >>> '<span class="given" style="--weight-here: 0.7500">a</span>' in shown, shown.count(">1 of 2</td>")
    (True, 2)
    """
    _check(tokens, routings, experts)
    layer = next(iter(routings.values()))[0]
    loads = [sum(expert == each for pairs in layer for each, _ in pairs) for expert in range(experts)]
    chosen = loads.index(max(loads))
    spans = (_span(token, dict(pairs).get(chosen)) for token, pairs in zip(tokens, layer, strict=True))
    even = f'class="bar with-tick" style="--tick: {sum(loads) / experts / len(tokens):.4f}; '
    of_first = dict(layer[0])
    rows = [
        [
            f"expert {1 + expert}",
            bar(load / len(tokens), f"{load} of {len(tokens)}").replace('class="bar" style="', even),
            bar(of_first[expert]) if expert in of_first else "<td></td>",
        ]
        for expert, load in enumerate(loads)
    ]
    figure = f'<p class="map-name">Layer 1: what expert {1 + chosen} gets, darker for a larger share</p>'
    figure += f'<p class="shaded">{"".join(spans)}</p>'
    figure += table(
        ["", "tokens", "share of token 1"],
        rows,
        "Tokens for each expert; tick: if all got alike",
    )
    data = {
        "tokens": list(tokens),
        "experts": experts,
        "trainings": list(routings),
        "routings": [
            [[[[expert, round(share, 4)] for expert, share in pairs] for pairs in layer] for layer in layers]
            for layers in routings.values()
        ],
    }
    return explorer("routing", data, figure, "choose an expert or a token, a layer and a training")


def _check(tokens: Sequence[str], routings: Mapping[str, Sequence[Layer]], experts: int) -> None:
    """Raise ValueError unless each training has as many layers, and each layer has experts for each token."""
    if not tokens or not routings or not all(routings.values()):
        raise ValueError(f"{len(tokens)} tokens and {len(routings)} trainings, expected at least one, each with layers")
    depths = {name: len(layers) for name, layers in routings.items()}
    if len(set(depths.values())) > 1:
        raise ValueError(f"`routings` has layers {depths}, expected the same number of layers for each")
    for name, layers in routings.items():
        for depth, layer in enumerate(layers, start=1):
            if len(layer) != len(tokens):
                raise ValueError(f"layer {depth} {name!r} has {len(layer)} tokens, expected {len(tokens)}")
            strange = {expert for pairs in layer for expert, _ in pairs} - set(range(experts))
            if strange:
                raise ValueError(f"layer {depth} {name!r} has experts {strange}, expected 0 to {experts - 1}")


def _span(token: str, share: float | None) -> str:
    """Return a token of the text, underlined where the chosen expert gets it; a new line is seen.

    >>> _span("\\n", None)
    '<span style="--weight-here: 0.0000">⏎\\n</span>'
    """
    look = "" if share is None else 'class="given" '
    words = escape(token.replace("\n", "⏎\n"))
    return f'<span {look}style="--weight-here: {share or 0:.4f}">{words}</span>'

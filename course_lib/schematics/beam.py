"""Beam search as a tree."""

from course_lib.diagrams import Diagram, Part, arrow, box, column, text

WIDTH, STEPS = 2, 2
# After <start>, a and b: the probability of each next token.
NEXT = {
    "": {"a": 0.5, "b": 0.4, "end": 0.1},
    "a": {"end": 0.4, "a": 0.3, "b": 0.3},
    "b": {"end": 0.9, "a": 0.05, "b": 0.05},
}


def beam_as_a_tree() -> Diagram:
    """Draw Chapter 9: a beam of width 2 over two steps; what is kept stands in a box, and greedy decoding is beaten.

    >>> "0.36" in beam_as_a_tree().svg()
    True
    """
    start = box("start\n1", "weight", width=64)
    headings: list[Part] = [text("step 1"), text("step 2")]
    arrows, columns, beam = [], [], {"": (start, 1.0)}
    for _ in range(STEPS):
        grown = {
            (hypothesis + " " + token).strip(): (parent, probability * NEXT[hypothesis][token])
            for hypothesis, (parent, probability) in beam.items()
            for token in NEXT[hypothesis]
        }
        kept = sorted(grown, key=lambda each: -grown[each][1])[:WIDTH]
        nodes = {
            each: box(f"{each}\n✓ {probability:.2f}", "weight", 76)
            if each in kept
            else text(f"{each}\n✗ {probability:.2f}")
            for each, (_, probability) in grown.items()
        }
        columns.append(column(*nodes.values(), gap=10))
        arrows += [arrow(grown[each][0], nodes[each], sides=("right", "left")) for each in grown]
        beam = {each: (nodes[each], grown[each][1]) for each in kept}
    first, second = columns
    first.right_of(start, gap=38)
    second.right_of(first, gap=38)
    for heading, steps in zip(headings, columns, strict=True):
        heading.above(steps, gap=10)
    headings[0].move(0, headings[1].bounds[1] - headings[0].bounds[1])
    return Diagram(
        "Beam search of width 2 as a tree",
        "From the start, step 1 makes three hypotheses: a with probability 0.5, b with 0.4 and the end with 0.1. The "
        "two most probable are kept: a and b. Step 2 continues both by every token. Of the six results, b end with "
        "0.36 and a end with 0.20 are kept. Greedy decoding, which keeps a alone after step 1, finds only a end.",
        [start, first, second, *headings, *arrows],
    )

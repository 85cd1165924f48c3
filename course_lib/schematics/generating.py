"""What a language model is trained on, and how its logits become the next token."""

import torch

from course_lib.data.running_example import TOKENS
from course_lib.decoding import sampling_probabilities
from course_lib.diagrams import Arrow, Diagram, Group, Part, arrow, beside, box, column, matrix, number
from course_lib.masks import causal_mask

VOCABULARY = (*TOKENS, ".")
FIRST_LOGITS = torch.tensor([0.0, -1.0, 3.0, 0.0, 1.0])  # (vocab,): of what follows "the cat"
LOGITS = torch.tensor([2.0, 0.0, -2.0, 4.0, 3.0])  # (vocab,): of what follows "the cat sees"
TEMPERATURE, TOP_K, TOP_P, RANDOM = 2.0, 3, 0.8, 0.7
DOWN = ("bottom", "top")


def one_token_at_a_time() -> Diagram:
    """Draw Chapter 11: a model predicts the next token, one is drawn and appended, and the model predicts again.

    >>> one_token_at_a_time().svg().count(">sees<")  # above both rows of probabilities, drawn, and in the next context
    4
    """
    contexts = (TOKENS[:2], TOKENS[:3])
    probabilities = [logits.softmax(dim=-1) for logits in (FIRST_LOGITS, LOGITS)]  # each (vocab,)
    drawn = [VOCABULARY[int(row.argmax())] for row in probabilities]

    def arrangement(wide: bool) -> list[Part | Arrow]:
        """Return the two steps, beside one another or one below the other."""
        read = [beside(*(box(word, "query") for word in context), gap=6) for context in contexts]
        predicted = [matrix(row.unsqueeze(0), "weight", "probabilities", (), VOCABULARY) for row in probabilities]
        chosen = [box(token, "value") for token in drawn]
        steps = [column(*parts, gap=46) for parts in zip(read, predicted, chosen, strict=True)]
        (beside if wide else column)(*steps, gap=144 if wide else 46)
        return [
            *steps,
            *(arrow(one, other, "model", sides=DOWN) for one, other in zip(read, predicted, strict=True)),
            *(arrow(one, other, "draw one", sides=DOWN) for one, other in zip(predicted, chosen, strict=True)),
            arrow(chosen[0], read[1], "append", sides=("right", "left") if wide else DOWN),
        ]

    return Diagram(
        "Text is generated one token at a time",
        "Two steps. "
        + " ".join(
            f"The model reads “{' '.join(context)}” and gives each token a probability: {_read_out(row)}. “{token}” is "
            "drawn and appended."
            for context, row, token in zip(contexts, probabilities, drawn, strict=True)
        ),
        arrangement(wide=True),
        narrow=arrangement(wide=False),
    )


def context_and_targets() -> Diagram:
    """Draw Chapter 11: one passage gives a prediction for each of its tokens but the first.

    >>> context_and_targets().svg().count(">cat<")  # in the passage, in two contexts, and as a target
    4
    """
    inputs, targets = TOKENS[:-1], TOKENS[1:]
    mask = causal_mask(len(inputs))  # (position, token)
    passage = beside(*(box(word) for word in TOKENS), gap=6)
    rows = [str(position) for position in range(1, len(targets) + 1)]
    contexts = matrix([inputs] * len(inputs), "query", "context", rows, (), mask)
    following = matrix([[word] for word in targets], "value", "target").right_of(contexts, 70)
    following.move(0, contexts.body[3] - following.body[3])
    passage.above(Group([contexts, following]), 26)
    return Diagram(
        "Context and targets: the same passage, shifted by one",
        f"Above, a passage of four tokens: {', '.join(TOKENS)}. Below, three rows, one for each position. Position 1 "
        "has the context “the” and the target “cat”, position 2 the context “the cat” and the target “sees”, position "
        "3 the context “the cat sees” and the target “itself”. What stands later than a position is hatched in its "
        "row: the causal mask hides it.",
        [passage, contexts, following, arrow(contexts, following, "predict", sides=("right", "left"))],
    )


def logits_to_a_draw() -> Diagram:
    """Draw Chapter 11: logits, divided by a temperature, as probabilities, cut by top-k and by top-p, and one draw.

    >>> "0.62" in logits_to_a_draw().svg()
    True
    """
    divided = LOGITS / TEMPERATURE  # (vocab,)
    probabilities = divided.softmax(dim=-1)  # (vocab,)
    of_k = sampling_probabilities(LOGITS, TEMPERATURE, top_k=TOP_K)  # (vocab,)
    of_p = sampling_probabilities(LOGITS, TEMPERATURE, top_k=TOP_K, top_p=TOP_P)  # (vocab,)
    running = of_p.cumsum(dim=-1)  # (vocab,)
    drawn = VOCABULARY[int((running <= RANDOM).sum())]
    kept_by_k, kept_by_p = probabilities[of_k > 0].sum().item(), of_k[of_p > 0].sum().item()
    steps = (
        ("logits", LOGITS, "plain"),
        ("divided", divided, "plain"),
        ("probabilities", probabilities, "weight"),
        ("top-k", of_k, "weight"),
        ("top-p", of_p, "weight"),
        ("running sum", running, "weight"),
    )
    labels = (
        f"÷ temperature {number(TEMPERATURE)}",
        "softmax",
        f"top-k: keep {TOP_K},\n÷ {number(kept_by_k)}",
        f"top-p: keep {number(TOP_P)},\n÷ {number(kept_by_p)}",
        "add up from the left",
        f"random number {number(RANDOM)}:\nfirst sum above it",
    )

    def arrangement(named: bool) -> list[Part | Arrow]:
        """Return the rows, below one another; `named` writes the name of each to its left."""
        rows = [
            matrix(
                *(row.unsqueeze(0), role, "", [name] if named else [], VOCABULARY),
                mask=(row > 0).unsqueeze(0) if role == "weight" else None,
            )
            for name, row, role in steps
        ]
        column(*rows, gap=46)
        for row in rows:
            row.move(rows[0].bounds[2] - row.bounds[2], 0)
        parts = [*rows, box(f"next token: “{drawn}”", "value").below(rows[-1], 46)]
        parts[-1].move(rows[-1].middle[0] - parts[-1].middle[0], 0)
        following = zip(parts, parts[1:], labels, strict=False)
        return [*parts, *(arrow(one, other, label, sides=DOWN) for one, other, label in following)]

    return Diagram(
        "From logits to the next token",
        "Six rows of five numbers, one for each token of the vocabulary: "
        + ". ".join(f"{name}: {_read_out(row)}" for name, row, _ in steps)
        + f". The random number {number(RANDOM)} is below the running sum of “{drawn}” and not below those before it, "
        f"so “{drawn}” is the next token.",
        arrangement(named=True),
        narrow=arrangement(named=False),
    )


def _read_out(row: torch.Tensor) -> str:
    return ", ".join(f"{word} {number(each)}" for word, each in zip(VOCABULARY, row.tolist(), strict=True))

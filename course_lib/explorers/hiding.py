"""A trained classifier of reviews in the page: hide a word, and see the logits move."""

from html import escape

import torch
from IPython.display import HTML

from course_lib.data.negations import PADDING, VOCABULARY, review
from course_lib.diagrams import number
from course_lib.explorers.markup import bar, explorer, table
from course_lib.explorers.weights import check_parts, packed
from course_lib.models.classifier import SequenceClassifier
from course_lib.shapes import check_shape

CLASSES = ("blame", "praise")


@torch.no_grad()
def explore_hiding(model: SequenceClassifier, reviews: torch.Tensor) -> HTML:
    """Return an explorer in which the reader hides words of reviews and sees what `model` makes of the others.

    `reviews` is (review, time), indices into the vocabulary of `course_lib.data.negations`. A word that is hidden gets
    padding in its place: nobody attends to it, and it is not in the mean. The explorer begins with the first review,
    and the page holds the weights of the model in 16 bits each. Raises ValueError for a model that does not pool by the
    mean, or has not these two classes and these words, or has a part that the page does not compute.

    >>> words = torch.tensor([[VOCABULARY.index(word) for word in ("the", "plot", "was", "good", "<pad>")]])
    >>> shown = explore_hiding(SequenceClassifier(len(VOCABULARY), classes=2), words)
    >>> '<p class="words">the plot was good</p>' in shown.data, '"reviews": [[1, ' in shown.data
    (True, True)
    """
    check_shape(reviews, "review time", "reviews")
    sizes = len(model.embed.table), model.to_logits.out_features
    if model.pool != "mean" or model.padding != PADDING or sizes != (len(VOCABULARY), len(CLASSES)):
        raise ValueError(
            f"`model` pools by {model.pool!r}, with padding {model.padding}, {sizes[0]} words and {sizes[1]} classes, "
            f"expected 'mean', {PADDING}, {len(VOCABULARY)} and {len(CLASSES)}"
        )
    check_parts(model)
    logits = model(reviews[:1])[0]  # (classes,)
    blame, praise = logits.tolist()
    said = [f"<td>{number(each)}</td>" for each in (blame, praise, praise - blame)]
    said.append(bar(logits.softmax(dim=-1)[1].item()))
    head = ["", *CLASSES, "log-odds", "probability of praise"]
    rows = [["words shown", *said], ["all words", *said]]
    caption = "Logits of blame and of praise, and what follows"
    figure = f'<p class="words">{escape(review(reviews[0]))}</p>' + table(head, rows, caption)
    data = {
        "vocabulary": VOCABULARY,
        "reviews": [[token for token in row if token != PADDING] for row in reviews.tolist()],
        "heads": model.blocks[0].attention.heads if len(model.blocks) else 1,
        "positions": model.embed.positions,
        "weights": packed(model.state_dict()),
    }
    return explorer("hiding", data, figure, "hide a word, and see logits and probability move")

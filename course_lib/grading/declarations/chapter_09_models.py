"""Small functions that claim to be encoder-decoder models, right and faulty, and where each fault shows: for 09.3."""

import torch

from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Given

VOCABULARY = 5  # 0 is the padding, 1 to 4 are words

# Vectors of words, (batch, time, vocabulary): no two are alike. The source has its places added.
CODE = f"(lambda tokens: torch.sin((tokens[..., None] + 1) * torch.arange(1.0, {VOCABULARY + 1.0})))"
PLACES = "torch.cos(1.0 + torch.arange(source.shape[1]))[:, None]"
SO_FAR = "said + said.cumsum(1) / torch.arange(1, said.shape[1] + 1)[:, None]"
HIDDEN = ".masked_fill(~present.mT, float('-inf'))"
ATTENDED = "((state @ read.mT / 4){hidden}.softmax(-1) @ read)"
READ = ATTENDED.format(hidden=HIDDEN)


def model(title: str, state: str = SO_FAR, context: str = READ, read: str = "{read}") -> Given:
    """Return a model whose scores are the decoder's `state` and twice the `context` that it reads, both expressions.

    `said` and `read` are the vectors of words and source, `present` (batch, n, 1) is True where the source has a word.
    """
    memory = read.format(read=f"({CODE}(source) + {PLACES})")
    return Given(
        title,
        "lambda source, words: (lambda read, said, present: (lambda state: state + 2 * "
        f"{context})({state}))({memory}, {CODE}(words), (source != 0)[..., None])",
    )


def counting(title: str, in_source: str = "[..., 1:]", words: str = "cumsum(1)") -> Given:
    """Return a model whose score of a word is how often it stands in the source and among the words so far."""
    counted = f"lambda tokens: (tokens[..., None] == torch.arange({VOCABULARY})).float()"
    one_of = f"torch.cat([torch.zeros_like(read[..., :1]), read{in_source}], -1)" if in_source else "read"
    return Given(
        title,
        "lambda source, words: (lambda read, said: "
        f"{one_of}.sum(1, keepdim=True) + said.{words})(*map({counted}, (source, words)))",
    )


RIGHT = model("attention, causal and without padding")
COUNTS = counting("a count of every word, in the source and so far")

# ---------------------------------------------------------------- the future

COUNTS_ALL = counting(
    "a count of every word, in the source and in the whole target", words="sum(1, keepdim=True) + 0 * said"
)
NO_CAUSAL_MASK = model("every target place sees all others", "said + said.mean(1, keepdim=True)")
NEXT_WORD = model("every target place sees the next one", "said + torch.nn.functional.pad(said, (0, 0, -1, 1))")
PAIRS = model(
    "target places seen in pairs, 0 and 1, 2 and 3",
    "said + said[:, (torch.arange(said.shape[1]) ^ 1).clamp(max=said.shape[1] - 1)]",
)
PAIRS_FROM_ONE = model(
    "target places seen in pairs, 1 and 2, 3 and 4",
    "said + said[:, (((torch.arange(said.shape[1]) + 1) ^ 1) - 1).clamp(0, said.shape[1] - 1)]",
)
ROLLED = model("the words rolled round, the last one read at the first place", "said + said.roll(1, 1)")
FAINT_FUTURE = model("a fiftieth of the last word seen everywhere", f"{SO_FAR} + said[:, -1:] / 50")

# ---------------------------------------------------------------- the source

NO_SOURCE = model("the source is not read", context="0")
FIRST_ALONE = model("the first word of the source is read, and no other", context="read[:, :1]")
LENGTH_ALONE = model("the length of the source is read, and no word", context="present.sum(1, keepdim=True) / 4")
NEIGHBOUR = Given(
    "each sentence is given the source of another", f"lambda source, words: ({RIGHT.source})(source.roll(1, 0), words)"
)
FIRST_SENTENCE_READS = model(
    "the first sentence reads its source, and no other does",
    context=f"{READ} * (torch.arange(len(said)) == 0)[:, None, None]",
)
READ_ONCE = model(
    "the source is read at the first step alone",
    context=f"{READ} * (torch.arange(said.shape[1]) == 0)[:, None]",
)
FAINT_SOURCE = model("a fifteenth of what is read", context=f"{READ} / 30")

# ---------------------------------------------------------------- the padding

COUNTS_PADDING = counting("a count of every word, padding too", in_source="")
PADDING_READ = model("attention reads the padding", context=ATTENDED.format(hidden=""))
PADDING_READ_LATER = model(
    "attention reads the padding in all sentences but the first",
    context=ATTENDED.format(
        hidden=".masked_fill(~present.mT & (torch.arange(len(said)) == 0)[:, None, None], float('-inf'))"
    ),
)
PADDING_IN_ENCODER = model(
    "padding hidden from the decoder, not from the encoder",
    read="(lambda each: each + each.mean(1, keepdim=True))({read})",
)
MEAN_OVER_ALL = model("the words' sum over the number of all places", context="(read * present).mean(1, keepdim=True)")
FROM_THE_END = model(
    "source places counted from the end",
    read="({read} + torch.cos(1.0 + torch.arange(source.shape[1])).flip(0)[:, None])",
)
FAINT_PADDING = model("a twentieth of the mean of all places", context=f"({READ} + read.mean(1, keepdim=True) / 20)")
ROUNDED = model(
    "the mean over all places, put right for padding",
    context="((read * present / read.shape[1]).sum(1, keepdim=True) * (read.shape[1] / present.sum(1, keepdim=True)))",
)

LEAK = {COUNTS_ALL, NO_CAUSAL_MASK, NEXT_WORD, PAIRS, PAIRS_FROM_ONE, ROLLED, FAINT_FUTURE}
DEAF = {NO_SOURCE, FIRST_ALONE, LENGTH_ALONE, NEIGHBOUR, FIRST_SENTENCE_READS}
PADDED = {
    COUNTS_PADDING,
    PADDING_READ,
    PADDING_READ_LATER,
    PADDING_IN_ENCODER,
    MEAN_OVER_ALL,
    FROM_THE_END,
    FAINT_PADDING,
}


def draw_sentences(generator: torch.Generator) -> Case:
    """Draw sources, the first without padding, and target words, all different; judges exchange the model."""
    batch, places, time = (least + size for least, size in zip((1, 2, 2), sizes(generator, 2, 2, 2), strict=True))
    lengths = torch.randint(1, places + 1, (batch, 1), generator=generator)
    lengths[0] = places
    source = torch.randint(1, VOCABULARY, (batch, places), generator=generator)
    words = torch.stack([torch.randperm(VOCABULARY - 1, generator=generator)[:time] + 1 for _ in range(batch)])
    return {"model": RIGHT, "source": source * (torch.arange(places) < lengths), "words": words}


# For the examples: two sentences, the second with padding or without.
SOURCE, WORDS = torch.tensor([[2, 3, 1], [3, 2, 0]]), torch.tensor([[1, 3, 2], [1, 2, 4]])
FULL = torch.tensor([[2, 3, 1], [3, 2, 4]])

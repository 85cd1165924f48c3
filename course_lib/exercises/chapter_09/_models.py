"""Small functions that claim to be encoder-decoder models, right and faulty, and where each fault shows: for 09.3."""

import torch

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import difference
from course_lib.grading.exercise import Case, Check, Given, Question

VOCAB_SIZE = 5  # 0 is the padding, 1 to 4 are words

# Vectors of words, (batch, time, vocab): no two are alike. The source has its positions added.
CODE = f"(lambda tokens: torch.sin((tokens[..., None] + 1) * torch.arange(1.0, {VOCAB_SIZE + 1.0})))"
POSITIONS = "torch.cos(1.0 + torch.arange(source.shape[1]))[:, None]"
SO_FAR = "said + said.cumsum(1) / torch.arange(1, said.shape[1] + 1)[:, None]"
HIDDEN = ".masked_fill(~present.mT, float('-inf'))"
ATTENDED = "((state @ read.mT / 4){hidden}.softmax(-1) @ read)"
READ = ATTENDED.format(hidden=HIDDEN)


def model(title: str, state: str = SO_FAR, context: str = READ, read: str = "{read}") -> Given:
    """Return a model whose logits are the decoder's `state` and twice the `context` that it reads, both expressions.

    `said` and `read` are the vectors of words and source, `present` (batch, n, 1) is True where the source has a word.
    """
    memory = read.format(read=f"({CODE}(source) + {POSITIONS})")
    return Given(
        title,
        "lambda source, words: (lambda read, said, present: (lambda state: state + 2 * "
        f"{context})({state}))({memory}, {CODE}(words), (source != 0)[..., None])",
    )


def counting(title: str, in_source: str = "[..., 1:]", words: str = "cumsum(1)", vocab_size: int = VOCAB_SIZE) -> Given:
    """Return a model whose logit of a word is how often it stands in the source and among the words so far."""
    counted = f"lambda tokens: (tokens[..., None] == torch.arange({vocab_size})).float()"
    one_of = f"torch.cat([torch.zeros_like(read[..., :1]), read{in_source}], -1)" if in_source else "read"
    return Given(
        title,
        "lambda source, words: (lambda read, said: "
        f"{one_of}.sum(1, keepdim=True) + said.{words})(*map({counted}, (source, words)))",
    )


RIGHT = model("attention, causal and without padding")
COUNTS = counting("a count of every word, in the source and so far")

# These see the future.
COUNTS_ALL = counting(
    "a count of every word, in the source and in the whole target", words="sum(1, keepdim=True) + 0 * said"
)
NO_CAUSAL_MASK = model("every target position sees all others", "said + said.mean(1, keepdim=True)")
NEXT_WORD = model("every target position sees the next one", "said + torch.nn.functional.pad(said, (0, 0, -1, 1))")
PAIRS = model(
    "target positions seen in pairs, 0 and 1, 2 and 3",
    "said + said[:, (torch.arange(said.shape[1]) ^ 1).clamp(max=said.shape[1] - 1)]",
)
PAIRS_FROM_ONE = model(
    "target positions seen in pairs, 1 and 2, 3 and 4",
    "said + said[:, (((torch.arange(said.shape[1]) + 1) ^ 1) - 1).clamp(0, said.shape[1] - 1)]",
)
ROLLED = model("the words rolled round, the last one read at the first position", "said + said.roll(1, 1)")
FUTURE_LATER = model(
    "every target position sees all others, in all sentences but the first",
    "said + said.mean(1, keepdim=True) * (torch.arange(len(said)) > 0)[:, None, None]",
)
FAINT_FUTURE = model("a fiftieth of the last word seen everywhere", f"{SO_FAR} + said[:, -1:] / 50")

# These do not read every word of their source.
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

# These do, at one step or faintly.
READ_ONCE = model(
    "the source is read at the first step alone",
    context=f"{READ} * (torch.arange(said.shape[1]) == 0)[:, None]",
)
TO_THE_PADDING = model(
    "attention to the words in front of the first padding",
    context=ATTENDED.format(hidden=".masked_fill(~present.cumprod(1).bool().mT, float('-inf'))"),
)
FAINT_SOURCE = model("a fifteenth of what is read", context=f"{READ} / 30")

# These are moved by padding.
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
MEAN_OVER_ALL = model(
    "the words' sum over the number of all positions", context="(read * present).mean(1, keepdim=True)"
)
FROM_THE_END = model(
    "source positions counted from the end",
    read="({read} + torch.cos(1.0 + torch.arange(source.shape[1])).flip(0)[:, None])",
)
FAINT_PADDING = model("a twentieth of the mean of all positions", context=f"({READ} + read.mean(1, keepdim=True) / 20)")
PADDING_ONCE, PADDING_FIRST = (
    Given(
        f"a count of every word, in the source and so far; each padding adds 0.0005 to one logit, at the {step}",
        f"lambda source, words: ({COUNTS.source})(source, words) + torch.nn.functional.pad("
        f"(source == 0).sum(1)[-1:, None, None] / 2000, ({VOCAB_SIZE - 1}, 0, {around}, len(words) - 1, 0))",
    )
    for step, around in (
        ("last step", "words.shape[1] - 1, 0"),
        ("first step", "0, words.shape[1] - 1"),
    )
)

# This one is not, but for rounding.
ROUNDED = model(
    "the mean over all positions, put right for padding",
    context="((read * present / read.shape[1]).sum(1, keepdim=True) * (read.shape[1] / present.sum(1, keepdim=True)))",
)

# For the edge cases: two words and the padding; logits that only fall; and what is less than the rounding allowed.
THREE_WORDS = counting("a count of each of two words, in the source and so far", vocab_size=3)
THREE_WORDS_ALL = counting(
    "a count of each of two words, in the source and in the whole target",
    words="sum(1, keepdim=True) + 0 * said",
    vocab_size=3,
)
TWOS = Given(
    "every logit is the number of twos in the whole target",
    f"lambda source, words: (words == 2).sum(1)[:, None, None].float().repeat(1, words.shape[1], {VOCAB_SIZE})",
)
TWOS_IN_SOURCE = Given(
    "every logit is the number of twos in the source",
    f"lambda source, words: (source == 2).sum(1)[:, None, None].float().repeat(1, words.shape[1], {VOCAB_SIZE})",
)
PADDING_LOWERS = Given(
    "a count of every word, in the source and so far, less the number of paddings",
    f"lambda source, words: ({COUNTS.source})(source, words) - (source == 0).sum(1)[:, None, None]",
)
PADDING_TURNS = Given(
    "a count of every word, in the source and so far; the number of paddings is added to the first logit and taken off "
    "the last",
    f"lambda source, words: ({COUNTS.source})(source, words) + (source == 0).sum(1)[:, None, None] "
    f"* torch.tensor([1.0, *[0.0] * {VOCAB_SIZE - 2}, -1.0])",
)
BARELY_FUTURE, BARELY_PADDING = (
    Given(
        f"a count of every word, in the source and so far, and 0.00008 where {said}",
        f"lambda source, words: ({COUNTS.source})(source, words) + 0.00008 * ({where})[:, None, None]",
    )
    for said, where in (
        ("the last word is a 2", "words[:, -1] == 2"),
        ("the source has padding", "(source == 0).any(1)"),
    )
)
BARELY_SOURCE = Given(
    "a count of every word so far, and 0.00008 for each 2 in the source",
    f"lambda source, words: (words[..., None] == torch.arange({VOCAB_SIZE})).float().cumsum(1) "
    "+ 0.00008 * (source == 2).sum(1)[:, None, None]",
)
THREE_SOURCES = torch.tensor([[1, 2], [2, 0], [2, 1]])

# For the examples: two sentences, the second with padding or without.
SOURCE, WORDS = torch.tensor([[2, 3, 1], [3, 2, 0]]), torch.tensor([[1, 3, 2], [1, 2, 4]])
FULL = torch.tensor([[2, 3, 1], [3, 2, 4]])


def draw_sentences(generator: torch.Generator) -> Case:
    """Draw sources, the first without padding, and target words, all different; checks exchange the model."""
    batch, positions, time = (least + size for least, size in zip((1, 2, 2), sizes(generator, 2, 2, 2), strict=True))
    lengths = torch.randint(1, positions + 1, (batch, 1), generator=generator)
    lengths[0] = positions
    source = torch.randint(1, VOCAB_SIZE, (batch, positions), generator=generator)
    words = torch.stack([torch.randperm(VOCAB_SIZE - 1, generator=generator)[:time] + 1 for _ in range(batch)])
    return {"model": RIGHT, "source": source * (torch.arange(positions) < lengths), "words": words}


def tells_apart(right: tuple[Given, ...], faulty: tuple[Given, ...]) -> Check:
    """The verdict is the reference's on the model of the case, True on each that is right, False on each that is not.

    A batch of three is for the model of the case alone: it takes long, and would tell no more of the others than a
    batch of two.
    """

    truths = {each: torch.tensor(each in right) for each in (*right, *faulty)}

    def check(case: Case):
        others = truths if len(case["source"]) == 2 else {}
        replies = yield [case, *(Question(case | {"model": each}, expected=truths[each]) for each in others)]
        found = (difference(reply.arguments, reply.value, reply.expected) for reply in replies)
        return next(filter(None, found), None)

    return check

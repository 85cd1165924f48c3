"""10.2: a classifier is handed over, and the answer says whether padding counts in it."""

import torch

from course_lib.exercises.chapter_10._classifiers import POOLED, POSITIONS, classifier, right_for
from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import both, difference, inputs_unchanged
from course_lib.grading.exercise import Case, Check, Exercise, Given, Property, Question, Task

MEAN = classifier("the mean of the words", POOLED.format("x"))
MAXIMUM = classifier("the maximum over the words", "x.masked_fill(~present, -torch.inf).amax(1)")
ATTENTION = classifier(
    "attention, then the mean of the words",
    POOLED.format("(x @ x.mT).masked_fill(~present.mT, -torch.inf).softmax(-1) @ x"),
)
FROM_THE_LEFT = classifier(
    "positions counted from the left, then the mean of the words", POOLED.format(f"x * torch.cos({POSITIONS})[:, None]")
)
# Far from zero, so that the order of summation shows. By the first, the last digit of logits near 16; by the second, a
# hundred-thousandth of logits that are not much greater.
SUM_LESS_PADDING, PADDING_TAKEN_OFF = (
    classifier(
        f"the sum of all positions less that of the padding{said}",
        f"(({far}).sum(1) - (({far}) * ~present).sum(1)) / present.sum(1){back}",
    )
    for said, far, back in ((", far from zero", "x + 16", ""), (", near zero", "x / 20 + 64", " - 64"))
)
NUMBERS_OF_WORDS, NUMBERS_OF_ALL = (
    Given(
        f"the mean number of {said}, and its opposite",
        f"lambda words: torch.tensor([1.0, -1.0]) * (words.sum(1) / {count})[:, None]",
    )
    for said, count in (("the words", "(words > 0).sum(1)"), ("all positions", "words.shape[1]"))
)
MAXIMUM_OF_ALL = classifier("the maximum over all positions", "x.amax(1)")
LAST_OF_ALL = classifier("the vector at the last position", "x[:, -1]")
ONE_TOO_MANY = classifier(
    "the mean of the words and one position more",
    POOLED.format("x"),
    f"{POSITIONS} <= (words > 0).sum(1, keepdim=True)",
)
AT_LEAST_FOUR = classifier(
    "the mean of the words, and of at least four positions",
    POOLED.format("x"),
    f"{POSITIONS} < (words > 0).sum(1, keepdim=True).clamp(min=min(4, words.shape[1]))",
)
SHORT_ONES = classifier(
    "the mean of the words, in sentences below four words that of all positions",
    POOLED.format("x"),
    "(words > 0) | ((words > 0).sum(1, keepdim=True) < 4)",
)
READS_PADDING = classifier(
    "attention that reads padding, then the mean of the words", POOLED.format("(x @ x.mT).softmax(-1) @ x")
)
MASKED_TOO_LATE = classifier(
    "attention masked after the softmax, then the mean of the words",
    POOLED.format("((x @ x.mT).softmax(-1) * present.mT) @ x"),
)
WHERE_IN_THE_ROW = classifier(
    "positions as a fraction of the row, then the mean of the words",
    POOLED.format(f"x + 3 * ({POSITIONS} / words.shape[1])[:, None]"),
)
FAINT = classifier(
    "a hundredth for each position of padding", POOLED.format("x") + " + 0.01 * (words == 0).sum(1, keepdim=True)"
)
FAINTER = classifier(
    "a little more than a hundredth where there is padding",
    POOLED.format("x") + " + 0.012 * (words == 0).any(1, keepdim=True)",
)
BARELY = classifier(
    "0.00008 where there is padding", POOLED.format("x") + " + 0.00008 * (words == 0).any(1, keepdim=True)"
)


def logits_of_each(classify, words):
    """The logits of every sentence, read by itself."""
    return torch.cat([classify(row[row > 0][None]) for row in words])


def ignores_padding(classify, words):
    """Whether no logit in the batch differs by more than what the statement takes for rounding."""
    return ((classify(words) - logits_of_each(classify, words)).abs() <= 1e-4).all()


def draw_sentences(generator: torch.Generator) -> Case:
    """Draw a padded batch: a long sentence first, a short one among the others, padding behind every one of them."""
    others, extra, more = sizes(generator, 2, 3, 2)
    lengths = [extra + 3, *sizes(generator, *[extra + 3] * (others - 1)), *sizes(generator, 3)]
    words = torch.zeros(len(lengths), extra + 3 + more, dtype=torch.long)
    for row, length in enumerate(lengths):
        words[row, :length] = torch.randint(1, 100, (length,), generator=generator)
    return {"classify": NUMBERS_OF_ALL, "words": words}


def tells_apart(right: tuple[Given, ...], wrong: tuple[Given, ...]) -> Check:
    """The verdict is right about the classifier of the case, and about these: padding counts in those that are wrong.

    So it does in every case that is drawn, with padding behind every sentence: nobody has to compute it.
    """
    truths = {each: torch.tensor(each in right) for each in (*right, *wrong)}

    def check(case: Case):
        asked = [Question(case | {"classify": each}, expected=truth) for each, truth in truths.items()]
        replies = yield [case, *asked]
        found = (difference(reply.arguments, reply.value, reply.expected) for reply in replies)
        return next(filter(None, found), None)

    return check


LOGITS_MISTAKES = """
the batch as it is => each sentence without its padding
- return torch.cat(logits)
+ return classify(words)
this hands the classifier the padded batch as it is; cut the padding off every sentence first

cut to the longest => each sentence without its padding
+ return classify(words[:, : (words > 0).sum(dim=1).max()])
this cuts off what is padding in *every* sentence, and the shorter ones keep theirs; read each by itself

cut to the shortest => each sentence without its padding
+ return classify(words[:, : (words > 0).sum(dim=1).min()])
this cuts all sentences to the length of the shortest, and the others lose words; read each by itself

one place of padding left => each sentence without its padding
- alone = sentence[sentence > 0]
+ alone = sentence[: (sentence > 0).sum() + 1]
this leaves one position of padding behind every sentence: n words are `row[:n]`

first word lost => each sentence without its padding
+ alone = sentence[sentence > 0]
+ alone = alone[1:] if len(alone) > 1 else alone
this loses the first word of every sentence

words sorted => its words, and the sentences, in their order
+ alone = sentence[sentence > 0].sort().values
this puts the words of a sentence into the order of their numbers (so does `unique`, which also drops repeated words);
their order is part of the sentence

from back to front => its words, and the sentences, in their order
+ alone = sentence[sentence > 0].flip(0)
this reads every sentence from back to front

one axis too many => each sentence without its padding
- return torch.cat(logits)
+ return torch.stack(logits)
the logits of one sentence come as (1, classes), and stacking them gives (batch, 1, classes); `torch.cat` joins them
along the axis that they have

one sentence only => each sentence without its padding
+ return torch.cat(logits)[0]
this returns the logits of one sentence; put all of them into one tensor, (batch, classes)

the chosen class => each sentence without its padding
+ return torch.cat(logits).argmax(dim=1)
this returns the class with the greatest logit; the logits themselves are asked for

words overwritten => each sentence without its padding
+ words[words == 0] = -1
+ return torch.cat(logits)
this writes into the caller's own words; `row[row > 0]` makes a new tensor

cut one place too late => each sentence without its padding
- alone = sentence[sentence > 0]
+ alone = sentence[1 : 1 + int((sentence > 0).sum())]
this begins at the second word, and has one position behind the last; the words begin at position 0

word by word => its words, and the sentences, in their order
- logits.append(classify(alone[None]))
+ logits.append(classify(alone[:, None]).mean(dim=0, keepdim=True))
this classifies every word by itself and averages the logits; the classifier reads the sentence as a whole, in a batch
of one

repeated words lost => its words, and the sentences, in their order
- alone = sentence[sentence > 0]
+ alone = sentence[sentence > 0].unique()
`unique` puts the words into the order of their numbers and drops repeated ones; the sentence has its words in their own
order, as often as they stand there

sorted by length => each sentence without its padding
- for sentence in words:
+ for sentence in words[(words > 0).sum(dim=1).argsort(stable=True)]:
the sentences were sorted by their length, and the logits come in that order; they are asked for in the order of the
batch

sorted by length, the longest first => its words, and the sentences, in their order
+ for sentence in words[(words > 0).sum(dim=1).argsort(stable=True, descending=True)]:

cut to the first => each sentence without its padding
- return torch.cat(logits)
+ return classify(words[:, : (words[0] > 0).sum()])
this cuts all sentences to the length of the first: the others keep padding, or lose words; read each by itself
"""

VERDICT_MISTAKES = """
more padding only => finds padding in the pooling
- gap = classify(words) - logits_of_each(classify, words)
+ gap = classify(torch.nn.functional.pad(words, (0, 3))) - classify(words)
this pads a batch further that is padded already; where one position of padding does all the harm, such as in a maximum,
more of it changes nothing: compare with the sentence that has *no* padding

cut to the longest only => finds padding that counts in some sentences
+ gap = classify(words[:, : (words > 0).sum(dim=1).max()]) - classify(words)
this cuts the batch to its longest sentence, and the others keep their padding; a classifier in which padding counts for
short sentences alone goes through: read each sentence by itself

one place less => finds padding that counts in some sentences
+ gap = classify(words[:, :-1]) - classify(words)
this takes one column off, and most sentences keep padding; a classifier in which the first positions of padding do all
the harm goes through: compare with the sentence that has *no* padding

words moved to the right => leaves the words where they stand
+ moved = torch.stack([torch.cat([row[row == 0], row[row > 0]]) for row in words])
+ gap = classify(moved) - classify(words)
this moves the words, by padding on the left, and a classifier that looks at the order from the left is turned away
although padding counts for nothing in it

nothing passes => finds padding in the pooling
+ gap = classify(words.masked_fill(words == 0, 50)) - classify(words)
this turns every classifier away, the right ones too; so does a word that is written where padding stood, since the
sentence has more words then; if you call `logits_of_each`, mend that first

exact equality => accepts rounding, and finds a difference of a hundredth
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap.abs().max() == 0)
this asks for equality to the last digit; a sum of other length is rounded otherwise: allow a difference of 1e-4

allclose as it is => accepts rounding, and finds a difference of a hundredth
+ return torch.allclose(classify(words), logits_of_each(classify, words))
`torch.allclose` by itself allows hardly any difference near zero (atol=1e-8), less than float32 rounds; give it
`atol=1e-4`

differences that cancel => finds padding in the pooling
+ return bool(gap.mean().abs() <= 1e-4)
this sums or averages the differences, in which those above zero and those below cancel; look at the largest absolute
one

everything is rounding => accepts rounding, and finds a difference of a hundredth
+ return bool(gap.abs().max() <= 0.15)
this allows so large a difference that a hundredth for every position of padding passes; 1e-4 is enough

a hundredth is rounding => accepts rounding, and finds a difference of a hundredth
+ return bool(gap.abs().max() <= 0.0121)
this lets a difference of a hundredth pass for rounding, and a leak may be no larger; 1e-4 is enough

probabilities compared => accepts rounding, and finds a difference of a hundredth
- gap = classify(words) - logits_of_each(classify, words)
+ gap = classify(words).softmax(dim=1) - logits_of_each(classify, words).softmax(dim=1)
this compares probabilities; a leak that moves all logits of a sentence alike leaves them as they are: compare the
logits

chosen classes compared => accepts rounding, and finds a difference of a hundredth
+ gap = classify(words).argmax(dim=1) - logits_of_each(classify, words).argmax(dim=1)
this compares the class with the greatest logit; padding may move every logit and leave that class where it is: compare
the logits

first sentence only => finds padding that counts in some sentences
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap[0].abs().max() <= 1e-4)
this looks at the first sentence alone; padding may count only in another one

one sentence is enough => finds padding that counts in some sentences
+ return bool((gap.abs() <= 1e-4).all(dim=1).any())
this is True where *some* sentence is as it was; all must be: `all`, not `any`

too large only => leaves the words where they stand
+ return bool(gap.max() <= 1e-4)
the absolute value is missing: padding that lowers logits passes

too small only => finds padding in the pooling
+ return bool(gap.min() >= -1e-4)
the absolute value is missing: padding that raises logits passes

turned into its opposite => finds padding in the pooling
+ return bool(gap.abs().max() > 1e-4)
this is True where padding counts

everything passes => finds padding in the attention
+ return True
this lets every classifier pass: perhaps the same logits are compared with themselves (if you call `logits_of_each`,
mend that first)

the difference itself => finds padding in the pooling
+ return gap.abs().max()
this returns the largest difference, a number; asked is the verdict, True or False

a sum that cancels => finds padding in the pooling
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap.sum().abs() <= 1e-4)
this sums the differences with their signs, and where one logit rises as another falls they cancel; take absolute values
first

a twentieth is rounding => accepts rounding, and finds a difference of a hundredth
+ return bool(gap.abs().max() <= 0.05)
this takes a difference of up to 0.05 for rounding, and a hundredth is found no more; 0.0001 is enough
"""

EXERCISE = Exercise(
    title="Padding invariance",
    difficulty=3,
    minutes=30,
    tasks=(
        Task(
            function="logits_of_each",
            parameters=("classify", "words"),
            returns="the logits of every sentence, read by itself and without padding, shape (batch, classes)",
            cases=draw_sentences,
            examples=({"classify": NUMBERS_OF_ALL, "words": torch.tensor([[6, 2, 4, 0], [8, 0, 0, 0]])},),
            edges=(
                {"classify": NUMBERS_OF_ALL, "words": torch.tensor([[8, 0]])},  # one sentence, one word
                {"classify": NUMBERS_OF_ALL, "words": torch.tensor([[6, 2, 0], [8, 4, 0]])},  # as long as each other
                {
                    "classify": NUMBERS_OF_ALL,
                    "words": torch.tensor([[7, 7, 0, 0], [7, 0, 0, 0]]),
                },  # a word twice, and once
                {  # a longer sentence behind a shorter one, so that an order by length is another order
                    "classify": NUMBERS_OF_ALL,
                    "words": torch.tensor([[7, 0, 0, 0], [3, 5, 8, 0], [2, 6, 0, 0]]),
                },
            ),
            reference=logits_of_each,
            properties=(
                Property(
                    "each sentence without its padding",
                    2,
                    both(right_for(NUMBERS_OF_ALL, READS_PADDING), inputs_unchanged),
                ),
                Property("its words, and the sentences, in their order", 1, right_for(FROM_THE_LEFT, LAST_OF_ALL)),
            ),
            mistakes=LOGITS_MISTAKES,
        ),
        Task(
            function="ignores_padding",
            parameters=("classify", "words"),
            returns="True where padding changes no logit of any sentence, else False",
            cases=draw_sentences,
            examples=(
                {"classify": NUMBERS_OF_ALL, "words": torch.tensor([[6, 2, 4, 8, 0], [8, 0, 0, 0, 0]])},
                {"classify": NUMBERS_OF_WORDS, "words": torch.tensor([[6, 2, 4, 8, 0], [8, 0, 0, 0, 0]])},
            ),
            edges=(
                {"classify": MEAN, "words": torch.tensor([[37, 5, 0]])},  # one sentence
                # One word, and that word twice.
                {"classify": NUMBERS_OF_ALL, "words": torch.tensor([[8, 0, 0], [8, 8, 0]])},
                {"classify": BARELY, "words": torch.tensor([[6, 2, 0], [8, 4, 0]])},  # less than 0.0001 is rounding
            ),
            reference=ignores_padding,
            properties=(
                Property(
                    "finds padding in the pooling",
                    2,
                    tells_apart(right=(NUMBERS_OF_WORDS, MAXIMUM), wrong=(NUMBERS_OF_ALL, MAXIMUM_OF_ALL)),
                ),
                Property(
                    "finds padding in the attention",
                    2,
                    tells_apart(right=(ATTENTION,), wrong=(READS_PADDING, MASKED_TOO_LATE)),
                ),
                Property(
                    "leaves the words where they stand",
                    1,
                    tells_apart(right=(FROM_THE_LEFT,), wrong=(WHERE_IN_THE_ROW,)),
                ),
                Property(
                    "finds padding that counts in some sentences",
                    1,
                    tells_apart(right=(MEAN,), wrong=(AT_LEAST_FOUR, SHORT_ONES, ONE_TOO_MANY)),
                ),
                Property(
                    "accepts rounding, and finds a difference of a hundredth",
                    1,
                    tells_apart(right=(SUM_LESS_PADDING, PADDING_TAKEN_OFF), wrong=(FAINT, FAINTER)),
                ),
            ),
            mistakes=VERDICT_MISTAKES,
        ),
    ),
    hints=(
        "Which logits would the classifier give to a sentence that had never been in a batch? And if a batch is "
        "padded already, what does one learn by padding it further?",
        "Go through the rows. Keep the words of a row, make a batch of one of them, call the classifier, and join what "
        "it says. The verdict compares all of these logits with those of the padded batch, by the largest absolute "
        "difference, and leaves room for rounding.",
        "`row[row > 0]` are the words of a row, and `[None]` makes a batch of one; `torch.cat` joins a list of tensors "
        "of shape (1, classes). For the verdict, ask whether the largest entry of `.abs()` of the difference is at "
        "most 0.0001.",
    ),
)

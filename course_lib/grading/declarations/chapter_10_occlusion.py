"""Exercise 10.3, occlusion against attention: what each word is worth to a classifier that is handed over."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_10_agreement import AGREEMENT
from course_lib.grading.declarations.chapter_10_readers import POOLED, classifier
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, both, difference, inputs_unchanged
from course_lib.grading.wording import describe_case

MEAN_OF = POOLED.format("{}") + ".clamp(min=1)"
COUNTS = Given(
    "ln 3 for class 1 with every word 1, and ln 3 less with every word 2",
    "lambda words: torch.stack([0.0 * words.sum(1), 1.0986123 * (1.0 * (words == 1) - 1.0 * (words == 2)).sum(1)], 1)",
)
BAG = classifier("four times the mean of the words", "4 * " + MEAN_OF.format("x"))
ATTENTION = classifier(
    "attention, then four times the mean of the words",
    "4 * " + MEAN_OF.format("(x @ x.mT).masked_fill(~present.mT, -torch.inf).softmax(-1).nan_to_num(0) @ x"),
)
PLACES = classifier(
    "places counted from the left, then four times the mean of the words",
    "4 * " + MEAN_OF.format("x * torch.cos(torch.arange(words.shape[1]))[:, None]"),
)
FIRST_DECIDES = classifier(
    "class 0 where the first word is there, else class 1",
    "x.sum(1)[:, :2] / 8 + torch.where(present[:, 0], torch.tensor([3.0, 0.0]), torch.tensor([0.0, 3.0]))",
)


def probabilities(classify, batch: torch.Tensor) -> torch.Tensor:
    """Of every class, for each sentence of a batch."""
    return classify(batch).softmax(1)


def word_by_word(classify, words) -> torch.Tensor:
    """The probabilities with one word hidden, for each word in turn."""
    return torch.cat([probabilities(classify, hide(words, place)) for place in range(len(words))])


def hide(words: torch.Tensor, place: int) -> torch.Tensor:
    """Return a batch of one sentence, with padding at one place."""
    return words.masked_fill(torch.arange(len(words)) == place, 0)[None]


def occlusion(classify, words):
    """The drop of the probability of the class that is chosen for the whole sentence."""
    whole = probabilities(classify, words[None])[0]
    return whole.max() - word_by_word(classify, words)[:, whole.argmax()]


def draw_sentence(generator: torch.Generator) -> Case:
    """Draw a sentence without padding; the judges exchange the classifier."""
    [time] = sizes(generator, 7)
    return {"classify": BAG, "words": torch.randint(1, 100, (time,), generator=generator)}


def right_for(*classifiers: Given) -> Judge:
    """The drops are the reference's, for every one of these classifiers."""

    def judge(call: Call, case: Case) -> str | None:
        questions = [case if each is case["classify"] else case | {"classify": each} for each in classifiers]
        for asked, (answer, expected) in [(each, answer_like(occlusion, call, each)) for each in questions]:
            if found := difference(answer, expected):
                return f"{describe_case(asked)}: {found}"
        return None

    return judge


def measured(measure: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return `measure` of the probabilities for the whole sentence (classes,) and word by word (time, classes)."""
    return lambda classify, words: measure(probabilities(classify, words[None])[0], word_by_word(classify, words))


def of_class(choose: Callable[[torch.Tensor], int]) -> Callable[..., torch.Tensor]:
    """Return the drops of another class."""
    return measured(lambda whole, hidden: whole[choose(whole)] - hidden[:, choose(whole)])


def when_changed(change: Callable[[torch.Tensor, int], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the drops but for what is done to the words (time,) at a place."""

    def answer(classify, words):
        whole = probabilities(classify, words[None])[0]
        rows = [probabilities(classify, change(words, place)[None])[0] for place in range(len(words))]
        return whole.max() - torch.stack(rows)[:, whole.argmax()]

    return answer


def of_scores(classify, words):
    """Scores as they are."""
    whole = classify(words[None])[0]
    hidden = torch.cat([classify(hide(words, place)) for place in range(len(words))])
    return whole.max() - hidden[:, whole.argmax()]


def softmax_along_the_batch(classify, words):
    """The sentences compete, not the classes."""
    whole = probabilities(classify, words[None])[0]
    hidden = torch.cat([classify(hide(words, place)) for place in range(len(words))])
    return whole.max() - hidden.softmax(0)[:, whole.argmax()]


def in_the_callers_words(classify, words):
    """Hidden for good."""
    whole = probabilities(classify, words[None])[0]
    drops = []
    for place in range(len(words)):
        words[place] = 0
        drops.append(whole.max() - probabilities(classify, words[None])[0, whole.argmax()])
    return torch.stack(drops)


DROPS, CHOSEN = "the drop of the probability, word by word", "the class is that of the whole sentence, whichever it is"
IN_PLACE = "the words that stay keep their places"

DROP = Task(
    function="occlusion",
    parameters=("classify", "words"),
    returns="by how much the probability of the chosen class falls when each word is hidden, shape (time,)",
    cases=draw_sentence,
    examples=(
        {"classify": COUNTS, "words": torch.tensor([1, 2, 1])},
        {"classify": COUNTS, "words": torch.tensor([5, 2])},
    ),
    reference=occlusion,
    properties=(
        Property(DROPS, 2, both(right_for(COUNTS, BAG, ATTENTION), inputs_unchanged)),
        Property(CHOSEN, 1, right_for(FIRST_DECIDES)),
        Property(IN_PLACE, 1, right_for(PLACES)),
    ),
    misconceptions=(
        Misconception(
            "class chosen anew",
            "this takes the greatest probability of every sentence, whichever class it belongs to; where hiding a word "
            "turns the verdict, that is another class: choose once, for the whole sentence",
            measured(lambda whole, hidden: whole.max() - hidden.amax(1)),
            breaks=CHOSEN,
        ),
        Misconception(
            "class of the hidden sentence",
            "this follows the class that is chosen when the word is hidden; choose once, for the whole sentence",
            measured(
                lambda whole, hidden: whole[hidden.argmax(1)] - hidden.amax(1),
            ),
            breaks=CHOSEN,
        ),
        *(
            Misconception(
                f"always {said}",
                f"this follows {said}, whatever the classifier says; the class to follow is the one that has the "
                "greatest probability for the whole sentence",
                of_class(choose),
                breaks=DROPS,
            )
            for said, choose in (
                ("class 0", lambda whole: 0),
                ("class 1", lambda whole: 1),
                ("the last class", lambda whole: -1),
                ("the least likely class", lambda whole: int(whole.argmin())),
            )
        ),
        Misconception(
            "left out",
            "this takes the word out, and the words behind it move up; a classifier that knows places reads another "
            "order then: put padding, 0, where the word stood",
            when_changed(lambda words, place: torch.cat([words[:place], words[place + 1 :]])),
            breaks=IN_PLACE,
        ),
        Misconception(
            "hidden one after the other",
            "the words that were hidden stay hidden; begin each time from a fresh `words.clone()`",
            when_changed(lambda words, place: words.masked_fill(torch.arange(len(words)) <= place, 0)),
            breaks=DROPS,
        ),
        Misconception(
            "all others hidden",
            "this hides all words but one; hide one, and leave the others",
            when_changed(lambda words, place: words.masked_fill(torch.arange(len(words)) != place, 0)),
            breaks=DROPS,
        ),
        Misconception(
            "a word for padding",
            "this puts the word 1 where 0 belongs: padding is the word 0",
            when_changed(lambda words, place: words.masked_fill(torch.arange(len(words)) == place, 1)),
            breaks=DROPS,
        ),
        Misconception(
            "scores for probabilities",
            "this is the drop of the score; probabilities are asked for, the softmax over the classes",
            of_scores,
            breaks=DROPS,
        ),
        Misconception(
            "logarithms",
            "this is the drop of the logarithm of the probability; take the probability itself",
            measured(lambda whole, hidden: whole.max().log() - hidden[:, whole.argmax()].log()),
            breaks=DROPS,
        ),
        Misconception(
            "log-odds",
            "this is the drop of the log-odds, the measure of the chapter; here the drop of the probability is asked "
            "for, which serves any number of classes",
            measured(lambda whole, hidden: whole.max().logit() - hidden[:, whole.argmax()].logit()),
            breaks=DROPS,
        ),
        Misconception(
            "a rise",
            "this is the probability with the word hidden less that of the whole sentence; a drop is the other way "
            "round: above zero for a word that spoke for the class",
            lambda classify, words: -occlusion(classify, words),
            breaks=DROPS,
        ),
        Misconception(
            "what is left",
            "this is the probability that is left when a word is hidden; the drop is how much less that is than before",
            measured(lambda whole, hidden: hidden[:, whole.argmax()]),
            breaks=DROPS,
        ),
        Misconception(
            "a share of the probability",
            "this divides the drop by the probability of the whole sentence; the difference is asked for",
            measured(lambda whole, hidden: 1 - hidden[:, whole.argmax()] / whole.max()),
            breaks=DROPS,
        ),
        Misconception(
            "absolute values",
            "this takes absolute values; the probability rises where a word that spoke against the class is hidden, "
            "and the drop is then below zero",
            lambda classify, words: occlusion(classify, words).abs(),
            breaks=DROPS,
        ),
        Misconception(
            "drops below zero cut off",
            "this cuts off below zero; the probability rises where a word that spoke against the class is hidden, and "
            "the drop is then below zero",
            lambda classify, words: occlusion(classify, words).clamp(min=0),
            breaks=DROPS,
        ),
        Misconception(
            "all classes",
            "this gives the drop for every class, (time, classes); the chosen class alone is asked for",
            measured(lambda whole, hidden: whole - hidden),
            breaks=DROPS,
        ),
        Misconception(
            "all classes, summed",
            "this adds up how far the probabilities of all classes moved; the chosen class alone is asked for, with "
            "its sign",
            measured(lambda whole, hidden: (whole - hidden).abs().sum(1)),
            breaks=DROPS,
        ),
        Misconception(
            "softmax along the batch",
            "the softmax of the hidden sentences runs along the batch, so that the sentences compete; let it run along "
            "the classes, `dim=1`",
            softmax_along_the_batch,
            breaks=DROPS,
        ),
        Misconception(
            "sums to one",
            "this divides the drops by their sum, as if they were weights; they may be below zero, and their sum may "
            "be nothing: leave them as they are",
            lambda classify, words: occlusion(classify, words) / occlusion(classify, words).sum(),
            breaks=DROPS,
        ),
        Misconception(
            "nothing moved",
            "no word makes a difference here: perhaps the softmax runs along the batch, which has one sentence, or the "
            "whole sentence is compared with itself",
            lambda classify, words: torch.zeros(len(words)),
            breaks=DROPS,
        ),
        Misconception(
            "hidden in the caller's words",
            "this hides the words in the caller's own tensor, one after the other; change a fresh `words.clone()` each "
            "time",
            in_the_callers_words,
            breaks=DROPS,
        ),
    ),
)

OCCLUSION = Exercise(
    id="10.3",
    title="Occlusion against attention",
    difficulty=2,
    minutes=30,
    tasks=(DROP, AGREEMENT),
    hints=(
        "Hide one word, and ask again. Which number of the two answers do you compare, and which class was it that was "
        "chosen? For the agreement: how many pairs can be made of n words, and what does a pair say if both lists put "
        "it in the same order?",
        "Make the probabilities of the whole sentence and keep the class of the greatest. For each place, take a fresh "
        "copy with 0 there, and subtract the new probability of *that* class. For the agreement, go through the pairs "
        "i < j and add the product of the two signs; divide by the number of pairs.",
        "`classify(hidden[None]).softmax(dim=1)[0, chosen]` is the probability that is left, with `chosen` from the "
        "whole sentence. The sign of a pair is `torch.sign(drops[i] - drops[j])`, and n words have n (n - 1) / 2 of "
        "them.",
    ),
)

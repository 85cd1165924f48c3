"""10.3: what each word is worth to a classifier that is handed over, and whether two lists put words in one order."""

import torch

from course_lib.exercises.chapter_10._classifiers import POOLED, POSITIONS, classifier, right_for
from course_lib.exercises.drawing import normal, probabilities, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Given, Property, Task

MEAN_OF = f"4 * {POOLED}.clamp(min=1)"
COUNTS = Given(
    "ln 3 for class 1 with every word 1, and ln 3 less with every word 2",
    "lambda words: torch.stack([0.0 * words.sum(1), 1.0986123 * (1.0 * (words == 1) - 1.0 * (words == 2)).sum(1)], 1)",
)
BAG = classifier("four times the mean of the words", MEAN_OF.format("x"))
ATTENTION = classifier(
    "attention, then four times the mean of the words",
    MEAN_OF.format("(x @ x.mT).masked_fill(~present.mT, -torch.inf).softmax(-1).nan_to_num(0) @ x"),
)
IN_POSITION = classifier(
    "positions counted from the left, then four times the mean of the words",
    MEAN_OF.format(f"x * torch.cos({POSITIONS})[:, None]"),
)
FIRST_DECIDES = classifier(
    "class 0 where the first word is there, else class 1",
    "x.sum(1)[:, :2] / 8 + torch.where(present[:, 0], torch.tensor([3.0, 0.0]), torch.tensor([0.0, 3.0]))",
)


def occlusion(classify, words):
    """The drop of the probability of the class that is chosen for the whole sentence."""
    whole = classify(words[None]).softmax(1)[0]
    hidden = words.expand(len(words), -1).masked_fill(torch.eye(len(words)).bool(), 0)  # one word in each row
    left = classify(hidden).softmax(1)  # (time, classes)
    return whole.max() - left[:, whole.argmax()]


def draw_sentence(generator: torch.Generator) -> Case:
    """Draw a sentence without padding; the checks exchange the classifier."""
    [time] = sizes(generator, 7)
    return {"classify": BAG, "words": torch.randint(1, 100, (time,), generator=generator)}


def rank_agreement(drops, weights):
    """Pairs in the same order less pairs in opposite orders, over all pairs, each counted twice."""
    one, other = ((each[:, None] - each).sign() for each in (drops, weights))
    return (one * other).sum() / (len(drops) * (len(drops) - 1))


TIED = (
    ((0.5, 0.5, 0.25, 0.75), (0.25, 0.5, 0.75, 0.75)),
    ((0.25, -0.25, -0.25, 1.0, 1.0), (0.25, 0.5, 0.5, 0.125, 0.75)),
    ((0.5, 0.5, 0.25), (0.75, 0.5, 0.25)),
)


def draw_two_lists(generator: torch.Generator) -> Case:
    """Draw drops of both signs and weights that are related to them, and no ties."""
    time = sizes(generator, 7)[0] + 1
    drops = normal(generator, time) / 4
    weights = (3 * drops + normal(generator, time)).softmax(0) if time % 2 else probabilities(generator, time)
    return {"drops": drops, "weights": weights}


def right_with_ties(case: Case):
    """Lists in which some numbers are equal, in one list or in both."""
    size = case["weights"].max()
    replies = yield [{"drops": size * torch.tensor(one), "weights": size * torch.tensor(two)} for one, two in TIED]
    found = (difference(reply.arguments, reply.value, reply.expected) for reply in replies)
    return next(filter(None, found), None)


def stretched(case: Case) -> Case:
    """Exchange the numbers for others in the same order."""
    return {"drops": (8 * case["drops"]).exp() - 2, "weights": case["weights"].sqrt().sqrt()}


OCCLUSION_MISTAKES = """
class chosen anew => the class is that of the whole sentence, whichever it is
- drops.append(whole[chosen] - classify(hidden[None]).softmax(dim=1)[0, chosen])
+ drops.append(whole.max() - classify(hidden[None]).softmax(dim=1).max())
this takes the greatest probability of every sentence, whichever class it belongs to; where hiding a word changes the
chosen class, that is another class: choose once, for the whole sentence

class of the hidden sentence => the class is that of the whole sentence, whichever it is
+ left = classify(hidden[None]).softmax(dim=1)[0]
+ drops.append(whole[left.argmax()] - left.max())
this follows the class that is chosen when the word is hidden; choose once, for the whole sentence

always class 0 => the drop of the probability, word by word
- chosen = whole.argmax()
+ chosen = 0
this follows the same class, whatever the classifier says; the class to follow is the one that has the greatest
probability for the whole sentence

always class 1 => the drop of the probability, word by word
+ chosen = 1

always the last class => the drop of the probability, word by word
+ chosen = -1

always the least likely class => the drop of the probability, word by word
+ chosen = whole.argmin()
this follows the least likely class; the class to follow is the one that has the greatest probability for the whole
sentence

left out => the other words keep their positions
- hidden = words.clone()
- hidden[position] = 0
+ hidden = torch.cat([words[:position], words[position + 1 :]])
this takes the word out, and the words behind it move up; a classifier that knows positions reads another order then:
put padding, 0, where the word stood

hidden one after the other => the drop of the probability, word by word
- hidden[position] = 0
+ hidden[: position + 1] = 0
the words that were hidden stay hidden; begin each time from a fresh `words.clone()`

all others hidden => the drop of the probability, word by word
- hidden = words.clone()
- hidden[position] = 0
+ hidden = torch.zeros_like(words)
+ hidden[position] = words[position]
this hides all words but one; hide one, and leave the others

a word for padding => the drop of the probability, word by word
- hidden[position] = 0
+ hidden[position] = 1
this puts the word 1 where 0 belongs: padding is the word 0

logits for probabilities => the drop of the probability, word by word
- drops.append(whole[chosen] - classify(hidden[None]).softmax(dim=1)[0, chosen])
+ drops.append(classify(words[None])[0, chosen] - classify(hidden[None])[0, chosen])
this is the drop of the logit; probabilities are asked for, the softmax over the classes

logarithms => the drop of the probability, word by word
+ drops.append(whole[chosen].log() - classify(hidden[None]).softmax(dim=1)[0, chosen].log())
this is the drop of the logarithm of the probability; take the probability itself

log-odds => the drop of the probability, word by word
+ drops.append(whole[chosen].logit() - classify(hidden[None]).softmax(dim=1)[0, chosen].logit())
this is the drop of the log-odds, the measure of the chapter; here the drop of the probability is asked for, which
serves any number of classes

a rise => the drop of the probability, word by word
+ drops.append(classify(hidden[None]).softmax(dim=1)[0, chosen] - whole[chosen])
this is the probability with the word hidden less that of the whole sentence; a drop is the other way round: above zero
for a word that spoke for the class

what is left => the drop of the probability, word by word
+ drops.append(classify(hidden[None]).softmax(dim=1)[0, chosen])
this is the probability that is left when a word is hidden; the drop is how much less that is than before

a share of the probability => the drop of the probability, word by word
+ drops.append(1 - classify(hidden[None]).softmax(dim=1)[0, chosen] / whole[chosen])
this divides the drop by the probability of the whole sentence; the difference is asked for

absolute values => the drop of the probability, word by word
- return torch.stack(drops)
+ return torch.stack(drops).abs()
this takes absolute values; the probability rises where a word that spoke against the class is hidden, and the drop is
then below zero

drops below zero cut off => the drop of the probability, word by word
+ return torch.stack(drops).clamp(min=0)
this cuts off below zero; the probability rises where a word that spoke against the class is hidden, and the drop is
then below zero

all classes => the drop of the probability, word by word
- drops.append(whole[chosen] - classify(hidden[None]).softmax(dim=1)[0, chosen])
+ drops.append(whole - classify(hidden[None]).softmax(dim=1)[0])
this gives the drop for every class, (time, classes); the chosen class alone is asked for

all classes, summed => the drop of the probability, word by word
+ drops.append((whole - classify(hidden[None]).softmax(dim=1)[0]).abs().sum())
this adds up how far the probabilities of all classes moved; the chosen class alone is asked for, with its sign

softmax along the batch => the drop of the probability, word by word
- return torch.stack(drops)
+ hidden = words.repeat(len(words), 1).fill_diagonal_(0)
+ return whole[chosen] - classify(hidden).softmax(dim=0)[:, chosen]
the softmax of the hidden sentences runs along the batch, so that the sentences compete; let it run along the classes,
`dim=1`

sums to one => the drop of the probability, word by word
+ return torch.stack(drops) / torch.stack(drops).sum()
this divides the drops by their sum, as if they were weights; they may be below zero, and their sum may be nothing:
leave them as they are

nothing moved => the drop of the probability, word by word
+ return torch.zeros(len(words))
no word makes a difference here: perhaps the softmax runs along the batch, which has one sentence, or the whole sentence
is compared with itself

hidden in the caller's words => the drop of the probability, word by word
- hidden = words.clone()
+ hidden = words
this hides the words in the caller's own tensor, one after the other; change a fresh `words.clone()` each time

left out, but for a single word => the other words keep their positions
- hidden = words.clone()
- hidden[position] = 0
+ others = torch.cat([words[:position], words[position + 1 :]])
+ hidden = others if len(others) else torch.zeros_like(words)
this takes the word out, and the words behind it move up; a classifier that knows positions reads another order then:
put padding, 0, where the word stood
"""

AGREEMENT_MISTAKES = """
the numbers correlated => the order alone counts, not how far apart
- return total / pairs
+ one, other = drops - drops.mean(), weights - weights.mean()
+ return (one * other).sum() / (one.norm() * other.norm())
this is the correlation of the numbers, to which it matters how far apart they are; the agreement asks of each pair only
which one is greater

the cosine => the order alone counts, not how far apart
+ return (drops * weights).sum() / (drops.norm() * weights.norm())
this is the cosine of the two lists; the agreement asks of each pair only which one is greater

differences multiplied => the order alone counts, not how far apart
- total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
+ total += (drops[i] - drops[j]) * (weights[i] - weights[j])
this multiplies the differences of a pair; take the sign of each first

ranks correlated => pairs in the same order less pairs in opposite orders
- return total / pairs
+ one, other = (each.argsort(stable=True).argsort(stable=True).float() for each in (drops, weights))
+ one, other = one - one.mean(), other - other.mean()
+ return (one * other).sum() / (one.norm() * other.norm())
this is the correlation of the ranks (Spearman's); the agreement here counts pairs (Kendall's)

share of the pairs => pairs in the same order less pairs in opposite orders
- total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
+ total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j]) > 0
this is the fraction of pairs in the same order, from 0 to 1; the pairs in opposite orders are to be taken off

share of the pairs, equal ones included => pairs in the same order less pairs in opposite orders
+ total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j]) >= 0
this is the fraction of pairs that are not in opposite orders, from 0 to 1; count those in the same order, and take off
those in opposite orders

pairs counted twice => pairs in the same order less pairs in opposite orders
- return total / pairs
+ return 2 * total / pairs
the sum meets every pair twice, as i, j and as j, i, and the divisor counts it once: the greatest agreement would be 2

pairs counted once, divided by twice as many => pairs in the same order less pairs in opposite orders
+ return total / (len(drops) * (len(drops) - 1))
the sum meets every pair once, and the divisor n (n - 1) counts it twice: the greatest agreement would be a half

each word with itself => pairs in the same order less pairs in opposite orders
+ return 2 * total / len(drops) ** 2
this divides by all n times n pairs, a word with itself included; n words have n (n - 1) / 2 pairs

not divided => pairs in the same order less pairs in opposite orders
+ return total
this is the number of pairs in the same order less that in opposite orders; divide by the number of pairs

neighbours only => pairs in the same order less pairs in opposite orders
- for j in range(i + 1, len(drops)):
+ for j in range(i + 1, min(i + 2, len(drops))):
this compares each word with the next one alone; all pairs count

absolute drops => pairs in the same order less pairs in opposite orders
- total, pairs = torch.zeros(()), 0
+ drops, total, pairs = drops.abs(), torch.zeros(()), 0
this takes the absolute value of the drops; a word below zero speaks against the class and comes last

the sign turned round => pairs in the same order less pairs in opposite orders
- return total / pairs
+ return -total / pairs
this takes the pairs in the same order off those in opposite orders: two equal lists would have -1

argsort taken for ranks => pairs in the same order less pairs in opposite orders
- total, pairs = torch.zeros(()), 0
+ drops, weights = drops.argsort(stable=True), weights.argsort(stable=True)
+ total, pairs = torch.zeros(()), 0
`argsort` tells which word comes first, which second; that is not the rank of each word: compare the numbers themselves

the same places => pairs in the same order less pairs in opposite orders
- return total / pairs
+ return (drops.argsort(stable=True) == weights.argsort(stable=True)).float().mean()
this compares the words position by position in the sorted lists; ask of each pair of words which is greater

equal ones put in order => a pair of equal numbers counts for neither
- total, pairs = torch.zeros(()), 0
+ drops, weights = (each.argsort(stable=True).argsort(stable=True) for each in (drops, weights))
+ total, pairs = torch.zeros(()), 0
this puts equal numbers in an order, as `argsort` twice does, or `drops[i] > drops[j]` where equal looks like less; a
pair of equal numbers counts for neither side

equal ones as agreement => a pair of equal numbers counts for neither
- total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
+ total += 1 if torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j]) >= 0 else -1
this counts a pair of equal numbers as one in the same order; it counts for neither side

equal ones as disagreement => a pair of equal numbers counts for neither
+ total += 1 if torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j]) > 0 else -1
this counts a pair of equal numbers as one in opposite orders; it counts for neither side

two equal ones taken for the greater => a pair of equal numbers counts for neither
+ total += 1 if (drops[i] < drops[j]) == (weights[i] < weights[j]) else -1
this compares truth values, `drops[i] < drops[j]` with `weights[i] < weights[j]`, in which equal looks like more; a pair
of equal numbers counts for neither side

equal ones not among the pairs => a pair of equal numbers counts for neither
- pairs += 1
+ pairs += (drops[i] != drops[j]) & (weights[i] != weights[j])
this divides by the pairs that are not equal; divide by all of them, so that a list of equal numbers agrees with nothing

equal ones allowed for, list by list => a pair of equal numbers counts for neither
- return total / pairs
+ one, other = ((each[:, None] != each).sum() / 2 for each in (drops, weights))
+ return total / (one * other).sqrt()
this divides by less where numbers are equal, as `scipy.stats.kendalltau` does; divide by the number of all pairs

ranks correlated, equal ones of one rank => pairs in the same order less pairs in opposite orders
- return total / pairs
+ one, other = ((each[:, None] > each).sum(dim=1).float() for each in (drops, weights))
+ one, other = one - one.mean(), other - other.mean()
+ return (one * other).sum() / (one.norm() * other.norm()).clamp(min=1e-12)
this is the correlation of the ranks (Spearman's); the agreement here counts pairs (Kendall's)

ranks correlated, equal ones of their mean rank => pairs in the same order less pairs in opposite orders
+ one, other = ((each[:, None] - each).sign().sum(dim=1) for each in (drops, weights))
+ return (one * other).sum() / (one.norm() * other.norm()).clamp(min=1e-12)

ranks correlated, equal ones of their mean rank, 0 / 0 => pairs in the same order less pairs in opposite orders
+ one, other = ((each[:, None] - each).sign().sum(dim=1) for each in (drops, weights))
+ return (one * other).sum() / (one.norm() * other.norm())

equal ones allowed for, list by list, 0 for 0 / 0 => a pair of equal numbers counts for neither
+ one, other = ((each[:, None] != each).sum() / 2 for each in (drops, weights))
+ return total / (one * other).sqrt().clamp(min=1e-12)
this divides by less where numbers are equal, as `scipy.stats.kendalltau` does; divide by the number of all pairs

close ones taken for equal => pairs in the same order less pairs in opposite orders
- total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
+ one, other = drops[i] - drops[j], weights[i] - weights[j]
+ total += torch.sign(one) * torch.sign(other) * (one.abs() > 1e-6) * (other.abs() > 1e-6)
this takes numbers for equal that lie close together; the order alone counts, however small the difference is

equal ones not among the pairs, 0 for none => a pair of equal numbers counts for neither
- return total / pairs
+ untied = (drops[:, None] != drops) & (weights[:, None] != weights)
+ return 2 * total / untied.sum().clamp(min=1)
this divides by the pairs that are not equal; divide by all of them, so that a list of equal numbers agrees with nothing

equal ones as disagreement, by the product => a pair of equal numbers counts for neither
- total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
+ total += 1 if (drops[i] - drops[j]) * (weights[i] - weights[j]) > 0 else -1
this counts a pair of equal numbers as one in opposite orders; it counts for neither side

equal ones as agreement, by the product => a pair of equal numbers counts for neither
+ total += 1 if (drops[i] - drops[j]) * (weights[i] - weights[j]) >= 0 else -1
this counts a pair of equal numbers as one in the same order; it counts for neither side

the sign of the product => pairs in the same order less pairs in opposite orders
- total += torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
+ total += torch.sign((drops[i] - drops[j]) * (weights[i] - weights[j]))
this multiplies the two differences and then takes the sign; the product of two tiny numbers is rounded to 0: take the
sign of each first
"""

EXERCISE = Exercise(
    title="Occlusion against attention",
    difficulty=2,
    minutes=30,
    tasks=(
        Task(
            function="occlusion",
            parameters=("classify", "words"),
            returns="by how much the probability of the chosen class falls when each word is hidden, shape (time,)",
            cases=draw_sentence,
            examples=(
                {"classify": COUNTS, "words": torch.tensor([1, 2, 1])},
                {"classify": COUNTS, "words": torch.tensor([5, 2])},
            ),
            edges=(
                {"classify": COUNTS, "words": torch.tensor([2])},  # a single word, against which class 0 is chosen
                {
                    "classify": COUNTS,
                    "words": torch.tensor([1, 1, 1]),
                },  # the same word three times: each is hidden by itself
                {"classify": BAG, "words": torch.tensor([7])},
            ),
            reference=occlusion,
            properties=(
                Property(
                    "the drop of the probability, word by word",
                    2,
                    both(right_for(COUNTS, BAG, ATTENTION), inputs_unchanged),
                ),
                Property("the class is that of the whole sentence, whichever it is", 1, right_for(FIRST_DECIDES)),
                Property("the other words keep their positions", 1, right_for(IN_POSITION)),
            ),
            mistakes=OCCLUSION_MISTAKES,
        ),
        Task(
            function="rank_agreement",
            parameters=("drops", "weights"),
            returns="how far both agree on the order of the words, from -1 to 1, a tensor of shape ()",
            cases=draw_two_lists,
            examples=(
                {"drops": torch.tensor([0.4, 0.1, -0.2]), "weights": torch.tensor([0.3, 0.5, 0.2])},
                {
                    "drops": torch.tensor([0.25, -0.15, 0.5, 0.25]),
                    "weights": torch.tensor([0.25, 0.125, 0.25, 0.375]),
                },
            ),
            edges=(
                {"drops": torch.tensor([0.5, -0.5]), "weights": torch.tensor([0.25, 0.75])},  # one pair
                {
                    "drops": torch.tensor([0.5, 0.5, 0.5]),
                    "weights": torch.tensor([0.25, 0.5, 0.25]),
                },  # all equal in one list
                {"drops": torch.tensor([0.0, 0.0]), "weights": torch.tensor([0.5, 0.5])},  # and in both
                # Close together, and not equal.
                {"drops": torch.tensor([3e-9, 1e-9, 2e-9]), "weights": torch.tensor([4e-9, 1e-9, 5e-9])},
                # So small that the product of two of them is 0 in float32.
                {"drops": torch.tensor([3e-25, 1e-25, 2e-25]), "weights": torch.tensor([4e-25, 1e-25, 5e-25])},
            ),
            reference=rank_agreement,
            properties=(
                Property("pairs in the same order less pairs in opposite orders", 2, both(equals(), inputs_unchanged)),
                Property("the order alone counts, not how far apart", 1, on(stretched, equals())),
                Property("a pair of equal numbers counts for neither", 1, right_with_ties),
            ),
            mistakes=AGREEMENT_MISTAKES,
        ),
    ),
    hints=(
        "Hide one word, and ask again. Which number of the two answers do you compare, and which class was it that was "
        "chosen? For the agreement: how many pairs can be made of n words, and what does a pair say if both lists put "
        "it in the same order?",
        "Make the probabilities of the whole sentence and keep the class of the greatest. For each position, take a "
        "fresh copy with 0 there, and subtract the new probability of *that* class. For the agreement, go through the "
        "pairs i < j and add the product of the two signs; divide by the number of pairs.",
        "`classify(hidden[None]).softmax(dim=1)[0, chosen]` is the probability that is left, with `chosen` from the "
        "whole sentence. The sign of a pair is `torch.sign(drops[i] - drops[j])`, and n words have n (n - 1) / 2 of "
        "them.",
    ),
)

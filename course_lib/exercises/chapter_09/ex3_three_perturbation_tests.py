"""09.3: models are handed over, and the answers say what may move their logits."""

import torch
from torch.nn.functional import pad

from course_lib.exercises.chapter_09._models import (
    BARELY_FUTURE,
    BARELY_PADDING,
    BARELY_SOURCE,
    COUNTS,
    COUNTS_ALL,
    COUNTS_PADDING,
    FAINT_FUTURE,
    FAINT_PADDING,
    FAINT_SOURCE,
    FIRST_ALONE,
    FIRST_SENTENCE_READS,
    FROM_THE_END,
    FULL,
    FUTURE_LATER,
    LENGTH_ALONE,
    MEAN_OVER_ALL,
    NEIGHBOUR,
    NEXT_WORD,
    NO_CAUSAL_MASK,
    NO_SOURCE,
    PADDING_FIRST,
    PADDING_IN_ENCODER,
    PADDING_LOWERS,
    PADDING_ONCE,
    PADDING_READ,
    PADDING_READ_LATER,
    PADDING_TURNS,
    PAIRS,
    PAIRS_FROM_ONE,
    READ_ONCE,
    ROLLED,
    ROUNDED,
    SOURCE,
    THREE_SOURCES,
    THREE_WORDS,
    THREE_WORDS_ALL,
    TO_THE_PADDING,
    TWOS,
    TWOS_IN_SOURCE,
    WORDS,
    draw_sentences,
    tells_apart,
)
from course_lib.grading.checks import both, inputs_unchanged
from course_lib.grading.exercise import Exercise, Property, Task

SAME = 1e-4  # what the statement takes for rounding


def another(tokens, logits):
    """Other words than these, of a vocabulary of which there are logits."""
    return 1 + tokens % (logits.shape[-1] - 1)


def hides_the_future(model, source, words):
    """Whether nothing moves before the words that are replaced, wherever these begin."""
    before = model(source, words)
    steps = torch.arange(words.shape[1])
    changed = [(step, torch.where(steps < step, words, another(words, before))) for step in steps[1:]]
    gaps = [(model(source, other) - before)[:, :step].abs().max() for step, other in changed]
    return torch.stack(gaps).max() <= SAME


def moved_by_each_word(model, source, words):
    """For every word of every source, whether its own sentence moves when it is replaced."""
    before, moved = model(source, words), []
    for sentence, position in source.nonzero().tolist():
        other = source.clone()
        other[sentence, position] = another(source[sentence, position], before)
        moved.append((model(other, words) - before)[sentence].abs().max() > SAME)
    return torch.stack(moved)


def reads_the_source(model, source, words):
    """Whether each word of the source moves its sentence."""
    return moved_by_each_word(model, source, words).all()


def ignores_the_padding(model, source, words):
    """Whether two more columns of padding move nothing."""
    return (model(pad(source, (0, 2)), words) - model(source, words)).abs().max() <= SAME


FUTURE_MISTAKES = """
a step may not see the word that it reads => accepts causal models, rejects those that see the whole target
- gap = (model(source, changed) - before)[:, :step]
+ gap = (model(source, changed) - before)[:, : step + 1]
this rejects every model: it wants logits to stay where they may move; the word at position t is what step t *reads*, so
with the words from t on replaced, the logits of the steps before t stay, `[:, :t]`

the past replaced => accepts causal models, rejects those that see the whole target
- changed[:, step:] = 1 + words[:, step:] % (before.shape[-1] - 1)
- gap = (model(source, changed) - before)[:, :step]
+ changed[:, :step] = 1 + words[:, :step] % (before.shape[-1] - 1)
+ gap = (model(source, changed) - before)[:, step:]
this replaces earlier words and wants the logits of later steps to stay, which they must not; replace later words and
look at earlier steps

nothing compared => accepts causal models, rejects those that see the whole target
- if gap.abs().max() > 1e-4:
- return False
this accepts every model; look at how far the logits of the steps *before* the replaced words have moved

the source replaced too => accepts causal models, rejects those that see the whole target
- gap = (model(source, changed) - before)[:, :step]
+ gap = (model(1 + source % (before.shape[-1] - 1), changed) - before)[:, :step]
this replaces the source as well, which may move every logit; keep the source as it is

the last word only => finds a step that sees a single later word, whichever
- for step in range(1, words.shape[1]):
+ for step in [words.shape[1] - 1]:
this replaces the last word alone, and lets a model pass in which position 0 sees position 1 and position 2 sees
position 3: replace from every position on, one after the other

the first step only => finds a step that sees a single later word, whichever
+ for step in [1]:
this looks at the first step alone, and lets a model pass in which position 1 sees position 2: cut at every position

the step before only => finds a step that sees a single later word, whichever
- changed[:, step:] = 1 + words[:, step:] % (before.shape[-1] - 1)
- gap = (model(source, changed) - before)[:, :step]
+ changed[:, step] = 1 + words[:, step] % (before.shape[-1] - 1)
+ gap = (model(source, changed) - before)[:, step - 1]
this looks only at the step before the word that was replaced, and lets a model pass in which the first position sees
the last; look at all steps before it

the same words in another order => accepts causal models, rejects those that see the whole target
- changed[:, step:] = 1 + words[:, step:] % (before.shape[-1] - 1)
+ changed[:, step:] = words[:, step:].flip(1)
this puts the later words in another order, and lets a model pass that counts all of them: replace them by other words

movements that cancel => accepts causal models, rejects those that see the whole target
- if gap.abs().max() > 1e-4:
+ if gap.mean().abs() > 1e-4:
this looks at the mean movement, and where one logit rises as another falls they cancel; look at the largest absolute
one

the most probable word => finds small influences, and accepts models with another fault
- gap = (model(source, changed) - before)[:, :step]
+ gap = (model(source, changed).argmax(dim=-1) - before.argmax(dim=-1))[:, :step]
this compares the words with the largest logits: a leak that does not yet turn the choice stays unseen; compare the
logits

everything is rounding => finds small influences, and accepts models with another fault
- if gap.abs().max() > 1e-4:
+ if gap.abs().max() > 0.2:
this takes so large a movement for rounding that a model passes that sees a fiftieth of the last word; 0.0001 is enough

turned round => accepts causal models, rejects those that see the whole target
= lambda **named: ~hides_the_future(**named)
this is True where the future is seen; True was asked for where it is hidden

the movement itself => accepts causal models, rejects those that see the whole target
- if gap.abs().max() > 1e-4:
- return False
+ return gap.abs().max()
this is how far a logit moved, a number; asked for is the verdict, True or False

words overwritten => accepts causal models, rejects those that see the whole target
- changed = words.clone()
+ changed = words
this writes other words into the caller's own tensor, which the next test would then read; change a copy

a sum that cancels => accepts causal models, rejects those that see the whole target
- if gap.abs().max() > 1e-4:
+ if gap.sum().abs() > 1e-4:
this sums the movements with their signs, and where one logit rises as another falls they cancel; look at the largest
absolute one

words overwritten, from the end => accepts causal models, rejects those that see the whole target
- for step in range(1, words.shape[1]):
- changed = words.clone()
- changed[:, step:] = 1 + words[:, step:] % (before.shape[-1] - 1)
+ for step in range(words.shape[1] - 1, 0, -1):
+     changed = words
+     changed[:, step] = 1 + words[:, step] % (before.shape[-1] - 1)
this writes other words into the caller's own tensor, which the next test would then read; change a copy

falling logits not looked at => finds a step that sees a single later word, whichever
- if gap.abs().max() > 1e-4:
+ if gap.max() > 1e-4:
the absolute value is missing: a later word that only lowers logits is not found

the first sentence only => finds a step that sees a single later word, whichever
- gap = (model(source, changed) - before)[:, :step]
+ gap = (model(source, changed) - before)[:1, :step]
this looks at the first sentence alone, and lets a model pass that shows the future to another; compare the logits of
all sentences

exact equality => finds small influences, and accepts models with another fault
- if gap.abs().max() > 1e-4:
+ if gap.abs().max() > 0:
this asks for equality to the last digit, and turns away a model that is only rounded in another way; allow a change of
0.0001

one word for all => accepts causal models, rejects those that see the whole target
- changed[:, step:] = 1 + words[:, step:] % (before.shape[-1] - 1)
+ changed[:, step:] = 1
this replaces every word by the same one, and where that word stood already nothing is changed; choose another word than
the one that stands there

the next word allowed => accepts causal models, rejects those that see the whole target
- for step in range(1, words.shape[1]):
- changed = words.clone()
- changed[:, step:] = 1 + words[:, step:] % (before.shape[-1] - 1)
- gap = (model(source, changed) - before)[:, :step]
- if gap.abs().max() > 1e-4:
+ for step in range(2, words.shape[1]):
+     changed = words.clone()
+     changed[:, step:] = 1 + words[:, step:] % (before.shape[-1] - 1)
+     gap = (model(source, changed) - before)[:, : step - 1]
+     if gap.abs().max() > 1e-4:
this does not look at the step directly before the replaced words, and a model passes that sees one word ahead: where
the words from `step` on are replaced, all logits before them stay, `[:, :step]`, from step 1 on
"""

FUTURE = Task(
    function="hides_the_future",
    parameters=("model", "source", "words"),
    returns="True where no logit at a step depends on a later word of the target, else False",
    cases=draw_sentences,
    examples=(
        {"model": COUNTS, "source": SOURCE, "words": WORDS},
        {"model": COUNTS_ALL, "source": FULL, "words": WORDS},
    ),
    edges=(
        # Three words, two steps: another word must be another one here as well.
        {"model": THREE_WORDS_ALL, "source": THREE_SOURCES, "words": torch.tensor([[1, 1], [2, 1], [1, 1]])},
        # Whatever replaces a later word, logits fall and none rises.
        {"model": TWOS, "source": torch.tensor([[2], [3], [1]]), "words": torch.tensor([[2, 2], [2, 2], [2, 2]])},
        # Less than 0.0001 is rounding.
        {"model": BARELY_FUTURE, "source": THREE_SOURCES, "words": torch.tensor([[1, 2], [3, 2], [4, 1]])},
    ),
    reference=hides_the_future,
    properties=(
        Property(
            "accepts causal models, rejects those that see the whole target",
            1,
            both(inputs_unchanged, tells_apart(right=(COUNTS,), faulty=(COUNTS_ALL, NO_CAUSAL_MASK))),
        ),
        Property(
            "finds a step that sees a single later word, whichever",
            1,
            tells_apart(right=(), faulty=(NEXT_WORD, PAIRS, PAIRS_FROM_ONE, ROLLED, FUTURE_LATER)),
        ),
        Property(
            "finds small influences, and accepts models with another fault",
            1,
            tells_apart(right=(NO_SOURCE, PADDING_READ), faulty=(FAINT_FUTURE,)),
        ),
    ),
    mistakes=FUTURE_MISTAKES,
)

SOURCE_MISTAKES = """
one word is enough => rejects models that read one word, or the length alone
= lambda **named: moved_by_each_word(**named).any()
this is content with one word that counts, and a model passes that reads the first word alone: replace each word of each
source by itself, and want every one to move something

all words at once => rejects models that read one word, or the length alone
- changed = source.clone()
- changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
+ changed = torch.where(source != 0, 1 + source % (before.shape[-1] - 1), 0)
this replaces all words of the source at once, and a model passes that reads the first alone; replace one at a time

words erased => rejects models that read one word, or the length alone
- changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
+ changed[sentence, position] = 0
this puts padding for a word, and a model passes that does no more than count the words; put another word

another order => accepts models that read, rejects one that does not
+ changed = source.flip(1)
this puts the source in another order, to which a model may be blind that reads every word; replace the words, one at a
time

all sentences at once => each sentence reads its own source, even at one step or with a small influence
+ changed[:, position] = torch.where(source[:, position] != 0, 1 + source[:, position] % (before.shape[-1] - 1), 0)
this replaces words of all sentences at once, and a model passes that gives each sentence the source of another; change
one sentence, and look at its logits

the first sentence only => each sentence reads its own source, even at one step or with a small influence
- for sentence, position in source.nonzero().tolist():
+ for sentence, position in source[:1].nonzero().tolist():
this replaces words of the first sentence alone, and a model passes in which the others do not read their sources: take
every word of every source

any sentence => each sentence reads its own source, even at one step or with a small influence
- gap = (model(changed, words) - before)[sentence]
+ gap = model(changed, words) - before
this is content where the logits of *any* sentence move, and a model passes that gives each sentence the source of
another; look at the sentence whose word was replaced

the last step only => each sentence reads its own source, even at one step or with a small influence
+ gap = (model(changed, words) - before)[sentence, -1]
a model that reads the source at the first step alone is rejected, as where the last step, or every step, is asked to
move: any step will do

words of the target => accepts models that read, rejects one that does not
+ gap = model(source, 1 + words % (before.shape[-1] - 1)) - before
this replaces words of the target, and a model passes that never reads the source; replace words of `source`

movements that cancel => accepts models that read, rejects one that does not
- if gap.abs().max() <= 1e-4:
+ if gap.mean().abs() <= 1e-4:
this looks at the mean movement, and where one logit rises as another falls they cancel; look at the largest absolute
one

the most probable word => each sentence reads its own source, even at one step or with a small influence
- gap = (model(changed, words) - before)[sentence]
+ gap = (model(changed, words).argmax(dim=-1) - before.argmax(dim=-1))[sentence]
this compares the words with the largest logits, and rejects models whose choice happens not to turn; compare the logits

everything is rounding => each sentence reads its own source, even at one step or with a small influence
- if gap.abs().max() <= 1e-4:
+ if gap.abs().max() <= 0.2:
this takes so large a movement for rounding that a model that reads faintly is rejected; 0.0001 is enough

turned round => accepts models that read, rejects one that does not
= lambda **named: ~reads_the_source(**named)
this is True where a word of the source has no influence; True was asked for where all have one

the movement itself => accepts models that read, rejects one that does not
- if gap.abs().max() <= 1e-4:
- return False
+ return gap.abs().max()
this is how far a logit moved, a number; asked for is the verdict, True or False

falling logits not looked at => accepts models that read, rejects one that does not
- if gap.abs().max() <= 1e-4:
+ if gap.max() <= 1e-4:
the absolute value is missing: a word of the source may lower logits alone, and it is read all the same

exact equality => each sentence reads its own source, even at one step or with a small influence
- if gap.abs().max() <= 1e-4:
+ if gap.abs().max() <= 0:
this takes every difference for an influence, also one of rounding; a logit has to change by more than 0.0001

padding replaced too => accepts models that read, rejects one that does not
- for sentence, position in source.nonzero().tolist():
+ for sentence, position in (source >= 0).nonzero().tolist():
this puts words where padding stands, too, and turns away a model that reads no further than the first padding; padding
is no word of the source: replace words alone

all words of a sentence at once => rejects models that read one word, or the length alone
- for sentence, position in source.nonzero().tolist():
- changed = source.clone()
- changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
+ for sentence in range(len(source)):
+     changed = source.clone()
+     changed[sentence] = torch.where(source[sentence] != 0, 1 + source[sentence] % (before.shape[-1] - 1), 0)
this replaces all words of a sentence at once, and a model passes that reads the first alone; replace one word at a time

words erased, until none is left => accepts models that read, rejects one that does not
- changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
- gap = (model(changed, words) - before)[sentence]
- if gap.abs().max() <= 1e-4:
+ changed[sentence, position] = 0
+ gap = (model(changed, words) - before)[sentence]
+ if not (gap.abs() > 1e-4).any():
this puts padding for a word: a model passes that does no more than count the words, and of a sentence of one word
nothing is left that a right model could read; put another word

one word of each sentence is enough => rejects models that read one word, or the length alone
- for sentence, position in source.nonzero().tolist():
- changed = source.clone()
- changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
- gap = (model(changed, words) - before)[sentence]
- if gap.abs().max() <= 1e-4:
- return False
- return True
+ found = [False] * len(source)
+ for sentence, position in source.nonzero().tolist():
+     changed = source.clone()
+     changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
+     gap = (model(changed, words) - before)[sentence]
+     found[sentence] |= bool(gap.abs().max() > 1e-4)
+ return all(found)
this is content where a single word of a sentence has an influence; every word that is no padding must have one: return
False at the first that has none
"""

READS = Task(
    function="reads_the_source",
    parameters=("model", "source", "words"),
    returns="True where every word of a source can change the logits of its own sentence, else False",
    cases=draw_sentences,
    examples=(
        {"model": COUNTS, "source": SOURCE, "words": WORDS},
        {"model": NO_SOURCE, "source": FULL, "words": WORDS},
    ),
    edges=(
        # Three words, and a single one in each source; one step.
        {"model": THREE_WORDS, "source": torch.tensor([[1], [1], [2]]), "words": torch.tensor([[1], [2], [1]])},
        # Two paddings: a word behind one of them is none that a model has to read.
        {"model": COUNTS, "source": torch.tensor([[2, 3, 1], [3, 0, 0]]), "words": torch.tensor([[1], [2]])},
        # Whatever replaces a word of the source, logits fall and none rises.
        {
            "model": TWOS_IN_SOURCE,
            "source": torch.tensor([[2, 2], [2, 0], [2, 2]]),
            "words": torch.tensor([[1], [2], [1]]),
        },
        # The same word twice in a source.
        {
            "model": THREE_WORDS,
            "source": torch.tensor([[1, 1], [2, 0], [2, 1]]),
            "words": torch.tensor([[1], [2], [1]]),
        },
        # Less than 0.0001 is rounding.
        {"model": BARELY_SOURCE, "source": THREE_SOURCES, "words": torch.tensor([[1, 2], [3, 2], [4, 1]])},
    ),
    reference=reads_the_source,
    properties=(
        Property(
            "accepts models that read, rejects one that does not",
            1,
            both(inputs_unchanged, tells_apart(right=(COUNTS, NO_CAUSAL_MASK, TO_THE_PADDING), faulty=(NO_SOURCE,))),
        ),
        Property(
            "rejects models that read one word, or the length alone",
            1,
            tells_apart(right=(), faulty=(FIRST_ALONE, LENGTH_ALONE)),
        ),
        Property(
            "each sentence reads its own source, even at one step or with a small influence",
            1,
            tells_apart(right=(READ_ONCE, FAINT_SOURCE), faulty=(NEIGHBOUR, FIRST_SENTENCE_READS)),
        ),
    ),
    mistakes=SOURCE_MISTAKES,
)

PADDING_MISTAKES = """
words for padding => accepts models that hide the padding, rejects those that read it, wherever it enters
- longer = torch.nn.functional.pad(source, (0, 2))
+ longer = torch.where(source == 0, 2, source)
this puts words where padding stood, and then it is padding no more: a right model reads them; add columns of padding
instead: the logits must stay what they are without them

words added => accepts models that hide the padding, rejects those that read it, wherever it enters
+ longer = torch.nn.functional.pad(source, (0, 1), value=1)
this changes the words of the source, which a right model reads: words are added at its end, or its last column is cut
off, a word where a sentence fills its row; add columns of padding, the number 0

padding in front => accepts models that hide the padding, rejects those that read it, wherever it enters
+ longer = torch.nn.functional.pad(source, (1, 0))
this puts padding in front, which moves every word to another position, and a right model may mind; add it at the end

the target padded => accepts models that hide the padding, rejects those that read it, wherever it enters
- gap = model(longer, words) - model(source, words)
+ longer = torch.nn.functional.pad(words, (0, 2))
+ gap = model(source, longer)[:, : words.shape[1]] - model(source, words)
this adds padding to the words of the target, and a model passes that reads the padding of the source

a sentence of padding => accepts models that hide the padding, rejects those that read it, wherever it enters
- longer = torch.nn.functional.pad(source, (0, 2))
+ longer = source
this adds a sentence (a row) or nothing at all, and so accepts every model; the columns are axis 1, `pad(source, (0,
2))`

exact equality => accepts rounding, finds small influences, and accepts models with another fault
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap.abs().max() <= 0)
this asks for equality to the last digit; with more positions a right model may be rounded otherwise: allow a movement
of 0.0001

the first sentence only => accepts rounding, finds small influences, and accepts models with another fault
+ return bool(gap[0].abs().max() <= 1e-4)
this compares the first sentence alone, and a model passes that reads the padding of the others; compare the logits of
all sentences

movements that cancel => accepts rounding, finds small influences, and accepts models with another fault
+ return bool(gap.mean().abs() <= 0.1)
this looks at the mean movement, and where one logit rises as another falls they cancel; look at the largest absolute
one

the most probable word => accepts rounding, finds small influences, and accepts models with another fault
- gap = model(longer, words) - model(source, words)
+ gap = model(longer, words).argmax(dim=-1) - model(source, words).argmax(dim=-1)
this compares the words with the largest logits: padding that does not yet turn the choice stays unseen; compare the
logits

everything is rounding => accepts rounding, finds small influences, and accepts models with another fault
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap.abs().max() <= 0.2)
this takes so large a movement for rounding that a model passes that reads a twentieth of the padding; 0.0001 is enough

turned round => accepts models that hide the padding, rejects those that read it, wherever it enters
+ return bool(gap.abs().max() > 1e-4)
this is True where padding moves the logits; True was asked for where it moves nothing

the movement itself => accepts models that hide the padding, rejects those that read it, wherever it enters
+ return gap.abs().max()
this is how far a logit moved, a number; asked for is the verdict, True or False

movements that cancel, to 0.0001 => accepts rounding, finds small influences, and accepts models with another fault
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap.mean().abs() <= 1e-4)
this averages or sums the movements with their signs, and where one logit rises as another falls they cancel; look at
the largest absolute one

falling logits not looked at => accepts rounding, finds small influences, and accepts models with another fault
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap.max() <= 1e-4)
the absolute value is missing: padding that only lowers logits is not found

the mean movement => accepts rounding, finds small influences, and accepts models with another fault
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap.abs().mean() <= 1e-4)
this averages the movements, and one logit that moves disappears among many that stay; look at the largest absolute one

the last step only => accepts rounding, finds small influences, and accepts models with another fault
- return bool(gap.abs().max() <= 1e-4)
+ return bool(gap[:, -1].abs().max() <= 1e-4)
this looks at the last step alone, and a model passes whose logits padding moves at an earlier one; compare the logits
of all steps

padding taken away => accepts models that hide the padding, rejects those that read it, wherever it enters
- longer = torch.nn.functional.pad(source, (0, 2))
- gap = model(longer, words) - model(source, words)
+ lengths = (source != 0).sum(dim=1).tolist()
+ alone = [model(source[b : b + 1, :n], words[b : b + 1])[0] for b, n in enumerate(lengths)]
+ gap = torch.stack(alone) - model(source, words)
this only takes padding away, and where a source has none nothing is tested; *add* padding to every source

exact equality, padding doubled => accepts rounding, finds small influences, and accepts models with another fault
- longer = torch.nn.functional.pad(source, (0, 2))
- gap = model(longer, words) - model(source, words)
- return bool(gap.abs().max() <= 1e-4)
+ longer = torch.cat([source, torch.zeros_like(source)], dim=1)
+ return torch.equal(model(longer, words), model(source, words))
this asks for equality to the last digit; with more positions a right model may be rounded otherwise: allow a movement
of 0.0001
"""

PADDING = Task(
    function="ignores_the_padding",
    parameters=("model", "source", "words"),
    returns="True where more padding at the end of the source changes no logit, else False",
    cases=draw_sentences,
    examples=(
        {"model": COUNTS_PADDING, "source": SOURCE, "words": WORDS},
        {"model": COUNTS, "source": FULL, "words": WORDS},
    ),
    edges=(
        # Padding lowers logits and raises none; sources of one word, one step.
        {"model": PADDING_LOWERS, "source": torch.tensor([[2], [3], [1]]), "words": torch.tensor([[1], [2], [1]])},
        # Padding raises one logit as much as it lowers another.
        {"model": PADDING_TURNS, "source": torch.tensor([[2], [3], [1]]), "words": torch.tensor([[1], [2], [1]])},
        # Less than 0.0001 is rounding.
        {
            "model": BARELY_PADDING,
            "source": torch.tensor([[2, 1], [3, 1], [1, 4]]),
            "words": torch.tensor([[1], [2], [1]]),
        },
        {"model": COUNTS, "source": torch.tensor([[2], [3], [1]]), "words": torch.tensor([[1], [2], [1]])},
    ),
    reference=ignores_the_padding,
    properties=(
        Property(
            "accepts models that hide the padding, rejects those that read it, wherever it enters",
            2,
            tells_apart(
                right=(COUNTS,),
                faulty=(PADDING_READ, COUNTS_PADDING, PADDING_IN_ENCODER, MEAN_OVER_ALL, FROM_THE_END),
            ),
        ),
        Property(
            "accepts rounding, finds small influences, and accepts models with another fault",
            1,
            tells_apart(
                right=(ROUNDED, NO_CAUSAL_MASK, FIRST_ALONE),
                faulty=(FAINT_PADDING, PADDING_READ_LATER, PADDING_ONCE, PADDING_FIRST),
            ),
        ),
    ),
    mistakes=PADDING_MISTAKES,
)

EXERCISE = Exercise(
    title="Three perturbation tests",
    difficulty=3,
    minutes=40,
    tasks=(FUTURE, READS, PADDING),
    hints=(
        "Each test keeps one call of the model as it is, changes one thing, calls it again, and compares some of the "
        "logits. What may be changed that must not matter? What must matter?",
        "The future: for each position from 1 on, replace the words from there on, and compare the logits of the "
        "steps before. The source: for each sentence and each of its words, replace that word alone, and see whether "
        "any logit of that sentence changed. The padding: two more columns of zeros, and compare everything.",
        "`1 + words % (vocab_size - 1)` puts another word for each; `vocab_size` is the last size of the logits; "
        "change a `clone()`. `source.nonzero().tolist()` lists (sentence, position) of the words; "
        "`torch.nn.functional.pad(source, (0, 2))` adds two columns. The gap is `(after - before).abs().max()`.",
    ),
)

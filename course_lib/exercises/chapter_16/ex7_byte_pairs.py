"""16.7: byte-pair encoding learned from a text, and bits per byte."""

import math

import torch

from course_lib.data import byte_pairs as library
from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def most_frequent_pair(tokens):
    """The pair that stands there most often; of several, the one that Python sorts first."""
    ids = tokens.tolist()
    pairs = list(zip(ids, ids[1:], strict=False))
    pair = min(sorted(set(pairs)), key=lambda each: -pairs.count(each))
    return torch.tensor(pair), torch.tensor(pairs.count(pair))


def draw_alphabet(generator: torch.Generator, most: int) -> torch.Tensor:
    """Draw two or more different numbers of tokens, in no order."""
    (count,) = sizes(generator, most, least=2)
    return torch.randperm(300, generator=generator)[:count]


def draw_tokens(generator: torch.Generator) -> Case:
    """Draw a few tokens of a small alphabet, so that pairs come again."""
    alphabet = draw_alphabet(generator, 4)
    (time,) = sizes(generator, 12, least=2)
    return {"tokens": alphabet[torch.randint(len(alphabet), (time,), generator=generator)]}


def arranged(*places: int):
    """Return the change that arranges four tokens so, of which the least is number 0."""

    def change(case: Case) -> Case:
        found = sorted(set(case["tokens"].tolist()))
        four = [*found, *range(found[-1] + 1, found[-1] + 4)][:4]
        return {"tokens": torch.tensor([four[place] for place in places])}

    return change


# Every pair once: the answer is neither the first nor the last of them, nor the one with the least second token.
ONCE_EACH = arranged(2, 3, 0, 3, 1)
# Two pairs begin with the least token; the one with the lesser second token comes later.
SECOND_DECIDES = arranged(1, 0, 3, 0, 2, 0)
# Twice each, the one that is wanted in a run: its two places overlap.
TWICE_EACH = arranged(1, 2, 1, 2, 0, 0, 0)

pair_equals, count_equals = of_output(0, equals()), of_output(1, equals())

PAIR_MISTAKES = """
first of the most frequent => ties: the smaller first token, then the smaller second
- best = counts.argmax()
- return different[best], counts[best]
+ ids = pairs.tolist()
+ often = [ids.count(each) for each in ids]
+ return torch.tensor(ids[often.index(max(often))]), torch.tensor(max(often))
of pairs that are equally frequent this takes the one that comes first in the text, as `Counter.most_common` does; asked
is the one with the smaller first token, and of those the smaller second

greatest of the most frequent => ties: the smaller first token, then the smaller second
+ best = (counts == counts.max()).nonzero().max()
+ return different[best], counts[best]
of pairs that are equally frequent this takes the greatest; asked is the one with the smaller first token, and of those
the smaller second

second token decides => ties: the smaller first token, then the smaller second
+ often = different[counts == counts.max()].tolist()
+ return torch.tensor(min(often, key=lambda each: each[::-1])), counts.max()
of pairs that are equally frequent this takes the one with the smaller *second* token; the first token decides, and the
second only where the first is the same

first token alone decides => ties: the smaller first token, then the smaller second
+ ids = [each for each in pairs.tolist() if pairs.tolist().count(each) == counts.max()]
+ return torch.tensor(min(ids, key=lambda each: each[0])), counts.max()
of pairs that are equally frequent and have the same first token this takes the one that comes first in the text; asked
is the one with the smaller second token

rarest => the pair
+ best = counts.argmin()
+ return different[best], counts[best]
this is the rarest pair; asked is the most frequent

order ignored => the pair
- pairs = torch.stack([tokens[:-1], tokens[1:]], dim=1)
+ pairs = torch.stack([tokens[:-1], tokens[1:]], dim=1).sort(dim=1).values
this counts (a, b) and (b, a) together; a pair has an order, and `th` is another pair than `ht`

second token first => the pair
+ pairs = torch.stack([tokens[1:], tokens[:-1]], dim=1)
the pair comes with its second token first; the token that stands first in the text comes first

pairs cut apart => the pair
+ even = tokens[: len(tokens) // 2 * 2]
+ pairs = even.reshape(-1, 2)
this cuts the text into pieces of two tokens, and misses every pair that begins at an odd position; a pair begins at
every position but the last

runs counted once => how often it stands there
- different, counts = pairs.unique(dim=0, return_counts=True)
+ ids, last = {}, {}
+ for place, each in enumerate(map(tuple, pairs.tolist())):
+     if each[0] != each[1] or last.get(each) != place - 1:
+         ids[each], last[each] = ids.get(each, 0) + 1, place
+ different, counts = torch.tensor(sorted(ids)), torch.tensor([ids[each] for each in sorted(ids)])
of a run such as aaa this counts the pair (a, a) once, as it is merged; here every position counts at which the pair
stands, so aaa has it twice

runs not counted => how often it stands there
+ ids = [each for each in pairs.tolist() if each[0] != each[1]] or pairs.tolist()
+ different, counts = torch.tensor(ids).unique(dim=0, return_counts=True)
this leaves out pairs of two equal tokens; they count as any other pair does

last pair lost => how often it stands there
- pairs = torch.stack([tokens[:-1], tokens[1:]], dim=1)
+ pairs = torch.stack([tokens[:-1], tokens[1:]], dim=1)[: max(1, len(tokens) - 2)]
the last pair of the text is not counted: of n tokens there are n - 1 pairs

round the end => how often it stands there
+ pairs = torch.stack([tokens, tokens.roll(-1)], dim=1)
this counts the last token and the first as a pair, as `roll` makes them neighbours; there is nothing behind the last
token

two apart => the pair
+ apart = min(2, len(tokens) - 1)
+ pairs = torch.stack([tokens[:-apart], tokens[apart:]], dim=1)
these pairs have a token between their two; a pair stands side by side

two most frequent tokens => the pair
- different, counts = pairs.unique(dim=0, return_counts=True)
- best = counts.argmax()
- return different[best], counts[best]
+ different, counts = tokens.unique(return_counts=True)
+ order = counts.argsort(descending=True, stable=True)
+ return torch.cat([different[order], different[order]])[:2], counts.max()
these are the most frequent tokens, each by itself; asked is the most frequent *pair* of neighbours

count of all pairs => how often it stands there
- return different[best], counts[best]
+ return different[best], torch.tensor(len(pairs))
this is the number of all pairs; asked is how often the most frequent one stands there

a share => how often it stands there
+ return different[best], counts[best] / len(pairs)
this is the share of the pair among all pairs; asked is how often it stands there, an integer

count first => the pair
+ return counts[best], different[best]
this returns the count first; the pair comes first

how many different ones => how often it stands there
+ return different[best], torch.tensor(len(different))
this is the number of different pairs; asked is how often the most frequent one stands there

256 tokens only => the pair
- pairs = torch.stack([tokens[:-1], tokens[1:]], dim=1)
- different, counts = pairs.unique(dim=0, return_counts=True)
+ numbers, counts = (tokens[:-1] * 256 + tokens[1:]).unique(return_counts=True)
+ different = torch.stack([numbers // 256, numbers % 256], dim=1)
this makes one number of a pair, 256 times the first token and the second, and different pairs get the same number where
a token is 256 or more; new tokens are
"""

PAIR = Task(
    function="most_frequent_pair",
    parameters=("tokens",),
    returns="the pair, shape (2,), and how often it stands there, shape (), both tensors of integers",
    outputs=("pair", "count"),
    cases=draw_tokens,
    examples=(
        {"tokens": torch.tensor([7, 4, 9, 7, 4])},
        {"tokens": torch.tensor([5, 3, 3, 3])},
        {"tokens": torch.tensor([9, 4, 7, 5])},
    ),
    edges=(
        {"tokens": torch.tensor([6, 2])},  # one pair
        {"tokens": torch.tensor([2, 2])},  # one pair of equal tokens
        {"tokens": torch.tensor([8, 8, 8, 8, 1, 0, 1, 0, 1])},  # a run, and a pair and its reverse
        {"tokens": torch.tensor([0, 300, 0, 256])},  # the token 0
    ),
    reference=most_frequent_pair,
    properties=(
        Property("the pair", 1, both(pair_equals, inputs_unchanged)),
        Property("how often it stands there", 1, both(count_equals, on(TWICE_EACH, count_equals))),
        Property(
            "ties: the smaller first token, then the smaller second",
            2,
            both(both(on(ONCE_EACH, pair_equals), on(SECOND_DECIDES, pair_equals)), on(TWICE_EACH, pair_equals)),
        ),
    ),
    mistakes=PAIR_MISTAKES,
)


def merge_pair(tokens, pair, new):
    """From left to right: a token that completes the pair with the one kept last takes its place."""
    first, second = pair.tolist()
    merged: list[int] = []
    for token in tokens.tolist():
        if merged and merged[-1] == first and token == second:
            merged[-1] = new
        else:
            merged.append(token)
    return torch.tensor(merged)


def draw_pair(generator: torch.Generator) -> Case:
    """Draw tokens of two or three kinds, a pair of these, and a number that no token has."""
    alphabet = draw_alphabet(generator, 3)
    (time,) = sizes(generator, 10)
    tokens = alphabet[torch.randint(len(alphabet), (time,), generator=generator)]
    pair = alphabet[torch.randint(len(alphabet), (2,), generator=generator)]
    return {"tokens": tokens, "pair": pair, "new": 300 + sizes(generator, 50)[0]}


def with_runs(case: Case) -> Case:
    """A pair of equal tokens, and runs of it of two to five, with another token between."""
    one = case["pair"][0]
    pieces = [piece for run in (3, 2, 5, 4) for piece in (*[one] * run, one + 1)]
    return case | {"tokens": torch.stack(pieces), "pair": torch.stack([one, one])}


def side_by_side(case: Case) -> Case:
    """The pair twice side by side, reversed, and both of its tokens alone; the two tokens differ."""
    first = case["pair"][0]
    second = first + 2
    other = first + 1
    tokens = torch.stack([second, first, second, first, second, other, first, other, second, second, first, first])
    return case | {"tokens": tokens, "pair": torch.stack([first, second])}


def not_there(case: Case) -> Case:
    """A pair of which the tokens stand in the text, but never in this order side by side."""
    first = case["pair"][0]
    tokens = torch.stack([first + 1, first, first, first + 2, first + 1])
    return case | {"tokens": tokens, "pair": torch.stack([first, first + 1])}


MERGE_MISTAKES = """
overlapping ones => runs of equal tokens, from left to right
- position += 2 if found else 1
+ position += 2 if found and tokens[position : position + 3].unique().numel() > 1 else 1
in a run of equal tokens this merges pairs that overlap, so that one token belongs to two of them; a token that was
merged is used up: go on behind it

by a mask => runs of equal tokens, from left to right
- merged, position = [], 0
- while position < len(tokens):
- found = tokens[position : position + 2].tolist() == pair.tolist()
- merged.append(new if found else tokens[position].item())
- position += 2 if found else 1
- return torch.tensor(merged)
+ found = (tokens[:-1] == pair[0]) & (tokens[1:] == pair[1])
+ merged, second = tokens.clone(), torch.zeros(len(tokens), dtype=torch.bool)
+ merged[:-1][found], second[1:] = new, found
+ return merged[~second]
a whole run of equal tokens becomes one token here, because its places overlap, as where all are found at once and the
second token of each is dropped; each new token stands for two: go from left to right, and behind a pair go on with what
is not used yet

from right to left => runs of equal tokens, from left to right
+ flipped, merged, position = tokens.flip(0), [], 0
+ while position < len(flipped):
+     found = flipped[position : position + 2].tolist() == pair.flip(0).tolist()
+     merged.insert(0, new if found else flipped[position].item())
+     position += 2 if found else 1
+ return torch.tensor(merged)
this merges from right to left, so of three equal tokens the last two; the first two are merged

the first one alone => every place of the pair
- found = tokens[position : position + 2].tolist() == pair.tolist()
+ found = new not in merged and tokens[position : position + 2].tolist() == pair.tolist()
this merges the first place of the pair alone; every place becomes the new token

second token kept => every place of the pair
- position += 2 if found else 1
+ position += 1
the new token is written, and the second token of the pair stays behind it; the new one stands for both: go on two
positions further

new token twice => every place of the pair
- merged.append(new if found else tokens[position].item())
+ merged += [new, new] if found else [tokens[position].item()]
the new token is written for each of the two; it stands for both together, so the text becomes shorter

pair removed => every place of the pair
+ merged += [] if found else [tokens[position].item()]
the pair is taken out, and nothing comes in its place: write the new token there

pair kept => every place of the pair
+ merged += [*pair.tolist(), new] if found else [tokens[position].item()]
the new token is written behind the pair; it stands in the place of the pair

one step too far => every place of the pair
- position += 2 if found else 1
+ merged += tokens[position + 2 : position + 3].tolist() if found else []
+ position += 3 if found else 1
behind a merged pair the next token is taken over without a look, and a pair that begins there is missed

in either order => every place of the pair
- found = tokens[position : position + 2].tolist() == pair.tolist()
+ found = tokens[position : position + 2].tolist() in (pair.tolist(), pair.tolist()[::-1])
this merges the reverse of the pair, too; a pair has an order

first token alone => a pair that stands nowhere changes nothing
+ found = tokens[position] == pair[0] and position + 1 < len(tokens)
this looks at the first token of the pair alone; the second has to stand behind it

any of the two => a pair that stands nowhere changes nothing
- found = tokens[position : position + 2].tolist() == pair.tolist()
- merged.append(new if found else tokens[position].item())
- position += 2 if found else 1
+ found = tokens[position] in pair
+ merged.append(new if found else tokens[position].item())
+ position += 1
every token of the pair becomes the new one, also where it stands alone; the two are replaced where they stand side by
side, in this order

pieces of two => every place of the pair
- found = tokens[position : position + 2].tolist() == pair.tolist()
- merged.append(new if found else tokens[position].item())
- position += 2 if found else 1
+ found = tokens[position : position + 2].tolist() == pair.tolist()
+ merged += [new] if found else tokens[position : position + 2].tolist()
+ position += 2
this cuts the text into pieces of two tokens, and misses the pairs that begin in the middle of a piece; without a pair,
go on by one

last token lost => a pair that stands nowhere changes nothing
- while position < len(tokens):
+ while position < len(tokens) - 1:
the last token is lost where it belongs to no pair, because the loop ends before it: it stays as it is

always the number 256 => every place of the pair
- merged.append(new if found else tokens[position].item())
+ merged.append(256 if found else tokens[position].item())
this always writes 256; the number of the new token is the argument `new`

pair and new token summed => every place of the pair
+ merged.append(int(pair.sum()) if found else tokens[position].item())
this writes the sum of both tokens; the number of the new token is the argument `new`

written into the tokens => every place of the pair
- merged, position = [], 0
- while position < len(tokens):
- found = tokens[position : position + 2].tolist() == pair.tolist()
- merged.append(new if found else tokens[position].item())
- position += 2 if found else 1
- return torch.tensor(merged)
+ position, length = 0, 0
+ while position < len(tokens):
+     found = tokens[position : position + 2].tolist() == pair.tolist()
+     tokens[length] = new if found else tokens[position].item()
+     position, length = position + (2 if found else 1), length + 1
+ return tokens[:length].clone()
this writes the merged tokens over the caller's own; make a new tensor

replaced in a text => every place of the pair
- merged, position = [], 0
- while position < len(tokens):
- found = tokens[position : position + 2].tolist() == pair.tolist()
- merged.append(new if found else tokens[position].item())
- position += 2 if found else 1
- return torch.tensor(merged)
+ text = " ".join(map(str, tokens.tolist()))
+ text = text.replace(" ".join(map(str, pair.tolist())), str(new))
+ return torch.tensor([int(each) for each in text.split()])
this writes the numbers as a text and replaces there, and `3 3` stands in `13 3` too; compare the tokens themselves

the middle one used twice => runs of equal tokens, from left to right
- merged, position = [], 0
- while position < len(tokens):
- found = tokens[position : position + 2].tolist() == pair.tolist()
- merged.append(new if found else tokens[position].item())
- position += 2 if found else 1
- return torch.tensor(merged)
+ found = (tokens[:-1] == pair[0]) & (tokens[1:] == pair[1])
+ begins = torch.cat([found, found.new_zeros(1)])
+ second = torch.cat([found.new_zeros(1), found])
+ return tokens.masked_fill(begins, new)[begins | ~second]
in a run such as aaa this uses the middle token in two merges, because all places of the pair are found at once; a token
that was merged is used up: go from left to right, and on behind it
"""

MERGE = Task(
    function="merge_pair",
    parameters=("tokens", "pair", "new"),
    returns="the tokens with each pair merged, shape (shorter,), integers",
    cases=draw_pair,
    examples=(
        {"tokens": torch.tensor([7, 4, 9, 7, 4]), "pair": torch.tensor([7, 4]), "new": 256},
        {"tokens": torch.tensor([5, 3, 3, 3]), "pair": torch.tensor([3, 3]), "new": 256},
    ),
    edges=(
        {"tokens": torch.tensor([7]), "pair": torch.tensor([7, 4]), "new": 256},  # one token
        {"tokens": torch.tensor([7, 4]), "pair": torch.tensor([7, 4]), "new": 257},  # nothing but the pair
        {"tokens": torch.tensor([1, 7, 4]), "pair": torch.tensor([7, 4]), "new": 256},  # at the end
        {"tokens": torch.tensor([4, 7]), "pair": torch.tensor([7, 4]), "new": 256},  # the reverse
        {"tokens": torch.tensor([2, 2, 2, 2]), "pair": torch.tensor([2, 2]), "new": 256},  # a run of four
        # Numbers that begin or end with the digits of others.
        {"tokens": torch.tensor([3, 31, 13, 3, 3]), "pair": torch.tensor([3, 3]), "new": 256},
    ),
    reference=merge_pair,
    properties=(
        Property("every place of the pair", 2, both(both(equals(), on(side_by_side, equals())), inputs_unchanged)),
        Property("runs of equal tokens, from left to right", 1, on(with_runs, equals())),
        Property("a pair that stands nowhere changes nothing", 1, on(not_there, equals())),
    ),
    mistakes=MERGE_MISTAKES,
)


def learn_merges(text, merges):
    """What the library learns."""
    return torch.tensor(library.learn_merges(text, merges))


LETTERS = ("ab", "abc", "aé ", "xyü", "Ab €")


def draw_text(generator: torch.Generator) -> Case:
    """Draw a few letters and write them twice, so that at least one pair comes again."""
    which, length, merges = sizes(generator, len(LETTERS), 7, 5)
    letters = LETTERS[which - 1]
    places = torch.randint(len(letters), (length + 1,), generator=generator).tolist()
    half = "".join(letters[place] for place in places)
    return {"text": half + half, "merges": merges}


def one_merge(case: Case) -> Case:
    """One merge alone."""
    return case | {"merges": 1}


def many_merges(case: Case) -> Case:
    """More merges than there can be."""
    return case | {"merges": len(case["text"].encode())}


def more_bytes(case: Case) -> Case:
    """Letters of two and three bytes in the place of some."""
    return case | {"text": case["text"].replace("a", "é").replace("b", "€").replace("x", "ß")}


LEARN_MISTAKES = """
tokens not replaced => every merge counts what the merges before have made
- tokens = merge_pair(tokens, pair, new)
- learned.append(pair)
+ learned.append(pair)
the tokens are not merged, so the same pair is found again and again: go on with the merged tokens

most frequent ones at once => every merge counts what the merges before have made
- for new in range(256, 256 + merges):
- pair, count = most_frequent_pair(tokens)
- if count < 2:
- break
- tokens = merge_pair(tokens, pair, new)
- learned.append(pair)
- return torch.stack(learned)
+ ids = list(text.encode())
+ pairs = list(zip(ids, ids[1:]))
+ order = sorted({each for each in pairs if pairs.count(each) > 1}, key=lambda each: (-pairs.count(each), each))
+ return torch.tensor(order[:merges])
these are the most frequent pairs of *bytes*, counted once; after each merge there are new tokens and other pairs, so
count again

no end => it ends where no pair stands there twice
- if count < 2:
- break
- tokens = merge_pair(tokens, pair, new)
- learned.append(pair)
+ tokens = merge_pair(tokens, pair, new)
+ learned.append(pair)
+ if len(tokens) < 2:
+     break
this goes on where no pair stands there twice: then every merge makes one token of two that were never seen again, until
the whole text is one token; end there

no end at all => it ends where no pair stands there twice
- if count < 2:
- break
this goes on where no pair stands there twice: then every merge makes one token of two that were never seen again, until
the whole text is one token, in which there is no pair at all; end where the count falls below two

one more after the end => it ends where no pair stands there twice
- if count < 2:
- break
- tokens = merge_pair(tokens, pair, new)
- learned.append(pair)
+ tokens = merge_pair(tokens, pair, new)
+ learned.append(pair)
+ if count < 2:
+     break
this learns one pair too many, a pair that stands there once: ask for the count before the pair is kept

ended too early => it ends where no pair stands there twice
- if count < 2:
- break
+ if count < 3 and learned:
+     break
this ends at a pair that stands there twice; such a pair is still merged

filled up with zeros => it ends where no pair stands there twice
- return torch.stack(learned)
+ return torch.stack([*learned, *[torch.tensor([0, 0])] * (merges - len(learned))])
the answer is filled up with zeros to as many rows as `merges`; where fewer are learned, it has fewer rows

code points for bytes => letters of several bytes
- tokens, learned = torch.tensor(list(text.encode())), []
+ tokens, learned = torch.tensor([ord(letter) for letter in text]), []
this begins with the code points of the letters, of which there are over a million; the first tokens are the bytes of
UTF-8, `text.encode()`, of which there are 256

another encoding => letters of several bytes
+ tokens, learned = torch.tensor(list(text.encode("latin-1", errors="replace"))), []
this encodes the text as latin-1, which has one byte for each letter, and none for most letters of the world; UTF-8 is
what `text.encode()` gives

letters that are not ASCII left out => letters of several bytes
+ tokens, learned = torch.tensor(list(text.encode("ascii", errors="ignore")) or [0, 0, 0]), []
letters that are not ASCII are left out of the text; all bytes of UTF-8 are tokens

small letters alone => every merge counts what the merges before have made
+ tokens, learned = torch.tensor(list(text.lower().encode())), []
the text was turned into small letters; `A` and `a` are two bytes, and two tokens

spaces left out => every merge counts what the merges before have made
+ tokens, learned = torch.tensor(list(text.replace(" ", "").encode()) or [0, 0, 0]), []
the spaces were left out of the text; a space is a byte as any other here, and is merged, too

numbers from 257 on => every merge counts what the merges before have made
- for new in range(256, 256 + merges):
+ for new in range(257, 257 + merges):
the first new token has the number 257 here; the bytes are 0 to 255, so the first new token is 256

numbers from 255 on => every merge counts what the merges before have made
+ for new in range(255, 255 + merges):
the first new token has the number 255 here, which is a byte; the bytes are 0 to 255, so the first new token is 256

numbers from 0 on => every merge counts what the merges before have made
+ for new in range(merges):
the new tokens have the numbers from 0 on here, which are bytes; the bytes are 0 to 255, so the first new token is 256

numbers from 1 on => every merge counts what the merges before have made
+ for new in range(1, 1 + merges):
the new tokens have the numbers from 1 on here, which are bytes; the bytes are 0 to 255, so the first new token is 256

numbers from 128 on => every merge counts what the merges before have made
+ for new in range(128, 128 + merges):
the new tokens have the numbers from 128 on, as if there were only ASCII; the bytes of UTF-8 are 0 to 255, so the first
new token is 256

one number for all => every merge counts what the merges before have made
- tokens = merge_pair(tokens, pair, new)
+ tokens = merge_pair(tokens, pair, 256)
every merge makes the token 256; each makes a new number: 256, 257 and so on

one merge too many => the first merge
- for new in range(256, 256 + merges):
+ for new in range(256, 257 + merges):
this learns one merge more than `merges`

one merge too few => every merge counts what the merges before have made
+ for new in range(256, max(257, 255 + merges)):
this learns one merge less than `merges`

the last one first => every merge counts what the merges before have made
- return torch.stack(learned)
+ return torch.stack(learned[::-1])
the merges come in the opposite order; they are made in the order in which they were learned, so the first one comes
first

tokens for merges => the first merge
+ return tokens
this returns the tokens of the text after all merges; asked are the merges, one row of two tokens for each

one row => the first merge
+ return torch.cat(learned)
the pairs are put into one long row; each merge has a row of its own, (learned, 2)

pairs and numbers => the first merge
- learned.append(pair)
+ learned.append(torch.cat([pair, torch.tensor([new])]))
each row holds the number of the new token as well; it is 256 and the number of the row, and need not be written: asked
are the two tokens
"""

LEARN = Task(
    function="learn_merges",
    parameters=("text", "merges"),
    returns="the pairs that are merged, in order, shape (learned, 2), integers; at most `merges` of them",
    cases=draw_text,
    examples=(
        {"text": "the thin thread", "merges": 2},
        {"text": "aaaa", "merges": 9},
    ),
    edges=(
        {"text": "aaa", "merges": 3},  # the pair stands there twice, and is merged once
        {"text": "ééé", "merges": 2},  # one letter, three times two bytes
        {"text": "abcabc", "merges": 1},  # all equally frequent
        {"text": "aaaaaaaaaaa", "merges": 6},  # runs of what was merged
        {"text": "AaAaAa aAaA", "merges": 4},  # capital and small
    ),
    reference=learn_merges,
    properties=(
        Property("the first merge", 1, on(one_merge, equals())),
        Property("every merge counts what the merges before have made", 2, both(equals(), on(many_merges, equals()))),
        Property("it ends where no pair stands there twice", 1, on(many_merges, equals())),
        Property("letters of several bytes", 1, on(more_bytes, equals())),
    ),
    mistakes=LEARN_MISTAKES,
)


def bits_per_byte(losses, text):
    """The sum of the losses in bits, by the number of bytes."""
    return losses.sum() / (math.log(2) * len(text.encode()))


def draw_losses(generator: torch.Generator) -> Case:
    """Draw a text, and a loss above 0 for each of fewer tokens."""
    which, length = sizes(generator, len(LETTERS), 9)
    letters = LETTERS[which - 1]
    places = torch.randint(len(letters), (length,), generator=generator).tolist()
    text = "".join(letters[place] for place in places)
    (count,) = sizes(generator, len(text.encode()))
    return {"losses": 4 * torch.rand(count, generator=generator) + 0.2, "text": text}


def byte_by_byte(case: Case) -> Case:
    """A text of ASCII, with a token for each byte."""
    count = len(case["losses"])
    return case | {"text": ("The end. " * count)[:count]}


def cut_otherwise(case: Case) -> Case:
    """The same text in twice as many tokens, of the same loss together."""
    return case | {"losses": (case["losses"] / 2).repeat_interleave(2)}


def long_letters(case: Case) -> Case:
    """A text of letters that have three bytes each."""
    return case | {"text": "€" * len(case["text"])}


BITS_MISTAKES = """
per token => the same text cut into other tokens
- return losses.sum() / math.log(2) / len(text.encode())
+ return losses.mean() / math.log(2)
these are the bits per *token*, which depend on how much text a token stands for; add up the losses and divide by the
number of bytes

per character => letters of several bytes
+ return losses.sum() / math.log(2) / len(text)
this divides by the number of characters, `len(text)`; a character of UTF-8 has one to four bytes: `len(text.encode())`

nats => bits for each byte
+ return losses.sum() / len(text.encode())
these are nats per byte; a bit is ln 2 nats, so divide by ln 2

multiplied by ln 2 => bits for each byte
+ return losses.sum() * math.log(2) / len(text.encode())
this multiplies by ln 2; a bit is less than a nat, so there are more of them: divide by ln 2

mean over the bytes => the same text cut into other tokens
+ return losses.mean() / math.log(2) / len(text.encode())
this takes the mean over the tokens and divides by the bytes as well; the bits of all tokens together are divided by the
number of bytes

bits of the text => bits for each byte
+ return losses.sum() / math.log(2)
these are the bits of the whole text; divide by its number of bytes

perplexity of a byte => bits for each byte
+ return (losses.sum() / len(text.encode())).exp()
this is the perplexity of a byte; its binary logarithm was asked for

perplexity of a token => the same text cut into other tokens
+ return losses.mean().exp()
this is the perplexity of a token, which depends on how much text a token stands for; asked are bits per byte

bytes per bit => bits for each byte
+ return len(text.encode()) * math.log(2) / losses.sum()
this divides the bytes by the bits; asked are bits per byte

bytes for bits => bits for each byte
+ return losses.sum() / math.log(2) / len(text.encode()) / 8
this divides by 8 as well: that is the share of its size to which the text could be compressed; asked are bits per byte

times the tokens => the same text cut into other tokens
+ return losses.sum() / math.log(2) * len(losses) / len(text.encode())
the losses are added up and then multiplied by the number of tokens; only a mean would have to be

one byte a character more => letters of several bytes
+ return losses.sum() / math.log(2) / len(text.encode("utf-16"))
this counts the bytes of UTF-16; the tokens were made of those of UTF-8, `text.encode()`

logarithm of the losses => bits for each byte
+ return losses.log2().sum() / len(text.encode())
this takes the binary logarithm of the losses; they are logarithms already: divide by ln 2

each token's own => bits for each byte
+ return losses / math.log(2) / len(text.encode())
this has a number for each token; one is asked for: add up the losses first
"""

BITS = Task(
    function="bits_per_byte",
    parameters=("losses", "text"),
    returns="one number, shape (): the bits of all tokens together over the number of bytes of the text",
    cases=draw_losses,
    examples=({"losses": torch.tensor([1.3863, 2.7726]), "text": "né"},),
    edges=(
        {"losses": torch.tensor([0.0]), "text": "a"},  # nothing is left to say
        {"losses": torch.tensor([2.0]), "text": "€"},  # one token of three bytes
        {"losses": torch.tensor([0.6931, 0.6931, 0.6931]), "text": "abc"},  # a token for each byte, a bit for each
    ),
    reference=bits_per_byte,
    properties=(
        Property("bits for each byte", 1, both(on(byte_by_byte, equals()), inputs_unchanged)),
        Property("letters of several bytes", 1, both(equals(), on(long_letters, equals()))),
        Property("the same text cut into other tokens", 1, both(equals(), on(cut_otherwise, equals()))),
    ),
    mistakes=BITS_MISTAKES,
)

EXERCISE = Exercise(
    title="Byte pairs",
    difficulty=2,
    minutes=45,
    tasks=(PAIR, MERGE, LEARN, BITS),
    hints=(
        "How many pairs of neighbours do n tokens have? When you have merged two tokens, at which of the old tokens do "
        "you go on? And which number of a text is the same however it is cut into tokens: its losses added up, or "
        "their mean?",
        "Put the tokens beside the tokens moved on by one, sort the rows, count equal ones, and take the first of the "
        "most frequent. To merge, go through the text with a position: two equal neighbours of the right kind give the "
        "new token and a step of two, everything else a step of one. To learn, do both by turns, with 256, 257 and so "
        "on, until the count falls below two.",
        "`unique(dim=0, return_counts=True)` gives the different rows in sorted order, each with its count, and "
        "`argmax` the first of the greatest. `tokens[i : i + 2].tolist()` compares well with `pair.tolist()`, also at "
        "the end of the text. `text.encode()` is a sequence of bytes, its `len` their number.",
    ),
)

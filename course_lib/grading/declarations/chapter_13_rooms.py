"""Exercise 13.3, the cache: what is verified, and the known mistakes."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_13_cache import (
    after_the_softmax,
    appended,
    at_the_end,
    behind_the_room,
    by,
    by_number,
    cached_attention,
    draw_rooms,
    equal_lengths,
    in_order,
    in_place,
    masked_by,
    no_padding_asked,
    not_a_number,
    one_token,
    padding_asked,
    rest_cleared,
    step,
    written,
)
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import ROUNDING, both, difference, equals, inputs_unchanged, of_output, on
from course_lib.grading.wording import describe_case

exactly = [of_output(number, equals(cached_attention, tolerance=0)) for number in (1, 2)]
output = of_output(0, equals(cached_attention))


def token_by_token(call: Call, case: Case) -> str | None:
    """The new places one at a time, each call given the rooms that the one before returned: the same outputs."""
    asked, outputs = no_padding_asked(case), []
    expected = call.expected(cached_attention, asked)[0]
    for number in range(case["query"].shape[1]):
        now = step(asked, number)
        came = call(now)
        if came[1].shape != case["key_room"].shape or came[2].shape != case["value_room"].shape:
            return (
                f"{describe_case(now)}: rooms of shapes {tuple(came[1].shape)} and {tuple(came[2].shape)} came back, "
                f"expected {tuple(case['key_room'].shape)} and {tuple(case['value_room'].shape)}"
            )
        outputs.append(came[0])
        asked = asked | {"key_room": came[1], "value_room": came[2], "length": now["length"] + 1}
    together = torch.cat(outputs, 1)
    if together.shape != expected.shape:
        return f"{describe_case(case)}, one at a time: outputs of shape {tuple(together.shape)} in all"
    found = difference(together, expected, ROUNDING)
    return f"{describe_case(case)}, one token at a time with the rooms that came back: {found}" if found else None


WRITTEN = "the rooms hold what is new behind what was there, and else what they held"
ONE = "one new token: its output"
PROMPT = "several new tokens: none reads a later one"
CHAIN = "one token at a time gives what all at once give"
UNEQUAL = "texts that begin in different columns"
EMPTY = "a place before its text has an output of exactly 0"

ROOMS = Exercise(
    id="13.3",
    title="The cache",
    difficulty=3,
    minutes=40,
    tasks=(
        Task(
            function="cached_attention",
            parameters=("query", "key", "value", "key_room", "value_room", "length", "starts"),
            returns="the output (batch, new, d_value), the keys' room and the values' room, each as wide as it came",
            outputs=("output", "key_room", "value_room"),
            cases=draw_rooms,
            examples=(
                {
                    "query": torch.tensor([[[1.0]]]),
                    "key": torch.tensor([[[1.0986]]]),
                    "value": torch.tensor([[[8.0]]]),
                    "key_room": torch.tensor([[[0.0], [30.0], [30.0]]]),
                    "value_room": torch.tensor([[[4.0], [30.0], [30.0]]]),
                    "length": 1,
                    "starts": torch.tensor([0]),
                },
                {
                    "query": torch.tensor([[[0.0], [0.0]], [[0.0], [0.0]]]),
                    "key": torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]),
                    "value": torch.tensor([[[2.0, 1.0], [4.0, 3.0]], [[5.0, 0.0], [7.0, 6.0]]]),
                    "key_room": torch.full((2, 4, 1), 30.0),
                    "value_room": torch.full((2, 4, 2), 30.0),
                    "length": 0,
                    "starts": torch.tensor([0, 1]),
                },
            ),
            reference=cached_attention,
            properties=(
                Property(WRITTEN, 2, both(*exactly)),
                Property(ONE, 1, on(one_token, output)),
                Property(PROMPT, 2, on(equal_lengths, output)),
                Property(CHAIN, 1, token_by_token),
                Property(UNEQUAL, 2, on(no_padding_asked, output)),
                Property(EMPTY, 1, on(padding_asked, output)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "whole room read",
                    "queries read the whole room, also what stands behind the text, left from an earlier one; hide "
                    "every place after the query's own",
                    by(masked_by(lambda places, asking, starts, length: places >= starts)),
                    breaks=ONE,
                ),
                Misconception(
                    "new tokens read each other",
                    "the last new token is right, and those before it read what comes after them: a prompt has a "
                    "future too",
                    by(masked_by(lambda places, asking, starts, length: (places >= starts) & (places <= asking.max()))),
                    breaks=PROMPT,
                ),
                Misconception(
                    "queries counted from the front",
                    "query i was taken for place i; `length` places stand before, so it stands at place length + i",
                    by(
                        masked_by(
                            lambda places, asking, starts, length: (places >= starts) & (places <= asking - length)
                        )
                    ),
                    breaks=ONE,
                ),
                Misconception(
                    "new places not read",
                    "queries read the places before and none of the new ones; a place reads itself too, so write first "
                    "and read then",
                    by(masked_by(lambda places, asking, starts, length: (places >= starts) & (places < length))),
                    breaks=ONE,
                ),
                Misconception(
                    "own place hidden",
                    "a query reads the places before its own; its own is one of those that it reads",
                    by(masked_by(lambda places, asking, starts, length: (places >= starts) & (places < asking))),
                    breaks=ONE,
                ),
                Misconception(
                    "new places alone",
                    "queries read the new places alone; those that the rooms held before are read as well",
                    by(
                        masked_by(
                            lambda places, asking, starts, length: (
                                (places >= starts) & (places >= length) & (places <= asking)
                            )
                        )
                    ),
                    breaks=ONE,
                ),
                Misconception(
                    "starts ignored",
                    "`starts` was not used: queries read the padding before their text",
                    by(masked_by(lambda places, asking, starts, length: (places <= asking) & (starts >= 0))),
                    breaks=UNEQUAL,
                ),
                Misconception(
                    "padding at the end",
                    "`starts` was taken for how many places are hidden at the end; it is the column in which the text "
                    "begins, and what stands before it is hidden",
                    by(
                        masked_by(
                            lambda places, asking, starts, length: (
                                (places <= asking) & (places <= asking.max() - starts)
                            )
                        )
                    ),
                    breaks=UNEQUAL,
                ),
                Misconception(
                    "starts for lengths",
                    "`starts` was taken for the length of a text; it is the column in which it begins",
                    by(masked_by(lambda places, asking, starts, length: (places <= asking) & (places < starts))),
                    breaks=ONE,
                ),
                Misconception(
                    "first place of the text hidden",
                    "the first place of each text is hidden; the text begins *at* its start",
                    by(masked_by(lambda places, asking, starts, length: (places <= asking) & (places > starts))),
                    breaks=ONE,
                ),
                Misconception(
                    "last padding read",
                    "the column before each text's start is read too; the text begins at its start",
                    by(masked_by(lambda places, asking, starts, length: (places <= asking) & (places >= starts - 1))),
                    breaks=UNEQUAL,
                ),
                Misconception(
                    "one start for all",
                    "all texts were given the start of the first one of the batch",
                    by(lambda query, key, length, starts: in_order(query, key, length, starts[:1].expand_as(starts))),
                    breaks=UNEQUAL,
                ),
                Misconception(
                    "nothing to read",
                    "a place before its text has nothing to read, and the softmax of nothing is nan; give such a row "
                    "weights of 0",
                    by(weigh=not_a_number),
                    breaks=EMPTY,
                ),
                Misconception(
                    "mean of everything",
                    "with a large negative number in place of minus infinity, a place that has nothing to read finds "
                    "the mean of the whole room; give such a row weights of 0",
                    by(weigh=by_number),
                    breaks=EMPTY,
                ),
                Misconception(
                    "mask after the softmax",
                    "the weights are hidden after the softmax, and what is left does not sum to one; hide the scores",
                    by(weigh=after_the_softmax),
                    breaks=ONE,
                ),
                Misconception(
                    "no scale",
                    "the dot products are not divided by the root of d_key",
                    by(scale=lambda key, value: 1.0),
                    breaks=ONE,
                ),
                Misconception(
                    "written to the beginning",
                    "what is new was written to the first places of the rooms, over what stood there; it belongs at "
                    "place `length`",
                    by(write=lambda room, new, length: written(room, new, 0)),
                    breaks=WRITTEN,
                ),
                Misconception(
                    "written to the end",
                    "what is new was written to the last places of the rooms; it belongs at place `length`, right "
                    "behind what is there",
                    by(write=at_the_end),
                    breaks=WRITTEN,
                ),
                Misconception(
                    "written one place too far",
                    "a place was left free between what was there and what is new: place `length` is the first free "
                    "one",
                    by(
                        write=lambda room, new, length: written(
                            torch.nn.functional.pad(room, (0, 0, 0, 1)), new, length + 1
                        )[:, : room.shape[1]]
                    ),
                    breaks=WRITTEN,
                ),
                Misconception(
                    "rooms cut off",
                    "the rooms that came back end with the text; return them whole, with room for what comes later",
                    by(write=appended),
                    breaks=WRITTEN,
                ),
                Misconception(
                    "rooms made longer",
                    "what is new was put behind the whole room, which grew; there is room inside, from place `length` "
                    "on",
                    by(write=behind_the_room),
                    breaks=WRITTEN,
                ),
                Misconception(
                    "rest cleared",
                    "what stands behind the text was set to 0; it is hidden by the mask, and need not be written",
                    by(write=rest_cleared),
                    breaks=WRITTEN,
                ),
                Misconception(
                    "nothing kept",
                    "the output is right, and the rooms came back without the new keys and values: the next token "
                    "will not find them",
                    by(write=lambda room, new, length: room.clone()),
                    breaks=CHAIN,
                ),
                Misconception(
                    "rooms exchanged",
                    "this returns the values' room before the keys' room",
                    by(give=lambda output, rooms, case: (output, rooms[1], rooms[0])),
                    breaks=WRITTEN,
                ),
                Misconception(
                    "last output alone",
                    "this is the output of the last new token; each of the new ones has one",
                    by(give=lambda output, rooms, case: (output[:, -1:], *rooms)),
                    breaks=PROMPT,
                ),
                Misconception(
                    "caller's rooms written",
                    "this writes into the rooms that were given, and two continuations of one text would overwrite "
                    "each other here: `clone()` them first",
                    by(write=in_place),
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "Three questions for every place of the room: does the text of this row begin there or before, is it no later "
        "than the place that asks, and was anything ever written there? Which of them does one comparison settle?",
        "Clone both rooms and write the new rows at places length to length + new. Attend with the whole rooms, and a "
        "mask of shape (batch, new, longest) that shows the places from the row's start up to the query's own. What "
        "was never written lies behind every query. A row with nothing to read comes out of the softmax as nan.",
        "With `places = torch.arange(longest)`, compare `places >= starts[:, None, None]`, and `places <=` a column of "
        "the queries' places, `length` to `length + new`; put them together by `&`. After the softmax, "
        "`masked_fill(~mask, 0.0)` takes the nan away.",
    ),
)

"""The worker: one submission, locked in, that runs its cells and then answers questions until nobody asks."""

import builtins
import contextlib
import gc
import os
import random
import sys
from typing import Any

import attempt
import attempts
import cells
import frames
import lockdown
import own_modules
import torch


def work(requests: int, replies: int, output: int, lock: dict[str, Any]) -> None:
    """Be the worker for one submission: lock the door, run its cells, answer questions until nobody asks."""
    os.setsid()
    lockdown.end_with_parent()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    rules = lock["rules"], lock["rules_without_texts"]  # descriptors, or None where there is no Landlock
    kept = sorted({requests, replies, *filter(None, rules)})
    for first, last in zip([2, *kept], [*kept, 1 << 16], strict=True):
        os.closerange(first + 1, last)
    job, _ = frames.read(requests)
    lockdown.limit(job["memory"], job["seconds"])
    if job["forbidden"]:
        lockdown.forbid(job["forbidden"], lock["editions"], own_modules.free(job["modules"]))
    if lock["nobody"]:
        lockdown.become_nobody()
    if lock["privileges"]:
        lockdown.drop_privileges()
    if (own := rules[bool(job["forbidden"])]) is not None:
        lockdown.read_only(own)
    for each in filter(None, rules):
        os.close(each)
    if lock["calls"]:
        lockdown.filter_system_calls()
    if job["forbidden"]:
        lockdown.shut_ctypes()
    frames.write(replies, frames.pack({"locked": True}, {}))
    gc.collect()
    gc.freeze()  # what is here already is left alone, so that its pages stay shared with the fork_server

    attempts.watch(lock["readable"])
    random.seed(0)  # not inherited: Python seeds it anew after a fork
    names: dict[str, Any] = {"__name__": "__main__" if job["main"] else "answers", "__builtins__": builtins}
    refused = frozenset(cells.WAYS_ROUND.split()) if job["forbidden"] else frozenset()
    own_modules.serve(job["modules"], lambda programme: cells.refuse(programme, refused))
    # A cell may take longer than a call: it may train, or be the whole of a module.
    stops = cells.run(job["cells"], names, lambda: attempt.at_most(job["seconds"] / 2), refused)
    defined = [name for name in job["functions"] if callable(names.get(name))]
    say(replies, {"defined": defined, "stops": stops}, {})
    while True:
        asked, tensors = frames.read(requests)
        say(replies, *answer_all(names[asked["function"]], asked, tensors, job["step"]))


def answer_all(function, asked: dict, tensors: dict[str, torch.Tensor], seconds: float) -> tuple[dict, dict]:
    """Put the questions of a frame to a function; return what is known of the answers, and all their tensors."""
    given: list[dict[str, torch.Tensor]] = [{} for _ in asked["questions"]]
    for name, each in tensors.items():
        number, _, own = name.partition(".")
        given[int(number)][own] = each
    heads, replies = [], {}
    for number, question in enumerate(asked["questions"]):
        if heads and heads[-1]["fault"] and heads[-1]["fault"]["kind"] == "unfinished":
            heads.append(heads[-1])  # one wait is enough
            continue
        head, reply = answer(function, asked["constructor"], question, given[number], seconds)
        heads.append(head)
        replies |= {f"{number}.{name}": each for name, each in reply.items()}
    return {"answers": heads}, replies


def answer(
    function, constructor, question: dict, tensors: dict[str, torch.Tensor], seconds: float
) -> tuple[dict, dict]:
    """Put one question to a function; return what is known of the answer, and its tensors."""
    arguments: dict[str, Any] = {}
    for name in question["order"]:
        if constructor is not None and name == "state":
            state = {key: each for key, each in tensors.items() if key.startswith("state.")}
            arguments[name] = {key.removeprefix("state."): each for key, each in state.items()}
        elif name in question["functions"]:
            arguments[name] = attempt.Given(*question["functions"][name])
        else:
            arguments[name] = tensors[f"argument.{name}"] if f"argument.{name}" in tensors else question["plain"][name]
    given = {name: each for name, each in arguments.items() if torch.is_tensor(each)}
    making = tuple(constructor) if constructor is not None else None
    try:
        with attempt.at_most(seconds):
            tried = attempt.attempt(function, arguments, making, tensors.get("cotangent"))
    except BaseException as error:
        kind = "unfinished" if isinstance(error, attempt.Unfinished) else "raised"
        return {"fault": {"kind": kind, "line": None, "text": ""} | cells.told(error)}, {}
    if tried.fault:
        return {"fault": tried.fault}, {}
    values = (tried.value,) if torch.is_tensor(tried.value) else tried.value
    reply = {f"value.{number}": each for number, each in enumerate(values)}
    reply |= {f"argument.{name}": each.detach() for name, each in given.items()}
    reply |= {f"gradient.{name}": each for name, each in tried.gradients.items()}
    return {"fault": None, "parts": 0 if torch.is_tensor(tried.value) else len(values)}, reply


def say(replies: int, head: dict, tensors: dict[str, torch.Tensor]) -> None:
    """Send a frame, after what was printed; where the tensors cannot travel, say so instead.

    What has been tried meanwhile that is refused goes with it.
    """
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    try:
        frame = frames.pack(head | {"tried": attempts.taken()}, tensors)
    except Exception as error:
        frame = frames.pack({"fault": {"kind": "raised", "line": None, "text": ""} | cells.told(error)}, {})
    frames.write(replies, frame)

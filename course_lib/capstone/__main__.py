"""`python -m course_lib.capstone` trains the reference solution and keeps its weights beside this file."""

import argparse
from pathlib import Path

import torch

from course_lib.capstone.card import report_card
from course_lib.capstone.practice import (
    REFERENCE,
    load_caption_transformer,
    save_caption_transformer,
    train_caption_transformer,
)
from course_lib.data import scenes
from course_lib.models.caption_transformer import CaptionTransformer
from course_lib.seeding import start_reproducibly


def main(arguments: list[str] | None = None) -> None:
    """Train the reference solution and keep its weights and what its report card says."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.capstone", description=main.__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=8000, help="scenes to train on")
    parser.add_argument("--to", type=Path, default=REFERENCE, help="files to write, without .safetensors and .json")
    given = parser.parse_args(arguments)
    start_reproducibly(given.seed)
    model = CaptionTransformer(vocab_size=len(scenes.VOCABULARY))
    train_caption_transformer(model, given.steps, given.seed, given.number)
    command = f"python -m course_lib.capstone --steps {given.steps} --seed {given.seed} --number {given.number}"
    facts = {"command": command, "steps": given.steps, "data": "scenes", "torch": torch.__version__}
    save_caption_transformer(model, given.to, **facts)
    card = report_card(load_caption_transformer(base=given.to), given.seed)  # of the weights as they are written
    measured = {measure.name: round(measure.value, 4) for measure in card.measures}
    save_caption_transformer(model, given.to, **facts, report_card=measured)
    print(card)


if __name__ == "__main__":
    main()

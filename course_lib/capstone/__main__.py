"""`python -m course_lib.capstone` trains the reference solution and keeps its weights beside this file."""

import argparse
import json
from pathlib import Path

import torch

from course_lib.capstone.card import report_card
from course_lib.capstone.practice import REFERENCE, load_picture_writer, save_picture_writer, train_picture_writer
from course_lib.data import scenes
from course_lib.models.picture_writer import PictureWriter
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
    model = PictureWriter(vocabulary=len(scenes.VOCABULARY))
    train_picture_writer(model, given.steps, given.seed, given.number)
    command = f"python -m course_lib.capstone --steps {given.steps} --seed {given.seed} --number {given.number}"
    save_picture_writer(model, given.to, command=command, steps=given.steps, data="scenes", torch=torch.__version__)
    card = report_card(load_picture_writer(base=given.to), given.seed)
    facts = {"report_card": {measure.name: round(measure.value, 4) for measure in card.measures}}
    path = given.to.with_suffix(".json")
    content = json.loads(path.read_text(encoding="utf-8")) | facts
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(card)


if __name__ == "__main__":
    main()

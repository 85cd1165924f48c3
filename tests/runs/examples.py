"""Small data and small runs for the tests of this folder."""

from course_lib.checkpoints import read_checkpoint

WORDS = ("one", "two", "three", "four", "five", "six", "seven")
TINY = {"batch": 7, "width": 8, "layers": 1, "heads": 2}


def write_pairs(path):
    """Write 40 lines of one to six words, a tab, and the same words backwards."""
    lines = []
    for number in range(40):
        words = [WORDS[(number * 3 + place * (1 + number % 4)) % 7] for place in range(1 + number % 6)]
        lines.append(f"{' '.join(words)}\t{' '.join(reversed(words))}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def weights(folder):
    """Return the weights in the checkpoint of a run."""
    tensors, _ = read_checkpoint(folder)
    return {name: tensor for name, tensor in tensors.items() if name.startswith("model.")}


def rows(folder):
    """Return the rows of the metrics without the last column, the speed."""
    return [line.rsplit(",", 1)[0] for line in (folder / "metrics.csv").read_text().splitlines()]

"""What Chapter 13 saves in time: writing with a cache beside reading all anew, attention in tiles beside all at once.

    python benchmarks/cheaply.py

Ratios of one run on one thread. Writing: reading anew over cached, whole texts. Attention: tiles, and torch's kernel,
over ordinary attention.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from tqdm import tqdm

from course_lib.attention import scaled_dot_product_attention
from course_lib.decoding import generate
from course_lib.fused_attention import fused_attention
from course_lib.models.language_model import LanguageModel
from course_lib.tiling import attend_in_tiles

REPEATS = 5


def seconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ratio(one: Callable[[], object], other: Callable[[], object]) -> float:
    """Return how many times as long `one` takes: the median, with turns taken, so that a busy moment meets both."""
    seconds(one), seconds(other)  # the first time is slower
    return statistics.median(seconds(one) / seconds(other) for _ in range(REPEATS))


def written(next_token_logits: Callable, length: int) -> torch.Tensor:
    """Return a text of this many tokens."""
    prompt = torch.zeros(1, 1, dtype=torch.long)
    return generate(next_token_logits, prompt, length, torch.Generator().manual_seed(0))


def writing(model: LanguageModel, length: int) -> float:
    """Return how many times as long a text takes when all is read anew for each token."""
    ways = partial(written, model.next_token_logits, length), lambda: written(model.next_token_scorer(), length)
    assert torch.equal(*(way() for way in ways))
    return ratio(*ways)


def attending(attend: Callable, length: int) -> float:
    """Return how many times as long `attend` takes as attention with all scores at once."""
    tensors = [torch.randn(8, length, 64) for _ in range(3)]
    torch.testing.assert_close(attend(*tensors), scaled_dot_product_attention(*tensors)[0])
    return ratio(partial(attend, *tensors), partial(scaled_dot_product_attention, *tensors))


def main() -> None:
    """Print one line for each length."""
    torch.set_num_threads(1)
    model = LanguageModel(vocab_size=96, max_length=512, d_model=128, heads=4, layers=4).eval()
    print("texts written by 4 layers of width 128: reading all anew over cached")
    for length in tqdm((32, 128, 511), desc="lengths", leave=False):
        print(f"{length:6} tokens {writing(model, length):6.1f}")
    print("attention of 8 heads of width 64, forward: in tiles of 64 over all at once, torch's kernel over all at once")
    for length in tqdm((256, 1024, 2048), desc="lengths", leave=False):
        print(f"{length:6} places {attending(attend_in_tiles, length):6.2f} {attending(fused_attention, length):6.2f}")


if __name__ == "__main__":
    main()

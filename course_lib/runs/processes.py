"""Several processes, started by torchrun, that train one model together and speak with one voice."""

import os
import sys
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import torch
from torch import distributed, nn
from torch.distributed.rendezvous import rendezvous

from course_lib.project import CourseError
from course_lib.ranks import rank, world_size

GRACE = 1.0  # seconds: torchrun ends all when the first process is gone, but that one has something to say
PATIENCE = timedelta(hours=2)  # the others wait while rank 0 measures


def started_by_torchrun() -> bool:
    """Return whether this process is one of several that torchrun started."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def together(work: Callable[["Notes"], int]) -> int:
    """Do `work` in this process, or in each of those that torchrun started, and return its exit code.

    The processes find each other first. Where one fails, it says why, all end, and what fails in the others because of
    it is not said.
    """
    if not started_by_torchrun():
        return work(Notes(None))
    store, number, size = next(rendezvous("env://"))
    store.set_timeout(PATIENCE)
    notes = Notes(store)
    try:
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
        distributed.init_process_group(backend, store=store, rank=number, world_size=size, timeout=PATIENCE)
        return work(notes)
    except Exception as error:
        if store.add("failures", 1) == 1:
            said = str(error) if isinstance(error, CourseError) else traceback.format_exc()
            print(said, file=sys.stderr, flush=True)
        else:
            time.sleep(GRACE)
        sys.stdout.flush()
        os._exit(2)  # at once: the others may wait for this process for ever; torchrun ends them when it is gone
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


class Notes:
    """What rank 0 decides and the others must know; without others, nothing is passed on."""

    def __init__(self, store: distributed.Store | None):
        self.store, self.number = store, 0

    def from_first(self, decide: Callable[[], str]) -> str:
        """Return what `decide` returns in the process of rank 0, in every process."""
        self.number += 1
        if self.store is None:
            return decide()
        if rank() == 0:
            self.store.set(f"note {self.number}", decide())
        return self.store.get(f"note {self.number}").decode()


def joined(model: nn.Module) -> nn.Module:
    """Return what computes the model's logits and adds up its gradients over all processes: itself if it is alone."""
    if world_size() == 1:
        return model
    return nn.parallel.DistributedDataParallel(model)


def speaker() -> Callable[[str], None]:
    """Return what says a line: the process of rank 0 above its progress bar, the others not at all."""
    from tqdm.auto import tqdm

    return partial(tqdm.write, file=sys.stdout) if rank() == 0 else lambda line: None

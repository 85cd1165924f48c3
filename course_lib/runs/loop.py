"""From one step to the next: train, evaluate the model now and then, and leave each time what is needed to go on."""

import time
from collections.abc import Callable

from torch import nn
from tqdm.auto import tqdm

from course_lib.project import CourseError
from course_lib.ranks import rank
from course_lib.runs.curves import draw_curves
from course_lib.runs.folder import RunFolder
from course_lib.runs.stopping import Stopping
from course_lib.runs.task import Measured, TrainingTask
from course_lib.training import StepResult, Training

TIMED = 3  # steps, of which the first, which is slower, does not count


class Loop:
    """The way of `training` to its last step, in `folder`; `facts` are those of the checkpoint that it goes on from.

    Only the process of rank 0 measures, writes and talks, through `say`; `board` takes the numbers for TensorBoard.
    """

    def __init__(
        self,
        task: TrainingTask,
        model: nn.Module,
        training: Training,
        folder: RunFolder,
        facts: dict,
        say: Callable[[str], None],
        board: Callable[[int, dict], None] | None = None,
    ):
        self.task, self.model, self.training, self.folder = task, model, training, folder
        self.say, self.board = say, board
        # What has come together since the last evaluation: it has to survive a stop between two of them.
        self.loss, self.predictions = facts.get("loss", 0.0), facts.get("predictions", 0)
        self.evaluated = facts.get("evaluated", -1)
        self.seconds = facts.get("seconds", 0.0)  # of the steps since then
        self.evaluation_seconds = facts.get("evaluation_seconds", 0.0)  # of the evaluation itself

    def run(self, stopping: Stopping) -> bool:
        """Take the steps that are left; return whether all were taken, or a signal came."""
        training, every = self.training, self.task.settings.every
        bar = tqdm(
            total=training.steps,
            initial=training.step,
            desc="training",
            unit="step",
            disable=None if rank() == 0 else True,
        )
        stopped = stopping.wanted()
        with bar:
            while training.step < training.steps and not stopped:
                began = time.perf_counter()
                result = self.step()
                self.seconds += time.perf_counter() - began
                bar.update()
                bar.set_postfix_str(
                    f"loss {self.task.in_units(result.loss):.3f}, {self.predictions_a_second():,.0f} predictions/s",
                    refresh=False,
                )
                if training.step % every == 0 or training.step == training.steps:
                    self.evaluate()
                stopped = stopping.wanted()
        if training.step != self.evaluated:
            self.save()
        return training.step == training.steps

    def estimate(self) -> float:
        """Return about how many seconds are left, from a few steps that are not counted and the last evaluation."""
        left = self.training.steps - self.training.step
        return left * seconds_a_step(self.training) + -(-left // self.task.settings.every) * self.evaluation_seconds

    def step(self) -> StepResult:
        """Take one step; raises CourseError where the loss is no longer a number."""
        try:
            result = self.training.advance()
        except ValueError as error:
            raise CourseError(f"{error} (the run is kept as it was at step {self.evaluated})") from error
        self.loss += result.loss * result.predictions
        self.predictions += result.predictions
        return result

    def predictions_a_second(self) -> float:
        """Return how fast the run has been since the last evaluation."""
        return self.predictions / self.seconds if self.seconds else 0.0

    def evaluate(self) -> Measured | None:
        """Measure, write a row, samples, curves and a checkpoint, and say so in a line."""
        step, measured, began = self.training.step, None, time.perf_counter()
        if rank() == 0:
            self.model.eval()
            measured, samples = self.task.measure(self.model), self.task.samples(self.model)
            loss = self.task.in_units(self.loss / self.predictions) if self.predictions else None
            row = {
                "step": step,
                "training loss": loss,
                "held-out loss": measured.loss,
                "accuracy": measured.accuracy,
                "learning rate": self.training.optimiser.param_groups[0]["lr"] if step else 0.0,
                "predictions a second": round(self.predictions_a_second()) if self.predictions else None,
            }
            self.folder.append_row(row)
            self.folder.append_samples(step, samples)
            if self.board:
                self.board(step, row)
            self.say(line_of(step, loss, measured, self.task))
        self.loss, self.predictions, self.seconds, self.evaluated = 0.0, 0, 0.0, step
        self.evaluation_seconds = time.perf_counter() - began
        self.save()
        if rank() == 0:
            self.folder.write("curves.png", draw_curves(self.folder.rows(), self.task.unit, self.task.right))
        return measured

    def save(self) -> None:
        """Write a checkpoint."""
        if rank() == 0:
            facts = {"step": self.training.step, "evaluated": self.evaluated, "seconds": self.seconds}
            facts |= {
                "loss": self.loss,
                "predictions": self.predictions,
                "evaluation_seconds": self.evaluation_seconds,
            }
            self.folder.write_checkpoint(self.training.state(), facts)


def seconds_a_step(training: Training) -> float:
    """Return how long a step takes, measured on a few after which the training is as it was before."""
    before = {name: tensor.clone() for name, tensor in training.state().items()}
    try:
        for number in range(TIMED):
            training.advance()
            if number == 0:
                began = time.perf_counter()
    except ValueError:  # the run itself will say at which step
        return 0.0
    finally:
        training.restore(before)
    return (time.perf_counter() - began) / (TIMED - 1)


def line_of(step: int, loss: float | None, measured: Measured, task: TrainingTask) -> str:
    """Return one line about an evaluation."""
    parts = [f"held-out loss {measured.loss:.3f} {task.unit}"]
    if loss is not None:
        parts.insert(0, f"training loss {loss:.3f}")
    if measured.accuracy is not None:
        parts.append(f"{measured.accuracy:.1%} of the {task.right} right")
    return f"step {step:>6,}: " + ", ".join(parts)

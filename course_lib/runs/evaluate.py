"""`course evaluate`: what a trained model is worth on data that it has never seen."""

from pathlib import Path

from course_lib.runs.finished import open_run


def evaluate(run: Path, device: str = "cpu") -> None:
    """Print the held-out loss and the scores of the task; raises CourseError for a folder that is no run."""
    opened = open_run(run, device)
    task, settings = opened.task, opened.settings
    print(f"{run}: {settings.task} on {settings.data}, after {opened.step:,} of {settings.steps:,} steps")
    measured = task.measure(opened.model, thorough=True)
    print(f"  held-out loss    {measured.loss:.4f} {task.unit}")
    if measured.accuracy is not None:
        print(f"  {task.right + ' right':16} {measured.accuracy:.1%}")
    for name, value in measured.others.items():
        print(f"  {name:16} {value:.2f}")
    if settings.task == "language-model":
        best = task.best_n_gram()
        if best is None:
            print("  (the text is too long to compare with counting its n-grams)")
        else:
            order, bits = best
            print(f"  the best n-gram  {bits:.4f} {task.unit}, with {order - 1} characters before the one it predicts")

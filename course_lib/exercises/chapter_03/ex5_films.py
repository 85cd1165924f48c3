"""03.5: films, scores by dot product and the choice of the best."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def recommend(tastes, films, seen):
    """All scores, and the film with the largest score among those that were not seen."""
    scores = tastes @ films.mT
    return scores, scores.masked_fill(seen, -torch.inf).argmax(1)


def draw_evening(generator: torch.Generator) -> Case:
    """Draw viewers, films and who has seen what; every viewer has a film left, and the first has seen the best."""
    viewer, film, trait = sizes(generator, 4, 5, 4, least=2)
    tastes, films = normal(generator, viewer, trait), normal(generator, film, trait)
    seen = torch.rand(viewer, film, generator=generator) < 0.4
    best, worst = ((tastes @ films.mT).topk(1, largest=largest).indices for largest in (True, False))
    seen[:1].scatter_(1, best[:1], True)
    return {"tastes": tastes, "films": films, "seen": seen.scatter(1, worst, False)}


def nothing_to_their_taste(case: Case) -> Case:
    """Make every score negative."""
    return case | {"tastes": -case["tastes"].abs() - 0.1, "films": case["films"].abs() + 0.1}


def never_seen(case: Case):
    """The film that is recommended is one that the viewer has not seen."""
    best, films = (yield case).value.tolist(), case["seen"].shape[1]
    for viewer, (film, seen) in enumerate(zip(best, case["seen"].tolist(), strict=True)):
        if not 0 <= film < films or seen[film]:
            expected = "one that was not seen" if 0 <= film < films else f"one of {films}, from 0"
            return Problem("value", case, where=f"viewer {viewer}", got=f"film {film}", expected=expected)
    return None


MISTAKES = """
seen ignored => never a film that was seen
- return scores, unseen.argmax(dim=1)
+ return scores, scores.argmax(dim=1)
this is the best of all films, whether it was seen or not

seen films at zero => never a film that was seen
- unseen = scores.masked_fill(seen, -torch.inf)
+ unseen = scores * ~seen
this sets the scores of the films that were seen to 0, and 0 is a good score where all others are negative; minus
infinity is smaller than every number

seen turned round => never a film that was seen
+ unseen = scores.masked_fill(~seen, -torch.inf)
this chooses among the films that were seen: `seen` is True where a film is *not* to be chosen

scores marked => scores: one dot product for each viewer and film
+ unseen = scores.masked_fill_(seen, -torch.inf)
the films are right, but minus infinity was written into the scores that are returned; mark the films that were seen in
a copy, as `masked_fill` does

a viewer for each film => best: the largest score among the rest
- return scores, unseen.argmax(dim=1)
+ return scores, unseen.argmax(dim=0)
this argmax runs over the viewers (dim=0): the best viewer for each film; take the films, dim=1

one film for all => best: the largest score among the rest
+ return scores, unseen.argmax()
this argmax has no `dim`: one number for the whole table, counted through row after row

the score for the film => best: the largest score among the rest
+ return scores, unseen.amax(dim=1)
this returns the largest score; return the index of the film that has it: `argmax`

the worst film => best: the largest score among the rest
- unseen = scores.masked_fill(seen, -torch.inf)
- return scores, unseen.argmax(dim=1)
+ unseen = scores.masked_fill(seen, torch.inf)
+ return scores, unseen.argmin(dim=1)
this is the lowest score: the film that the viewer would like least

table turned => scores: one dot product for each viewer and film
- return scores, unseen.argmax(dim=1)
+ return scores.T, unseen.argmax(dim=1)
these scores have a row for each film; the rows belong to the viewers: `tastes @ films.T`

reshape for transpose => scores: one dot product for each viewer and film
- scores = einsum(tastes, films, "viewer trait, film trait -> viewer film")
+ scores = tastes @ films.reshape(films.shape[1], films.shape[0])
`films.reshape(trait, film)` has the right shape and mixes them up; `films.T` exchanges the axes

cosine => scores: one dot product for each viewer and film
+ normalize = torch.nn.functional.normalize
+ scores = normalize(tastes) @ normalize(films).T
this divides by the norms of the vectors; the score is the plain dot product, in which a strong taste and a film that
has much of it count for more

dislikes struck out => scores: one dot product for each viewer and film
+ scores = tastes.clamp(min=0) @ films.T
this takes negative tastes for 0; a trait that a viewer dislikes is to count against a film

seen films at minus a hundred => best: the largest score among the rest
- unseen = scores.masked_fill(seen, -torch.inf)
- return scores, unseen.argmax(dim=1)
+ return scores, scores.masked_fill(seen, -100).argmax(dim=1)
this sets the scores of the films that were seen to -100, and other scores may be lower still; minus infinity is smaller
than every number

seen films at the lowest score => never a film that was seen
+ return scores, scores.masked_fill(seen, scores.min()).argmax(dim=1)
this gives the films that were seen the lowest of all scores, which a film that is left may have as well; minus infinity
is smaller than every score

counted among the rest => best: the largest score among the rest
+ best = [each[~hidden].argmax() for each, hidden in zip(scores, seen, strict=True)]
+ return scores, torch.stack(best)
this counts the films that are left alone; the index counts all films, those that were seen too

the second best where the best was seen => never a film that was seen
- unseen = scores.masked_fill(seen, -torch.inf)
- return scores, unseen.argmax(dim=1)
+ order = scores.argsort(dim=1, descending=True)
+ best_seen = seen.gather(1, order[:, :1]).squeeze(1)
+ return scores, torch.where(best_seen, order[:, :2][:, -1], order[:, 0])
where the best film was seen this takes the second best, which may have been seen as well; strike out every film that
was seen, and then take the best
"""

EXERCISE = Exercise(
    title="Films by dot product",
    difficulty=1,
    minutes=15,
    tasks=(
        Task(
            function="recommend",
            parameters=("tastes", "films", "seen"),
            returns="the scores, shape (viewer, film), and the index of one film for each viewer, shape (viewer,)",
            outputs=("scores", "best"),
            cases=draw_evening,
            examples=(
                {
                    "tastes": torch.tensor([[2.0, -1.0], [0.0, 1.0]]),
                    "films": torch.tensor([[3.0, 0.0], [1.0, 3.0], [-1.0, 2.0]]),
                    "seen": torch.tensor([[True, False, False], [False, True, False]]),
                },
            ),
            edges=(
                {
                    "tastes": torch.tensor([[1.0], [-1.0]]),
                    "films": torch.tensor([[2.0]]),
                    "seen": torch.tensor([[False], [False]]),
                },  # one film
                {
                    "tastes": torch.tensor([[1.0]]),
                    "films": torch.tensor([[0.0], [-1e4]]),
                    "seen": torch.tensor([[True, False]]),
                },  # far below
                {
                    "tastes": torch.tensor([[1.0], [1.0]]),
                    "films": torch.tensor([[2.0], [2.0]]),
                    "seen": torch.tensor([[True, False], [False, True]]),
                },  # a film that was seen has the score of the one that was not
                {
                    "tastes": torch.tensor([[1.0]]),
                    "films": torch.tensor([[3.0], [2.0], [1.0]]),
                    "seen": torch.tensor([[True, True, False]]),
                },  # the two best were seen
            ),
            reference=recommend,
            properties=(
                Property(
                    "scores: one dot product for each viewer and film",
                    2,
                    of_output(0, both(equals(), inputs_unchanged)),
                ),
                Property(
                    "never a film that was seen",
                    1,
                    of_output(1, both(never_seen, on(nothing_to_their_taste, never_seen))),
                ),
                Property("best: the largest score among the rest", 2, of_output(1, equals())),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "What does a trait that a viewer likes add to the score of a film that has it, and to that of a film that has "
        "the opposite? Which axis do the two tables have in common?",
        "The scores are one product of matrices, over the traits. For the choice, put minus infinity where a film was "
        "seen, in a copy of the scores, and take the index of the largest along the films.",
        "`tastes @ films.T` are the scores; then `masked_fill(seen, -torch.inf)` on them, and `argmax` over dim=1.",
    ),
)

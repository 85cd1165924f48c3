"""One gradebook of a course: the gradebooks of its assignments, lateness, weights, and what is dropped."""

"""Exercises of chapter 15, the capstone; and the whole that a learner's parts make."""


def check_whole(folder, open_sessions, seed):
    """Examine the model made of the parts that the notebooks of a folder define; see `whole.check_folder`."""
    from course_lib.exercises.chapter_15 import whole  # slow to import, and wanted for the whole chapter only

    return whole.check_folder(folder, open_sessions, seed)

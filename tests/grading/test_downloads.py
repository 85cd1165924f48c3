"""The names of downloads: whose a file is, which of several counts, and names that only look like one."""

import pytest

from course_lib.grading.collect import counted, find_submissions
from course_lib.grading.downloads import read


@pytest.fixture
def collected(tmp_path):
    """Return a function that makes these files and folders, and collects them."""

    def collected(*names):
        for name in names:
            path = tmp_path / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if name.endswith("/") else path.write_text("")
        all_of_it = find_submissions(tmp_path / "in", tmp_path / "grades")
        found = {each.name: [path.removeprefix(f"{tmp_path}/in/") for path in each.paths] for each in all_of_it.found}
        return found, all_of_it.left, all_of_it.replaced

    return collected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ada Lovelace_1234567_assignsubmission_file_", ("Moodle", "Ada Lovelace", "1234567", False, "")),
        ("Ada Lovelace_1234567_assignsubmission_file", ("Moodle", "Ada Lovelace", "1234567", False, "")),
        ("A_1_B_12_assignsubmission_file_02_a.py", ("Moodle", "A_1_B", "12", False, "02_a.py")),
        (  # the student's own name is made to look like another's download
            "Ann_111_assignsubmission_comments__222_assignsubmission_file_",
            ("Moodle", "Ann_111_assignsubmission_comments_", "222", False, ""),
        ),
        ("Ann_111_assignsubmission_file_x_222_assignsubmission_file_a.py", ("", "", "", False, "")),  # Ann's, or 222's
        ("Ada_12_assignsubmission_onlinetext_onlinetext.html", ("Moodle", "Ada", "12", False, "onlinetext.html")),
        ("lovelaceada_12345_678901_02_a.ipynb", ("Canvas", "lovelaceada", "12345", False, "02_a.ipynb")),
        ("lovelaceada_LATE_12345_678901_02.py", ("Canvas", "lovelaceada", "12345", True, "02.py")),
        ("ångströmdé_12345_678901_02.py", ("Canvas", "ångströmdé", "12345", False, "02.py")),
        ("anon_x8f2k_678901_02.py", ("Canvas", "", "", False, "02.py")),
        ("LATE_anon_x8f2k_678901_02.py", ("Canvas", "", "", True, "02.py")),
        ("lovelaceada_12345_text.html", ("Canvas", "lovelaceada", "12345", False, "text.html")),
        ("lovelaceada_LATE_12345", ("Canvas", "lovelaceada", "12345", True, "")),
        ("ada.ipynb", ("", "", "", False, "")),
        ("Ada_12345_678901_02.py", ("", "", "", False, "")),
        ("ada_2024_01_lab.py", ("", "", "", False, "")),
        ("2024_678901_lab.py", ("", "", "", False, "")),
    ],
)
def test_what_a_name_says(name, expected):
    found = read(name)
    assert (found.platform, found.name, found.number, found.late, found.file) == expected


def test_a_student_s_files_on_canvas_are_one_submission(collected):
    found, _, replaced = collected("doeann_1_9001_02.ipynb", "doeann_1_9002_helper.py", "leebo_2_9003_a.pdf")
    assert found == {
        "doeann_1": ["doeann_1_9001_02.ipynb", "doeann_1_9002_helper.py"],
        "leebo_2": ["leebo_2_9003_a.pdf"],
    }
    assert replaced == []


def test_of_what_was_handed_in_again_the_last_counts_and_the_others_are_named(collected):
    found, _, replaced = collected(
        *("doeann_1_9001_02.ipynb", "doeann_1_9010_02-1.ipynb", "doeann_1_9009_02-2.ipynb", "doeann_1_9002_helper.py"),
        *("leebo_2_9003_02.ipynb.json", "leebo_2_9020_02-1.ipynb.json"),
        *("coecy_3_9004_draft.py", "coecy_LATE_3_9030_final.py"),
    )
    assert found == {
        "doeann_1": ["doeann_1_9002_helper.py", "doeann_1_9010_02-1.ipynb"],
        "leebo_2": ["leebo_2_9020_02-1.ipynb.json"],
        "coecy_LATE_3": ["coecy_LATE_3_9030_final.py"],
    }
    assert sorted(replaced) == [
        *("coecy_3_9004_draft.py", "doeann_1_9001_02.ipynb"),
        *("doeann_1_9009_02-2.ipynb", "leebo_2_9003_02.ipynb.json"),
    ]


def test_a_participant_s_folders_and_files_on_moodle_are_one_submission(collected):
    ann, bo = "Ann Doe_7_assignsubmission_", "Bo Lee_8_assignsubmission_"
    found, *_ = collected(
        f"{ann}file_/02.py", f"{ann}onlinetext_/onlinetext.html", f"{bo}file_a.py", f"{bo}file_b-1.py"
    )
    assert found == {
        f"{ann}file_": [f"{ann}file_/02.py", f"{ann}onlinetext_/onlinetext.html"],
        f"{bo}file_": [f"{bo}file_a.py", f"{bo}file_b-1.py"],
    }


@pytest.mark.parametrize(
    "names",
    [
        ("Ann_7_assignsubmission_file_/02.py", "Ann_7_assignsubmission_comments__8_assignsubmission_file_/02.py"),
        ("Ann_7_assignsubmission_file_02.py", "Ann_7_assignsubmission_file__8_assignsubmission_file_02.py"),
        ("Ann_7_assignsubmission_file_/02.py", "Bo_7_assignsubmission_file_/02.py"),
    ],
)
def test_nobody_s_files_are_joined_to_another_one_s_by_their_name(collected, names):
    found, *_ = collected(*names)
    assert sorted(found.values()) == sorted([name] for name in names)


@pytest.mark.parametrize(
    "names",
    [
        ("hw_3_2024_ada.py", "hw_3_2024_bo.py"),  # the same number twice
        ("lab_2_4711_ada.py", "lab_2_4712_bo.py"),  # all of one name
        ("lab_1_4711_ada.py", "lab_2_4712_bo.py"),
        ("ada_2024_01_lab.py", "ada_2024_02_lab.py"),
        ("doeann_1_9001_a/", "doeann_1_9002_b/", "leebo_2_9003_c/"),  # folders, which Canvas does not make
        ("ann_3_4711_lab.py", "bo_3_4712_lab.py"),
    ],
)
def test_names_that_only_look_like_canvas_s_are_students_of_their_own(collected, names):
    found, *_ = collected(*names)
    assert len(found) == len(names)


def test_a_name_without_a_file_s_own_is_that_of_no_download(collected):
    _, left, _ = collected("lab.py", "doeann_12", "Ann_12_assignsubmission_file_")
    assert left == ["Ann_12_assignsubmission_file_", "doeann_12"]


def test_the_last_file_is_that_of_the_highest_number(collected):
    found, *_ = collected("doeann_1_10001_02-1.py", "doeann_1_9999_02.py", "leebo_2_10000_02.py")
    assert found["doeann_1"] == ["doeann_1_10001_02-1.py"]


def test_kinds_are_counted_in_words(tmp_path):
    names = ["a.ipynb.json", "b.pdf", "c.PDF", "d", "e.docx", "f.x", "g.y", "h.z"]
    said = counted(tmp_path / name for name in names)
    assert said == "2 files of kind .pdf, 1 of .ipynb, 1 without an ending, 1 of .docx, 1 of .x and 2 of other kinds"
    assert (
        counted([tmp_path / "README"]) == "1 without an ending" and counted([tmp_path / "a.b"]) == "1 file of kind .b"
    )
    assert counted([tmp_path / "a.\x1b[2J"]).isprintable()

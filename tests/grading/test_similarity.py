"""`course similarity`: copied answers come to the top, and answers found independently do not come with them."""

import json
import math
import random
import re
import subprocess
import sys

import pytest

from course_lib.grading.catalogue import catalogue
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import GRADED, Finding, Record
from course_lib.grading.reports import similarity
from course_lib.grading.reports.similarity import Comparison, Pair, find_code
from course_lib.project import root


def compare(records):
    """Compare the submissions of a class of this course."""
    return similarity.compare(records, catalogue())


# What students write: in `⟨a¦b¦c⟩` the first is the most frequent; $1, $2, ... are names of their own choice.
ANSWERS = {
    ("00.1", "dot_products(query, key)"): """
        ⟨
            return ⟨query @ key.transpose(⟨1, 2¦-1, -2¦-2, -1⟩)¦query @ key.mT¦torch.matmul(query, key.transpose(1, 2))⟩
        ¦
            return torch.⟨bmm(query, key.transpose(1, 2))¦bmm(query, key.permute(0, 2, 1))⟩
        ¦
            return (query⟨[:, :, None]¦.unsqueeze(2)⟩ * key⟨[:, None]¦.unsqueeze(1)⟩).sum(⟨-1¦dim=-1¦3⟩)
        ⟩""",
    ("00.2", "softmax(scores, temperature)"): """
        ⟨
            $1 = torch.exp(scores / temperature)
            return $1 / $1.sum(⟨dim=-1, keepdim=True¦-1, keepdim=True⟩)
        ¦
            $1 = scores / temperature
            $1 = $1 - $1.⟨max(dim=-1, keepdim=True).values¦amax(-1, keepdim=True)¦max(-1, keepdim=True)[0]⟩
            $2 = ⟨torch.exp($1)¦$1.exp()⟩
            return $2 / $2.sum(⟨dim=-1¦-1⟩, keepdim=True)
        ¦
            $1 = (scores - scores.⟨max()¦max(dim=-1, keepdim=True).values⟩) / temperature
            return torch.exp($1) / torch.⟨exp($1).sum(-1, keepdim=True)¦sum(torch.exp($1), dim=-1, keepdim=True)⟩
        ¦
            return torch.exp(scores / temperature - torch.logsumexp(scores / temperature, ⟨-1¦dim=-1⟩, keepdim=True))
        ⟩""",
    ("00.3", "softmax_jacobian(weights)"): """
        ⟨
            $1 = torch.diag_embed(weights)
            $2 = weights⟨[..., :, None]¦.unsqueeze(-1)¦[..., None]⟩ * weights⟨[..., None, :]¦.unsqueeze(-2)⟩
            return $1 - $2
        ¦
            return torch.diag_embed(weights) - torch.einsum("...i,...j->...ij", weights, weights)
        ¦
            $1 = torch.eye(weights.⟨shape[-1]¦size(-1)⟩)
            return weights[..., ⟨:, None¦None⟩] * ($1 - weights⟨[..., None, :]¦.unsqueeze(-2)⟩)
        ¦
            $1 = weights.shape[-1]
            $2 = torch.zeros(⟨*weights.shape, $1¦weights.shape + ($1,)⟩)
            for $3 in range($1):
                for $4 in range($1):
                    $2[..., $3, $4] = weights[..., $3] * (⟨($3 == $4)¦float($3 == $4)¦int($3 == $4)⟩ - weights[..., $4])
            return $2
        ⟩""",
    ("00.4", "masked_mean(values, mask)"): """
        ⟨
            $1 = ⟨mask.unsqueeze(-1)¦mask[..., None]¦mask[:, :, None]⟩⟨¦.float()⟩
            return (values * $1).sum(⟨dim=1¦1⟩) / $1.sum(⟨dim=1¦1⟩).clamp(min=1)
        ¦
            $1 = (values * mask[⟨..., None¦:, :, None⟩]).sum(⟨1¦dim=1⟩)
            $2 = mask.sum(⟨1¦dim=1⟩, keepdim=True)
            return ⟨$1 / $2.clamp(min=1)¦$1 / torch.clamp($2, min=1)¦torch.where($2 > 0, $1 / $2, 0.0)⟩
        ¦
            $1 = values.masked_fill(~mask⟨[..., None]¦.unsqueeze(-1)⟩, 0)
            return $1.⟨sum(1) / mask.sum(1, keepdim=True)¦mean(1)¦mean(dim=1)⟩
        ⟩""",
    ("02.1", "map_to_rows(feature_map)"): """
        ⟨
            return feature_map.flatten(⟨2¦start_dim=2⟩).⟨transpose(1, 2)¦mT¦permute(0, 2, 1)⟩
        ¦
            $1, $2, $3, $4 = feature_map.⟨shape¦size()⟩
            return feature_map.⟨permute(0, 2, 3, 1)¦movedim(1, -1)⟩.reshape($1, ⟨$3 * $4¦-1⟩, $2)
        ¦
            return ⟨rearrange¦einops.rearrange⟩(feature_map, "⟨b c h w -> b (h w) c¦b f h w -> b (h w) f⟩")
        ¦
            $1 = ⟨feature_map.shape[0]¦len(feature_map)⟩
            return feature_map.reshape($1, -1, feature_map.shape[1])
        ⟩""",
    ("02.2", "additive_weights(query, keys, query_weight, key_weight, score_weight)"): """
        ⟨
            $1 = query @ query_weight.⟨T¦mT¦t()⟩
            $2 = keys @ key_weight.⟨T¦mT¦t()⟩
            $3 = ⟨torch.tanh($1⟨[:, None]¦.unsqueeze(1)¦[:, None, :]⟩ + $2)¦($1.unsqueeze(1) + $2).tanh()⟩
            $4 = $3 @ score_weight
            return ⟨torch.softmax($4, dim=⟨1¦-1⟩)¦$4.softmax(⟨dim=¦⟩⟨1¦-1⟩)¦F.softmax($4, dim=⟨-1¦1⟩)⟩
        ¦
            $1 = torch.⟨matmul¦mm⟩(query, query_weight.T)⟨.unsqueeze(1)¦[:, None]⟩
            $2 = torch.matmul(keys, key_weight.⟨T¦transpose(0, 1)⟩)
            $3 = torch.matmul(torch.tanh(⟨$1 + $2¦$2 + $1⟩), score_weight)
            return torch.softmax($3, ⟨dim=-1¦dim=1¦1⟩)
        ¦
            $1 = torch.einsum("⟨bq,hq->bh¦bi,hi->bh⟩", query, query_weight)
            $2 = torch.einsum("⟨blk,hk->blh¦bni,hi->bnh⟩", keys, key_weight)
            $3 = torch.einsum("⟨blh,h->bl¦bnh,h->bn⟩", torch.tanh($1⟨[:, None]¦.unsqueeze(1)⟩ + $2), score_weight)
            return $3.softmax(⟨1¦-1¦dim=1⟩)
        ¦
            $1 = []
            for $2 in range(⟨len(keys)¦keys.shape[0]⟩):
                $3 = torch.tanh(query_weight @ query[$2] + keys[$2] @ key_weight.T)
                $1.append(torch.softmax($3 @ score_weight, ⟨dim=0¦0¦-1⟩))
            return torch.stack($1)
        ⟩""",
    ("02.3", "attend(weights, values)"): """
        ⟨
            return (weights⟨[..., None]¦.unsqueeze(-1)¦[:, :, None]⟩ * values).sum(⟨dim=1¦1¦-2⟩)
        ¦
            return torch.einsum("⟨bl,bld->bd¦bn,bnd->bd⟩", weights, values)
        ¦
            return ⟨torch.bmm(weights.unsqueeze(1), values)¦(weights[:, None] @ values)⟩.squeeze(1)
        ¦
            return (weights⟨[..., None]¦.unsqueeze(-1)⟩ * values).mean(⟨dim=1¦1⟩)
        ⟩""",
    ("02.4", "coverage_penalty(weights)"): """
        ⟨
            return ((⟨1 - weights.sum(⟨1¦dim=1⟩)¦weights.sum(⟨dim=1¦1⟩) - 1⟩) ** 2).sum(⟨1¦dim=1¦-1⟩)
        ¦
            $1 = weights.sum(⟨dim=1¦1⟩)
            ⟨return ((1 - $1) ** 2).sum(⟨dim=1¦-1⟩)¦$2 = (1 - $1).pow(2)
            return $2.sum(⟨-1¦dim=1⟩)⟩
        ¦
            $1 = torch.zeros(weights.shape[0], weights.shape[2])
            for $2 in range(weights.shape[1]):
                $1 ⟨+= weights[:, $2]¦= $1 + weights[:, $2, :]⟩
            return ((⟨1 - $1¦$1 - 1⟩) ** 2).sum(⟨dim=1¦1¦-1⟩)
        ⟩""",
    ("02.5", "hard_attention_gradient(scores, index, reward, baseline)"): """
        ⟨
            $1 = torch.softmax(scores, dim=⟨1¦-1⟩)
            $2 = ⟨torch.nn.functional.one_hot¦F.one_hot⟩(index, ⟨scores.shape[1]¦scores.shape[-1]¦scores.size(1)⟩)
            return (reward - baseline)⟨[:, None]¦.unsqueeze(1)¦.view(-1, 1)⟩ * ($2 - $1)
        ¦
            $1 = scores.softmax(⟨1¦dim=1¦-1⟩)
            $2 = torch.zeros_like(scores)
            $2⟨[torch.arange(len(index)), index] = 1¦.scatter_(1, index⟨[:, None]¦.unsqueeze(1)⟩, 1)⟩
            $3 = reward - baseline
            return $3⟨[:, None]¦.unsqueeze(⟨1¦-1⟩)⟩ * ($2 - $1)
        ¦
            $1 = scores.⟨clone().requires_grad_()¦detach().clone().requires_grad_(True)⟩
            $2 = torch.log_softmax($1, dim=⟨1¦-1⟩)[⟨range(len(index))¦torch.arange(len(index))⟩, index]
            (⟨(reward - baseline) * $2¦$2 * (reward - baseline)⟩).sum().backward()
            return $1.grad
        ⟩""",
}
NAMES = re.findall(r"\w+", "out result h hidden s e w probs tmp x y z a b q k total r mixed energy logits p acc")


def write(pattern: str, chance: random.Random) -> str:
    """Take one way through the choices, the first most often."""
    while choice := re.search("⟨([^⟨⟩]*)⟩", pattern):
        ways = choice[1].split("¦")
        taken = chance.choices(ways, [1 / rank for rank in range(1, len(ways) + 1)])[0]
        pattern = pattern[: choice.start()] + taken + pattern[choice.end() :]
    names = chance.sample(NAMES, 4)
    return re.sub(r"\$(\d)", lambda found: names[int(found[1]) - 1], pattern)


def student(seed: int) -> str:
    chance = random.Random(seed)
    code = "import torch\n%matplotlib inline\n"
    for (_, signature), pattern in ANSWERS.items():
        code += f"\ndef {signature}:" + write(pattern, chance).replace("\n        ", "\n") + "\n"
    return code


def disguise(code: str, chance: random.Random) -> str:
    """Copy as a hurried student would: other names, other comments, another layout."""
    for name in set(re.findall(r"\w+", code)) & set(NAMES):
        code = re.sub(rf"(?<![.\w\"]){name}\b(?!=)(?=[^\"]*(?:\"[^\"]*\"[^\"]*)*$)", f"my_{name}", code)
    code = re.sub(r"^(def .*\n)", lambda found: found[1] + '    """My own words."""\n', code, flags=re.MULTILINE)
    code = re.sub(r"^(    return )(.*)", r"    # the answer\n\1(\n        \2\n    )", code, flags=re.MULTILINE)
    return code.replace(" + ", "+").replace(", ", " , ")


def record(name: str, source: str) -> Record:
    findings = (Finding(exercise, signature.partition("(")[0], "right", 1, 1) for exercise, signature in ANSWERS)
    return Record(name, "", GRADED, "", tuple(findings), source)


def class_of(size: int, seed: int, copies: int = 0) -> list[Record]:
    """Make a class that worked apart, and after it copies of the first few."""
    chance = random.Random(seed)
    alone = [record(f"student_{number:02}", student(1000 * seed + number)) for number in range(size)]
    return alone + [record(f"copy_of_{each.submission}", disguise(each.source, chance)) for each in alone[:copies]]


@pytest.mark.parametrize("seed", range(3))
def test_three_copied_pairs_of_sixty_are_found_and_nothing_else(seed):
    comparison = compare(class_of(60, seed, copies=3))
    assert {(pair.first, pair.second) for pair in comparison.pairs} == {
        (f"student_{number:02}", f"copy_of_student_{number:02}") for number in range(3)
    }
    assert all(pair.bits >= comparison.threshold > comparison.next_bits for pair in comparison.pairs)
    assert [pair.bits for pair in comparison.pairs] == sorted((pair.bits for pair in comparison.pairs), reverse=True)
    assert all(agreement.equal for pair in comparison.pairs for agreement in pair.agreements)
    assert len(comparison.pairs[0].agreements) >= 7  # what equals the worked answer is no agreement


@pytest.mark.parametrize("size", [1, 2, 8, 60])
def test_a_class_that_worked_apart_gives_an_empty_list(size):
    assert all(not compare(class_of(size, seed)).pairs for seed in range(4))


def test_a_copy_that_was_worked_over_is_still_found():
    records = class_of(40, seed=5)
    copy = disguise(records[0].source, random.Random(0))
    copy = re.sub(r"(def softmax\(.*\n.*\n)", r"\1    unused = scores.shape\n", copy)  # one line more
    copy = copy.replace(
        "def attend(weights , values):", "def attend(weights, values):\n    return values.sum(1)\ndef old():"
    )
    (pair,) = compare([*records, record("copy", copy)]).pairs
    softmax = next(each for each in pair.agreements if each.function == "softmax")
    assert not softmax.equal and 0.5 <= softmax.share < 1
    assert "attend" not in [each.function for each in pair.agreements]


def test_what_the_course_wrote_and_what_all_write_is_no_sign():
    worked = "".join(
        f"def {match[1]}\n"
        for path in sorted((root() / "solutions").glob("*.md"))
        for match in re.finditer(r"^def (.*?)\n```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )
    stubs = "".join(f"def {signature}:\n    raise NotImplementedError\n" for _, signature in ANSWERS)
    for same in (worked, stubs):
        assert not compare([*class_of(30, seed=2), record("one", same), record("other", same)]).pairs
    assert not compare([record(f"student_{number}", student(1)) for number in range(30)]).pairs


@pytest.fixture
def bits(monkeypatch):
    """Return a function that gives the bits of every pair of answers to `attend`."""
    monkeypatch.setattr(similarity, "LEAST_THRESHOLD", 0.0)
    monkeypatch.setattr(similarity, "CHANCE", float("inf"))

    def bits(answers):
        records = [record(name, f"def attend(weights, values):\n{body}\n") for name, body in answers.items()]
        return {(pair.first, pair.second): pair.bits for pair in compare(records).pairs}

    return bits


def test_what_few_write_counts_for_more(bits):
    # Lines that differ in one word, which thirty, six or two students write.
    writers = {"sum": 30, "prod": 6, "amax": 2}
    found = bits(
        {f"{call}{n}": f"    return weights.{call}(1)" for call, count in writers.items() for n in range(count)}
    )
    often, seldom, once = (found[f"{call}0", f"{call}1"] for call in writers)
    assert 0 < often < 1 < seldom < once <= round(math.log2(38), 1)


def test_one_function_alone_is_never_enough(bits):
    others = {f"other{number}": f"    return values.sum({number})" for number in range(30)}
    long = "\n".join(f"    a{n} = torch.roll(values, {n}) @ weights[{n * n}:] - {n + 7}" for n in range(40))
    assert bits(others | {"one": long, "two": long.replace("a", "b", 1)})["one", "two"] == round(math.log2(32), 1)


def test_the_order_of_the_records_does_not_matter():
    records = class_of(30, seed=3, copies=2)
    pairs = [compare(each).pairs for each in (records, records[::-1])]
    assert [{pair.first, pair.second} for pair in pairs[0]] == [{pair.first, pair.second} for pair in pairs[1]]
    assert [pair.bits for pair in pairs[0]] == [pair.bits for pair in pairs[1]]


# ---------------------------------------------------------------- one function


@pytest.mark.parametrize(
    "disguised",
    [
        "def f(x, y):\n    total = x + y\n    return total * len(x)",
        'def f(x: "Tensor", y) -> None:\n    "text"\n    # why\n    s=(x+y)\n    \'more\'\n    return (s) * len( x )',
        'x = 1\ndef f(x, y):\n    return 0\n%magic\ndef f(x,\n  y\n):\n    """Long\nand at the margin.\n"""\n\n'
        "# at the margin\n    a = x + y\n    return a * len(x)\n\nbroken (((",
    ],
)
def test_a_disguise_does_not_change_the_normal_form(disguised):
    code = find_code(disguised, "f")
    assert code.form == "def f(x, y):\n    name_1 = x + y\n    return name_1 * len(x)"
    assert "text" not in code.text and "why" not in code.text and "Tensor" not in code.text


def test_another_computation_has_another_normal_form():
    forms = [
        "def f(x, y): return x + y",
        "def f(x, y): return y + x",
        "def f(x, y): return x.sum(y)",
        "def f(x, y): a = x; b = y; return a + b",
        "def f(x, y): a = x; b = y; return b + a",
        "def f(x, y): return max(x, y)",
        "def f(x, y): return min(x, y)",
        "class f: pass",
    ]
    assert len({find_code(code, "f").form for code in forms}) == len(forms)
    assert find_code("def f(): max = 1; return max", "f").form == find_code("def f(): x = 1; return x", "f").form


HOSTILE = {
    "minus": "x = " + "-" * 100_000 + "1",
    "not": "x = " + "not " * 1_400 + "1",
    "brackets": "x = " + "(" * 5_000,
    "sum": "x = " + "1+" * 2_900 + "1",
    "points": "x = " + "a." * 2_900 + "a",
    "lambda": "x = " + "lambda: " * 700 + "1",
    "calls": "x = a" + "()" * 2_900,
    "zero": "x = '\0'",
    "surrogate": "x = '\ud800'",
    "escape": r"x = '\d' is 1",
    "digits": "x = " + "9" * 5_000,
    "indents": "".join(" " * depth + "if 1:\n" for depth in range(4, 90)),
    "long": "x = 1\n    " * 200_000,
    "quotes": '"""',
    "nothing": "",
}


def test_hostile_code_is_left_out_or_compared_and_says_nothing(tmp_path):
    """In a process of its own, since what is feared is its end; its stack has the size that Windows gives."""
    for name, body in HOSTILE.items():
        (tmp_path / name).write_text(
            f"def attend(weights, values):\n    {body}\n", encoding="utf-8", errors="surrogatepass"
        )
    programme = f"""
import pathlib, threading
from course_lib.grading.reports.similarity import find_code
def read():
    for path in sorted(pathlib.Path({str(tmp_path)!r}).iterdir()):
        code = find_code(path.read_text(encoding="utf-8", errors="surrogatepass"), "attend")
        print(path.name, code and len(code.text) < 20_000)
threading.stack_size(1 << 20)
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""
    warned = ["-W", "always:invalid escape sequence"]  # as newer versions of Python do
    done = subprocess.run([sys.executable, *warned, "-c", programme], capture_output=True, text=True, cwd=root())
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == sorted(HOSTILE)
    assert "False" not in done.stdout


def test_a_submission_without_code_is_named_and_never_alike():
    empty = [record("empty", ""), record("broken", "def attend(weights, values)\n    return (")]
    comparison = compare([*class_of(10, seed=1), *empty])
    assert comparison.unread == ("empty", "broken") and not comparison.pairs


# ---------------------------------------------------------------- the shell


@pytest.fixture
def grades(tmp_path):
    with Gradebook.create(tmp_path / "gradebook.sqlite", {"seed": "1"}) as gradebook:
        for each in class_of(30, seed=4, copies=1):
            gradebook.add(each)
    return tmp_path


def test_the_table_lists_and_does_not_accuse(grades, capsys):
    similarity.similarity(grades)
    out, err = capsys.readouterr()
    assert err == "" and "student_00" in out and "31 submissions compared; 1 pair from" in out
    assert "Read both before you conclude anything" in " ".join(out.split())
    assert not re.search("plagiar|cheat|suspect|guilt", out, re.IGNORECASE)


def test_json_holds_what_the_table_shows(grades, capsys):
    similarity.similarity(grades, as_json=True)
    found = json.loads(capsys.readouterr().out)
    (pair,) = found["pairs"]
    assert {pair["first"], pair["second"]} == {"student_00", "copy_of_student_00"}
    assert pair["bits"] >= found["threshold"] > found["next_bits"] and found["submissions"] == 31
    assert set(pair["agreements"][0]) == {"exercise", "function", "share", "equal"}


def test_names_reach_the_terminal_without_what_it_would_obey(capsys):
    similarity.show(Comparison(2, 1.0, (Pair("[bold]x\033[2J", "y\u202e\nz", 9.0, ()),), 0.0, ()))
    out = capsys.readouterr().out
    assert "[bold]x" in out and "\033" not in out and "\u202e" not in out

"""airtight paper: LaTeX that says what the ledger says, with every proof, and that pdflatex takes."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from support.common import refused, run
from support.paths import ROOT

from airtight.report import paper
from airtight.report.paper import Latex, escaped, write
from airtight.validate.claims import proofs
from airtight.validate.claims.claim import FAILING, Verdict
from airtight.validate.claims.evidence import How, shipped
from airtight.validate.claims.sources import INSTALLED, Source
from airtight.validate.files import MANIFEST

SHORTEST = min(INSTALLED.papers().values(), key=lambda paper: len(paper.claims)).id
NAMES = ["feature-dp", "corbin-fl", "utility-fairness", "feature-dp-short", SHORTEST]
LEMMAS = ROOT / "examples" / "lemmas.py"
EVIDENCE = {e.claim.id: e for e in shipped().evidence}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("papers")
    return {name: [path.read_text() for path in write(name, out)] for name in NAMES}, out


def balanced(text):
    """Braces and environments close in order."""
    text = re.sub(r"\\[\\{}]", "", text)
    depth, stack = 0, []
    for token in re.finditer(r"\\(begin|end)\{(\w+\*?)\}|[{}]", text):
        if token[1] == "begin":
            stack.append(token[2])
        elif token[1] == "end":
            assert stack.pop() == token[2]
        else:
            depth += 1 if token[0] == "{" else -1
            assert depth >= 0
    return depth == 0 and not stack


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_there_once(made, name):
    text, bib = made[0][name]
    assert balanced(text) and balanced(bib)
    for claim in INSTALLED.papers()[name].claims:
        assert claim.statement in text, claim.id
        heading = rf"\textbf{{{escaped(claim.id)}}} ("
        assert text.count(heading) == 1, claim.id
    cited = set(re.findall(r"\\cite\{([^}]+)\}", text))
    assert cited == set(re.findall(r"^@\w+\{([^,]+),", bib, re.M))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_called_true_is_known(made, name):
    """No row that was only searched, without a proof of its form, stands in a theorem, and none that is refuted."""
    text = made[0][name][0]
    theorems = re.findall(r"\\begin\{theorem\}\[\{(.*?)\}\]", text)
    rows = {row for heading in theorems for row in heading.replace(r"\_\allowbreak{}", "_").split(", ")}
    here = {c.id: EVIDENCE[c.id] for c in INSTALLED.papers()[name].claims}
    known = {n for n, e in here.items() if e.verdict not in FAILING and (e.how is not How.SEARCHED or e.form)}
    assert rows == known
    assert text.count(r"\begin{proof}") == len(theorems)


def test_proofs_are_whole(made):
    """Each formula of a proof is in the text, those of what it refers to as well."""
    for name in ("feature-dp", "corbin-fl", "utility-fairness"):
        text, known = made[0][name][0], proofs.sections(name)
        for claim in INSTALLED.papers()[name].claims:
            if claim.argued:
                section = proofs.of(claim, known)
                for formula in re.findall(r"\$+([^$]+)\$+", section.hypotheses + section.body):
                    assert formula.strip() in text, (claim.id, formula)
    assert "(polarisation)" in made[0]["feature-dp"][0]


def test_markdown_keeps_stars_and_links():
    latex = Latex()
    assert latex("*So* A*, B* and $a*b$ \\*") == r"\emph{So} A*, B* and $a*b$ *"
    assert latex("see [A. One, J. 1, 1999](https://doi.org/10.1/x)") == r"see A. One, J. 1, 1999~\cite{10-1-x}"
    assert latex.cited == {"10.1/x": "A. One, J. 1, 1999"}


def test_the_command(tmp_path):
    """A path that is wider than the screen is not broken."""
    out = tmp_path / ("wide" * 30)
    result = run("paper", SHORTEST, "--out", out)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert said.startswith(f"Written: {out / SHORTEST}.tex (statements with proofs), ")
    assert f"{out / SHORTEST}.bib (references)." in said
    assert f"Next: latexmk -pdf -cd {out / SHORTEST}.tex" in said
    assert {path.name for path in out.iterdir()} == {MANIFEST, f"{SHORTEST}.tex", f"{SHORTEST}.bib"}
    assert refused(run("paper", "nothing", "--out", out), "nothing")


def test_papers_of_anyone(tmp_path):
    """Without shipped evidence the claims are tried."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from airtight import *\nimport sympy as sp\nx = parameter('x', 0.1, 1.0)\n"
        "a = Claim('A_1', 'Lemma 1 (50 %)', at_most(x**2, x), holds('clear'))\n"
        "b = Claim('B', 'Lemma 2', at_most(x, x**2), false('not so', corrected_by='A_1'))\n"
    )
    text = write("mine", tmp_path / "out", source=Source(str(path)))[0].read_text()
    assert balanced(text) and r"A\_\allowbreak{}1" in text and r"50 \%" in text
    assert text.index(r"\begin{theorem}") < text.index(r"\begin{corrects}")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("name", NAMES[:3])
def test_pdflatex_takes_it(made, name):
    out = made[1]
    once = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode"]
    for command in (once, ["bibtex"], once, once):
        done = subprocess.run([*command, name], cwd=out, capture_output=True, text=True, check=False, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout and "multiply" not in done.stdout


def test_of_a_file_of_ones_own(tmp_path):
    """Refuted against its ruling: without its author's reason; what cannot be computed is not called tried."""
    made = run("paper", LEMMAS, "--out", tmp_path)
    assert made.exit_code == 0 and all(str(tmp_path / f"lemmas.{kind}") in made.stdout for kind in ("tex", "bib"))
    text = (tmp_path / "lemmas.tex").read_text()
    assert balanced(text) and "airtight try lemmas.py" in text
    assert (
        "By machine, in ball arithmetic" in text
        and "No violation" not in text
        and "Not settled: ZeroDivisionError" in text
    )
    hopeful = tmp_path / "hopeful.py"
    hopeful.write_text(
        LEMMAS.read_text().replace('false("The 2 is wrong, and so is the line.", "step")', 'holds("Plainly.")')
    )
    assert run("paper", hopeful, "--out", tmp_path).exit_code == 0
    assert "Plainly" not in (tmp_path / "lemmas.tex").read_text()
    assert refused(run("paper", tmp_path / "none.py", "--out", tmp_path), "none.py: there is no such file")


def test_an_unsettled_row_is_no_theorem(monkeypatch, tmp_path):
    """A witness that no ball confirms settles nothing: once this was a KeyError."""
    rows = shipped()
    row = next(e for e in rows.evidence if e.claim.paper == "feature-dp" and e.witness is not None)
    doubtful = replace(row, verdict=Verdict.UNSETTLED, how=How.WITNESS, fault="")
    evidence = [doubtful if e.claim.id == row.claim.id else e for e in rows.evidence]
    monkeypatch.setattr(paper, "shipped", lambda: replace(rows, evidence=evidence))
    text = paper.write("feature-dp", tmp_path)[0].read_text()
    after = text[text.index(rf"\textbf{{{escaped(row.claim.id)}}} (") :]
    assert (
        balanced(text) and f"Not settled: {row.evaluations} evaluations were too few." in after.split(r"\end{tried}")[0]
    )

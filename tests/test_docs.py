"""What the tutorial, the how-to pages, the README and the notebooks tell a reader to do works as it stands."""

import ast
import contextlib
import io
import itertools
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from latex2mathml.converter import convert

import airtight
from airtight.analytics.checks import ParameterError
from airtight.analytics.forms import comparison
from airtight.analytics.inference.system import InferenceSystem
from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve
from airtight.analytics.privacy.mechanisms import mechanism
from airtight.analytics.privacy.over_the_air import amplification, observers
from airtight.commands.cli import main
from airtight.report import document

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)

TASKS = ("privacy", "channel", "design", "frontier", "fleet", "exchange", "train")
# sweeps and packages are tried beside their code
TOLD = [*(f"tutorial-{name}" for name in ("privacy", "channel", "theorem")), *(f"howto-{task}" for task in TASKS)]
RUN = ["README.md", *(f"docs/{name}.md" for name in ("concepts", "python", *TOLD))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("paper.toml", "fleet.toml", "features.npz", "lemmas.py"):
        shutil.copy(ROOT / "examples" / name, tmp_path / name)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_a_page_runs(page, folder):
    space, printed = {}, ""
    for kind, text in FENCE.findall((ROOT / page).read_text()):
        if kind == "toml":
            (folder / "mine.toml").write_text(text)
        elif kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(text, page, "exec"), space)
            printed = stream.getvalue()
        elif kind == "text" and printed:
            assert text == printed
        elif kind == "console" and page != "README.md":
            for line, shown in re.findall(r"^\$ (airtight .*)\n((?:[^$].*\n)*)", text.replace("\\\n", ""), re.MULTILINE):
                command = line.partition(" #")[0].strip()
                if re.search(r" (FILE|DIR)\b", command):  # the reader's own
                    continue
                done = CliRunner().invoke(main, shlex.split(command)[1:])
                expected = (0, 1, 2) if command.startswith("airtight try") else (0,)  # as the verdicts are
                assert done.exit_code in expected, (command, done.output)
                for part in shown.split("...\n"):
                    assert part in done.output, (command, done.output)
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is not None:
        plots.close("all")


@pytest.mark.parametrize("notebook", sorted((DOCS / "gallery" / "notebooks").glob("*.py")), ids=lambda p: p.stem)
def test_a_notebook_runs(notebook, folder):
    text = notebook.read_text()
    assert text.count("\n# %%\n") >= 2
    exec(compile(text, str(notebook), "exec"), {})


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda p: p.stem)
def test_mathematics_needs_no_network(page):
    """Every formula of the pages becomes MathML, and no page loads a script from elsewhere."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    for block, inline in re.findall(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n][^$]*?)\$(?!\$)", text, re.DOTALL):
        assert "<math" in convert(block or inline)
    assert "mathjax" not in (DOCS / "conf.py").read_text()
    assert not re.search(r"<script[^>]+src=", text)


PAPER = InferenceSystem(
    devices=12, participation=0.9, noise_variance=0.1, weight=1 / 12, clip=3.0, alignment=1.0,
    receiver_noise_variance=0.1, dimension=784, delta=1e-5, delta_prime=1e-5,
)  # fmt: skip


def said(page, sentence):
    """The numbers of a sentence, `#` for each, which stands on the page whatever its line breaks."""
    pattern = r"\s+".join(re.escape(word).replace(r"\#", r"(\d*\.\d+)") for word in sentence.split())
    found = re.search(pattern, (ROOT / page).read_text())
    assert found, f"{page} no longer says: {sentence}"
    return [float(number) for number in found.groups()]


def test_the_first_numbers_name_their_observer():
    """Against y alone an interval, whose ends are recomputed; a lower end is rounded down, an upper one up or to nearest."""
    low, high = (float(end) for end in observers.signal_bracket(PAPER, device=0))
    told = said("README.md", "promises epsilon #. The exact value is **#**")
    assert told[0] == pytest.approx(amplification.published(PAPER, form="eq23").epsilon[0], abs=5e-3)
    idle = float(airtight.epsilon(PAPER.replace(idle_noise=True))[0])
    ten, helped = (float(airtight.epsilon(PAPER, **one)[0]) for one in ({"rounds": 10}, {"colluding": 3}))
    shown = [
        *told[1:],
        *said("README.md", "If silent devices keep sending noise, epsilon is #."),
        *said("README.md", "# after ten rounds"),
        *said("README.md", "#, any three help"),
    ]
    assert all(truth <= one <= truth + 0.01 for one, truth in zip(shown, (high, idle, ten, helped), strict=True))
    longest = airtight.theorem1_region(PAPER, form="eq23", observer="others", device=0).dimension_upper
    assert f"of at most {longest[0]:.0f} numbers, and false beyond" in (ROOT / "README.md").read_text()
    assert said("README.md", "between # and # if it sees only the signal") == pytest.approx([low, high], abs=5e-3)
    told = said(
        "docs/index.md",
        "the exact epsilon is # against a server that knows which other devices take part (the curve), and between # and # "
        "against one that sees the received signal alone",
    )
    assert told == [told[2], pytest.approx(low, abs=5e-3), pytest.approx(high, abs=5e-3)]

    still = airtight.InferenceSystem(**{**vars(PAPER), "weight": 0.0})
    low, high = (float(end) for end in observers.exact_delta_bracket(still, 0.0, observer="signal", device=0))
    told = said(
        "docs/participation.md",
        r"$\delta(0) = #$ for who knows the others' participation; for y alone, the paper's server, it is between $#$ (the "
        r"others' codes 0: a mixture of chi-squares) and $#$.".replace("$#$", "#"),
    )
    assert told == [pytest.approx(high, abs=5e-4), pytest.approx(0.30355394, abs=6e-5), told[0]] and told[1] <= low


def test_the_mechanism_of_contributing_is_one():
    """One file and one registration: composition, trade-off and JSON come with them."""
    text = PROGRAMS[0]
    told: dict = {"__name__": "erasure"}
    exec(text, told)
    with pytest.raises(ParameterError, match="seen"):
        told["Erasure"](1.0, seen=1.5)
    try:
        once = PrivacyCurve.of(told["Erasure"](1.0, seen=0.25))
        truth, lie = 0.25 / (1 + np.exp(-1.0)), 0.25 / (1 + np.exp(1.0))
        pair = airtight.discrete_pair([truth, lie, 0.75], [lie, truth, 0.75])
        grid = np.array([0.0, 0.5, 1.5, 3.0])
        for count in (1, 7):
            (low, high), (least, most) = (curve.compose(count).bracket(epsilon=grid) for curve in (once, pair))
            assert np.all(low <= most) and np.all(least <= high) and high == pytest.approx(most, rel=5e-3)
        assert once.beta(0.1) == pytest.approx(pair.beta(0.1)) and PrivacyCurve.from_json(once.to_json()) == once
    finally:
        mechanism._NAMES.pop(told["Erasure"])


def test_its_file_is_all_that_json_needs(tmp_path, monkeypatch):
    """A process that has not imported it yet finds it in its room."""
    text = PROGRAMS[0]
    (tmp_path / "erasure.py").write_text(text)
    described = '[{"constructor": "erasure", "parameters": {"loss": 1.0, "seen": 0.25}, "count": 2}]'
    code = (
        "import sys; from airtight.analytics.privacy import mechanisms; mechanisms.__path__.append(sys.argv[1])\n"
        "from airtight import PrivacyCurve; print(PrivacyCurve.from_json(sys.argv[2]).epsilon(0.0))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path, described], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(2.0)


def test_the_closed_form_of_contributing_is_one():
    """Compared with the variance of all outcomes of three clients with the bit at random."""
    told: dict = {}
    exec(PROGRAMS[1], told)
    form = told["FREQUENCY"]
    assert comparison.worst(form, samples=50).error < form.tolerance
    truth = np.exp(1.0) / (1 + np.exp(1.0))
    outcomes = np.array([sum(bits) / 3 for bits in itertools.product((0, 1), repeat=3)])  # each has probability 1/8
    estimates = (outcomes - (1 - truth)) / (2 * truth - 1)
    assert form(clients=3, epsilon=1.0) == pytest.approx(np.var(estimates))
    assert form.of(airtight.FederatedSystem(clients=3, parameters=1, epsilon=1.0)) == form(clients=3, epsilon=1.0)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_what_a_page_imports_is_there(page):
    """The programs that no test runs, too."""
    for text in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "airtight":
                exec(ast.unparse(node), {})


@pytest.mark.parametrize("page", [*PAGES, *sorted(DOCS.glob("*/*.md"))], ids=lambda p: p.stem)
def test_no_code_scrolls_sideways(page):
    """80 columns, which a page has room for; directives are no code."""
    for kind, text in re.findall(r"^```(.*?)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        assert kind.startswith("{") or [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("program", sorted((DOCS / "gallery").glob("**/*.py")), ids=lambda p: p.stem)
def test_no_program_of_the_gallery_scrolls_sideways(program):
    """Lines of code; the text between them is wrapped by the page."""
    text = program.read_text(encoding="utf-8")
    code = text.splitlines()[ast.parse(text).body[0].end_lineno :]
    assert [line for line in code if len(line) > 80 and not line.startswith("#")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_what_a_page_names_is_there(page):
    rooms = "analytics|solvers|validate|system_file|results|report|sweeps"
    for name in set(re.findall(rf"`(airtight\.(?:{rooms})[\w.]*\w)`", page.read_text(encoding="utf-8"))):
        pkgutil.resolve_name(name)


def test_a_page_of_the_menu_has_the_words_that_people_search_for():
    """At most 25 main pages in four parts; the others hang below one of them."""
    parts = re.findall(r":caption: [^\n]*\n\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    main_pages = [DOCS / f"{name}.md" for part in parts for name in part.split()]
    assert len(parts) == 4 and len(main_pages) <= 25
    texts = [page.read_text(encoding="utf-8").lower() for page in main_pages]
    for word in ("dp-sgd", "rayleigh", "membership inference", "glossary"):
        assert any(word in text for text in texts), word


def test_the_architecture_names_what_is_there():
    page = (DOCS / "project.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:analytics|solvers|validate|system_file|results|report|sweeps)(?:\.\w+)+)`", page)
    assert len(named) >= 5 and all(
        (ROOT / "airtight" / name.replace(".", "/")).with_suffix(".py").exists() for name in named
    )
    floors = (ROOT / floor for floor in ("analytics", "solvers", "validate", "airtight"))
    rooms = {path.parent.name for floor in floors for path in floor.rglob("__init__.py")}
    papers = {path.name for path in (ROOT / "validate" / "papers").iterdir()}
    assert [room for room in sorted(rooms - papers) if not re.search(rf"\b{room}\b", page)] == []


def test_the_reference_is_that_of_the_tree():
    assert (DOCS / "reference.md").read_text(encoding="utf-8") == document.reference(), "run make ledger"

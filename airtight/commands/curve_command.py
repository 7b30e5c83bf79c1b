"""``airtight curve``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from airtight.commands.options import JSON, OUT, PLOT, draw, print_json, save
from airtight.validate import untrusted

if TYPE_CHECKING:
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve

_MOST = 1 << 24  # bytes of a file with a curve


@click.command(short_help="Epsilon of DP-SGD, or of any curve, at each delta.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), required=False)
@click.option("--sigma", "noise_multiplier", type=float, help="Noise of a step of DP-SGD over the clipping norm.")
@click.option("--q", "sampling_rate", type=float, help="Rate of the Poisson sample of a step, in [0, 1]; 1 by default.")
@click.option("--steps", type=int, help="Number of steps; 1 by default.")
@click.option(
    "--adjacency",
    type=click.Choice(["add-remove", "replace"]),
    help="What neighbours of DP-SGD differ in: one record more or less (by default), or another record.",
)
@click.option(
    "--delta",
    "deltas",
    type=float,
    multiple=True,
    help="A delta in [0, 1]; may be given several times. 1e-5, 1e-6 and 1e-8 by default.",
)
@OUT
@PLOT
@JSON
def curve(
    file: Path | None,
    noise_multiplier: float | None,
    sampling_rate: float | None,
    steps: int | None,
    adjacency: Literal["add-remove", "replace"] | None,
    deltas: tuple[float, ...],
    out: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print epsilon at each delta: of DP-SGD with --sigma, --q and --steps, or of the curve in FILE.

    Neighbours of DP-SGD: one record is added or removed, or with --adjacency replace becomes another one. FILE holds what
    PrivacyCurve.to_json writes; - reads standard input.
    """
    from airtight.analytics.privacy.accounting.privacy_curve import dp_sgd
    from airtight.report.screens import curve_screen
    from airtight.results.bounds import CurveResult

    of_training = {"--sigma": noise_multiplier, "--q": sampling_rate, "--steps": steps, "--adjacency": adjacency}
    if file is None:
        if noise_multiplier is None:
            raise click.UsageError("curve: give --sigma, or a FILE with a curve")
        rate, count = 1.0 if sampling_rate is None else sampling_rate, 1 if steps is None else steps
        name, released = "DP-SGD", dp_sgd(noise_multiplier, rate, count, adjacency=adjacency or "add-remove")
    elif given := [flag for flag, value in of_training.items() if value is not None]:
        raise click.UsageError(f"{given[0]}: not together with a FILE")
    else:
        name, released = str(file), _read(file)
    result = CurveResult.of(released, deltas or (1e-5, 1e-6, 1e-8))
    save(out, result, result.table(name))
    draw(plot, released.plot)
    if as_json:
        print_json(result)
    else:
        curve_screen.curve(name, result)


def _read(file: Path) -> PrivacyCurve:
    """The curve that a file of JSON describes."""
    from airtight.analytics.checks import ParameterError
    from airtight.analytics.privacy.accounting.privacy_curve import PrivacyCurve

    try:
        return PrivacyCurve.from_json(untrusted.content(file, _MOST).decode())
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file}: must be the UTF-8 text that to_json writes") from error
    except ParameterError as error:
        if error.name != "text":
            raise click.UsageError(f"{file}: {error}") from error
        expected = f"must be the JSON that PrivacyCurve.to_json writes; for a system file use airtight bounds {file}"
        raise click.UsageError(f"{file}: {expected}") from error
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{file}: {getattr(error, 'strerror', None) or error}") from error

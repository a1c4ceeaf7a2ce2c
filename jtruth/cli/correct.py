"""`jtruth correct`: an error rate or a share from counts, corrected for labels that err."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from jtruth.cli.options import Draws
from jtruth.cli.output import Output

_PAIR = "such as 68/1000"


@dataclass(frozen=True)
class Counts:
    """What was counted."""

    differ: Annotated[
        str | None,
        typer.Option("--differ", help="Predictions that differ from labels / test samples: 68/1000."),
    ] = None
    mislabeling: Annotated[
        str | None,
        typer.Option("--mislabeling", help="Share of wrong labels: 0.01, or wrong/audited: 2/200."),
    ] = None
    called: Annotated[str | None, typer.Option("--called", help="Called positive / judged: 680/1000.")] = None
    sensitivity: Annotated[
        str | None, typer.Option("--sensitivity", help="0.9, or called positive / gold positives: 45/50.")
    ] = None
    specificity: Annotated[
        str | None, typer.Option("--specificity", help="0.8, or called negative / gold negatives: 40/50.")
    ] = None
    method: Annotated[
        str | None,
        typer.Option("--method", help="delta, bootstrap, exact; adjusted (the default of --called)."),
    ] = None


def correct(counts: Counts, draws: Draws, output: Output) -> None:
    """Error rate of a classifier (Lam and Stork) or share of positives (Rogan and Gladen) from counts."""
    from jtruth.lam_stork import estimate_error_rate, rogan_gladen

    method = counts.method or ("delta" if counts.called is None else "adjusted")
    options: dict[str, Any] = {"method": method, "level": draws.level, "key": draws.seed}
    if (counts.differ is None) == (counts.called is None):
        raise ValueError("give --differ 68/1000 and --mislabeling, or --called 680/1000 and two rates")
    if counts.differ is not None:
        if counts.mislabeling is None:
            raise ValueError("--differ needs --mislabeling: the share of wrong labels, or wrong/audited")
        what = "error rate of the classifier"
        found = estimate_error_rate(
            _pair(counts.differ, "differ"), mislabeling=_known(counts.mislabeling, "mislabeling"), **options
        )
    else:
        if counts.sensitivity is None or counts.specificity is None:
            raise ValueError("--called needs --sensitivity and --specificity of the judge")
        what = "share of positives"
        found = rogan_gladen(
            _pair(str(counts.called), "called"), sensitivity=_known(counts.sensitivity, "sensitivity"),
            specificity=_known(counts.specificity, "specificity"), **options,
        )  # fmt: skip
    ends = f"[{found.low:.4f}, {found.high:.4f}] ({100 * draws.level:g} %, {method})"
    lines = [f"{what} {found.value:.4f} {ends}"]
    lines += [f"! {text}" for text in found.warnings]
    answer = {"what": what, "value": found.value, "low": found.low, "high": found.high, "level": draws.level,
              "key": draws.seed, "method": method, "warnings": list(found.warnings)}  # fmt: skip
    output.give("\n".join(lines), answer)


def _pair(text: str, option: str) -> tuple[int, int]:
    """68/1000 as (68, 1000)."""
    some, slash, of = text.partition("/")
    if not (slash and some.strip().isdecimal() and of.strip().isdecimal()):
        raise ValueError(f"--{option} {text!r}: give two counts {_PAIR}")
    return int(some), int(of)


def _known(text: str, option: str) -> float | tuple[int, int]:
    """A rate, 0.01, or counts, 2/200."""
    if "/" in text:
        return _pair(text, option)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--{option} {text!r}: give a rate such as 0.01, or counts {_PAIR}") from None

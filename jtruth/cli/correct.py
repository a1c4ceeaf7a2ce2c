"""`jtruth correct`: an error rate or a share from counts, corrected for labels that err."""

from dataclasses import dataclass
from typing import Any

from jtruth.cli.options import Draws, next_step, option
from jtruth.cli.output import Output

_PAIR = "such as 68/1000"


@dataclass(frozen=True, kw_only=True)
class Correct(Draws, Output):
    """Error rate of a classifier (Lam and Stork) or share of positives (Rogan and Gladen) from counts."""

    differ: str | None = option("--differ", "Predictions that differ from labels / test samples: 68/1000.")
    mislabeling: str | None = option("--mislabeling", "Share of wrong labels: 0.01, or wrong/audited: 2/200.")
    called: str | None = option("--called", "Called positive / judged: 680/1000.")
    sensitivity: str | None = option("--sensitivity", "0.9, or called positive / gold positives: 45/50.")
    specificity: str | None = option("--specificity", "0.8, or called negative / gold negatives: 40/50.")
    method: str | None = option("--method", "delta, bootstrap, exact; adjusted (the default of --called).")

    def run(self) -> None:
        """Correct one or the other."""
        from jtruth.answers import Shown, facts, warning_notes
        from jtruth.lam_stork import estimate_error_rate, rogan_gladen

        method = self.method or ("delta" if self.called is None else "adjusted")
        options: dict[str, Any] = {"method": method, "level": self.level, "key": self.seed}
        if (self.differ is None) == (self.called is None):
            raise ValueError("give --differ 68/1000 and --mislabeling, or --called 680/1000 and two rates")
        if self.differ is not None:
            if self.mislabeling is None:
                raise ValueError("--differ needs --mislabeling: the share of wrong labels, or wrong/audited")
            what = "error rate of the classifier"
            wrong = _known(self.mislabeling, "mislabeling")
            found = estimate_error_rate(_pair(self.differ, "differ"), mislabeling=wrong, **options)
        else:
            if self.sensitivity is None or self.specificity is None:
                raise ValueError("--called needs --sensitivity and --specificity of the judge")
            what = "share of positives"
            found = rogan_gladen(
                _pair(str(self.called), "called"), sensitivity=_known(self.sensitivity, "sensitivity"),
                specificity=_known(self.specificity, "specificity"), **options,
            )  # fmt: skip
        kind = f"{100 * self.level:g} %, {method}"
        values = {"value": found.value, "low": found.low, "high": found.high}
        exact = next_step(self, "--method exact", "an interval that is never too short")
        self.give(Shown(
            f"What is the {what}?", f"{100 * self.level:g} % interval, {method}; key {self.seed}",
            f"{what} {found.value:.4f} [{found.low:.4f}, {found.high:.4f}] ({kind})",
            (warning_notes(found.warnings), facts(what=what, **values, level=self.level, method=method)),
        ), exact if self.method is None else "")  # fmt: skip


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

"""What a method of testing hands over: the posterior of the count table, and where it comes from."""

from typing import NamedTuple

from jtruth._one_line import one_line
from jtruth.stats.estimates import Estimate
from jtruth.tables.joint import JointDensity, JointEstimate
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.posterior import TablePosterior
from jtruth.testing.binary.empirical_bayes import OperatingPointFit
from jtruth.testing.multiclass.count_draws import CountDraws
from jtruth.testing.steps import ConfusionFit


class Tested(NamedTuple):
    """Posterior of the count table of one data set by one method.

    `estimate` and `joint` take names of metrics with the names of the classes in them; everything else is
    asked of `table`.
    """

    method: str
    table: TablePosterior
    fit: OperatingPointFit | ConfusionFit | CountDraws | None  # of steps or draws: converged, num_steps, path
    log_evidence: float  # log p(y_pred | z): operating point integrated out, or plugged in; NaN if neither
    warnings: tuple[str, ...]
    classes: tuple[str, ...] = ("0", "1")  # names of the rows of the table
    positive: int | None = None  # the class that "recall" means; the second of two if None

    __repr__ = one_line

    def estimate(self, metric: str | Metric) -> Estimate:
        """Law of a metric by name ("accuracy", "f2", "macro_f1", "recall[cat]")."""
        return self.table.estimate(self._metric(metric) if isinstance(metric, str) else metric)

    def joint(self, first: str, second: str) -> JointEstimate | JointDensity:
        """Joint law of two metrics by name."""
        return self.table.joint(self._metric(first), self._metric(second))

    def _metric(self, name: str) -> Metric:
        return named_metric(name, self.classes, self.positive)

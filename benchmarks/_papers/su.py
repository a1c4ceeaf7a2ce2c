"""Su (2023), On truthing issues in supervised classification: all tables and figures in the paper's order."""

from benchmarks._papers import su_formulas as formulas
from benchmarks._papers import su_testing as testing
from benchmarks._papers import su_training as training
from benchmarks._papers.harness import Paper

HEAD = (
    "J. K. Su, *On Truthing Issues in Supervised Classification*, JMLR 25 (2024), 1-91. The "
    "paper's numbers come from single simulated sets whose random numbers are not printed. Ours "
    "are means over many such sets. The main example's count table and the labelers' parameters "
    "follow from printed digits, so they are the same. All posteriors are for the samples at hand "
    "(target in-sample)."
)
PAPER = Paper(
    "su",
    "Su (2023), paper and jtruth side by side",
    HEAD,
    {
        **formulas.LISTS,
        "Table 2": training.table_2, "Table 3": training.table_3, "Table 4": training.table_4,
        "Table 8": formulas.table_8, "Table 9": formulas.table_9,
        "Figure 6": formulas.figure_6, "Figure 7": formulas.figure_7, "Figure 8": formulas.figure_8,
        "Figure 9": testing.figure_9, "Figure 10": testing.figure_10, "Table 10": testing.table_10,
        "Figure 11": testing.figure_11, "Figure 12": testing.figure_12, "Figure 13": testing.figure_13,
        "Table 11": testing.table_11, "Table 12": testing.table_12, "Figure 14": testing.figure_14,
        "Figure 15": testing.figure_15, "Figure 16": testing.figure_16, "Figure 17": testing.figure_17,
        "Figure 18": testing.figure_18, "Table 13": testing.table_13, "Table 14": testing.table_14,
        "Table 15": testing.table_15, "Figure 19": training.figure_19, "Figure 20": training.figure_20,
        "Figure 21": training.figure_21, "Figure 22": training.figure_22, "Figure 23": training.figure_23,
        "Figure 24": training.figure_24, "Figure 25": training.figure_25, "Table 16": formulas.table_16,
        "Appendix F": training.appendix_f,
        "Empirical and full Bayes": training.empirical_and_full_bayes,
    },
)  # fmt: skip

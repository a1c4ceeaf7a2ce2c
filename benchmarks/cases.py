"""Answers of jtruth to the inputs behind public reports about tools of this field, against known values.

Run: python -m benchmarks cases FOLDER_OF_CASES [--people FOLDER] [--only 8,27] [--json FILE]

Each case is a small file after a public report, a command that a newcomer would type (no option, or one that the
message before it offers), and the value that krippendorff, irrCAC, scikit-learn, SciPy or a hand calculation
gives. The files are not part of this repository; without their folder the benchmark stops with a message.
`--people` names a folder with larger files of six newcomers, made by the scripts beside the cases.

Verdicts: right (every value that is asked for); doubt (refused, and the message names the cause); wrong (another
value); not possible (refused for another reason); crash. Commands run in this process, as the console script runs
them, each in a folder of its own.
"""

# ruff: noqa: E501
import argparse
import contextlib
import io
import json
import os
import re
import runpy
import shlex
import signal
import sys
import tempfile
import warnings
from pathlib import Path

SECONDS = 240  # of a command
# (case, command, {what: value, or values of which any is right}, words of a doubt that names the cause or None)
# what: a name of VALUES; `said` is a pattern for all that was printed and written. "CASES/" stands before files.
ORDERED, REPEATED = "order|scale|nominal|alphabet", "repeat|more than once|times|again"
CASES = (
    ("1", "agreement 01_one_class.csv", {}, "only label|classes"),
    ("1", "agreement 01_one_class.csv --classes no,yes", {"alpha": None, "ac1": 1, "bp": 1}, None),
    ("2", "agreement 02_fleiss_zero.csv --classes 0,1", {"alpha": None, "fleiss": None, "ac1": 1}, None),
    ("3", "agreement 03_one_disagreement.csv", {"alpha": 0, "fleiss": -0.04167, "ac1": 0.91334, "bp": 0.84}, None),
    ("4", "agreement 04_none_missing.csv", {"alpha": 1}, None),
    ("4", "agreement 04_min.csv", {"alpha": 1}, None),
    ("5", "agreement 05_pairable_one.csv", {"alpha": None, "fleiss": 1}, None),
    ("6", "agreement 06_twice.csv --classes 0,1,2,3,4,5", {"said": REPEATED, "pairs": 1}, REPEATED),
    ("7", "agreement 07_unequal.csv", {"alpha": 0.38889, "fleiss": 0.33036, "ac1": 0.33628, "bp": 0.33333}, None),
    ("8", "agreement 08_severity_words.csv --weights quadratic", {"kappa": 0.588, "said": "low.*medium.*high.*critical"}, ORDERED),
    ("8", "agreement 08_severity_words.csv --weights quadratic --classes low,medium,high,critical", {"kappa": 0.588}, ORDERED),
    ("8", "agreement 08_severity_words.csv --weights quadratic --scale ordinal --classes low,medium,high,critical", {"kappa": 0.588}, None),
    ("8", "agreement 08_min.csv --weights quadratic", {"kappa": 0.727}, ORDERED),
    ("9", "evaluate 09_zeros_labels.csv --predictions 09_zeros_pred.csv --fast", {}, "ids agree|no row|0000"),
    ("10", "agreement 10_bools.csv", {"alpha": 0.461}, "true.*1|1.*true|share no|spell"),
    ("10", "agreement 10_bools.csv --map true=yes,false=no,1=yes,0=no", {"alpha": 0.461}, None),
    ("10", "agreement 10b_bools_no_digits.csv", {"alpha": 0.451}, None),
    ("11", "agreement 11_inspect_log.json", {"alpha": (0.45211, 0.82593), "said": "repeat|epoch"}, "epoch"),
    ("11", "agreement 11_inspect_log.eval", {"alpha": (0.45211, 0.82593), "said": "repeat|epoch"}, "epoch"),
    ("11", "inspect 11_inspect_log.json", {"size": ((72, 2, 144), (24, 2, 48), (24, 2, 144))}, None),
    ("12", "inspect 12_promptfoo.json", {"size": ((24, 1, 24), (24, 2, 48), (24, 1, 46)), "said": "error.*left out"}, None),
    ("12", "prevalence 12_promptfoo.json --by model --positive pass", {"said": "openai:large.*openai:mini"}, None),
    ("13", "agreement 13_lm_eval_samples.jsonl", {"alpha": 0.37603}, "filter"),
    ("13", "agreement 13_lm_eval_samples.jsonl --task doc_id --worker filter --label exact_match", {"alpha": 0.37603}, None),
    ("14", "agreement 14_mtbench_pair.jsonl", {"alpha": (0.06913, 0.07319, 0.06903, 0.04141)}, "judge"),
    ("92", "inspect 14_mtbench_pair.jsonl", {"agreement": (0.42778, 0.43333, 0.44, 0.465), "said": "3 labelers"}, "judge"),
    ("15", "agreement 15_preferences.jsonl", {"alpha": 0.29696}, None),
    ("15", "agreement 15_preferences.jsonl --task question_id --worker judge --label winner", {"alpha": 0.29696}, None),
    ("16", "agreement 16_deepeval.json", {"alpha": (0.57467, 0.5913)}, None),
    ("17", "agreement 17_langfuse_scores.csv", {"alpha": (0.218, 0.25397)}, "traceId"),
    ("17", "agreement 17_langfuse_scores.csv --task traceId --worker name --label value", {"alpha": 0.218}, None),
    ("18", "inspect 18_ragas.csv", {"said": "answer_relevancy.*(different numbers|scale)|40 samples, 2"}, "faithfulness"),
    ("18", "prevalence 18_ragas.csv --task user_input --gold column:human_ok --pass-at 0.5 --positive pass --labelers faithfulness,answer_relevancy", {"said": "2 labelers"}, None),
    ("19", "agreement 19_commas.csv", {"alpha": 0.56}, None),
    ("19", """agreement 19_commas.csv --classes '"Pain, acute","Pain, chronic",None of these'""", {"alpha": 0.56}, None),
    ("19", """agreement 19_commas.csv --map '"Pain, acute"=acute'""", {"alpha": 0.56}, None),
    ("21", "agreement 21_multilabel.jsonl", {"masi": 0.19469, "jaccard": 0.1875, "equal": 0.20611}, "sets?|several|at once"),
    ("21", "agreement 21_multilabel.csv", {"masi": -0.12978, "jaccard": -0.11026, "equal": -0.15651}, "sets?|several|at once"),
    ("23", "agreement 23_likert.csv --differences interval", {"alpha": 0.764}, None),
    ("23", "agreement 23_likert.csv --weights quadratic", {"kappa": 0.784}, None),
    ("23", "agreement 23_min.csv --differences interval", {"alpha": 0.802}, None),
    ("24", "agreement 24_na.csv", {"alpha": 0.40217, "said": "N/A|missing|left out"}, "N/A|missing"),
    ("24", "agreement 24_na.csv --missing drop", {"alpha": 0.40217, "fleiss": 0.43191, "ac1": 0.43475, "bp": 0.43333}, None),
    ("25", "agreement 25_namibia.csv", {}, "NA"),
    ("25", "agreement 25_namibia.csv --classes NA,ZA,BW", {"alpha": 0.68933}, None),
    ("26", "agreement 26_ten_scale.csv --weights quadratic", {"kappa": 0.764}, None),
    ("26", "agreement 26_ten_scale.csv --differences interval", {"alpha": 0.764}, None),
    ("27", "agreement 27_transposed.csv", {"alpha": 0.415}, "rater"),
    ("27", "agreement 27_min.csv", {"alpha": 0.58}, "rater"),
    ("28", "agreement 28_metadata.csv", {"alpha": 0.402}, "adjudicated"),
    ("28", "agreement 28_metadata.csv --labelers annotator_1,annotator_2,annotator_3", {"alpha": 0.402}, None),
    ("29", "agreement 29_no_header.csv", {"alpha": 0.51438}, "header|first (line|row)"),
    ("29", "agreement 29_no_header.csv --task q0 --worker wx --label b", {"alpha": 0.51438}, "header|first (line|row)"),
    ("30", "inspect 30_two_label_columns.csv", {}, "label"),
    ("31", "evaluate 31_allgold.csv --predictions column:model --gold column:truth --positive yes --fast", {"accuracy": 0.85, "precision": 0.8889, "recall": 0.8511}, None),
    ("31", "prevalence 31_allgold.csv --gold column:truth", {"share yes": 0.5875}, None),
    ("32", "prevalence 32_labels.csv --gold 32_gold_twice.csv", {}, "twice|differ|has label|contradict|and"),
    ("32", "prevalence 32_labels.csv --gold 32_gold_newclass.csv", {}, "class"),
    ("33", "prevalence 33_gold_all_pass.csv --gold column:human --positive pass", {"share pass": 0.927, "said": "0 of 20"}, None),
    ("34", "agreement 34_label_studio.json", {"alpha": (0.57143, 0.56379), "said": "left out"}, REPEATED),
    ("35", "agreement 35a_ls_rating.json", {"alpha": (-0.15014, -0.08603)}, None),
    ("35", "agreement 35b_ls_pairwise.json", {"alpha": -0.16}, None),
    ("35", "agreement 35c_ls_taxonomy.json", {"alpha": -0.181}, None),
    ("35", "agreement 35d_ls_multi.json", {"said": "sets?"}, "sets?|several|at once"),
    ("36", "agreement 36_argilla_flat.json", {"alpha": 0.24149, "said": "left out"}, None),
    ("36", "agreement 36_argilla_feedback.jsonl", {"alpha": -0.02273}, "Argilla"),
    ("37", "prevalence 37_doccano_all.jsonl", {}, "sets?|several|at once"),
    ("37", "prevalence 37_doccano.csv", {}, "sets?|several|at once"),
    ("38", "inspect 38_prodigy.jsonl", {"said": "sets?"}, "sets?|several|at once"),
    ("39", "agreement 39_mturk.csv", {"alpha": 0.5717, "said": "rejected"}, None),
    ("40", "agreement 40_paradox.csv", {"kappa": -0.0234, "ac1": 0.941, "bp": 0.888}, None),
    ("41", "agreement 41_kappa_ci.csv", {"kappa": 0.4}, None),
    ("42", "consensus 42_ties.csv --method majority_vote", {"said": "6 samples are tied|tied"}, None),
    ("43", "consensus 43_ds_zero.csv", {"said": "probability"}, None),
    ("44", "labelers 44_times_iso.csv --order when", {"said": "drift.{0,300}c|c.{0,300}drift"}, None),
    ("44", "labelers 44_times_epoch.csv --order when", {"said": "drift.{0,300}c|c.{0,300}drift"}, None),
    ("44", "labelers 44_times.csv --order when", {"said": "drift.{0,300}c|c.{0,300}drift"}, "day|month"),
    ("48", "prevalence 48_gold_words.csv --gold column:human --positive pass", {}, "1"),
    ("48", "prevalence 48_gold_words.csv --gold column:human --positive pass --map 1=pass,0=fail", {"share pass": 0.802}, None),
    ("50", "agreement 50_one_annotator.csv", {"alpha": None, "pairs": 0}, "one labeler"),
    ("51", "agreement 51_spaces.csv", {}, "space|blank"),
    ("52", "agreement 52_utf16.csv", {"alpha": 0.40234}, "UTF-16"),
    ("52", "agreement 52_latin1.csv", {"alpha": 0.40234, "said": "1252|[Ll]atin"}, "UTF-8"),
    ("54", "agreement 54_alpaca.json", {"alpha": -0.22835}, None),
    ("55", "clean 55_labels.csv --predictions 55_probs.csv", {"first": {"3", "17", "31", "44"}}, "bird"),
    ("55", "clean 55_labels.csv --predictions 55_probs.csv --classes cat,dog,bird", {"first": {"3", "17", "31", "44"}}, None),
    ("57", "evaluate 57_judge_vs_human.csv --rater llm_judge --gold column:human --positive pass", {"accuracy": 0.85, "precision": 0.886, "recall": 0.921}, None),
    ("57", "evaluate 57_judge_vs_human.csv --predictions column:llm_judge --gold column:human --positive pass", {"accuracy": 0.85, "precision": 0.886}, None),
    ("57", "evaluate 57_judge_vs_human.csv --rater llm_judge --gold column:human", {"said": "kappa.*0\\.570.*Positive class: pass|Positive class: pass.*kappa.*0\\.570"}, None),
    ("57", "labelers 57_judge_vs_human.csv --gold column:human", {"said": "85%.*92%.*62%|0\\.85.*0\\.92.*0\\.6"}, None),
    ("15", "preferences 15_preferences.jsonl", {"said": "ties half.*95 %"}, None),
    ("35", "preferences 35b_ls_pairwise.json", {"said": "ties half.*95 %"}, None),
    ("54", "preferences 54_alpaca.json", {"said": "ties half.*95 %"}, None),
    ("47", "evaluate 47_correct.csv --predictions column:model --fast", {"said": "Positive class: incorrect"}, None),
    ("81", "evaluate 81_positive.csv --predictions column:model --gold column:truth", {"recall": 0.857, "precision": 0.429, "said": "Positive class: disease"}, None),
    ("85", "prevalence 85_by_gold.csv --by system --gold column:human --positive pass", {"said": "s3 with probability 0\\.6[4-8]"}, None),
    ("87", "compare 87_two_models.csv column:m1 column:m2 --gold column:gold", {"said": "P\\(m1 better\\) = 0\\.57.*McNemar p = 1"}, None),
    ("58", "agreement 58_gold_names.csv", {"alpha": 0.332}, "final_label"),
    ("59", "agreement 59_prodigy.jsonl", {"alpha": 0.36111, "said": "left out"}, None),
    ("60", "agreement 60_case_workers.csv", {"alpha": 0.59586, "said": "case"}, "Bob"),
    ("61", "agreement 61_qualtrics.csv", {"alpha": -0.00316}, "Qualtrics|header|ImportId"),
    ("63", "agreement 63_two_questions.csv", {"alpha": 0.514}, "question"),
    ("63", "agreement 63_two_questions.csv --task item,question", {"alpha": 0.514}, None),
    ("63", "inspect 63_two_questions.csv", {"said": "item,question"}, "question"),
    ("64", "agreement 64_minus_one.csv", {"alpha": 0.57028, "said": "-1"}, "classes"),
    ("64", "agreement 64_abstain.csv --abstain -1", {"alpha": 0.539}, None),
    ("65", "agreement 65_excel_blank.csv", {"alpha": 0.40737, "said": "empty|blank"}, None),
    ("66", "agreement 66_long_text.csv", {"alpha": 0.69643}, None),
    ("67", "agreement 67a_data.json", {"alpha": 0.50598}, None),
    ("67", "agreement 67b_columns.json", {"alpha": 0.50598}, None),
    ("67", "agreement 67c_pandas.json", {"alpha": 0.50598}, None),
    ("67", "agreement 67d_by_item.json", {"alpha": -0.18}, None),
    ("68", "agreement 68_tab.txt", {"alpha": 0.60269}, None),
    ("69", "agreement 69_summeval.jsonl", {"alpha": (0.02532, 0.234, -0.01965, -0.02389, -0.04239, -0.02543, 0.03112, 0.0331)}, "coherence"),
    ("70", "prevalence 70_bool.jsonl --gold column:human --positive true", {"share true": 0.561}, None),
    ("71", "python 71_min.py", {"printed": 0.727}, None),
    ("72", "agreement 72_appen_full.csv", {"alpha": 0.61859}, None),
    ("73", "agreement 73_toloka.tsv", {"alpha": 0.44356, "said": "[Rr]ejected|REJECTED"}, None),
    ("74", "agreement 74_zooniverse.csv", {"alpha": 0.66286}, None),
    ("75", "agreement 75_langsmith.csv", {"alpha": (0.60424, 0.60667)}, None),
    ("75", "agreement 75_langsmith.csv --task run_id --worker key --label score", {"alpha": 0.60424}, None),
    ("76", "prevalence 76_promptfoo.csv --by model --positive pass", {"group 0": 0.85, "group 1": 0.6}, None),
    ("76", "inspect 76_promptfoo.csv", {"size": ((40, 1, 40), (20, 2, 40))}, None),
    ("77", "agreement 77_gold_worker.csv", {"alpha": 0.48253, "said": "GOLD"}, "GOLD"),
    ("78", "inspect 78_groundtruth.manifest", {"said": "class-name|SageMaker"}, "class-name|SageMaker"),
    ("79", "consensus 79_epochs200.csv", {"said": "repeat", "overclaim": 0}, REPEATED),
    ("79", "prevalence 79_epochs200.csv --positive pass", {"share pass": 0.59, "said": "repeat"}, REPEATED),
    ("80", "agreement 80_big_ids.csv", {"alpha": 0.43902}, None),
    ("80", "labelers 80_big_ids.csv --task taskId --worker workerId --label answer --gold column:truth", {"worst": 0.63636}, None),
    ("82", "python 82_python.py", {"said": "ValueError"}, None),
    ("84", "evaluate 84_labels.csv --predictions 84_scores.csv --scores --gold 84_gold.csv --positive pos", {"said": "0\\.872"}, None),
    ("86", "clean 86_labels.csv --predictions 86_probs.csv", {"first": {"3", "17", "31", "44"}}, None),
    ("86", "clean 86_labels.csv --predictions 86_probs.csv --task id", {"first": {"3", "17", "31", "44"}}, None),
    ("88", "agreement 88_constant_rater.csv", {"alpha": 0.16}, None),
    ("88", "agreement 88_constant_raters.csv", {"alpha": -0.091}, None),
    ("88", "agreement 88_rare_class.csv", {"alpha": 0.158}, None),
    ("88", "agreement 88_judges_differ.csv", {"alpha": 0.091}, "human"),
    ("89", "agreement 89_toy3.csv", {"alpha": -0.2}, None),
    ("89", "agreement 89_toy4.csv", {"alpha": 0.511}, None),
    ("89", "agreement 89_toy5.csv", {"alpha": 0.263}, None),
    ("90", "agreement 90_dropped_rater.csv", {"alpha": 0.57}, None),
    ("94", "agreement 94_ordinal_missing.csv --classes 1,2,3,4,5 --differences nominal", {"alpha": 0.3604}, None),
    ("94", "agreement 94_ordinal_missing.csv --differences ordinal", {"alpha": 0.8203}, None),
    ("94", "agreement 94_ordinal_missing.csv --differences interval", {"alpha": 0.8089}, None),
    ("96", "labelers 32_labels.csv", {"worst": (0.6211, 0.6207, 0.6212)}, None),
    ("98", "agreement 98_star_missing.csv", {"alpha": 0.865}, "\\*"),
    *(("98", f"agreement 98_star_missing.csv[*={mark}]", {"alpha": 0.865}, re.escape(mark)) for mark in ".-?"),
    ("people", "agreement PEOPLE/2026-10-15T12-53-13_support-qa_a.json", {"alpha": (0.25806, 0.26446, 0.2969, 0.26212, 0.27274)}, "partial|P"),
    ("people", "inspect PEOPLE/results.json", {"size": ((500, 4, 2000), (500, 1, 500))}, None),
    ("people", "agreement PEOPLE/modelA/samples_gsm8k_2026-10-15T12-53-13.jsonl", {}, "filter"),
    ("people", "inspect PEOPLE/project-42-at-2026-09-15-10-00.json", {"said": "400 samples, 8 labelers"}, None),
    ("people", "inspect PEOPLE/readers.csv", {"said": "220 samples, 4 labelers", "classes": 5}, "Age|AI score"),
    ("people", "inspect PEOPLE/readers_pd.csv", {"said": "220 samples, [45] labelers", "classes": 5}, "AI grade"),
    ("people", "inspect PEOPLE/readers_pd2.csv", {"said": "220 samples, [56] labelers", "classes": 5}, "AI grade"),
    ("people", "inspect PEOPLE/digits.csv", {"size": (1797, 1, 1797), "classes": 10}, None),
    ("people", "inspect PEOPLE/ts.parquet", {"size": (2, 2, 3)}, None),
    ("people", "inspect PEOPLE/l30.parquet", {"said": "--task content_id --worker moderator --label violating|120 labelers"}, None),
    ("people", "inspect PEOPLE/labels_90d.parquet --task content_id --worker moderator --label violating", {"said": "120 labelers", "classes": 2}, None),
    ("people", "clean PEOPLE/dl2.csv --features PEOPLE/dx2.csv", {"said": "suspicious|wrong"}, None),
    ("people", "clean PEOPLE/digits.csv --task image --label label", {"said": "suspicious|wrong"}, None),
)  # fmt: skip


def overall(name):
    """The value of a coefficient of all labelers."""
    return lambda answer: answer["overall"][name]["value"]


def overclaim(answer):
    """How much more probable than right the consensus of case 79 says it is, above .08."""
    truth = dict(line.split(",") for line in (FOLDER / "79_truth.csv").read_text().split()[1:])
    right = [truth[one["task"]] == one["label"] for one in answer["samples"]]
    said = [one["probability"] for one in answer["samples"]]
    return max(0.0, (sum(said) - sum(right)) / len(right) - 0.08)


VALUES = {
    **{name: overall(name) for name in ("masi", "jaccard", "equal")},
    "alpha": overall("krippendorff"), "fleiss": overall("fleiss"), "ac1": overall("gwet_ac1"), "bp": overall("brennan_prediger"),
    "kappa": lambda a: a["pairs"][0]["value"], "pairs": lambda a: len(a["pairs"]), "agreement": lambda a: a["agreement"],
    "size": lambda a: (a["num_samples"], a["num_labelers"], a["num_labels"]), "classes": lambda a: len(a["classes"]),
    "first": lambda a: {one["task"] for one in a["queue"][:4]}, "worst": lambda a: min(x["accuracy"] for x in a["labelers"]),
    "overclaim": overclaim,
    "printed": lambda a: float(a["printed"].split()[-1]),
    **{name: lambda a, name=name: a["metrics"][name]["mean"] for name in ("accuracy", "precision", "recall")},
    **{f"share {name}": lambda a, name=name: a["shares"][name]["mean"] for name in ("yes", "pass", "true")},
    **{f"group {k}": lambda a, k=k: sorted((g["share"] for g in a["given"]), reverse=True)[k] for k in (0, 1)},
}  # fmt: skip


ESTIMATED, MODEL = (
    {"worst", "accuracy", "precision", "recall", "share pass", "share true", "group 0", "group 1"},
    0.05,
)


def call(words):
    """Run a command in this process: exit code, what was printed on both streams, the answer."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.alarm(SECONDS)
        try:
            if words[0] == "python":
                runpy.run_path(words[1])
            else:
                from jtruth import cli

                sys.argv = ["jtruth", *words, "--json", "answer.json"]
                cli.main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException as problem:  # what the console script would not have caught
            code = f"{type(problem).__name__}: {problem}"
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGINT, signal.default_int_handler)
    answer = (
        json.loads(Path("answer.json").read_text())
        if Path("answer.json").exists()
        else {"printed": out.getvalue()}
    )
    return code, out.getvalue(), err.getvalue(), answer


def same(got, wanted, within):
    """Whether a value is the one wanted, or one of those."""
    if isinstance(wanted, tuple) and not (isinstance(got, tuple) and isinstance(wanted[0], int)):
        return any(same(got, one, within) for one in wanted)
    return abs(got - wanted) < within if isinstance(got, float) and wanted is not None else got == wanted


def judged(wanted, doubt, code, out, err, answer):
    """What came out in short, and the verdict."""
    if code != 0:
        line = (err.strip().splitlines() or [str(code)])[-1].removeprefix("jtruth: ")
        if code != 2:
            return line if isinstance(code, int) else code, "crash"
        named = doubt is not None and re.search(doubt, line, re.DOTALL)
        return line, "doubt" if named else "not possible"
    got, right = {}, bool(wanted)
    text = json.dumps(answer, ensure_ascii=False) + out + err
    for what, value in wanted.items():
        try:
            got[what] = (
                bool(re.search(value, text, re.DOTALL | re.IGNORECASE))
                if what == "said"
                else VALUES[what](answer)
            )
            right &= (
                got[what]
                if what == "said"
                else same(got[what], value, MODEL if what in ESTIMATED else 0.0015)
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            got[what], right = "no such value", False
    shown = ", ".join(f"{k} {round(v, 4) if isinstance(v, float) else v}" for k, v in got.items())
    none = answer.get("num_rows") is not None and "coefficients" not in answer  # only the columns were listed
    return shown or answer.get(
        "sentence", "answered"
    ), "right" if right else "not possible" if none else "wrong"


def prepared(command, folder):
    """The words of a command that runs in `folder`, with links to the files that it names."""
    command, _, mark = command.partition("[*=")
    words = []
    for word in shlex.split(command):
        source = PEOPLE / word.removeprefix("PEOPLE/") if word.startswith("PEOPLE/") else FOLDER / word
        if source.is_file():
            name = word.replace("/", "_")
            if mark:
                (folder / name).write_text(source.read_text().replace("*", mark[0]))
            else:
                (folder / name).symlink_to(source.resolve())
            word = name
        words.append(word)
    if words[0] == "python":
        for source in FOLDER.glob("*_min.csv"):
            (folder / source.name).symlink_to(source.resolve())
    return words


def main():
    rows, home = [], os.getcwd()
    for case, command, wanted, doubt in CASES:
        if (ONLY and case not in ONLY) or (case == "people" and PEOPLE is None):
            continue
        with tempfile.TemporaryDirectory() as place:
            words = prepared(command, Path(place))
            os.chdir(place)
            shown, verdict = judged(wanted, doubt, *call(words))
            os.chdir(home)
        rows.append({"case": case, "command": command, "now": shown, "verdict": verdict})
        print(f"{case:>6} | {command} | {shown[:110]} | {verdict}", flush=True)
    for verdict in ("right", "doubt", "wrong", "not possible", "crash"):
        print(f"{verdict}: {sum(row['verdict'] == verdict for row in rows)} of {len(rows)}")
    if TO:
        TO.write_text(json.dumps(rows, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="../shared/cases", type=Path)
    parser.add_argument("--people", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    typed = parser.parse_args()
    FOLDER, PEOPLE, TO = (
        typed.folder.resolve(),
        typed.people and typed.people.resolve(),
        typed.json and typed.json.resolve(),
    )
    ONLY = set(filter(None, typed.only.split(",")))
    if not FOLDER.is_dir():
        sys.exit(f"skipped: there is no folder {typed.folder} with the cases")
    main()

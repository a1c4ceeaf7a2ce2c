"""What the checks say: what fits, what does not, and what to do about it."""

SATURATED = (
    "with {} raters and {} classes any labels fit the model of independent errors, so nothing can contradict "
    "it. Get labels of one more labeler, or find out the truth of 30 samples chosen at random"
)
GOLD_TELLS = "find out the truth of 30 or more samples chosen at random, and compare"
# name of the check: (key of the statistic, what fits, what does not, what to do)
LEARNED = {
    "label patterns": (
        "patterns",
        "patterns of labels occur as often as independent errors make them",
        "patterns of labels do not occur as often as independent errors make them",
        "Intervals that assume independence are too narrow and may be off centre: " + GOLD_TELLS,
    ),
    "pairwise agreement": (
        "agreement",
        "no two raters agree more or less often than the model says",
        "{} agree {} often than independent errors make them",
        "Ask whether one saw the other's answers, or whether some samples are hard for both",
    ),
    "labeler misfit": (
        "misfit",
        "no rater's agreements with the others are off",
        "the agreements of {} with the other raters are off",
        "Look at this rater's labels, and evaluate once without them",
    ),
    "labelers share errors": (
        "labelers together",
        "labelers do not err together more or less often than the model says",
        "where the class is {}, labelers err together {} often than the model says",
        "Labels are worth less than their number: evaluate with assume='shared_difficulty', or " + GOLD_TELLS,
    ),
    "classifier and hard samples": (
        "difficulty",
        "the classifier's errors do not go with those of the labelers",
        "where the class is {}, the classifier errs {} often on samples that labelers get wrong",
        "assume='independent' does not hold: leave assume out, or " + GOLD_TELLS,
    ),
    "classifier and single labelers": (
        "single labelers",
        "the classifier's errors do not go with those of any one labeler",
        "the classifier errs {1} often where {0} errs",
        "Ask whether the classifier was trained on this labeler's labels; evaluate once without them",
    ),
    "given prior": (
        "prior",
        "the labels do not contradict the given class prior",
        "the labels contradict the given class prior",
        "Leave prior out to have it learned, or look whether the samples are from elsewhere",
    ),
    "drift": (
        "drift",
        "raters err as often late as early",
        "{} errs {} often late than early",
        "Evaluate early and late samples apart",
    ),
}
ALIKE = (
    "labelers are equally good as far as can be seen",
    "labelers are not equally good (farthest off is {}). Learned error rates take that into account; "
    "majority vote does not, so trust it less",
)

PRIOR = (
    "the labels do not contradict the given class prior",
    "another class prior would make these labels far more likely. Leave prior out to have it integrated out, "
    "or look whether the samples are from elsewhere",
)
RATES = (
    "labelers use the classes and agree with one another as often as the given error rates say",
    "labelers do not use the classes and agree with one another as often as the given error rates say. Leave "
    "noise out to have them learned, or " + GOLD_TELLS,
)
CLASSIFIER = (
    "given the class, the classifier's errors do not go with it",
    "given the class, the classifier's errors go with it, so they are not independent of the labels: "
    + GOLD_TELLS,
)

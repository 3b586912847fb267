"""Scores of antecedents → clusters of mentions."""

from collections.abc import Mapping, Sequence

import numpy as np

from elmo_keras.heads.light import softmax

Mention = tuple[int, int]
# Distances of mentions share a vector from one of these up to the next.
DISTANCES = 1, 2, 3, 4, 5, 8, 16, 32, 64


def find_clusters(
    scores: Mapping[str, np.ndarray], singletons: bool = False
) -> list[list[Mention]]:
    """The clusters of a document, from the outputs of `CoreferenceModel`.

    A span is linked to its best antecedent. With `singletons`, a span that is linked to no
    other is a cluster as well, if its `mention_scores` is above 0.
    """
    best = scores["scores"].argmax(axis=1)[:, None]
    candidates = np.pad(scores["antecedents"], [(0, 0), (1, 0)], constant_values=-1)
    antecedents = np.take_along_axis(candidates, best, axis=1)[:, 0].tolist()
    spans, alone = _spans(scores), set()
    if singletons:
        pairs = zip(spans, scores["mention_scores"] > 0)
        alone = {span for span, is_mention in pairs if is_mention}
    clusters: list[list[Mention]] = []
    cluster_of: list[list[Mention]] = []
    for span, antecedent in zip(spans, antecedents):
        if antecedent < 0:
            clusters.append([])
        cluster = clusters[-1] if antecedent < 0 else cluster_of[antecedent]
        cluster.append(span)
        cluster_of.append(cluster)  # the same list for all its mentions
    return [x for x in clusters if len(x) > 1 or x[0] in alone]


def mention_scores(
    scores: Mapping[str, np.ndarray], clusters: Sequence[Sequence[Mention]]
) -> dict[Mention, float]:
    """How likely each mention belongs to its cluster, from the same outputs.

    It is the probability that a mention has an antecedent in its cluster, or that of the
    strongest link to it, whichever is higher. For the only mention of a cluster, it is the
    probability of being a mention without an antecedent.
    """
    spans = _spans(scores)
    index = {span: i for i, cluster in enumerate(clusters) for span in cluster}
    cluster = np.array([index.get(span, -1) for span in spans], int)
    p, antecedents = softmax(scores["scores"]), scores["antecedents"]
    is_link = (cluster[antecedents] == cluster[:, None]) & (cluster >= 0)[:, None]
    links = np.where(is_link, p[:, 1:], 0)
    onto = np.zeros(len(spans), p.dtype)
    np.maximum.at(onto, antecedents, links)
    probabilities = np.maximum(links.sum(axis=1), onto)
    if "mention_scores" in scores:
        alone = p[:, 0] / (1 + np.exp(-scores["mention_scores"]))
        probabilities = np.where(probabilities, probabilities, alone)
    pairs = zip(spans, probabilities.tolist())
    return {span: score for span, score in pairs if span in index}


def _spans(scores):
    return [*zip(scores["first"].tolist(), scores["last"].tolist())]

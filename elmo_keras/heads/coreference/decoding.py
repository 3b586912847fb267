"""Scores of antecedents → clusters of mentions."""

from collections.abc import Mapping

import numpy as np

Mention = tuple[int, int]
# Distances of mentions from one of these up to the next share a vector.
DISTANCES = 1, 2, 3, 4, 5, 8, 16, 32, 64
NO_ANTECEDENT, NO_MENTION = -1, -2  # instead of the index of an antecedent


def find_clusters(
    scores: Mapping[str, np.ndarray], singletons: bool = False
) -> list[list[Mention]]:
    """The clusters of a document, from the outputs of `CoreferenceModel`.

    A span is linked to its best antecedent. With `singletons`, one that is linked to no
    other is a cluster as well, if its `mention_scores` is above 0.
    """
    best = scores["scores"].argmax(axis=1)
    none = np.full(len(best), NO_ANTECEDENT)
    if singletons:
        none = np.where(scores["mention_scores"] > 0, none, NO_MENTION)
    candidates = np.concatenate([none[:, None], scores["antecedents"]], axis=1)
    antecedents = candidates[np.arange(len(best)), best]
    links = np.stack([scores["first"], scores["last"], antecedents], axis=1)
    return clusters_of_links(links, singletons)


def clusters_of_links(
    links: np.ndarray, singletons: bool = False
) -> list[list[Mention]]:
    """The clusters that links form, those of one mention with `singletons` only.

    Args:
        links: int `(mentions, 3)`: first and last token, and the index of the antecedent,
            `NO_ANTECEDENT` for none, or `NO_MENTION`.
    """
    clusters, cluster_of = [], []
    for first, last, antecedent in links.tolist():
        if antecedent < 0:
            cluster = []
            clusters.append((cluster, singletons and antecedent == NO_ANTECEDENT))
        else:
            cluster = cluster_of[antecedent]
        cluster.append((first, last))
        cluster_of.append(cluster)  # the same list for all its mentions
    return [cluster for cluster, alone in clusters if alone or len(cluster) > 1]

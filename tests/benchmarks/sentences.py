"""How well cosines tell which sentences mean the same, by layer and by shared characters.

    python -m tests.benchmarks.sentences DATA

A vector is the mean over the tokens of `en` or `ko` in int8; "centred" subtracts the mean
of all sentences. SNLI: how often the cosine to a premise is higher for a sentence that
follows from it than for one that contradicts it. KorSTS: Spearman's correlation with the
given similarity. Both times 100.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from elmo_keras import Embedder, split_words
from tests.benchmarks import runner
from tests.benchmarks.today import read_pairs, share_right, trigram_cosine

Pairs = Sequence[tuple[list[str], list[str]]]


def main(data: Path, /) -> None:
    with open(data / "ko_korsts/sts-dev.tsv", encoding="utf-8") as file:
        rows = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    similarities = [float(row["score"]) for row in rows]
    korean = [tuple(split_words(row[f"sentence{i}"]) for i in (1, 2)) for row in rows]
    english = read_pairs(data / "en_snli/dev.txt")

    def spearman(cosines):
        return f"{100 * spearmanr(cosines, similarities).statistic:.1f}"

    def share(cosines):
        return share_right(cosines.reshape(-1, 2))

    columns = "SNLI", "SNLI, centred", "KorSTS", "KorSTS, centred"
    runner.head("layer", *columns)
    names = "0", "1", "2", "their average"
    for name, *layers in zip(names, by_layer("en", english), by_layer("ko", korean)):
        (plain, centred), (plain_ko, centred_ko) = layers
        cells = share(plain), share(centred), spearman(plain_ko), spearman(centred_ko)
        runner.row(name, *cells)
    en, ko = (np.array([trigram_cosine(*p) for p in ps]) for ps in (english, korean))
    runner.row("character trigrams", share(en), "–", spearman(ko), "–")


def by_layer(model: str, pairs: Pairs) -> list[tuple[np.ndarray, np.ndarray]]:
    """The cosines of each layer and of their average, as they are and centred."""
    embedder = Embedder(model, layers="all", pooling="mean", arithmetic="int8")
    first, second = zip(*pairs)
    vectors = np.asarray(embedder.encode([*first, *second]))  # (sentences, layers, dim)
    layers = [*vectors.transpose(1, 0, 2), vectors.mean(axis=1)]
    centred = [(x, x - x.mean(axis=0)) for x in layers]
    return [tuple(runner.cosines(*np.split(x, 2)) for x in pair) for pair in centred]


if __name__ == "__main__":
    runner.run(main)

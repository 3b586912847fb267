"""Readers of tagged text."""

import gzip

import pytest

from elmo_keras.tasks.tag.tagged_text import (
    read_conll,
    read_conllu,
    read_klue,
    read_roles,
)

CONLLU = """# text = vámonos al mar
1-2|vámonos|_|_|_|_|_|_|_|_
1|vamos|ir|VERB|_|_|0|root|_|_
2|nos|nosotros|PRON|_|_|1|obj|_|_
2.1|va|ir|VERB|_|_|_|_|_|_
3|mar|mar|NOUN|_|_|1|obl|_|SpaceAfter=No

# only a comment

1|Sí|sí|INTJ|_|_|0|root|_|_
""".replace("|", "\t")

CONLL = """-DOCSTART- -X- -X- O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
Anna NNP I-NP B-PER
"""

KLUE = """## line : a character and its tag
## id-1|<경찰:OG>은 딸(<32:QT>)
경|B-OG
찰|I-OG
은|O
 |O
딸|O
(|O
3|B-QT
2|I-QT
)|O

## id-2|<김 씨:PS>와
김|B-PS
 |I-PS
씨|I-PS
와|O
""".replace("|", "\t")

ROLES = """The - B-A0 O
cat - I-A0 O
sat sit B-V O
and - O O
ate eat O B-V

Yes -
"""


def written(folder, text, name="text"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_conllu_gives_words_and_their_universal_tags(tmp_path):
    examples = read_conllu(written(tmp_path, CONLLU))
    assert examples == [
        {"tokens": ["vamos", "nos", "mar"], "tags": ["VERB", "PRON", "NOUN"]},
        {"tokens": ["Sí"], "tags": ["INTJ"]},
    ]


def test_conll_gives_the_first_and_the_last_column(tmp_path):
    expected = [
        {
            "tokens": ["EU", "rejects", "Peter", "Blackburn", "Anna"],
            "tags": ["B-ORG", "O", "B-PER", "I-PER", "B-PER"],
        }
    ]
    assert read_conll(written(tmp_path, CONLL)) == expected
    tabs = CONLL.replace(" ", "\t").replace("\n\n", "\n\t\n").replace("\n", "\r\n")
    (tmp_path / "zipped.gz").write_bytes(gzip.compress(tabs.encode()))
    assert read_conll(tmp_path / "zipped.gz") == expected


def test_klue_gives_eojeols_with_punctuation_split_off(tmp_path):
    assert read_klue(written(tmp_path, KLUE)) == [
        {
            "tokens": ["경찰은", "딸", "(", "32", ")"],
            "tags": ["B-OG", "O", "O", "B-QT", "O"],
        },
        {"tokens": ["김", "씨와"], "tags": ["B-PS", "I-PS"]},
    ]


def test_roles_give_an_example_for_each_predicate(tmp_path):
    tokens = ["The", "cat", "sat", "and", "ate"]
    assert read_roles(written(tmp_path, ROLES)) == [
        {
            "tokens": tokens,
            "predicate": [0, 0, 1, 0, 0],
            "tags": ["B-A0", "I-A0", "B-V", "O", "O"],
        },
        {
            "tokens": tokens,
            "predicate": [0, 0, 0, 0, 1],
            "tags": ["O", "O", "O", "O", "B-V"],
        },
    ]


def test_a_file_without_sentences_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no sentence"):
        read_conll(written(tmp_path, "\n\n"))

"""Clones of corpora become files that the readers of the tasks take."""

import re

from elmo_keras.heads import read_documents, read_roles
from tools.corpora import main

LITBANK = """#begin document (1_x_brat); part 0
1_x_brat 0 0 Ann X _ _ _ _ _ _ _ (1)|(2
1_x_brat 0 1 Lee X _ _ _ _ _ _ _ 2)
1_x_brat 0 2 ran X _ _ _ _ _ _ _ (3)

1_x_brat 0 0 She X _ _ _ _ _ _ _ (1)
#end document
"""
GUM = """# speaker = Bo Li
1 New_York _ _ _ _ _ _ _ Entity=(7)|Bridge=1
1-2 x _ _ _ _ _ _ _ _
2 and _ _ _ _ _ _ _ _
3 it _ _ _ _ _ _ _ Entity=(7

4 self _ _ _ _ _ _ _ Entity=7)(8)
5 here _ _ _ _ _ _ _ Entity=(8)
"""
EWT = """# newdoc id = weblog-a
1 Al _ _ NN _ _ _ _ _
2 has _ _ VB _ _ _ _ _
3 seen _ _ VB _ _ _ _ _
4 us _ _ PR _ _ _ _ _
"""
SKELETON = """f 0 0 [] NN - - - * (ARG0*)
f 0 1 [] VB - - have.01 (V*) *
f 0 2 [] VB - - see.01 * (V*
f 0 3 [] PR - - - * *)
"""


def test_clones_become_coreference_and_roles(tmp_path):
    for name, text in {
        "litbank/coref/conll/1_x_brat.conll": LITBANK,
        "gum/splits.md": "## train\n* GUM_news_a\n* GUM_fiction_b\n## dev\n",
        "gum/coref/ontogum/conllu/GUM_news_a.conllu": GUM,
        "UD_English-EWT/en_ewt-ud-dev.conllu": EWT,
        "propbank-release/data/google/ewt/weblog/0/a.xml.gold_skel": SKELETON,
    }.items():
        path = tmp_path / "clones" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_spaced = name.endswith(("md", "skel"))
        if not is_spaced:
            text = re.sub(
                "^[^#].*", lambda line: line[0].replace(" ", "\t"), text, flags=re.M
            )
        path.write_text(text)
    main(tmp_path / "clones", tmp_path / "out")
    [document] = read_documents(tmp_path / "out/en_coref_litbank/train.conll.gz")
    assert document["sentences"] == [["Ann", "Lee", "ran"], ["She"]]
    assert document["clusters"] == [[(0, 0), (3, 3)]]  # an entity with several mentions
    [document] = read_documents(tmp_path / "out/en_coref_gum/train.conll.gz")
    assert document["speakers"] == [["Bo_Li"] * 3, ["-"] * 2]
    assert document["clusters"] == [[(3, 3), (4, 4)]]  # none over two sentences
    examples = read_roles(tmp_path / "out/en_srl_ewt/dev.conll")
    tags = [(e["predicate"], e["tags"]) for e in examples]
    assert tags == [([0, 0, 1, 0], ["B-ARG0", "O", "B-V", "I-V"])]

"""Tables of results, as they are printed."""

from elmo_keras.base.markdown_table import markdown_table


def test_columns_are_aligned_in_the_source_and_in_markdown():
    rows = [("one", "7", ""), ("twenty", "10,000", "x")]
    assert markdown_table(("name", "n", "left"), rows).splitlines() == [
        "| name   |      n | left |",
        "| ------ | -----: | ---: |",
        "| one    |      7 |      |",
        "| twenty | 10,000 |    x |",
    ]
    assert markdown_table(("a", "bc"), [("d", "e")], 2).endswith("| d | e  |")
    assert markdown_table(("name",), []) == "| name |\n| ---- |"

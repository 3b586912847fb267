"""Tables of results, as they are printed."""

from elmo_keras.util.markdown_table import markdown_table, percent_spread, spread


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


def test_a_spread_is_mean_and_sample_deviation_or_the_only_value():
    assert percent_spread([0.5, 0.52]) == "51.00 ± 1.41"
    assert spread([0.5, 0.52], digits=3) == "0.510 ± 0.014"
    assert percent_spread([0.5]) == "50.00"

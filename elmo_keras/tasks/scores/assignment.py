"""The best one-to-one pairing of two sets."""

import numpy as np


def best_assignment(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs rows with columns so that the sum of their scores is highest.

    Exact: the Hungarian method with shortest augmenting paths, cubic in time.

    Args:
        scores: float `(rows, columns)`.

    Returns:
        The rows and the columns of the pairs, of which there are as many as the
        smaller side has elements.

    >>> rows, columns = best_assignment(np.array([[3.0, 2.0], [2.0, 0.0]]))
    >>> rows.tolist(), columns.tolist()
    ([1, 0], [0, 1])
    """
    scores = np.asarray(scores, "float64")
    if scores.shape[0] > scores.shape[1]:
        columns, rows = best_assignment(scores.T)
        return rows, columns
    row_of = _row_of_columns(-scores)
    columns = np.flatnonzero(row_of >= 0)
    return row_of[columns], columns


def _row_of_columns(cost):
    """The row that each column is paired with, or −1, at the lowest cost."""
    n_rows, n_columns = cost.shape
    row_prices, column_prices = np.zeros(n_rows), np.zeros(n_columns)
    row_of = np.full(n_columns, -1)
    for row in range(n_rows):
        _add(row, cost, row_prices, column_prices, row_of)
    return row_of


def _add(row, cost, row_prices, column_prices, row_of):
    """Pairs one more row, by the cheapest path of changed pairs."""
    n_columns = len(row_of)
    distance = np.full(n_columns, np.inf)
    came_from = np.full(n_columns, -1)  # −1: from the row itself
    reached = np.zeros(n_columns, bool)
    column, passed = -1, 0.0
    current = row
    while current >= 0:
        step = passed + cost[current] - row_prices[current] - column_prices
        shorter = ~reached & (step < distance)
        distance[shorter], came_from[shorter] = step[shorter], column
        column = int(np.argmin(np.where(reached, np.inf, distance)))
        passed, current = distance[column], row_of[column]
        if current >= 0:
            reached[column] = True
    row_prices[row] += passed
    row_prices[row_of[reached]] += passed - distance[reached]
    column_prices[reached] -= passed - distance[reached]
    while column >= 0:
        before = came_from[column]
        row_of[column] = row if before < 0 else row_of[before]
        column = before

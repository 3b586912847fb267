"""Which versions of a model are loaded."""

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class VersionPolicy:
    """The newest versions, all, or those with certain numbers.

    Args:
        newest: how many of the newest ones; None for all.
        only: the numbers that may be loaded; None for any.
    """

    newest: int | None = 1
    only: frozenset[int] | None = None

    def candidates(self, versions: Iterable[int]) -> list[int]:
        """The versions that may be loaded, the newest first."""
        allowed = [v for v in versions if self.only is None or v in self.only]
        return sorted(allowed, reverse=True)

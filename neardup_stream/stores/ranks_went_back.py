"""Say that a store of clusters knows of fewer ranks than were taken from it."""

__all__ = ["RanksWentBack"]


class RanksWentBack(Exception):  # noqa: N818 - a statement about what is stored
    """Nothing was changed, because the store went back to an earlier state.

    Args:
        count: of how many ranks it knows.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count

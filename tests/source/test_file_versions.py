"""Which version of a delivery is the highest (case W13)."""

from __future__ import annotations

from itertools import permutations

import pytest

from customer_pipeline.source.file_versions import highest


@pytest.mark.parametrize(
    "rising",
    [
        ("1", "2", "10"),
        ("v9", "V10", "v011"),
        ("", "-v2", "-v3"),
        ("1.2", "1.2.1", "1.10"),
        ("20260301T0930", "20260301T1015", "20260302T0000"),
        ("2 (copy 1)", "2 (copy 2)"),
    ],
    ids=" < ".join,
)
def test_versions_count_up_as_people_count_in_whichever_order_they_are_found(
    rising: tuple[str, ...],
) -> None:
    for found in permutations(rising):
        assert highest(found) == rising[-1]


@pytest.mark.parametrize(
    "found",
    [
        ("2", "final"),
        ("2", "2-draft"),
        ("v1", "rev2"),
        ("1.2", "1-3"),
        ("2", "02"),
        ("v3", "V3"),
        ("", "_backup"),
        ("1", "2", "2-draft"),
    ],
    ids=" ? ".join,
)
def test_what_has_no_order_is_not_given_one(found: tuple[str, ...]) -> None:
    for order in permutations(found):
        with pytest.raises(ValueError, match="it is unclear which of .* is newer"):
            highest(order)

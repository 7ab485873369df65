"""How partitions are cut into the pieces that a run each works on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from customer_pipeline.planning.pieces import apart, pieces

_KEYS = [f"2026-03-{day:02}" for day in range(1, 21)]
_CHOSEN = st.sets(st.sampled_from(_KEYS), min_size=1)
_LONGEST = st.one_of(st.none(), st.integers(1, 8))


def test_without_a_limit_a_piece_ends_only_where_a_partition_is_left_alone():
    chosen = {*_KEYS[:4], *_KEYS[6:9], _KEYS[19]}

    assert pieces(_KEYS, chosen) == [_KEYS[:4], _KEYS[6:9], [_KEYS[19]]]


def test_a_piece_holds_as_many_partitions_as_allowed():
    assert pieces(_KEYS, _KEYS[:7], longest=3) == [_KEYS[0:3], _KEYS[3:6], _KEYS[6:7]]


def test_a_gap_begins_a_new_piece_though_the_last_one_is_not_full():
    chosen = [_KEYS[0], *_KEYS[2:6]]

    assert pieces(_KEYS, chosen, longest=3) == [_KEYS[:1], _KEYS[2:5], _KEYS[5:6]]


@given(_CHOSEN, _LONGEST)
def test_each_chosen_partition_is_in_one_piece_and_no_other_partition_is(chosen, longest):
    cut = pieces(_KEYS, chosen, longest=longest)

    assert [key for piece in cut for key in piece] == sorted(chosen)
    assert all(len(piece) <= (longest or len(_KEYS)) for piece in cut)
    assert all(_KEYS[_KEYS.index(piece[0]) :][: len(piece)] == piece for piece in cut)


@given(_CHOSEN, _LONGEST)
def test_dagster_makes_the_pieces_of_a_lot_into_just_those_runs(chosen, longest):
    cut = pieces(_KEYS, chosen, longest=longest)

    lots = apart(_KEYS, cut)

    # What Dagster does with a backfill: a run for each range without gaps.
    runs = [run for lot in lots for run in pieces(_KEYS, [key for piece in lot for key in piece])]
    assert sorted(runs) == sorted(cut)
    assert len(lots) <= 2


def test_pieces_that_do_not_touch_share_a_lot():
    assert apart(_KEYS, [_KEYS[:1], _KEYS[2:3], _KEYS[4:5]]) == [
        [_KEYS[:1], _KEYS[2:3], _KEYS[4:5]]
    ]

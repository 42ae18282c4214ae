"""Tests of app/server/caches.py: each cache stays within its limit of entries or bytes."""

import threading
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from app.server import caches
from app.server.caches import ByteCache


@dataclass(frozen=True)
class Thing:
    nbytes: int


def test_the_least_recently_used_value_is_evicted_first():
    cache: ByteCache[Thing] = ByteCache(10)
    first, second, third = Thing(4), Thing(4), Thing(4)
    cache.keep("first", first)
    cache.keep("second", second)
    assert cache.find("first") is first
    cache.keep("third", third)
    assert (cache.find("first"), cache.find("second"), cache.find("third")) == (first, None, third)
    assert cache.nbytes == 8


def test_what_is_larger_than_the_cache_pushes_nothing_out():
    cache: ByteCache[Thing] = ByteCache(10)
    kept = Thing(6)
    cache.keep("kept", kept)
    cache.keep("large", Thing(11))
    assert cache.find("kept") is kept
    assert cache.find("large") is None
    cache.keep("exact", Thing(10))
    assert cache.find("exact") is not None and cache.find("kept") is None
    assert cache.nbytes == 10


def test_the_same_key_twice_counts_once():
    cache: ByteCache[Thing] = ByteCache(10)
    first = Thing(6)
    cache.keep("one", first)
    cache.keep("one", Thing(6))
    assert cache.find("one") is first
    assert cache.nbytes == 6


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 14)), max_size=40))
def test_bytes_are_counted_and_bounded(steps: list[tuple[int, int]]):
    cache: ByteCache[Thing] = ByteCache(12)
    for key, size in steps:
        cache.keep(key, Thing(size))
        held = [cache.find(key) for key in range(7)]
        assert cache.nbytes == sum(thing.nbytes for thing in held if thing) <= 12
        assert size > 12 or cache.find(key) is not None  # the newest entry is in the cache


def test_threads_leave_the_count_right():
    cache: ByteCache[Thing] = ByteCache(50)

    def work(number: int) -> None:
        for i in range(2000):
            cache.keep((number * i) % 17, Thing(i % 9))
            cache.find(i % 17)

    made = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()
    assert cache.nbytes == sum(thing.nbytes for key in range(17) if (thing := cache.find(key))) <= 50


def test_a_functions_results_are_remembered_and_counted_by_name():
    asked = []

    @caches.remembered(2)
    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    name = f"{__name__}.{double.__wrapped__.__qualname__}"
    try:
        assert [double(1), double(1), double(2), double(3), double(1)] == [2, 2, 4, 6, 2]
        assert asked == [1, 2, 3, 1]
        assert caches.kept[name].cache_info().currsize == 2
    finally:
        del caches.kept[name]


def test_values_that_weigh_nothing_are_bounded_by_their_number():
    cache: ByteCache[Thing] = ByteCache(10, most=3)
    for key in range(5):
        cache.keep(key, Thing(0))
    assert [cache.find(key) is not None for key in range(5)] == [False, False, True, True, True]

"""Tests of app/server/caches.py: each cache stays within its limit of entries or bytes."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from app.server import caches
from app.server.caches import ByteCache


@dataclass(frozen=True)
class Thing:
    nbytes: int


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([None, None, 0, 4, 4, 5, 12, 13])), max_size=60),
       st.sampled_from([2, 9]))
def test_values_are_those_of_a_list_in_the_order_of_use(steps: list[tuple[int, int | None]], most: int):
    """A value larger than the cache is not kept and evicts nothing; of a key, the first value stays. None finds."""
    cache: ByteCache[Thing] = ByteCache(12, most)
    used: list[tuple[int, Thing]] = []  # the least recently used value is first
    for key, size in steps:
        known = next((entry for entry in used if entry[0] == key), None)
        if size is None:
            assert cache.find(key) is (known and known[1])
            used = [entry for entry in used if entry is not known] + ([known] if known else [])
            continue
        thing = Thing(size)
        cache.keep(key, thing)
        if known is None and size <= 12:
            used.append((key, thing))
            while sum(each.nbytes for _, each in used) > 12 or len(used) > most:
                del used[0]
        assert cache.nbytes == sum(each.nbytes for _, each in used)


def test_texts_and_files_count_their_bytes():
    assert caches.written._size("é🐉") == 6 and caches.files._size(b"abc") == 3


def test_threads_leave_the_count_right():
    cache: ByteCache[Thing] = ByteCache(50)

    def work(number: int) -> None:
        for i in range(2000):
            cache.keep((number * i) % 17, Thing(i % 9))
            cache.find(i % 17)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 5)))  # raises the error of a thread
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

"""How fast jobs get on with other numbers of units."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cpsched.model.speedup import MILLION, parts_of_second, parts_per_second, seconds_on

SIZES = st.integers(1, 10**5)
SERIAL = st.integers(0, MILLION)


@given(SIZES, SIZES, SERIAL)
def test_speed_is_that_of_amdahl_s_law(units, preferred, serial):
    f = Fraction(serial, MILLION)
    law = (f + (1 - f) / preferred) / (f + (1 - f) / units)
    speed = Fraction(parts_per_second(units, preferred, serial), parts_of_second(preferred, serial))
    assert speed <= law or speed == Fraction(1, MILLION)
    assert law - speed < Fraction(1, MILLION)


@given(SIZES, SERIAL, st.integers(0, 10**8))
def test_on_the_units_it_prefers_a_job_takes_its_runtime(preferred, serial, seconds):
    assert seconds_on(preferred, seconds, preferred, serial) == seconds


def test_half_the_units_take_twice_as_long_where_all_is_shared():
    assert seconds_on(4, 100, 8, 0) == 200
    # A tenth alone: 0.1 + 0.9 / 4 instead of 0.1 + 0.9 / 8.
    assert seconds_on(4, 100, 8, 100_000) == 153
    assert seconds_on(1, 100, 8, MILLION) == 100

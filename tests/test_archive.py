"""Nested state as flat names, and back."""

from __future__ import annotations

import numpy as np

from cpsched.archive import flattened, unflattened


def test_arrays_and_the_rest_go_apart_and_come_together_again():
    """Under the keys that lead to them, joined by slashes."""
    state = {"seed": 3, "models": {"0": {"left": np.arange(3)}, "name": "a"}}
    arrays, plain = flattened(state)
    assert {name: value.tolist() for name, value in arrays.items()} == {"models/0/left": [0, 1, 2]}
    assert plain == {"seed": 3, "models/name": "a"}
    again = unflattened({**arrays, **plain})
    assert again["models"]["0"]["left"].tolist() == [0, 1, 2]
    assert (again["seed"], again["models"]["name"]) == (3, "a")


def test_what_is_always_there_is_there_though_it_was_empty():
    """An empty mapping leaves no name to find it by."""
    arrays, plain = flattened({"seed": 3, "models": {}})
    assert unflattened({**arrays, **plain}, "models") == {"seed": 3, "models": {}}

"""Objects that remember the arguments they were made with, so that they have a specification."""

from __future__ import annotations

import inspect
from typing import Any, Self


class _Remembers:
    made_with: dict[str, Any] | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        try:
            made_with = dict(inspect.signature(cls).bind(*args, **kwargs).arguments)
        except TypeError:
            # The constructor says better what is wrong with them.
            return self
        object.__setattr__(self, "made_with", made_with)
        return self


class RemembersArguments(_Remembers):
    """
    Base of dispatchers and predictors.

    Attributes
    ----------
    made_with
        The arguments of the constructor by parameter, defaults left out; None where they are not
        known, as after unpickling.
    """

    def __init__(self) -> None:
        # Here, so that inspect does not take the signature of __new__ for a class without its own.
        pass

"""What a user says of jobs that may be restarted or change size: ``share=0.5,cost=30``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from cpsched.errors import ConfigError
from cpsched.model.workload import RESIZE_COST
from cpsched.util.models import Model, Must, explained
from cpsched.util.spec import Spec

#: The longest time that an option may name, seconds.
_LONGEST = 366 * 86400
# Values are texts, which are numbers here and nowhere else.
_Fraction = Annotated[float, Field(strict=False, ge=0, le=1), Must("a number from 0 to 1")]
_Multiple = Annotated[float, Field(strict=False, ge=1, le=1000), Must("a number from 1 to 1000")]
_Seconds = Annotated[
    int, Field(strict=False, ge=0, le=_LONGEST), Must(f"a whole number from 0 to {_LONGEST}")
]


class _Options(Model):
    """Options of the form ``KEY=VALUE,...``; each may be left out."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Read ``share=0.5,cost=30``.

        Raises
        ------
        ConfigError
            If something else is given, or a value is invalid; names the option.
        """
        spec = Spec.parse(f"options:{text}")
        if spec.name != "options":
            # A word alone behind a colon reads as the name of a class.
            raise ConfigError(f"'{text}' is not an option. Write key=value.")
        try:
            return cls.model_validate(dict(spec.options))
        except ValidationError as error:
            raise explained(error) from None


class RestartOptions(_Options):
    """
    How a share of a log's jobs may be restarted.

    Attributes
    ----------
    share
        Of the jobs, drawn at random and always the same ones of a log.
    cost
        Seconds that each start but the first takes longer.
    checkpoint
        After every how many seconds a job saves what it has done; 0: never.
    """

    share: _Fraction = 1.0
    cost: _Seconds = 0
    checkpoint: _Seconds = 0


class MalleableOptions(_Options):
    """
    How a share of a log's jobs may change size.

    Attributes
    ----------
    share
        Of the jobs, drawn at random and always the same ones of a log; those of a smaller share
        are among those of a larger one.
    least, most
        Fewest and most units, as multiples of the job's units; rounded up and down.
    kind
        The type of the jobs.
    serial
        Fraction of a job's work that its units cannot share.
    cost
        Seconds without progress after each change of size.
    """

    share: _Fraction = 1.0
    least: _Fraction = 0.5
    most: _Multiple = 2.0
    kind: Annotated[
        Literal["moldable", "malleable", "evolving"], Must("one of: moldable, malleable, evolving")
    ] = "malleable"
    serial: _Fraction = 0.0
    cost: _Seconds = RESIZE_COST

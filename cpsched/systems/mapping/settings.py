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
    Options for jobs that may be requeued and started again, ``share=0.5,cost=30,checkpoint=600``.

    Attributes
    ----------
    share
        Share of the jobs, sampled at random, always the same jobs of a log.
    cost
        Seconds that each start but the first takes longer.
    checkpoint
        Seconds between the checkpoints of a job. 0: none, so that a requeued job begins anew.
    """

    share: _Fraction = 1.0
    cost: _Seconds = 0
    checkpoint: _Seconds = 0


class MalleableOptions(_Options):
    """
    Options for jobs that may change size (number of tasks), ``share=0.5,least=0.5,most=2``.

    Attributes
    ----------
    share
        Share of the jobs, sampled at random, always the same jobs of a log. Those of a smaller
        share are among those of a larger one.
    least, most
        Fewest and most tasks as multiples of the job's tasks, rounded up and down.
    kind
        ``moldable`` (size chosen at the start), ``malleable`` (changed while the job runs) or
        ``evolving`` (changed at the job's own request).
    serial
        Serial share of a job's work (Amdahl's law), 0 to 1.
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

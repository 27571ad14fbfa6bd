"""What a runtime predictor is given, gives and is judged by."""

from __future__ import annotations

from cpsched.dispatch.likely import RuntimeHistory, facts_of
from cpsched.engine.predicting import Correction, predict
from cpsched.model.prediction import (
    HORIZONS,
    LEVELS,
    Outcome,
    Prediction,
    RuntimePredictor,
    answers_of,
    distribution_fault,
    listens,
    write_down,
)

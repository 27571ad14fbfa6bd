"""What dispatchers are made of: contract, passes over the queue, orders, allocators, windows."""

from __future__ import annotations

from cpsched.cp import stats
from cpsched.dispatch.allocators import Allocator, make_allocator
from cpsched.dispatch.contract import Dispatcher, Reservation, WaitReason
from cpsched.dispatch.learning import LearningDispatcher
from cpsched.dispatch.passes import (
    decision_of,
    easy_pass,
    fits_now,
    frozen,
    list_pass,
    with_plan,
)
from cpsched.dispatch.preemptable import Act, PreemptionRules, QueueRules
from cpsched.dispatch.preemption import Preemption
from cpsched.dispatch.priority import (
    Fifo,
    Priority,
    least_taken,
    make_priority,
    units_a_node_holds,
)
from cpsched.dispatch.shadow import TIMES, Shadow
from cpsched.dispatch.wrapper import Wrapper

"""What compiled code is made of: the decorator, places on nodes, free capacity over time."""

from __future__ import annotations

from cpsched.kernels.arrays import FAR, NONE, ONE, ZERO, filled, sort_by, twice
from cpsched.kernels.compiling import kernel
from cpsched.kernels.event_loop import (
    IDLE,
    PAUSED,
    Holds,
    carry_out,
    clock,
    end_job,
    enter_job,
    keep_in_queue,
    take_off_nodes,
)
from cpsched.kernels.events import PHASE_BITS, SECOND, forget, next_second, phase_of, pop, push
from cpsched.kernels.filling import fill_greedily, fill_with_lookahead, split_evenly, use_a_run
from cpsched.kernels.inner import inner, leaf
from cpsched.kernels.parts import (
    CONTIGUOUS,
    LOWEST_SWITCH,
    PARTS_SCRATCH,
    best_part,
    find_parts,
    is_confined,
    order_in,
)
from cpsched.kernels.placing import FIRST_FIT, choose, is_even, is_run, place_in_order
from cpsched.kernels.profile import (
    GROUPS,
    SEGMENTS,
    SPARE,
    Profile,
    copy_row,
    cut_at,
    empty_profile,
    give_back,
    group_into,
    group_places,
    grouped,
    groups_of,
    mark_allocations,
    note_fall,
    num_splits,
    occupy_groups,
    resized,
    split_groups,
    split_pieces,
    take_off,
)
from cpsched.kernels.rooms import (
    FITS,
    MANY,
    Groups,
    Request,
    machine_at,
    packed_places,
    room_on,
    shortage,
    weighted,
)
from cpsched.kernels.runs import begin_at, begin_where_differs, packed_bits, words
from cpsched.kernels.start_bounds import (
    Asks,
    asks_of,
    occupy_known,
    remember,
    seen_start,
)
from cpsched.kernels.start_log import HEADER, amounts_in, begin_entry, note_start, packed
from cpsched.kernels.windows import find_window, least_in, needs_room_alone, next_window

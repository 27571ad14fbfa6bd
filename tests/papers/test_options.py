"""Options of the papers' dispatchers that make no sense: one line, with what would be accepted."""

import pytest

from cpsched.errors import ConfigError
from cpsched.util.spec import build


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ipsched:objective=cores", "objective is 'cores', must be priority or priority-cores"),
        ("ipsched:window=0", "window is 0, must be 1 or more"),
        ("ipsched:interval=0", "interval is 0, must be 1 or more, or 'none'"),
        ("ipsched:order=rank", "rank"),
        ("ipsched:window=many", "'many' is not a whole number"),
        ("aucsched1:bids=0", "bids is 0, must be 1 or more"),
        ("aucsched1:limit=0", "limit is 0.0, must be above 0"),
        ("aucsched2:bids_per_job=-1", "bids_per_job is -1, must be 1 or more"),
        ("aucsched3:shares=2", "has no option '"),
        ("wla:solver=cp", "solver is 'cp', must be one of branch-and-bound, greedy, cp-sat"),
        ("wla:backfill=sjf", "backfill is 'sjf', must be easy or none"),
        ("wla:window=20", "window is 20, must be from 1 to 10 with solver branch-and-bound"),
        ("dn-dbes:attempts=0", "attempts is 0, must be 1 or more"),
        ("dn-dbes:mapped_share=2", "mapped_share is 2.0, must be from 0 to 1"),
        ("malleable:strategy=best", "strategy: is 'best', must be one of: minimum, preferred"),
        ("malleable:depth=0", "depth is 0"),
        ("malleable:dispatcher=malleable", "must be another dispatcher"),
        ("cp-malleable:aging=0", "aging is 0"),
        ("cp-malleable:limit=0", "limit is 0"),
        ("cp-malleable:dispatcher=slurm-backfill", "which has no allocator"),
    ],
)
def test_bad_options(spec, message):
    with pytest.raises(ConfigError) as error:
        build("dispatchers", spec)
    assert message in str(error.value)
    assert "\n" not in str(error.value)

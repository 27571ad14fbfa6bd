"""Generic resources of nodes."""

from slurm_adapter.config.gres import Gres, read_gres
from slurm_adapter.config.lines import Value


def gres(text):
    return read_gres(Value(text, "Gres", "slurm.conf", 3))


def test_what_slurm_conf_lists():
    assert gres("gpu:a100:4(S:0-1),nvme,bandwidth:lustre:no_consume:4G,x:no_consume:2") == (
        Gres("gpu", "a100", 4),
        Gres("nvme", "", 1),
        Gres("bandwidth", "lustre", 4 * 2**30, consumed=False),
        Gres("x", "", 2, consumed=False),
    )
    assert gres("gpu:2(S:0,1),mps:100K") == (Gres("gpu", "", 2), Gres("mps", "", 102400))

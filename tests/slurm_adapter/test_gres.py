"""Generic resources of nodes and gres.conf."""

import pytest

from cpsched.errors import ConfigError
from slurm_adapter.config.gres import Gres, read_gres, read_gres_conf, types_by_node, with_types
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


def test_types_come_from_gres_conf(tmp_path):
    path = tmp_path / "gres.conf"
    path.write_text(
        "AutoDetect=nvml\n"
        "NodeName=g[1-2] Name=gpu Type=a File=/dev/nvidia[0-2]\n"
        "NodeName=g2 Name=gpu Type=b File=/dev/nvidia3\n"
        "Name=nvme Type=fast Count=2\n"
    )
    said = types_by_node(read_gres_conf(path))
    # All three of g1 are of type a; of g2's four three are; of g3's nothing is said.
    assert with_types(gres("gpu:3"), said, "g1") == [Gres("gpu", "a", 3)]
    assert with_types(gres("gpu:4"), said, "g2") == [Gres("gpu", "a", 3), Gres("gpu", "b", 1)]
    assert with_types(gres("gpu:4,nvme:2"), said, "g3") == [
        Gres("gpu", "", 4),
        Gres("nvme", "fast", 2),
    ]
    assert with_types(gres("gpu:c:3"), said, "g1") == [Gres("gpu", "c", 3)]


def test_line_without_a_name(tmp_path):
    path = tmp_path / "gres.conf"
    path.write_text("# GPUs\nNodeName=g1 Count=2\n")
    with pytest.raises(ConfigError, match=r"gres\.conf:2: NodeName: the line has no Name"):
        read_gres_conf(path)

"""Files that are not read are named by what they are, in one line, with what is accepted."""

import bz2
import io
import lzma
import tarfile
import zipfile

import pytest

from cpsched import logs
from cpsched.errors import TraceError


def _zip():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("log.swf", "1 2 3")
    return packed.getvalue()


def _tar():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("log.swf"))
    return packed.getvalue()


FILES = {
    "lsb.acct": (
        b'"JOB_FINISH" "10.1" 1772438400 4711 1001 33816587 4 1772438000 0 0 1772438010 "ann"\n',
        "LSF",
    ),
    "accounting": (
        b"# Version: 8.6\n" + b"all.q:n1:phys:ann:j:17:sge:0:1:2:3:0:0:" + b"0:" * 30 + b"0\n",
        "Grid Engine",
    ),
    "cobalt.pbs": (
        b"04/03/2019 00:32:17;S;327220;Resource_List.ncpus=3000 account=A args= ctime=1554251516.32"
        b" cwd=/home/u etime=1554251516.32 exe=/home/u/a\n",
        "Cobalt",
    ),
    "history": (b'GlobalJobId = "s#1.0#17"\nClusterId = 1\n', "HTCondor"),
    "job.log": (b"000 (123.000.000) 2024-01-01 00:00:00 Job submitted from host\n", "HTCondor"),
    "events.1": (b"00:00:01 1772438400:17 job 4711 JOBEND 1 4\n", "Moab"),
    "maui.trace": (b"VERSION 230\n", "Maui"),
    "slurm.conf": (b"# site\nClusterName=c\nNodeName=n[1-4] CPUs=4\n", "configuration of Slurm"),
    "queue.txt": (b"             JOBID PARTITION     NAME     USER ST\n", "squeue"),
    "table.txt": (b"JobID           JobName  Partition\n------- ------- ----\n", "parsable2"),
    "page.swf": (b"<!DOCTYPE html>\n<html><title>404</title></html>\n", "HTML"),
    "log.swf.zip": (_zip(), "ZIP"),
    "log.swf.xz": (lzma.compress(b"1 2 3"), "xz"),
    "log.swf.bz2": (bz2.compress(b"1 2 3"), "bzip2"),
    "log.swf.zst": (b"\x28\xb5\x2f\xfd\x04\x00", "Zstandard"),
    "log.tar": (_tar(), "tar"),
    "pointer.swf": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
    "windows.sacct": ("JobID|User\n".encode("utf-16"), "UTF-16"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_program_is_named(tmp_path, name):
    content, word = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        logs.read(path)
    message = str(caught.value)
    assert word in message
    assert "Formats: pbs, sacct, swf, table" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["log.swf", "lsb.acct", "log.csv", "x"])
def test_an_empty_file_is_called_empty(tmp_path, name):
    path = tmp_path / name
    path.touch()
    with pytest.raises(TraceError, match="is empty"):
        logs.read(path)


@pytest.mark.parametrize("suffix", ["swf", "acct", "csv", "sacct"])
def test_what_is_not_known_is_left_to_its_reader(log, suffix):
    with pytest.raises(TraceError) as caught:
        logs.read(log(f"a.{suffix}", "hello:world\n"))
    assert "accepted are" not in str(caught.value)

"""
An engine, its Slurm and its users out of control: everything is killed, and no job is lost.

``chaos.py --out DIR`` starts a private Slurm of the site ``chaos_site`` with accounting, and the
engine as an ordinary account, whose orders go through the gate that ``sudo`` names. While short
jobs of four users come in, the engine and the controller are killed at random moments, nodes go
down, and owners and operators hold, release, move, requeue and cancel jobs. Then the record of
slurmdbd is held against what was done. At the end the engine is killed for good while jobs wait,
and the watchdog has to leave them to Slurm. ``sprio -l`` of many waiting jobs is written down at
the beginning, for ``sprio.py``.

Root, because jobs have owners: users, a rule of sudo and the gate are made, and removed.
"""

from __future__ import annotations

import argparse
import csv
import json
import pwd
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from accounted import AccountedSite, AccountedSlurm
from record import users

from slurm_adapter.live import order_gate

HERE = Path(__file__).parent
OWNERS = ("chaos1", "chaos2", "chaos3", "chaos4")
BOT, OPERATOR = "chaosbot", "chaosop"
GATE = Path("/usr/local/sbin/cpsched-chaos-order")
RULE = Path("/etc/sudoers.d/cpsched-chaos")
THROUGH = f"sudo -n -u {OPERATOR} {GATE}"
#: Seconds of the engine's first life.
_COMPILES = 60
#: Seconds within which Slurm has saved what it was told.
_SAVED = 6
ENDED = {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "DEADLINE"}
SACCT = "JobID,User,State,Start,End,NodeList,ReqTRES,Comment,Partition,QOS"


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill and disturb an engine, and count.")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=100, help="of the engine")
    parser.add_argument("--controller-kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=1500, help="seconds of disturbance")
    parser.add_argument("--drain", type=float, default=600, help="most seconds until all has ended")
    parser.add_argument("--python", default=sys.executable, help="one that all accounts may run")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="ch-", dir="/tmp"))
    folder.chmod(0o755)
    with ExitStack() as held:
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        held.enter_context(users({*OWNERS, BOT, OPERATOR}))
        site = replace(AccountedSite.read(HERE / "chaos_site"), job_submit=_lua())
        slurm = held.enter_context(AccountedSlurm(folder / "s", site))
        held.callback(GATE.unlink, missing_ok=True)
        held.callback(RULE.unlink, missing_ok=True)
        _install(slurm)
        chaos = Chaos(slurm, folder / "bot", arguments)
        held.callback(chaos.end)
        chaos.go()
        for name, text in chaos.evidence().items():
            (arguments.out / name).write_text(text)
        table = chaos.table()
    with (arguments.out / "chaos.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("what", "number"), *table.items()])
    print("\n".join(f"{what:60} {number}" for what, number in table.items()))


def _lua() -> str:
    """Return the job_submit.lua of the guide, for all partitions and the operator here."""
    guide = (HERE.parents[1] / "docs/guides/slurm-live.md").read_text()
    text = re.search(r"```lua\n(.*?)```", guide, re.S)[1]  # type: ignore[index]
    own = text.replace('job_desc.partition == "trial" and ', "")
    return own.replace("[990]", f"[{pwd.getpwnam(OPERATOR).pw_uid}]")


def _install(slurm: AccountedSlurm) -> None:
    """Install the gate and the rule of sudo, as the guide says."""
    text = Path(order_gate.__file__).read_text()
    own = f'SCONTROL, SLURM_CONF = "{shutil.which("scontrol")}", "{slurm.conf}"'
    GATE.write_text(text.replace('SCONTROL, SLURM_CONF = "/usr/bin/scontrol", ""', own))
    GATE.chmod(0o755)
    rule = (HERE.parents[1] / "docs/guides/systemd/cpsched-slurm.sudoers").read_text()
    for name, other in (
        ("slurmop:slurmop", OPERATOR), ("slurmbot", BOT),
        ("/usr/local/sbin/cpsched-slurm-order", str(GATE)),
    ):  # fmt: skip
        rule = rule.replace(name, other)
    RULE.write_text(rule)
    RULE.chmod(0o440)
    subprocess.run(["visudo", "-cqf", str(RULE)], check=True)


class Chaos:
    """What is done to a Slurm and its engine, and what is known of it."""

    def __init__(self, slurm: AccountedSlurm, home: Path, arguments: argparse.Namespace) -> None:
        self.slurm, self.home, self.arguments = slurm, home, arguments
        self.state = home / "state"
        self.random = random.Random(arguments.seed)
        home.mkdir()
        shutil.chown(home, BOT)
        self.did: Counter[str] = Counter()
        self.exits: Counter[int] = Counter()
        self.jobs: dict[int, str] = {}
        self.cancelled: set[str] = set()
        #: Spans in which a job was held, by job: seconds since 1970.
        self.holds: defaultdict[str, list[list[float]]] = defaultdict(list)
        self.engine: subprocess.Popen[bytes] | None = None
        self.watchdog: subprocess.Popen[bytes] | None = None
        self.down: list[str] = []
        #: Who holds jobs.
        self.by: dict[str, str] = {}
        self.seconds = 0.0
        self.allowed: list[str] = []
        self.sprio = ""
        self.freed = -1.0
        self.waited = 0

    # --- processes -------------------------------------------------------------------------------

    def _as(
        self, user: str, *command: str, check: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a user."""
        known = pwd.getpwnam(user)
        return subprocess.run(
            command, user=known.pw_uid, group=known.pw_gid, extra_groups=[], cwd="/",
            env=self.slurm.environment, capture_output=True, text=True, check=check,
        )  # fmt: skip

    def _start(self, *words: str, log: str) -> subprocess.Popen[bytes]:
        known = pwd.getpwnam(BOT)
        environment = self.slurm.environment | {
            "HOME": str(self.home), "NUMBA_CACHE_DIR": str(self.home / "numba"),
        }  # fmt: skip
        with (self.slurm.folder / "log" / log).open("ab") as file:
            return subprocess.Popen(
                [self.arguments.python, "-um", "cpsched", "slurm", *words, "--through", THROUGH],
                env=environment, user=known.pw_uid, group=known.pw_gid, extra_groups=[],
                cwd=self.home, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip

    def _run_engine(self) -> None:
        words = ("run", "-d", "easy", "--act", "--state", str(self.state), "--slowest", "0.5")
        words += ("--partition", "batch", "--partition", "gpu", "--lease", "20")
        self.engine = self._start(*words, log="engine.out")
        self.did["lives of the engine"] += 1
        #: When it is to be killed: seconds after its first sign of life.
        self.begun, self.fate = 0.0, self.random.uniform(0.05, 10.0)
        if self.did["lives of the engine"] == 1:
            # It compiles its kernels, which no later life would come to.
            self.fate = _COMPILES
        self.lines = self._starts()

    def _starts(self) -> int:
        path = self.state / "audit.jsonl"
        return path.read_text().count('"what": "start"') if path.exists() else 0

    def _care_for_engine(self) -> None:
        """Start the engine if it is gone; kill it when its time has come."""
        if self.engine is None:
            self._run_engine()
            return
        code = self.engine.poll()
        if code is not None:
            # It ended by itself.
            self.exits[code] += 1
            self.did["ends of the engine by itself"] += 1
            self._run_engine()
            return
        if not self.begun and self._starts() > self.lines:
            self.begun = time.monotonic()
        is_time = self.begun and time.monotonic() - self.begun >= self.fate
        if is_time and self.did["kills of the engine that hit"] < self.arguments.kills:
            self._kill_engine()
            self.did["kills of the engine that hit"] += 1
            self._run_engine()

    def _kill_engine(self) -> None:
        assert self.engine is not None
        self.engine.send_signal(signal.SIGKILL)
        self.exits[self.engine.wait()] += 1
        self.engine = None

    def end(self) -> None:
        """End what was started."""
        for process in (self.engine, self.watchdog):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()

    # --- what happens ----------------------------------------------------------------------------

    def go(self) -> None:
        """Let it happen, wait for the end, and kill the engine for good."""
        self._check_account()
        self._record_sprio()
        began = time.monotonic()
        kill_every = self.arguments.most / (self.arguments.controller_kills + 1)
        next_kill = began + self.random.uniform(0.5, 1) * kill_every / 3
        while not self._is_over(began):
            if len(self.jobs) < self.arguments.jobs:
                self._submit(min(4, self.arguments.jobs - len(self.jobs)))
            self._care_for_engine()
            if (
                time.monotonic() >= next_kill
                and self.did["kills of the controller that hit"] < self.arguments.controller_kills
            ):
                self._kill_controller()
                next_kill = time.monotonic() + self.random.uniform(0.1, 0.6) * kill_every
            self._disturb()
            time.sleep(self.random.uniform(0.02, 0.15))
        self.seconds = time.monotonic() - began
        self._drain()
        self._give_back()

    def _is_over(self, began: float) -> bool:
        wanted = {
            "kills of the engine that hit": self.arguments.kills,
            "kills of the controller that hit": self.arguments.controller_kills,
        }
        done = all(self.did[what] >= number for what, number in wanted.items())
        return (done and len(self.jobs) >= self.arguments.jobs) or (
            time.monotonic() - began > self.arguments.most
        )

    def _check_account(self) -> None:
        """See that the account of the engine cannot give other orders, with sudo or without."""
        tries = (
            ("scontrol", "update", "NodeName=t01", "State=DOWN", "Reason=x"),
            ("scontrol", "create", "reservation", "ReservationName=x", "StartTime=now",
             "Duration=9", "Users=root", "Nodes=t01"),
            ("sudo", "-n", "scontrol", "ping"),
            ("sudo", "-n", str(GATE), "delete", "ReservationName=cpsched.batch"),
            (*THROUGH.split(), "update", "NodeName=t01", "State=DOWN", "Reason=x"),
            (*THROUGH.split(), "shutdown"),
            ("sudo", "-n", "-u", OPERATOR, "/bin/sh"),
        )  # fmt: skip
        self.did["other orders of the engine's account, tried"] = len(tries)
        self.allowed = [" ".join(words) for words in tries if not self._as(BOT, *words).returncode]

    def _record_sprio(self) -> None:
        """Write down priorities of jobs of many sizes, which wait only for a later time."""
        sizes = random.Random(7)
        ids = []
        for number in range(60):
            gpu = number % 3 == 0
            options = ["-p", "gpu", f"--gres=gpu:{sizes.randint(1, 2)}"] if gpu else ["-p", "batch"]
            options += [f"--ntasks={sizes.randint(1, 100 if gpu else 400)}"]
            options += [f"--mem-per-cpu={sizes.choice((100, 500, 1000, 3000))}"]
            options += [f"--qos={sizes.choice(('low', 'normal', 'high'))}", "--comment=sprio"]
            options += [f"--time={sizes.randint(1, 60)}", f"--uid={OWNERS[number % 4]}"]
            done = self._sbatch(*options, seconds=1)
            ids += [done] if done else []
        # As the guide's lua holds all, they are released by root to have a priority, with no node
        # up to run them.
        for name in ("batch", "gpu"):
            self.slurm.run("scontrol", "update", f"PartitionName={name}", "State=DOWN")
        self.slurm.run("scontrol", "release", ",".join(ids))
        time.sleep(3)
        commands = {
            "squeue": ("squeue", "-h", "-r", "-t", "PD", "-o", "%i|%u|%a|%P|%q|%C|%D|%l|%m|%b"),
            "sprio": ("sprio", "-l"),
            "sprio -n": ("sprio", "-h", "-n", "-o", "%i|%r|%a|%b|%f|%j|%p|%q|%t|%y|%Y|%N"),
            "jobs": ("scontrol", "-o", "show", "job"),
            "sshare": ("sshare", "-a", "-l", "-P"),
            "qos": ("sacctmgr", "-P", "show", "qos"),
            "assoc": ("sacctmgr", "-P", "show", "assoc", "tree"),
        }
        texts = {name: self.slurm.run(*command) for name, command in commands.items()}
        self.sprio = json.dumps({"time": time.time(), "output": texts}, indent=0)
        self.slurm.run("scancel", *ids)
        for name in ("batch", "gpu"):
            self.slurm.run("scontrol", "update", f"PartitionName={name}", "State=UP")
        (self.arguments.out / "sprio.json").write_text(self.sprio)

    def _sbatch(self, *options: str, seconds: float) -> str:
        fixed = ("sbatch", "--parsable", "--export=NIL", "--output=/dev/null", "--chdir=/tmp")
        return self.slurm.run(
            *fixed, *options, f"--wrap=exec sleep {seconds:.1f}", check=False
        ).strip()

    def _submit(self, count: int) -> None:
        """Submit jobs of several kinds."""
        for _ in range(count):
            chance, kind = self.random, self.random.random()
            options = [f"--uid={chance.choice(OWNERS)}", "--time=2"]
            options += [f"--qos={chance.choice(('normal', 'normal', 'high', 'low'))}"]
            size = 1
            if kind < 0.3:
                which, most = chance.choice((("v100", 2), ("a100", 4)))
                options += ["-p", "gpu", f"--gres=gpu:{which}:{chance.randint(1, most)}"]
                options += [f"--nodes={chance.randint(1, 2)}"]
            elif kind < 0.4:
                options += ["-p", "batch", f"--nodes={chance.randint(1, 4)}", "--exclusive"]
            else:
                options += ["-p", "batch", f"--ntasks={chance.choice((1, 2, 4, 8, 16, 24, 48))}"]
            if kind > 0.95:
                size = min(chance.randint(2, 6), self.arguments.jobs - len(self.jobs))
                options += [f"--array=0-{size - 1}"]
            elif kind > 0.88 and self.jobs:
                options += [f"--dependency=afterany:{chance.choice(list(self.jobs))}"]
            done = self._sbatch(*options, seconds=chance.uniform(1, 5))
            if not done.isdigit():
                self.did["submissions that found no controller"] += 1
                continue
            gpu = next((o.split(":")[1] for o in options if o.startswith("--gres")), "")
            # Tasks of an array are counted as jobs: their numbers follow when they are split off.
            for task in range(size):
                self.jobs[int(done) if not task else -len(self.jobs) - 1] = gpu
            if len(self.jobs) >= self.arguments.jobs:
                return

    def _kill_controller(self) -> None:
        if " is UP" not in self.slurm.run("scontrol", "ping", check=False):
            return
        self.slurm.stop_controller(kill=True)
        self.did["kills of the controller that hit"] += 1
        time.sleep(self.random.uniform(0.1, 2))
        self.slurm.start_controller()

    def _disturb(self) -> None:
        """Do something to a job or a node."""
        chance = self.random
        what = chance.choice(("hold", "hold", "release", "move", "requeue", "cancel", "node", ""))
        if what == "node":
            self._disturb_node()
            return
        form = ("squeue", "-h", "-r", "-t", "R" if what == "requeue" else "PD", "-o", "%i|%u")
        rows = [line.split("|") for line in self.slurm.run(*form, check=False).split()]
        if what == "release":
            rows = [row for row in rows if self._is_held(row[0])]
        if what and rows:
            job, owner = chance.choice(rows)
            if what != "cancel" or chance.random() < 0.3:
                getattr(self, f"_{what}")(job, owner)

    def _disturb_node(self) -> None:
        chance = self.random
        if self.down and chance.random() < 0.6:
            node, state = self.down.pop(0), "RESUME"
        elif len(self.down) < 4:
            node = chance.choice(self.slurm.nodes)
            state = "DOWN"
            self.down.append(node)
        else:
            return
        order = ("scontrol", "update", f"NodeName={node}", f"State={state}", "Reason=chaos")
        self.slurm.run(*order, check=False)
        self.did[f"nodes taken {'down' if state == 'DOWN' else 'up'}"] += 1

    def _is_held(self, job: str) -> bool:
        return bool(self.holds[job]) and self.holds[job][-1][1] == 0

    def _hold(self, job: str, owner: str) -> None:
        if self._is_held(job):
            return
        by = owner if self.random.random() < 0.5 else "root"
        if self._as(by, "scontrol", "hold", job).returncode:
            return
        shown = self.slurm.run("squeue", "-h", "-r", "-j", job, "-o", "%T %r %k", check=False)
        # It may have started in this moment; and an owner's hold is a comment.
        if shown.startswith("PENDING") and ("JobHeldAdmin" in shown or "cpsched:hold" in shown):
            self.holds[job].append([time.time(), 0.0])
            self.did[f"holds by {'an operator' if by == 'root' else 'owners'}"] += 1
            self.by[job] = by

    def _release(self, job: str, owner: str) -> None:
        by = self.by.get(job, owner)
        self.holds[job][-1][1] = time.time()
        word = "uhold" if by == "root" else "release"
        if self._as(by, "scontrol", word, job).returncode:
            self.holds[job][-1][1] = 0
        else:
            self.did["releases"] += 1

    def _move(self, job: str, owner: str) -> None:
        node = self.random.choice(self.slurm.nodes)
        done = self._as(owner, "scontrol", "update", f"JobId={job}", f"ReqNodeList={node}")
        self.did["updates of ReqNodeList by owners"] += not done.returncode

    def _requeue(self, job: str, owner: str) -> None:
        done = self._as(owner, "scontrol", "requeue", job)
        self.did["requeues by owners"] += not done.returncode

    def _cancel(self, job: str, owner: str) -> None:
        if not self._as(owner, "scancel", job).returncode:
            self.cancelled.add(job)
            self.did["cancels by owners"] += 1

    def _drain(self) -> None:
        """Release all that is held, and let the engine run the rest."""
        for node in self.down:
            self.slurm.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
        for job in [job for job in self.holds if self._is_held(job)]:
            self._release(job, "")
        end = time.monotonic() + self.arguments.drain
        while self.slurm.run("squeue", "-h", "-r", check=False).strip():
            if time.monotonic() > end:
                break
            self._care_for_life()
            time.sleep(2)
        left = self.slurm.run("squeue", "-h", "-r", "-o", "%i %T %r %k").strip()
        (self.arguments.out / "left.txt").write_text(f"{left}\n")
        self.did["jobs not run in time, cancelled at the end"] = len(left.splitlines())
        self.slurm.run("scancel", *(line.split()[0] for line in left.splitlines()), check=False)

    def _care_for_life(self) -> None:
        if self.engine is None or self.engine.poll() is not None:
            if self.engine is not None:
                self.exits[self.engine.returncode] += 1
                self.did["ends of the engine by itself"] += 1
            self._run_engine()

    def _give_back(self) -> None:
        """Kill the engine for good while jobs wait; measure until Slurm has started them."""
        words = ("watchdog", "--partition", "batch", "--partition", "gpu", "--state")
        more = ("--grace", "10", "--every", "5")
        self.watchdog = self._start(*words, str(self.state), *more, log="watchdog.out")
        self._care_for_life()
        time.sleep(5)
        self._kill_engine()
        began = time.monotonic()
        ids = [
            self._sbatch(f"--uid={OWNERS[0]}", "-p", "batch", "-N1", seconds=1) for _ in range(20)
        ]
        self.waited = len(ids)
        form = ("squeue", "-h", "-t", "PD", "-j", ",".join(ids), "-o", "%i")
        while self.slurm.run(*form, check=False).strip() and time.monotonic() - began < 120:
            time.sleep(0.2)
        self.freed = time.monotonic() - began
        time.sleep(4)

    # --- what became of it -----------------------------------------------------------------------

    def evidence(self) -> dict[str, str]:
        """Return what Slurm, the engine and the watchdog wrote down."""
        time.sleep(5)
        # By their numbers: of a time span, sacct leaves out what was never eligible.
        ids = ",".join(str(job) for job in self.jobs if job > 0)
        asked = ("sacct", "-a", "-X", "-P", "-D", "-j", ids, "-o", SACCT)
        names = {"audit.jsonl": self.state / "audit.jsonl"}
        names |= {n: self.slurm.folder / "log" / n for n in ("engine.out", "watchdog.out")}
        names |= {"slurmctld.log": self.slurm.folder / "log" / "slurmctld.log"}
        self.sacct = self.slurm.run(*asked)
        holds = json.dumps(self.holds)
        texts = {
            name: path.read_text(errors="replace") for name, path in names.items() if path.exists()
        }
        return {"sacct.txt": self.sacct, "holds.json": holds, **texts}

    def table(self) -> dict[str, Any]:
        """Return what was done, and what came of it."""
        log = (self.slurm.folder / "log" / "slurmctld.log").read_text(errors="replace")
        found = judged(self.sacct, self.holds, restarts(log))
        known = {line.partition("|")[0].partition("_")[0] for line in self.sacct.splitlines()}
        lost = [job for job in self.jobs if job > 0 and str(job) not in known]
        lines = self.state / "audit.jsonl"
        notes = Counter(json.loads(line)["what"] for line in lines.read_text().splitlines())
        own = {-signal.SIGKILL: 0}
        return {
            "jobs submitted, tasks of arrays counted": len(self.jobs),
            "seconds of disturbance": round(self.seconds),
            **dict(sorted(self.did.items())),
            "exit codes of the engine other than by SIGKILL": sum(
                number for code, number in self.exits.items() if code not in own
            ),
            "orders": notes["ordered"],
            "seen running": notes["ran"],
            "withdrawn": notes["withdrawn"],
            "set aside": notes["aside"],
            "refused": notes["refused"],
            "jobs submitted that slurmdbd does not have": len(lost),
            **found,
            "other orders of the engine's account, allowed": len(self.allowed),
            "waiting when the engine was killed for good": self.waited,
            "seconds until Slurm had started them": round(self.freed, 1),
        }


def restarts(log: str) -> list[float]:
    """Return when the controller began anew, by its log."""
    found = re.findall(r"^\[([^]]+)\] slurmctld version \S+ started", log, re.MULTILINE)
    return [datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() for time in found]


def judged(
    sacct: str, holds: dict[str, list[list[float]]], restarted: list[float]
) -> dict[str, int]:
    """
    Return what the record of Slurm says: ends, starts of held jobs, nodes of typed GPUs.

    A controller that is killed forgets what it was told since it last saved its state.
    """
    head, *lines = sacct.splitlines()
    rows = [dict(zip(head.split("|"), line.split("|"), strict=True)) for line in lines]
    rows = [row for row in rows if row["Comment"] != "sprio"]
    ended: defaultdict[str, list[str]] = defaultdict(list)
    wrong = typed = while_held = forgotten = ran = 0
    for row in rows:
        state = row["State"].split()[0]
        ended[row["JobID"]] += [state] if state in ENDED else []
        if row["Start"] in ("Unknown", "None", ""):
            continue
        start = datetime.fromisoformat(row["Start"]).replace(tzinfo=UTC).timestamp()
        has_nodes = row["NodeList"] != "None assigned"
        ran += has_nodes
        kind = re.search(r"gres/gpu:(\w+)=", row["ReqTRES"])
        if kind and has_nodes:
            typed += 1
            wrong += set(
                re.findall(r"(?:^|,)([a-z])", re.sub(r"\[.*?\]", "", row["NodeList"]))
            ) != {kind[1][0]}
        spans = [
            begin
            for begin, end in holds.get(row["JobID"], ())
            if begin + 1 < start < (end or float("inf")) - 1
        ]
        while_held += has_nodes and bool(spans)
        forgotten += has_nodes and any(
            begin < again < min(start, begin + _SAVED) for begin in spans for again in restarted
        )
    final = Counter(states[-1] if states else "none" for states in ended.values())
    return {
        "jobs in the record of slurmdbd": len(ended),
        "starts in it": ran,
        "jobs without an end": sum(not states for states in ended.values()),
        "jobs with more than one end": sum(
            states.count("COMPLETED") > 1 or len(set(states) - {"NODE_FAIL"}) > 1
            for states in ended.values()
        ),
        "starts of held jobs": while_held,
        "of them held just before a kill of the controller, which forgot it": forgotten,
        "starts with GPUs of a type": typed,
        "of them on nodes of another type": wrong,
        **{f"ended {name}": number for name, number in sorted(final.items())},
    }


if __name__ == "__main__":
    main()

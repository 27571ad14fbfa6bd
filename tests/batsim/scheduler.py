"""
A small scheduler that speaks Batsim's protocol, and every way to break it that tests need.

Run as ``scheduler.py POLICY [--record=FILE] [--pid=FILE] --socket-endpoint=ENDPOINT``. ``fcfs``
stops at the first job that does not fit, ``filler`` skips it, both on the first free hosts.
"""

import json
import os
import sys
import time
from pathlib import Path

import zmq


class Scheduler:
    """First come, first served; the others change a step of it."""

    skips = False

    def __init__(self):
        self.free, self.queue, self.held = [], [], {}
        self.now, self.events, self.begun = 0.0, [], False

    def say(self, kind, **data):
        self.events.append({"timestamp": self.now, "type": kind, "data": data})

    def answer(self, message):
        self.now, self.events = message["now"], []
        for event in message["events"]:
            getattr(self, event["type"].lower())(event.get("data"))
        self.schedule()
        return {"now": self.now, "events": self.events}

    def simulation_begins(self, data):
        self.free = [host["id"] for host in data["compute_resources"]]

    def simulation_ends(self, data):
        self.queue = []

    def job_submitted(self, data):
        job = data["job"]
        assert data["profile"]["delay"] == job["walltime"]
        self.queue.append((job["id"], job["res"]))

    def job_completed(self, data):
        self.free = sorted(self.free + self.held.pop(data["job_id"]))

    def job_killed(self, data):
        pass

    def requested_call(self, data):
        pass

    def notify(self, data):
        first, _, last = data["resources"].partition("-")
        hosts = range(int(first), int(last or first) + 1)
        if data["type"] == "event_machine_unavailable":
            self.free = [host for host in self.free if host not in hosts]
        else:
            self.free = sorted({*self.free, *hosts})

    def schedule(self):
        for job, wanted in list(self.queue):
            if wanted > len(self.free):
                if self.skips:
                    continue
                break
            self.start(job, self.free[:wanted])

    def start(self, job, hosts):
        self.queue = [entry for entry in self.queue if entry[0] != job]
        self.held[job] = hosts
        self.free = [host for host in self.free if host not in hosts]
        self.say("EXECUTE_JOB", job_id=job, alloc=" ".join(map(str, hosts)))


class Filler(Scheduler):
    skips = True


class Hourly(Scheduler):
    """Starts jobs only when it is called, which it asks for a hundred seconds on."""

    called = False

    def requested_call(self, data):
        self.called = True
        super().schedule()

    def schedule(self):
        if self.queue and not self.called:
            self.say("CALL_ME_LATER", timestamp=self.now + 99.5)
        self.called = False


class Slow(Scheduler):
    """Takes five seconds of the simulation for every answer."""

    def schedule(self):
        self.now += 5 if self.queue else 0
        super().schedule()


class Choosy(Scheduler):
    """Rejects jobs of more than two hosts."""

    def job_submitted(self, data):
        if data["job"]["res"] > 2:
            self.say("REJECT_JOB", job_id=data["job_id"])
        else:
            super().job_submitted(data)


class Killer(Scheduler):
    """Kills every job that another one waits for."""

    def job_submitted(self, data):
        super().job_submitted(data)
        if self.held and data["job"]["res"] > len(self.free):
            self.say("KILL_JOB", job_ids=sorted(self.held))


class Random(Scheduler):
    """Is not the same twice."""

    def schedule(self):
        super().schedule()
        self.say("SET_JOB_METADATA", job_id="cpsched!0", metadata=str(time.monotonic_ns()))


def breaking(**what):
    """Return a scheduler that says what nobody understands as soon as there is a job."""

    class Breaking(Scheduler):
        def schedule(self):
            if self.queue:
                self.events += [{"timestamp": self.now, **what}]

    return Breaking


class Twice(Scheduler):
    """Starts every job on the same host."""

    def schedule(self):
        for job, _ in list(self.queue):
            self.start(job, [0])


class Past(Scheduler):
    def schedule(self):
        if self.queue:
            self.now -= 1
            super().schedule()


class Dies(Scheduler):
    def schedule(self):
        if self.queue:
            sys.stderr.write("out of ideas\n")
            sys.exit(3)


class Hangs(Scheduler):
    def schedule(self):
        if self.queue:
            sys.stderr.write("thinking\n")
            sys.stderr.flush()
            time.sleep(600)


class Mumbles(Scheduler):
    text = "{now: 1"

    def answer(self, message):
        super().answer(message)
        return (
            self.text
            if message["events"][0]["type"] == "JOB_SUBMITTED"
            else {
                "now": self.now,
                "events": [],
            }
        )


class Lists(Mumbles):
    text = "[1, 2]"


class Nan(Mumbles):
    text = '{"now": NaN, "events": []}'


POLICIES = {
    "fcfs": Scheduler,
    "filler": Filler,
    "hourly": Hourly,
    "slow": Slow,
    "choosy": Choosy,
    "killer": Killer,
    "random": Random,
    "twice": Twice,
    "past": Past,
    "dies": Dies,
    "hangs": Hangs,
    "mumbles": Mumbles,
    "lists": Lists,
    "nan": Nan,
    "never": breaking(type="SET_JOB_METADATA"),
    "unknown-job": breaking(type="EXECUTE_JOB", data={"job_id": "cpsched!77", "alloc": "0"}),
    "no-host": breaking(type="EXECUTE_JOB", data={"job_id": "cpsched!0", "alloc": "9000"}),
    "few-hosts": breaking(type="EXECUTE_JOB", data={"job_id": "cpsched!0", "alloc": "0-1"}),
    "no-alloc": breaking(type="EXECUTE_JOB", data={"job_id": "cpsched!0"}),
    "mapping": breaking(
        type="EXECUTE_JOB", data={"job_id": "cpsched!0", "alloc": "0", "mapping": {"0": "0"}}
    ),
    "state": breaking(type="SET_RESOURCE_STATE", data={"resources": "0", "state": "1"}),
    "register": breaking(type="REGISTER_JOB", data={"job_id": "dyn!1"}),
    "query": breaking(type="QUERY", data={"requests": {"consumed_energy": {}}}),
    "nonsense": breaking(type="DANCE"),
    "call-past": breaking(type="CALL_ME_LATER", data={"timestamp": 0}),
    "no-type": breaking(data={}),
}


def main(policy, *options):
    given = dict(option.removeprefix("--").split("=", 1) for option in options)
    if "pid" in given:
        Path(given["pid"]).write_text(str(os.getpid()))
    scheduler = POLICIES[policy]()
    socket = zmq.Context().socket(zmq.REP)
    socket.bind(given["socket-endpoint"])
    while True:
        text = socket.recv_string()
        if "record" in given:
            with Path(given["record"]).open("a") as record:
                record.write(text + "\n")
        answer = scheduler.answer(json.loads(text))
        socket.send_string(answer if isinstance(answer, str) else json.dumps(answer))
        if "SIMULATION_ENDS" in text:
            socket.close()
            return


if __name__ == "__main__":
    main(*sys.argv[1:])

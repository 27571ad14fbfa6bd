"""
Train a policy with MaskablePPO of sb3-contrib, and keep it as a dispatcher's file.

    pip install 'cpsched[train]'
    python examples/train_ppo.py --log LOG --system SYSTEM --train 0 6000 --test 8000 10000
    cpsched simulate LOG --system SYSTEM -d learned:file=trained/policy.zip

The same small network scores every job that can be chosen, and a softmax over the scores says which
one goes next, as in RLScheduler (Zhang et al., SC 2020). Windows for training, for choosing among
the policies of a training (``--valid``) and for the figures at the end (``--test``) share no rows.
It writes into ``--out`` the learning curve (curve.csv), the policy that was best on the windows of
``--valid`` (policy.zip) and the last (last.zip), their figures on those of ``--test`` beside the
rules' (test.csv), and checkpoint.zip, from which the same command continues.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from cpsched import fit, load_system, read_log
from cpsched.gym.episode_jobs import pool_of
from cpsched.gym.features import FEATURES, IS_JOB
from cpsched.gym.options import RULES
from cpsched.gym.policy import PolicyNetwork, save
from cpsched.gym.vector import BatchSchedulingVector


def parsed():
    """Return what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    add = parser.add_argument
    add("--log", required=True)
    add("--system", required=True, help="a name, a path, or a number of processors")
    add("--train", nargs=2, type=int, action="append", metavar=("FIRST", "END"), required=True)
    add("--valid", nargs=2, type=int, metavar=("FIRST", "END"), help="default: the end of --train")
    add("--test", nargs=2, type=int, metavar=("FIRST", "END"))
    add("--test-starts", type=int, nargs="+", help="first rows of the test windows instead")
    add("--length", type=int, default=1024, help="jobs in a window of the training")
    add("--valid-length", type=int, default=512)
    add("--test-length", type=int, default=1024)
    add("--measure", default="bounded-slowdown")
    add("--requested", choices=("log", "runtime"), default="log", help="where a log has none")
    add("--overrun", choices=("kill", "extend"), default="kill")
    add("--choose", default="any")
    add("--wait", action="store_true")
    add("--backfill", default="easy")
    add("--behind", default="sjf")
    add("--visible", type=int, default=128)
    add("--relative-to", default="sjf", help="a rule, or none: see the environment")
    add("--hours", type=float, default=1.0)
    add("--seed", type=int, default=0)
    add("--envs", type=int, default=32)
    add("--steps", type=int, default=256, help="decisions of each environment in an update")
    add("--batch", type=int, default=2048)
    add("--epochs", type=int, default=4)
    add("--rate", type=float, default=1e-3)
    add("--gamma", type=float, default=0.998)
    add("--lambda", dest="gae", type=float, default=0.97)
    add("--entropy", type=float, default=0.001)
    add("--every", type=int, default=8, help="updates between evaluations")
    add("--threads", type=int, default=1)
    add("--out", type=Path, default=Path("trained"))
    return parser.parse_args()


def fitted_of(asked):
    """Return the log on its machine."""
    log = read_log(asked.log)
    if asked.requested == "runtime":
        known = log.requested_time > 0
        log = log.with_columns(
            requested_time=np.where(known, log.requested_time, np.maximum(log.runtime, 1))
        )
    system = pool_of(int(asked.system)) if asked.system.isdigit() else load_system(asked.system)
    return fit(log, system)


class Windows:
    """First rows of the windows of training, validation and test; they share no rows."""

    def __init__(self, asked):
        length, far = asked.test_length, asked.valid_length
        ranges = [list(one) for one in asked.train]
        if asked.valid is None:
            # The end of the last range, long enough for several windows.
            end = ranges[-1][1]
            ranges[-1][1] = end - 2 * far
            asked.valid = [end - 2 * far, end]
        self.valid = spread(*asked.valid, far, 8)
        self.test = asked.test_starts or spread(*(asked.test or (0, 0)), length, 10)
        held = [(one, one + length) for one in self.test] + [tuple(asked.valid)]
        self.train = [
            row
            for first, end in ranges
            for row in range(first, end - asked.length + 1)
            if all(row + asked.length <= low or row >= high for low, high in held)
        ]
        for one in self.test:
            if one < asked.valid[1] and one + length > asked.valid[0]:
                raise SystemExit(f"the test window at {one} shares rows with those of --valid")
        if not self.train or not self.valid:
            raise SystemExit("no window is left for training or validation; use a shorter --length")


def spread(first, end, length, most):
    """Return the first rows of some windows of a range, evenly spread."""
    last = end - length
    if last < first:
        return []
    return sorted({int(row) for row in np.linspace(first, last, most)})


class SideBySide(VecEnv):
    """Our environments, which are one object, as Stable Baselines takes them."""

    def __init__(self, vector, seed):
        self.vector, self._seed = vector, seed
        self.finished = []
        super().__init__(
            vector.num_envs, vector.single_observation_space, vector.single_action_space
        )

    def reset(self):
        rows, _ = self.vector.reset(seed=self._seed)
        return rows

    def step_async(self, actions):
        self._actions = actions

    def step_wait(self):
        rows, rewards, done, _, infos = self.vector.step(self._actions)
        said = [{} for _ in range(self.num_envs)]
        for e in np.flatnonzero(done):
            said[e]["terminal_observation"] = infos["final_obs"][e]
            self.finished.append(float(infos["final_info"]["measure"][e]))
        return rows, rewards.astype(np.float32), done, said

    def env_method(self, method_name, *arguments, indices=None, **more):
        return list(getattr(self.vector, method_name)(*arguments, **more))

    def has_attr(self, attr_name):
        return hasattr(self.vector, attr_name)

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.vector, attr_name)] * self.num_envs

    def set_attr(self, attr_name, value, indices=None):
        setattr(self.vector, attr_name, value)

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False] * self.num_envs

    def close(self):
        pass


def layers(*sizes):
    """Return linear layers with ReLU between them."""
    made = []
    for wide, narrow in pairwise(sizes):
        made += [nn.Linear(wide, narrow), nn.ReLU()]
    return nn.Sequential(*made[:-1])


class RowByRow(nn.Module):
    """The network of the policy, for each row by itself, and that of the value, for all."""

    def __init__(self, num_rows):
        super().__init__()
        self.num_rows, self.latent_dim_pi, self.latent_dim_vf = num_rows, num_rows, 32
        self.score = layers(len(FEATURES), 32, 16, 1)
        self.value = nn.Sequential(layers(2 * len(FEATURES) + 1, 64, 32), nn.ReLU())

    def forward(self, flat):
        return self.forward_actor(flat), self.forward_critic(flat)

    def forward_actor(self, flat):
        rows = flat.view(-1, self.num_rows, len(FEATURES))
        # Most rows are empty most of the time.
        used = rows.abs().sum(-1) > 0
        scores = torch.zeros(used.shape)
        scores[used] = self.score(rows[used])[:, 0]
        return scores

    def forward_critic(self, flat):
        rows = flat.view(-1, self.num_rows, len(FEATURES))
        jobs = rows[..., IS_JOB : IS_JOB + 1]
        number = jobs.sum(1)
        mean = (rows * jobs).sum(1) / number.clamp(min=1)
        most = (rows * jobs).amax(1)
        return self.value(torch.cat([mean, most, number / self.num_rows], dim=1))


class RowPolicy(MaskableActorCriticPolicy):
    """Scores of rows are the logits of actions."""

    def _build_mlp_extractor(self):
        self.mlp_extractor = RowByRow(self.action_space.n)

    def _build(self, lr_schedule):
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        last = self.mlp_extractor.score[-1]
        # Nothing is preferred at first.
        nn.init.orthogonal_(last.weight, 0.01)
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def layers(self):
        """Return weights and biases as a policy's file has them."""
        return [
            (each.weight.detach().numpy().T.copy(), each.bias.detach().numpy().copy())
            for each in self.mlp_extractor.score
            if isinstance(each, nn.Linear)
        ]


class Evaluation:
    """Some windows, each played once with the best action of a policy."""

    def __init__(self, fitted, starts, length, decides):
        self.starts = np.array(starts)
        self.vector = BatchSchedulingVector(
            fitted, num_envs=len(starts), starts=starts, length=length, **decides
        )

    def of(self, policy):
        """Return the measure of each window."""
        rows, info = self.vector.reset(seed=0, options={"first": self.starts})
        found = np.full(len(self.starts), np.nan)
        while np.isnan(found).any():
            scores = np.where(info["action_mask"], policy.scores(rows), -np.inf)
            rows, _, done, _, info = self.vector.step(scores.argmax(axis=1))
            new = done & np.isnan(found)
            if new.any():
                found[new] = info["final_info"]["measure"][new]
        return found

    def by_rule(self, rule):
        """Return the measure of each window under a rule."""
        return np.array([self.vector.episodes.by_rule(int(row), rule) for row in self.starts])


class Watch(BaseCallback):
    """Evaluates now and then, keeps the best, saves, and ends the training after its time."""

    def __init__(self, asked, valid, until, before):
        super().__init__()
        self.asked, self.valid, self.until = asked, valid, until
        self.updates = before.get("updates", 0)
        self.best = before.get("best", np.inf)
        self.spent = before.get("seconds", 0.0)
        self.since = time.monotonic()

    def _on_step(self):
        return time.monotonic() < self.until

    def _on_rollout_end(self):
        self.updates += 1
        # Smaller steps towards the end of the time.
        left = (self.until - time.monotonic()) / (3600 * self.asked.hours)
        rate = self.asked.rate * min(max(left, 0.05), 1.0)
        self.model.lr_schedule = lambda _: rate
        if self.updates % self.asked.every == 1:
            self.evaluate()

    def evaluate(self):
        """Write a line of the curve, and the policy if it is the best so far."""
        out, env = self.asked.out, self.training_env
        policy = PolicyNetwork(env.vector.episodes.options, self.model.policy.layers(), self.said())
        found = float(self.valid.of(policy).mean())
        save(out / "last.zip", policy)
        if found < self.best:
            self.best = found
            save(out / "policy.zip", policy)
        seconds = self.spent + time.monotonic() - self.since
        finished, env.finished = env.finished, []
        train = np.mean(finished) if finished else np.nan
        line = (
            *(f"{seconds:.0f}", self.num_timesteps, self.updates),
            *(f"{train:.2f}", f"{found:.2f}", f"{self.best:.2f}"),
        )
        curve = out / "curve.csv"
        is_new = not curve.exists()
        with curve.open("a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(["seconds", "decisions", "updates", "train", "valid", "best"])
            writer.writerow(line)
        # Whole or not at all: a training may be killed at any moment.
        self.model.save(out / "new.zip")
        (out / "new.zip").replace(out / "checkpoint.zip")
        kept = {"updates": self.updates, "best": self.best, "seconds": seconds}
        (out / "new.json").write_text(json.dumps(kept))
        (out / "new.json").replace(out / "checkpoint.json")
        print(*line, flush=True)

    def said(self):
        """Return what a policy's file says of its training."""
        asked = {name: str(value) for name, value in vars(self.asked).items() if name != "log"}
        return {**asked, "log": Path(self.asked.log).name, "decisions": self.num_timesteps}


def main():
    """Train, and say how good the policy is on windows it was not trained on."""
    asked = parsed()
    torch.set_num_threads(asked.threads)
    fitted, windows = fitted_of(asked), Windows(asked)
    decides = {
        name: getattr(asked, name)
        for name in ("choose", "wait", "backfill", "behind", "visible", "measure", "overrun")
    }
    training = BatchSchedulingVector(
        fitted,
        num_envs=asked.envs,
        starts=windows.train,
        length=asked.length,
        relative_to=None if asked.relative_to == "none" else asked.relative_to,
        **decides,
    )
    valid = Evaluation(fitted, windows.valid, asked.valid_length, decides)
    asked.out.mkdir(parents=True, exist_ok=True)
    checkpoint, kept = asked.out / "checkpoint.zip", asked.out / "checkpoint.json"
    before = json.loads(kept.read_text()) if kept.exists() and checkpoint.exists() else {}
    env = SideBySide(training, asked.seed + before.get("updates", 0) * 1_000_003)
    if before:
        model = MaskablePPO.load(checkpoint, env=env)
    else:
        model = MaskablePPO(
            RowPolicy,
            env,
            n_steps=asked.steps,
            batch_size=asked.batch,
            n_epochs=asked.epochs,
            learning_rate=asked.rate,
            gamma=asked.gamma,
            gae_lambda=asked.gae,
            ent_coef=asked.entropy,
            seed=asked.seed,
            device="cpu",
            policy_kwargs={"ortho_init": False},
        )
    print(f"{len(windows.train)} windows to train on; validation by rules:")
    for rule in RULES:
        print(f"  {rule}: {valid.by_rule(rule).mean():.2f}")
    print("seconds decisions updates train valid best")
    left = asked.hours * 3600 - before.get("seconds", 0.0)
    watch = Watch(asked, valid, time.monotonic() + left, before)
    if left > 0:
        model.learn(2**40, callback=watch, reset_num_timesteps=not before)
        watch.evaluate()
    if windows.test:
        test(asked, Evaluation(fitted, windows.test, asked.test_length, decides))


def test(asked, windows):
    """Write the figures of the rules, the best policy and the last on the test windows."""
    from cpsched.gym.policy import load

    found = {rule: windows.by_rule(rule) for rule in RULES}
    for name in ("policy", "last"):
        found[name] = windows.of(load(asked.out / f"{name}.zip"))
    with (asked.out / "test.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "mean", *(f"row {row}" for row in windows.starts)])
        for who, each in found.items():
            writer.writerow([who, f"{each.mean():.2f}", *(f"{one:.2f}" for one in each)])
            print(f"test: {who} {each.mean():.2f}", flush=True)


if __name__ == "__main__":
    main()

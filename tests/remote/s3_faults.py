# SPDX-License-Identifier: MIT
"""Faults of an S3: rules that a test sets, and faults drawn from a seed."""
import fnmatch
import random
import threading

# action: when it happens, and to which kinds of request.
#   early: while the body is read; delay: before the request is carried out; before: instead of
#   carrying it out; during: in how it is carried out; after: in how it is answered
EVERY = ("put", "get", "head", "list", "delete")
ACTIONS = {
    "cut_request": ("early", ("put",)),
    "delay": ("delay", EVERY),
    "drop_before": ("before", EVERY),
    "status": ("before", EVERY),
    "apply_late": ("before", ("put", "delete")),
    "down": ("before", EVERY),
    "ignore_condition": ("during", ("put",)),
    "lying_delete": ("during", ("delete",)),
    "stale_list": ("during", ("list",)),
    "drop_after": ("after", EVERY),
    "corrupt": ("after", ("get",)),
    "cut": ("after", ("get", "list")),
}
# The actions' arguments with their defaults. `until` is an event to wait for, or None.
ARGUMENTS = {
    "cut_request": {"bytes": 0},
    "delay": {"seconds": None, "until": None},
    "drop_before": {"reset": False},
    "drop_after": {"reset": False},
    "status": {"status": 500, "applied": False, "headers": {}},
    "apply_late": {"seconds": None, "answer": None},
    "down": {"seconds": None, "how": "refuse"},
    "stale_list": {"mark": None, "age": None},
    "corrupt": {"bit": None},
    "cut": {"bytes": 0, "reset": False},
}


class Rule:
    """
    One fault. It hits `count` matching requests (None: all) from the nth one on. `fired` counts the
    requests it has hit, and `matched` all that matched.
    """

    def __init__(
        self, action, kind=None, key="*", who=None, method=None, nth=1, count=1, **arguments
    ):
        self.stage, kinds = ACTIONS[action]
        wanted = (kind,) if isinstance(kind, str) else tuple(kind or kinds)
        if not set(wanted) <= set(kinds):
            raise ValueError(f"{action} is for {kinds}, not for {wanted}")
        self.arguments = dict(ARGUMENTS.get(action, {}))
        if not set(arguments) <= set(self.arguments):
            raise TypeError(f"{action} has the arguments {list(self.arguments)}")
        self.arguments.update(arguments)
        if self.arguments.get("applied"):
            self.stage = "after"
        self.action, self.kinds, self.key, self.who, self.method = action, wanted, key, who, method
        self.nth, self.count = nth, count
        self.matched = self.fired = 0
        self._reached = threading.Event()

    def __getitem__(self, name):
        return self.arguments[name]

    def covers(self, key):
        return fnmatch.fnmatchcase(key, self.key)

    def matches(self, request):
        return (
            request.kind in self.kinds
            and self.who in (None, request.who)
            and self.method in (None, request.method)
            and any(self.covers(key) for key in request.keys)
        )

    def takes(self, request):
        """Counts a request. Returns True if this rule hits it."""
        if not self.matches(request):
            return False
        self.matched += 1
        return self.matched >= self.nth and (self.count is None or self.fired < self.count)

    def fire(self):
        self.fired += 1
        self._reached.set()

    def wait(self, seconds=20):
        """Waits until the rule has fired."""
        if not self._reached.wait(seconds):
            raise AssertionError(f"not within {seconds:g} s: {self} fires")

    def __repr__(self):
        return f"{self.action} of {'/'.join(self.kinds)} {self.key!r}, fired {self.fired} times"


class Chaos:
    """
    Random faults, with a probability for each action. What happens to a request depends on the
    seed, on its kind and key, and on how many requests of that kind and key came before. `fired`
    lists (number of the request, action, arguments).
    """

    def __init__(self, seed, rates):
        unknown = set(rates) - (set(ACTIONS) - {"down"})
        if unknown:
            raise ValueError(f"no random faults: {unknown}")
        self.seed, self.rates = seed, dict(rates)
        self.fired = []

    def draw(self, request, stage):
        """Returns a rule for this request, or None."""
        for action, rate in self.rates.items():
            kinds = ACTIONS[action][1]
            if request.kind not in kinds:
                continue
            dice = random.Random(f"{self.seed} {action} {request.kind} {request.key} {request.nth}")
            if dice.random() >= rate:
                continue
            rule = Rule(action, **self._arguments(action, request, dice))
            if rule.stage == stage:
                return rule
        return None

    def note(self, request, rule):
        self.fired.append((request.number, rule.action, rule.arguments))

    @staticmethod
    def _arguments(action, request, dice):
        if action == "delay":
            return {"seconds": dice.uniform(0, 0.1)}
        if action == "status":
            conflict = [409] if request.condition else []
            return {
                "status": dice.choice([429, 500, 503] + conflict),
                "applied": dice.random() < 0.5,
            }
        if action == "apply_late":
            return {"seconds": dice.uniform(0, 0.3), "answer": dice.choice([None, 500])}
        if action in ("cut", "cut_request"):
            return {"bytes": dice.choice([0, 1, dice.randrange(1000), dice.randrange(1 << 20)])}
        if action == "stale_list":
            return {"age": dice.uniform(0, 1)}
        return {}


class Faults:
    """All rules. Guarded by the owner's lock."""

    def __init__(self):
        self.rules = []
        self.chaos = None
        self._seen = {}

    def enter(self, request):
        """Must be called once for each request, when its keys are known."""
        which = request.kind, request.key
        request.nth = self._seen[which] = self._seen.get(which, 0) + 1

    def pick(self, request, stage, has_effect=lambda rule: True):
        """
        Returns the rule of this stage that hits a request, or None. A rule without effect is not
        counted: a retry or another request will meet it.
        """
        chosen = None
        for rule in list(self.rules):
            if rule.stage == stage and rule.matches(request) and has_effect(rule):
                if rule.takes(request) and not chosen:
                    chosen = rule
        if not chosen and self.chaos:
            chosen = self.chaos.draw(request, stage)
            if chosen and not has_effect(chosen):
                chosen = None
            if chosen:
                self.chaos.note(request, chosen)
        if chosen:
            chosen.fire()
            request.faults.append(chosen.action)
        return chosen

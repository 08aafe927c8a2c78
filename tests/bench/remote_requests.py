# SPDX-License-Identifier: MIT
"""The requests that replication makes in an hour, for a working agent and for an idle one."""
import time

from measure import heading, met, note, table
from remote_load import Agent
from remote_service import (
    add_remote, is_complete, kinds, kinds_text, push, service, state, wait_until, writes,
)  # fmt: skip

AIM = 840  # writes per hour
PAUSE = 0.5  # seconds between two results of a working agent


def add_arguments(parser):
    parser.add_argument("--idle", type=float, default=10, help="idle: for so many minutes (10)")
    parser.add_argument("--busy", type=float, default=60, help="busy: for so many minutes (60)")


def measure(what, place, kind, options):
    minutes = options.idle if what == "idle" else options.busy
    heading(f"{what}: requests of {minutes:g} minutes, replicate_every={options.every}")
    with service(place, kind) as s:
        store = place.path("store")
        add_remote(store, what)
        m = place.daemon(store, options=(f"replicate_every={options.every}",))
        agent = Agent(m, place.path("agent.log"), "first", 0.05)
        time.sleep(10)
        agent.stop()
        push(m)
        wait_until(lambda: is_complete(m), "the store rests")
        # Until the last timer has fired and one more round has passed.
        time.sleep(options.rest + options.every / 1000)
        result = _idle(m, s, minutes) if what == "idle" else _busy(place, m, s, minutes)
        m.unmount()
    return result


def _count(m, s, work):
    s.requests()
    before = state(m)
    work()
    after, requests = state(m), s.requests()
    counted = {key: after[key] - before[key] for key in ("writes", "reads")}
    if requests is not None:
        counted = {"writes": writes(requests), "reads": len(requests) - writes(requests)}
        counted["kinds"] = kinds(requests)
        counted["sent"] = sum(r["received"] for r in requests)
    return counted


def _idle(m, s, minutes):
    note(f"nothing is done for {minutes:g} minutes")
    counted = _count(m, s, lambda: time.sleep(minutes * 60))
    requests = counted["writes"] + counted["reads"]
    print(f"  {requests} requests: {kinds_text(counted.get('kinds', {}))}")
    print(f"  aim: none: {met(not requests)}")
    return {"minutes": minutes, **counted, "aims": {"none": not requests}}


def _busy(place, m, s, minutes):
    note(f"an agent works for {minutes:g} minutes")

    def work():
        agent = Agent(m, place.path("agent.log"), "busy", PAUSE)
        time.sleep(minutes * 60)
        noted.extend(agent.stop())

    noted = []
    counted = _count(m, s, work)
    hourly = counted["writes"] * 60 / minutes
    rows = [[name, n, f"{n * 60 / minutes:.0f}"] for name, n in counted.get("kinds", {}).items()]
    rows += [["writes", counted["writes"], f"{hourly:.0f}"]]
    rows += [["reads", counted["reads"], f"{counted['reads'] * 60 / minutes:.0f}"]]
    table(["", "requests", "an hour"], rows)
    stored = sum(each[3] != "read" for each in noted)
    print(f"  {stored} results were stored, {counted.get('sent', 0)} bytes sent")
    print(f"  aim: at most {AIM} writes an hour: {met(hourly <= AIM)}")
    return {"minutes": minutes, "stored": stored, **counted, "aims": {"writes": hourly <= AIM}}

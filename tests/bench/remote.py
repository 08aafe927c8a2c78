# SPDX-License-Identifier: MIT
"""Replication to object storage: its cost, its requests, and how soon a store is back."""
import remote_away
import remote_bound
import remote_cost
import remote_requests
import remote_restore
import remote_service
from measure import Place

WHATS = {
    "restore": remote_restore,
    "cost": remote_cost,
    "idle": remote_requests,
    "busy": remote_requests,
    "bound": remote_bound,
    "away": remote_away,
}


def add_arguments(parser):
    parser.add_argument(
        "what", nargs="*", choices=[*WHATS, []], metavar="WHAT",
        help=f"{', '.join(WHATS)} (default: all)",
    )  # fmt: skip
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--s3", action="store_true", help="the S3 of the tests (default but for cost)")
    parser.add_argument(
        "--latency", type=float, default=0, metavar="MS", help="with --s3: each answer takes so long"
    )
    kind.add_argument("--ceph", action="store_true", help="Ceph's gateway (default for cost)")
    for module in dict.fromkeys(WHATS.values()):
        module.add_arguments(parser)


def measure(options):
    remote_service.S3.latency = options.latency / 1000
    result = {}
    for what in options.what or WHATS:
        with Place() as place:
            result[what] = WHATS[what].measure(what, place, _kind(what, options), options)
    return result


def _kind(what, options):
    ceph = options.ceph or (what == "cost" and not options.s3)
    return remote_service.Ceph if ceph else remote_service.S3

# SPDX-License-Identifier: MIT
"""Installs, uses, upgrades and removes the packages in bare systems of other releases."""


def arguments(parser):
    pass


def run(options):
    raise NotImplementedError

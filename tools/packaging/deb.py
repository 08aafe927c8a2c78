# SPDX-License-Identifier: MIT
"""Builds the Debian packages of the commit that is checked out."""


def arguments(parser):
    parser.add_argument("-o", "--output", metavar="DIR", help="where the packages are put (build-deb)")


def run(options):
    raise NotImplementedError

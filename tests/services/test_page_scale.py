#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of a tree with 100,000 files."""
import paths  # noqa: F401
from files import log_text
from harness import main, test
from pages import check_files, page_of, put, tree


@test(timeout=400)
def many_files_are_shown(case):
    with case.mount() as m:
        tree(m, 100_000)
        put(m, log_text(50_000, 1), "-c", "shell", "-t", "T", "--title", "a build")
        with page_of(m) as page:
            check_files(page, 100_001)


main()

# SPDX-License-Identifier: MIT
"""Adapters for other packages. Each module imports its package, so it needs that to be installed.
"""

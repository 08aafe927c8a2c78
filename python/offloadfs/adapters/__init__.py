# SPDX-License-Identifier: MIT
"""Adapters for other packages, which are needed only for the modules that are used."""

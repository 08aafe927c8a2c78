# SPDX-License-Identifier: MIT
"""What other packages need of ours; each module needs its package only when it is used."""

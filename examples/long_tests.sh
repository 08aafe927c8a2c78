#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints what a long test run might: 1,200 lines with one failure in the middle. Exits with 1. Used
# in docs/INTEGRATION.md.
awk 'BEGIN {
	for (i = 1; i <= 1200; i++) {
		if (i == 731) {
			print "not ok 731 - pack/reader: a frame cut short is refused"
			print "#   src/pack/reader.c:212: expected -EBADMSG, got 0"
			print "#   the length of the frame was not compared with the rest of the file"
		}
		else
			printf "ok %d - %s: case %d\n", i, (i % 3 ? "journal/replay" : "pack/writer"), i
	}
	print "# 1199 passed, 1 failed"
}'
exit 1

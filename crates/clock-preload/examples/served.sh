#!/bin/sh
# Runs a program with the time served by the library, and says at the end how many calls that were:
#   served.sh /usr/lib/postgresql/15/bin/pg_test_timing -d 2
set -eu
library=${SIDESTEP_CLOCK_LIBRARY:-/usr/local/lib/libsidestep_clock_preload.so}
[ -r "$library" ] || { echo "no $library: cargo build --release -p sidestep-clock-preload, or set SIDESTEP_CLOCK_LIBRARY" >&2; exit 2; }
SIDESTEP_CLOCK_REPORT=1 LD_PRELOAD=$library exec "$@"

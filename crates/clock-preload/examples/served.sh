#!/bin/sh
# Runs a program with the time served by the library, and says at the end how many calls that were:
#   served.sh /usr/lib/postgresql/15/bin/pg_test_timing -d 2
set -eu
library=${SIDESTEP_CLOCK_LIBRARY:-/usr/local/lib/libsidestep_clock_preload.so}
[ -r "$library" ] || { echo "no $library: cargo build --release -p sidestep-clock-preload, or set SIDESTEP_CLOCK_LIBRARY" >&2; exit 2; }
program=$(command -v "${1-}") || { echo "no program '${1-}': name one to run" >&2; exit 2; }
if [ "$(head -c 4 "$program" | tail -c 3)" = ELF ] &&
    LC_ALL=C ldd "$program" 2>&1 | grep -q -e 'not a dynamic executable' -e 'statically linked'; then
    echo "$program is a static program: no library can be loaded into it, and nothing is served; link libsidestep_clock.a into it" >&2
fi
SIDESTEP_CLOCK_REPORT=1 LD_PRELOAD=$library exec "$@"

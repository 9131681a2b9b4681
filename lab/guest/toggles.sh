# toggles.sh NAME=VALUE...: each is set, read in the kernel's own files, its owner killed, and put back by the next process.
# One line for each: what changed, and whether all of it was put back to the letter.

# Everything that a toggle of classes S0 and S1 may write, counters left out.
state() {
  for file in /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag \
    /sys/kernel/mm/transparent_hugepage/khugepaged/defrag /sys/kernel/mm/ksm/run /sys/devices/system/clocksource/clocksource0/current_clocksource \
    /proc/sys/kernel/numa_balancing /proc/sys/kernel/nmi_watchdog /proc/sys/kernel/split_lock_mitigate /proc/sys/net/core/bpf_jit_harden \
    /sys/kernel/debug/sched/features /sys/devices/system/cpu/online /sys/devices/system/cpu/smt/control \
    /sys/devices/system/cpu/cpu*/cpuidle/state*/disable; do
    [ -r $file ] && sed "s|^|$file: |" $file 2>/dev/null
  done
}

for wanted in "$@"; do
  state >/tmp/before
  sidestep toggles set $wanted --disruptive --for 60s >/tmp/told 2>&1 &
  owner=$!
  for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    sleep 0.2
    state >/tmp/switched
    cmp -s /tmp/before /tmp/switched || break
    kill -0 $owner 2>/dev/null || break
  done
  # A switch may take several writes.
  for turn in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.3
    state >/tmp/settled
    cmp -s /tmp/switched /tmp/settled && break
    cp /tmp/settled /tmp/switched
  done
  # The watchdog as well: nothing is left that could put it back but the journal.
  kill -9 $(pidof sidestep) 2>/dev/null
  wait $owner 2>/dev/null
  state >/tmp/left
  sidestep toggles revert >/tmp/reverted 2>&1
  code=$?
  state >/tmp/after
  changed=$(diff /tmp/before /tmp/switched | sed -n 's/^+\(\/.*\)/\1/p' | tr '\n' ';')
  if [ -z "$changed" ]; then
    echo "$wanted: NOT switched: $(tail -1 /tmp/told)"
  elif ! cmp -s /tmp/switched /tmp/left; then
    echo "$wanted: $changed NOT left by the killed owner"
  elif ! cmp -s /tmp/before /tmp/after; then
    echo "$wanted: $changed NOT put back, exit $code: $(tail -1 /tmp/reverted)"
  else
    echo "$wanted: $changed owner killed, put back"
  fi
done

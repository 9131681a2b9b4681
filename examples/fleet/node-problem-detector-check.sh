#!/bin/sh
# Custom plugin of Kubernetes' node-problem-detector: exit 0 as expected, 1 a problem, 2 unknown; one line of at most 80 letters.
# Usage: node-problem-detector-check.sh flaws NORM | guard STATE_FOLDER
# Files of the node are reached through hostPath: see node-problem-detector.json.
case $1 in
    flaws) text=$(sidestep flaws --no-timing --quiet --gate --expect "$2" 2>&1) ;;
    guard) text=$(sidestep guard check --state "$2" --gate 2>&1) ;;
    *)
        echo "usage: $0 flaws NORM | guard STATE_FOLDER"
        exit 2
        ;;
esac
status=$?
line=$(printf '%s\n' "$text" | sed -e 's/^sidestep: //' -e '/^$/d' | head -n 1)
[ "$status" -eq 0 ] && line=${line:-as expected}
printf '%.80s\n' "${line:-exit $status}"
case $status in
    0 | 1) exit "$status" ;;
    *) exit 2 ;;
esac

#!/bin/bash
# Slurm's HealthCheckProgram: drains a node whose CPU flaws, mitigations or speed are no longer what the fleet expects.
#
#   HealthCheckProgram=/etc/sidestep/slurm-health-check.sh
#   HealthCheckInterval=300
#   HealthCheckNodeState=ANY,CYCLE
#
# The norm is what a good node says: sidestep flaws --no-timing --json > /etc/sidestep/norm.json
# With a baseline (sidestep guard init --state DIR) an idle node is also measured once a day, in 30 s; slurmd kills what takes 60.
set -u
norm=${SIDESTEP_NORM:-/etc/sidestep/norm.json}
guard=${SIDESTEP_GUARD:-/var/lib/sidestep/guard}
node=${SLURMD_NODENAME:?slurmd sets it}

# drain REASON: of a node that is drained already Slurm keeps the first reason, and so does this.
drain() {
    case $(sinfo --noheader --Node --nodes="$node" --format=%T | head -n 1) in
        drain* | down*) ;;
        *) scontrol update NodeName="$node" State=DRAIN Reason="sidestep: ${1:0:200}" ;;
    esac
}

# judged EXIT TEXT: only a gate that failed is a fault of the node; what could not be asked is for the log of slurmd.
judged() {
    local reason
    reason=$(printf '%s\n' "$2" | sed -n 's/^sidestep: //p' | head -n 1)
    case $1 in
        0) return 0 ;;
        1) drain "${reason:-not as expected}" ;;
        *) printf 'sidestep health check of %s: %s\n' "$node" "${reason:-exit $1}" >&2 ;;
    esac
    return "$1"
}

text=$(sidestep flaws --no-timing --quiet --gate --expect "$norm" 2>&1)
judged $? "$text" || exit

if [ -e "$guard/baseline.json" ] && [ -z "$(find "$guard" -maxdepth 1 -name checked -mmin -1440)" ] \
    && [ -z "$(squeue --noheader --nodelist="$node" --states=RUNNING,COMPLETING)" ]; then
    touch "$guard/checked"
    text=$(sidestep guard check --state "$guard" --gate 2>&1)
    status=$?
    # The first line of the page is the answer.
    judged "$status" "sidestep: $(printf '%s\n' "$text" | head -n 1)"
fi

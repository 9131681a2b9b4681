#!/bin/bash
# A check-up of every node, as a job of its own: a node is measured when it gets free, alone, and none stops another.
# Nodes of a lane follow each other (jobs of one name that depend on "singleton"): at most @AT_ONCE@ of a rack at a time.
# Printed by sidestep fleet plan, which runs nothing; order from seed @SEED@. Read it, then run it where sbatch works.
set -u
drop=@DROP@
run=(@RUN@)
submitted=0
skipped=0

# submit NODE RACK/LANE
submit() {
    local node=$1 lane=$2 state
    state=$(sinfo --noheader --Node --nodes="$node" --format=%T | head -n 1)
    case $state in
        idle | idle~ | mixed | mixed~ | allocated | allocated~ | completing | planned | reserved) ;;
        # A job for a node that never comes would keep its lane waiting.
        *)
            echo "skipped $node: ${state:-unknown to Slurm}" >&2
            skipped=$((skipped + 1))
            return
            ;;
    esac
    mkdir -p "$drop/logs/${lane%/*}"
    if sbatch --quiet@PARTITION@ --nodes=1 --nodelist="$node" --exclusive --no-requeue --time=@MINUTES@ --deadline=now+7days \
        --job-name="sidestep-${lane/\//-}" --dependency=singleton \
        --output="$drop/logs/$lane.txt" --open-mode=append \
        --wrap="$(printf '%q ' srun --ntasks=1 --kill-on-bad-exit=0 sidestep run "${run[@]}" --drop "$drop")"; then
        submitted=$((submitted + 1))
    else
        echo "skipped $node: sbatch refused it" >&2
        skipped=$((skipped + 1))
    fi
}

@NODES@

echo "$submitted nodes submitted, $skipped skipped; records come to $drop, what went wrong to $drop/logs"
[ "$skipped" -eq 0 ]

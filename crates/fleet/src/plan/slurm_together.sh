#!/bin/bash
# A check-up of all nodes at once, in one allocation. All of them are under load at the same moment: mind power and cooling.
# Printed by sidestep fleet plan, which runs nothing. Read it, then give it to sbatch.
#SBATCH --job-name=sidestep
@DIRECTIVE@#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --no-requeue
#SBATCH --time=@MINUTES@
@NODES@
set -u
# A node that fails or dies stops no other.
srun --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 sidestep run @RUN@ --drop @DROP@

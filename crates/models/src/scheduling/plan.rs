//! A CPU for each thread beforehand: threads that share data together in a unit, or all of them apart.

use super::compiled::Compiled;
use super::load::Load;

/// A CPU for each thread: the first `together` groups that share data each in one unit of a level, all others one by one where it is
/// emptiest. No CPU gets a second thread while another has none.
pub(super) fn planned(machine: &Compiled, load: &Load, level: usize, together: usize) -> Vec<usize> {
    let mut seating = Seating { machine, threads_on: vec![0; machine.cpus] };
    let mut plan = vec![None; load.threads.len()];
    for members in load.members().into_iter().take(together) {
        let Some(unit) = seating.unit_for(level, members.len()) else { continue };
        for thread in members {
            plan[thread] = Some(seating.take(unit.clone()));
        }
    }
    plan.into_iter().map(|cpu| cpu.unwrap_or_else(|| seating.take(0..machine.cpus))).collect()
}

/// How many threads each CPU has so far.
struct Seating<'a> {
    machine: &'a Compiled,
    threads_on: Vec<usize>,
}

impl Seating<'_> {
    /// Threads in the units around a CPU, from the largest level to one.
    fn around(&self, cpu: usize, down_to: usize) -> Vec<usize> {
        let load = |cpus: std::ops::Range<usize>| self.threads_on[cpus].iter().sum();
        self.machine.levels[down_to..].iter().rev().map(|level| load(level.around(cpu))).collect()
    }

    /// Seats a thread on the emptiest of these CPUs.
    fn take(&mut self, cpus: std::ops::Range<usize>) -> usize {
        let first = cpus.start;
        let cpu = cpus.min_by_key(|cpu| (self.threads_on[*cpu], self.around(*cpu, 0))).unwrap_or(first);
        self.threads_on[cpu] += 1;
        cpu
    }

    /// The CPUs of the emptiest unit of a level with an idle CPU for each of so many; none if there is no such unit but idle CPUs
    /// elsewhere, which would then stay idle.
    fn unit_for(&self, level: usize, members: usize) -> Option<std::ops::Range<usize>> {
        let units = (0..self.machine.cpus).step_by(self.machine.levels[level].cpus);
        let cpus = |first: usize| self.machine.levels[level].around(first);
        let idle = |cpus: std::ops::Range<usize>| cpus.filter(|cpu| self.threads_on[*cpu] == 0).count();
        let is_full = idle(0..self.machine.cpus) == 0;
        let fitting = units.filter(|first| is_full || idle(cpus(*first)) >= members);
        fitting.min_by_key(|first| self.around(*first, level)).map(cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::super::description::SchedulingMachine;
    use super::super::load::Pattern;
    use super::*;

    fn known(name: &str) -> SchedulingMachine {
        crate::known(name).expect(name)
    }

    #[test]
    fn partners_sit_together_or_apart_and_nobody_shares_a_core_while_another_is_free() {
        for (name, level, cpus, cores) in
            [("fx-8150", 0, 2, 4), ("jacobsville", 0, 4, 24), ("ryzen-1800x", 1, 8, 8)]
        {
            let machine = Compiled::new(&known(name), false);
            for threads in [2, 3, 4, 7, 8, 9, 16, 31] {
                let load = Pattern::Copies.load(threads, 0.1);
                let [packed, spread] =
                    [threads / 2, 0].map(|together| planned(&machine, &load, level, together));
                for pair in packed.chunks_exact(2) {
                    assert_eq!(pair[0] / cpus, pair[1] / cpus, "{name} {threads}: {packed:?}");
                }
                for pair in spread.chunks_exact(2) {
                    assert_ne!(pair[0] / cpus, pair[1] / cpus, "{name} {threads}: {spread:?}");
                }
                for plan in [packed, spread] {
                    let count = |cpu: usize| plan.iter().filter(|own| **own == cpu).count();
                    let counts: Vec<usize> = (0..machine.cpus()).map(count).collect();
                    let [least, most] = [counts.iter().min(), counts.iter().max()].map(Option::unwrap);
                    assert!(most - least <= 1, "{name} {threads}: {plan:?}");
                    if name == "ryzen-1800x" && threads <= cores {
                        let mut own: Vec<usize> = plan.iter().map(|cpu| cpu / 2).collect();
                        own.sort_unstable();
                        own.dedup();
                        assert_eq!(own.len(), threads, "{plan:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_pair_for_which_no_unit_has_room_is_split_before_a_cpu_stays_idle() {
        let mut machine = known("jacobsville");
        machine.level[0].cpus.value = 3;
        let machine = Compiled::new(&machine, false);
        // Eight units of three hold eight pairs; each of the eight CPUs that are left is in another unit.
        let load = Pattern::Copies.load(24, 0.1);
        let mut plan = planned(&machine, &load, 0, 12);
        assert!(plan[..16].chunks_exact(2).all(|pair| pair[0] / 3 == pair[1] / 3), "{plan:?}");
        plan.sort_unstable();
        assert!(plan.into_iter().eq(0..24));
    }
}

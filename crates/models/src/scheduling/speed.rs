//! How fast a thread runs where it is: the clock, who else is in its units, whether its data fit, who shares them.
//!
//! Speed = clock x product over levels of 1 / (1 + sum over the other threads in the unit of what each adds) x 1 / (1 +
//! (slowdown - 1) x share of the data that do not fit) x (1 + gain of sharing x share of partners in reach).

use super::description::{CLASSES, Class};
use super::engine::Engine;

impl Engine<'_> {
    /// Cycles per nanosecond of a thread that runs on a CPU, and whether another runs in its smallest unit.
    pub(super) fn speed(&self, cpu: usize, thread: usize) -> (f64, bool) {
        let class = self.threads[thread].class;
        let mut speed = self.machine.ghz(self.awake);
        let mut is_sharing = false;
        for (index, (level, units)) in self.machine.levels.iter().zip(&self.present).enumerate() {
            let present = units[level.unit(cpu)];
            if index == 0 {
                is_sharing = present.iter().sum::<u16>() > 1;
            }
            if let Some(crowding) = &level.crowding {
                let others = (0..CLASSES).map(|other| present[other] - u16::from(other == class));
                let added: f64 =
                    others.zip(crowding[class]).map(|(count, adds)| f64::from(count) * adds).sum();
                speed /= 1.0 + added;
            }
            if let Some((cache_bytes, miss_cost)) = level.cache.filter(|_| class == Class::Memory as usize) {
                let wanted_bytes = self.wanted_bytes(level.around(cpu));
                let misses = (1.0 - cache_bytes / wanted_bytes).max(0.0);
                speed /= 1.0 + miss_cost * misses;
            }
        }
        (speed * (1.0 + self.sharing(cpu, thread)), is_sharing)
    }

    /// Working sets of the threads that run on these CPUs, each shared set once.
    fn wanted_bytes(&self, cpus: std::ops::Range<usize>) -> f64 {
        let (mut bytes, mut sets) = (0, Vec::new());
        for thread in cpus.filter_map(|cpu| self.cpus[cpu].running) {
            let thread = &self.load.threads[thread];
            bytes += thread.private_bytes;
            if let Some(set) = thread.shared_set.filter(|set| !sets.contains(set)) {
                sets.push(set);
                bytes += self.load.shared_sets[set].bytes;
            }
        }
        bytes as f64
    }

    /// What a thread gains from partners: each counts by how much of shared data the machine has at the smallest unit that
    /// holds both, where the partner ran last.
    fn sharing(&self, cpu: usize, thread: usize) -> f64 {
        let Some(set) = self.load.threads[thread].shared_set else { return 0.0 };
        let (mut partners, mut reached) = (0_u32, 0.0);
        for (index, other) in self.load.threads.iter().enumerate() {
            if index == thread || other.shared_set != Some(set) {
                continue;
            }
            partners += 1;
            let Some(place) = self.threads[index].cpu else { continue };
            let levels = self.machine.levels.iter();
            let shared = levels.filter(|level| level.unit(place) == level.unit(cpu));
            reached += shared.map(|level| level.shares_data).fold(0.0, f64::max);
        }
        if partners == 0 { 0.0 } else { self.load.shared_sets[set].gain * reached / f64::from(partners) }
    }
}

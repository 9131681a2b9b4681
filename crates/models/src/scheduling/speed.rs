//! How fast a thread runs where it is: the clock, who else is in its units, whether its data fit, who shares them.
//!
//! Speed = clock x product over levels of 1 / (1 + sum over the other threads in the unit of what each adds) x 1 / (1 +
//! (slowdown - 1) x share of the data that do not fit) x (1 + gain of sharing x share of partners in reach).

use super::engine::Engine;

impl Engine<'_> {
    /// A thread is on another CPU: nearer to or farther from those who share its data.
    pub(super) fn set_cpu(&mut self, thread: usize, cpu: usize) {
        if self.threads[thread].cpu.replace(cpu) == Some(cpu) {
            return;
        }
        if let Some(set) = self.load.threads[thread].shared_set {
            let others = self.members[set].iter().filter(|other| **other != thread);
            self.changed_partners.extend(others.filter_map(|other| self.threads[*other].cpu));
        }
    }

    /// Speeds around a CPU are to be worked out anew at the end of the event.
    pub(super) fn touch(&mut self, cpu: usize) {
        let first = cpu / self.machine.coupled_cpus * self.machine.coupled_cpus;
        let touched = first..first + self.machine.coupled_cpus;
        self.changed = if self.changed.is_empty() {
            touched
        } else {
            self.changed.start.min(touched.start)..self.changed.end.max(touched.end)
        };
    }

    /// Works out anew the speeds that this event may have changed.
    pub(super) fn refresh(&mut self) {
        let mut partners = std::mem::take(&mut self.changed_partners);
        for cpu in std::mem::replace(&mut self.changed, 0..0).chain(partners.drain(..)) {
            let Some(thread) = self.cpus[cpu].running else { continue };
            self.settle(cpu);
            let (cycles_per_ns, is_sharing) = self.speed(cpu, thread);
            let state = &mut self.cpus[cpu];
            state.cycles_per_ns = cycles_per_ns;
            state.is_sharing = is_sharing;
            state.finish_ns = self.now_ns + self.threads[thread].remaining_cycles / cycles_per_ns;
            self.next_ns[cpu] = state.finish_ns.min(state.slice_end_ns);
        }
        self.changed_partners = partners;
    }

    /// Cycles per nanosecond of a thread that runs on a CPU, and whether another runs in its smallest unit.
    pub(super) fn speed(&self, cpu: usize, thread: usize) -> (f64, bool) {
        let mut speed = self.machine.ghz(self.awake);
        let mut is_sharing = false;
        for (index, (level, units)) in self.machine.levels.iter().zip(&self.present).enumerate() {
            let present = units[level.unit(cpu)];
            if index == 0 {
                is_sharing = present > 1;
            }
            if let Some(added) = level.crowding {
                speed /= 1.0 + f64::from(present - 1) * added;
            }
        }
        (speed * (1.0 + self.sharing(cpu, thread)), is_sharing)
    }

    /// What a thread gains from partners: each counts by how much of shared data the machine has at the smallest unit that
    /// holds both, where the partner ran last.
    fn sharing(&self, cpu: usize, thread: usize) -> f64 {
        let Some(set) = self.load.threads[thread].shared_set else { return 0.0 };
        let (mut partners, mut reached) = (0_u32, 0.0);
        for other in self.members[set].iter().filter(|other| **other != thread) {
            partners += 1;
            let Some(place) = self.threads[*other].cpu else { continue };
            let levels = self.machine.levels.iter();
            let shared = levels.filter(|level| level.unit(place) == level.unit(cpu));
            reached += shared.map(|level| level.shares_data).fold(0.0, f64::max);
        }
        if partners == 0 { 0.0 } else { self.load.shared_sets[set].gain * reached / f64::from(partners) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compiled::Compiled;
    use super::super::description::{Policy, SchedulingMachine};
    use super::super::load::Pattern;
    use super::*;

    #[test]
    fn speeds_that_were_not_worked_out_anew_have_not_changed() {
        for name in ["fx-8150", "jacobsville", "ryzen-1800x"] {
            let machine: SchedulingMachine = crate::known(name).expect(name);
            let machine = Compiled::new(&machine, false);
            for (pattern, policy) in [
                (Pattern::Pairs, Policy::Random),
                (Pattern::Bursts, Policy::Random),
                (Pattern::Bursts, Policy::Pack),
            ] {
                // More than the CPUs of the smallest machine, so that some wait.
                let load = pattern.load(11, 0.3);
                let mut engine = Engine::new(&machine, &load, policy, &[], 1);
                for step in 1..200 {
                    engine.run_until(f64::from(step) * 1e5);
                    for (cpu, state) in engine.cpus.iter().enumerate() {
                        let Some(thread) = state.running else { continue };
                        let (cycles_per_ns, is_sharing) = engine.speed(cpu, thread);
                        assert_eq!(
                            (state.cycles_per_ns.to_bits(), state.is_sharing),
                            (cycles_per_ns.to_bits(), is_sharing),
                            "{name} {pattern:?} {policy:?}"
                        );
                    }
                }
            }
        }
    }
}

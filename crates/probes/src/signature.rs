//! Signature probes: what time tells about a flaw or its workaround, without privilege.
//!
//! | what | module |
//! |---|---|
//! | which there are, and what each measures | this one |
//! | the loops of an architecture: x86-64 has some, the others say that they have none | `arch` |
//! | those of a check-up, within its budget | `check_up` |
//!
//! Beside each stands a control that must not move: a loop that the workaround cannot touch. Values of loops of the core
//! are in core cycles, by the multiply chain beside each window, so that the frequency does not matter. Windows last tens
//! of microseconds, against which the few hundred instructions that a CPU holds in flight are less than 1 %; `clock` knows
//! which fences hold them back.

mod arch;
pub mod check_up;

use std::cell::Cell;
use std::time::Instant;

use clock::{CalibrationError, TickRate};
use host::live::{Pinned, allowed_cpus};
use machine::{CpuId, Machine};
use record::{Reading, SignatureReading};

pub use crate::probe::{Quantity, SignatureProbe};

/// Time the counter's rate is measured for.
const CALIBRATION_NS: u64 = 20_000_000;

/// What a probe needs to know of the machine.
#[derive(Debug, Clone)]
pub struct SignatureSetup<'m> {
    /// The machine: its multiplier, its caches, its room.
    pub machine: &'m Machine,
    /// Where to measure.
    pub cpu: CpuId,
    /// Rate of the counter.
    pub rate: TickRate,
    /// Fixes the resampling of intervals.
    pub seed: u64,
    /// Whether probes may run that disturb the whole machine.
    pub disruptive: bool,
    /// When the next probe has to end at the latest; without, each takes what its turns want.
    pub deadline: Option<Instant>,
    /// The least time of the port loop that was seen on the CPU, in steps of the multiply chain: the core to itself. It
    /// only falls, as one probe after the other looks.
    pub best_share: Cell<f64>,
}

/// Runs one probe and returns what it found, or why it found nothing.
pub fn measure(probe: SignatureProbe, setup: &SignatureSetup<'_>) -> Reading<SignatureReading> {
    if cfg!(debug_assertions) {
        return Reading::Missing("a debug build, whose timings mean nothing".to_owned());
    }
    if probe.disturbs_machine() && !setup.disruptive {
        return Reading::Missing(
            "it disturbs the whole machine; allow it with sidestep flaws --disruptive".to_owned(),
        );
    }
    let _pinned = match Pinned::to(setup.cpu) {
        Ok(pinned) => pinned,
        Err(error) => return Reading::Missing(error.to_string()),
    };
    arch::measure(probe, setup).unwrap_or_else(Reading::Missing)
}

impl<'m> SignatureSetup<'m> {
    /// Measures on the last CPU that this thread may use, as interrupts go to the first ones on most machines.
    ///
    /// # Errors
    /// A counter that stands still.
    pub fn of(machine: &'m Machine, seed: u64, disruptive: bool) -> Result<Self, CalibrationError> {
        let cpu = allowed_cpus().iter().next_back().unwrap_or(CpuId(0));
        let rate = TickRate::calibrate(CALIBRATION_NS)?;
        Ok(Self { disruptive, ..Self::on(machine, cpu, rate, seed) })
    }

    /// Measures on this CPU, and nothing that disturbs the machine.
    pub fn on(machine: &'m Machine, cpu: CpuId, rate: TickRate, seed: u64) -> Self {
        let best_share = Cell::new(f64::INFINITY);
        Self { machine, cpu, rate, seed, disruptive: false, deadline: None, best_share }
    }

    /// Whether the time of the probe is over.
    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_and_quantities_are_found_by_their_names_alone() {
        for probe in SignatureProbe::ALL {
            assert_eq!(SignatureProbe::from_name(probe.name()), Some(probe));
            let Quantity { name, unit } = probe.quantity();
            assert!(name.ends_with(if unit == "core cycles" { "cycles" } else { unit }), "{name}");
        }
        assert_eq!(SignatureProbe::from_name("no-such-probe"), None);
    }

    #[test]
    fn every_probe_has_a_value_or_a_reason_on_a_machine_of_which_nothing_is_known() {
        let machine = Machine::default();
        let setup = SignatureSetup::of(&machine, 3, false).expect("a counter that counts");
        for probe in SignatureProbe::ALL {
            let Quantity { name, unit } = probe.quantity();
            match measure(probe, &setup) {
                Reading::Is(is) => {
                    let interval = is.interval;
                    assert!(interval.low.is_finite() && interval.high.is_finite(), "{name}");
                    assert!(interval.contains(is.value), "{name}");
                    assert!(is.control_interval.contains(is.control_ratio), "{name}");
                    assert!(is.count > 0 && !is.control.is_empty() && unit != "core cycles", "{name}");
                }
                Reading::Missing(reason) => assert!(!reason.is_empty(), "{name}"),
            }
        }
    }

    #[test]
    fn nothing_that_disturbs_the_machine_runs_unasked() {
        let machine = Machine::default();
        let setup = SignatureSetup::of(&machine, 3, false).expect("a counter that counts");
        let reading = measure(SignatureProbe::SplitLock, &setup);
        let Reading::Missing(reason) = reading else { panic!("{reading:?}") };
        assert!(cfg!(debug_assertions) || reason.contains("--disruptive"), "{reason}");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_a_reason() {
        let machine = Machine::default();
        let setup = SignatureSetup::of(&machine, 3, false).expect("a counter that counts");
        let setup = SignatureSetup::on(&machine, CpuId(16_000), setup.rate, 3);
        assert!(matches!(measure(SignatureProbe::Jcc, &setup), Reading::Missing(_)));
    }
}

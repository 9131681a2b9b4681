//! Signature probes: what time tells about a flaw or its workaround, without privilege.
//!
//! | what | module |
//! |---|---|
//! | which there are, and what each measures | this one |
//! | the loops of an architecture: x86-64 has some, the others say that they have none | `arch` |
//! | from turns to a value, its interval and its control | `judgement` |
//! | switches between processes and between threads | `switches` |
//! | a line between two core complexes | `transfer` |
//! | those of a check-up, within its budget | `check_up` |
//!
//! Beside each stands a control that must not move: a loop that the workaround cannot touch. Values of loops of the core
//! are in core cycles, by the multiply chain beside each window, so that the frequency does not matter. Windows last tens
//! of microseconds, against which the few hundred instructions that a CPU holds in flight are less than 1 %; `clock` knows
//! which fences hold them back.

mod arch;
pub mod check_up;
mod judgement;
mod switches;
mod transfer;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Instant;

use clock::{CalibrationError, TickRate};
use host::live::{Pinned, allowed_cpus};
use machine::{CpuId, Machine};
use record::{Reading, SignatureReading};

/// What a probe found, by quantity.
pub type Readings = BTreeMap<String, Reading<SignatureReading>>;

/// Time the counter's rate is measured for.
const CALIBRATION_NS: u64 = 20_000_000;

machine::named! {
    /// One signature probe.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SignatureProbe {
        /// Gathers of eight words: Gather Data Sampling.
        Gather = "gather",
        /// A jump that ends on a boundary of 32 bytes: Intel's JCC erratum.
        Jcc = "jcc",
        /// A load behind a store of late address: Speculative Store Bypass Disable.
        StoreBypass = "store-bypass",
        /// VERW: clearing of buffers.
        Verw = "verw",
        /// Into the kernel and back: page-table isolation, barriers at entry.
        Syscall = "syscall",
        /// Indirect calls, returns, retpolines.
        IndirectBranch = "indirect-branch",
        /// RDRAND: special register buffers.
        Rdrand = "rdrand",
        /// Division of 128 bits: erratum 665.
        Divide = "divide",
        /// Division of denormal floats: FP-DSS.
        DenormalDivide = "denormal-divide",
        /// Dependent loads one page apart: erratum 298.
        PageWalk = "page-walk",
        /// Switches between processes: barriers of indirect branches, change of address space.
        ContextSwitch = "context-switch",
        /// Zeros written over zeros: elided stores.
        ZeroStore = "zero-store",
        /// Empty transactions: TSX.
        Xbegin = "xbegin",
        /// Loads that cross a page.
        CrossPage = "cross-page",
        /// Loads that equal a store in their low twelve address bits.
        Alias4k = "alias-4k",
        /// Locked additions across two lines.
        SplitLock = "split-lock",
        /// A line bounced between core complexes.
        Transfer = "transfer",
    }
}

/// A quantity of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Its name in records and catalogue.
    pub name: &'static str,
    /// `core cycles`, `ns`, `ratio`.
    pub unit: &'static str,
}

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

/// All probes; those that disturb the machine say so, and measure nothing unless they may.
pub fn all() -> &'static [SignatureProbe] {
    &SignatureProbe::ALL
}

/// Runs one probe and returns what it found for each of its quantities, or why it found nothing.
pub fn measure(probe: SignatureProbe, setup: &SignatureSetup<'_>) -> Readings {
    let nothing = |reason: String| {
        let missing = |quantity: &Quantity| (quantity.name.to_owned(), Reading::Missing(reason.clone()));
        probe.quantities().iter().map(missing).collect()
    };
    if cfg!(debug_assertions) {
        return nothing("a debug build, whose timings mean nothing".to_owned());
    }
    if probe.disturbs() == "machine" && !setup.disruptive {
        return nothing(
            "it disturbs the whole machine; allow it with sidestep flaws --disruptive".to_owned(),
        );
    }
    let _pinned = match Pinned::to(setup.cpu) {
        Ok(pinned) => pinned,
        Err(error) => return nothing(error.to_string()),
    };
    if let Err(reason) = arch::refuse(setup) {
        return nothing(reason);
    }
    let found = match probe {
        SignatureProbe::ContextSwitch => switches::context_switch(setup),
        SignatureProbe::Transfer => transfer::across(setup),
        probe => arch::measure(probe, setup),
    };
    found.unwrap_or_else(nothing)
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

impl SignatureProbe {
    /// What it measures.
    pub fn quantities(self) -> &'static [Quantity] {
        const fn cycles(name: &'static str) -> Quantity {
            Quantity { name, unit: "core cycles" }
        }
        const fn ns(name: &'static str) -> Quantity {
            Quantity { name, unit: "ns" }
        }
        const fn ratio(name: &'static str) -> Quantity {
            Quantity { name, unit: "ratio" }
        }
        match self {
            Self::Gather => const { &[cycles("gather_ymm_cycles"), cycles("gather_latency_cycles")] },
            Self::Jcc => const { &[ratio("jcc_edge_ratio")] },
            Self::StoreBypass => const { &[cycles("store_bypass_cycles")] },
            Self::Verw => const { &[cycles("verw_cycles")] },
            Self::Syscall => const { &[cycles("syscall_entry_cycles")] },
            Self::IndirectBranch => {
                const { &[cycles("indirect_call_cycles"), cycles("return_cycles"), cycles("retpoline_cycles")] }
            }
            Self::Rdrand => const { &[cycles("rdrand_cycles")] },
            Self::Divide => const { &[cycles("divide_128_cycles")] },
            Self::DenormalDivide => const { &[cycles("denormal_divide_cycles")] },
            Self::PageWalk => const { &[ns("page_walk_4k_ns")] },
            Self::ContextSwitch => {
                const { &[ns("ibpb_switch_ns"), ns("ibpb_added_ns"), ns("cr3_reload_ns")] }
            }
            Self::ZeroStore => const { &[ratio("zero_store_ratio")] },
            Self::Xbegin => const { &[cycles("xbegin_cycles")] },
            Self::CrossPage => const { &[cycles("load_cross_page_cycles")] },
            Self::Alias4k => const { &[cycles("alias_4k_cycles")] },
            Self::SplitLock => const { &[ns("split_lock_ns")] },
            Self::Transfer => const { &[ratio("transfer_across_ratio")] },
        }
    }

    /// Whom it disturbs: `core`, or the whole `machine`.
    pub fn disturbs(self) -> &'static str {
        if self == Self::SplitLock { "machine" } else { "core" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_and_quantities_are_found_by_their_names_alone() {
        for probe in SignatureProbe::ALL {
            assert_eq!(SignatureProbe::from_name(probe.name()), Some(probe));
            for quantity in probe.quantities() {
                let ends = if quantity.unit == "core cycles" { "cycles" } else { quantity.unit };
                assert!(quantity.name.ends_with(ends), "{}", quantity.name);
            }
        }
        assert_eq!(SignatureProbe::from_name("no-such-probe"), None);
    }

    /// Whatever the machine has or lacks: each quantity has a finite value or a reason.
    fn check(machine: &Machine, disruptive: bool, probes: &[SignatureProbe]) -> Readings {
        let setup = SignatureSetup::of(machine, 3, disruptive).expect("a counter that counts");
        let mut all = Readings::new();
        for probe in probes {
            let found = measure(*probe, &setup);
            let mut names: Vec<&str> = probe.quantities().iter().map(|quantity| quantity.name).collect();
            names.sort_unstable();
            assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), names);
            for (name, reading) in &found {
                match reading {
                    Reading::Is(is) => {
                        let interval = is.interval;
                        assert!(interval.low.is_finite() && interval.high.is_finite(), "{name}");
                        assert!(
                            interval.contains(is.value) && is.control_interval.contains(is.control_ratio),
                            "{name}"
                        );
                        assert!(is.count > 0 && !is.control.is_empty(), "{name}");
                    }
                    Reading::Missing(reason) => assert!(!reason.is_empty(), "{name}"),
                }
            }
            all.extend(found);
        }
        all
    }

    #[test]
    fn every_quantity_has_a_value_or_a_reason_on_a_machine_of_which_nothing_is_known() {
        let found = check(&Machine::default(), false, all());
        let cycles = found.iter().filter(|(name, _)| name.ends_with("_cycles"));
        assert!(cycles.into_iter().all(|(_, reading)| matches!(reading, Reading::Missing(_))));
    }

    #[test]
    fn nothing_that_disturbs_the_machine_runs_unasked() {
        let found = check(&Machine::default(), false, &[SignatureProbe::SplitLock]);
        let reading = &found["split_lock_ns"];
        let Reading::Missing(reason) = reading else { panic!("{reading:?}") };
        assert!(cfg!(debug_assertions) || reason.contains("--disruptive"), "{reason}");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_a_reason() {
        let machine = Machine::default();
        let setup = SignatureSetup::of(&machine, 3, false).expect("a counter that counts");
        let setup = SignatureSetup::on(&machine, CpuId(16_000), setup.rate, 3);
        assert!(matches!(measure(SignatureProbe::Jcc, &setup)["jcc_edge_ratio"], Reading::Missing(_)));
    }
}

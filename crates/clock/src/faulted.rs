//! The instruments of this machine with software faults in their counters: the proof that the clock mends them.

use crate::disruption::Surroundings;
use crate::engine::Instruments;
use crate::exchange::Exchanged;
use crate::fault::FaultedCounter;
use crate::hardware::{Hardware, pinned_exchange};
use crate::source::{NoCounter, TimeStampCounter};
use crate::stamp::Stamp;

/// Real CPUs, real exchanges, the real kernel's clock; counters that show what a schedule of faults says.
///
/// The clock source is reported as one that does not vouch for counters, so that every CPU has to be compared.
#[derive(Debug)]
pub struct FaultedHardware {
    hardware: Hardware,
    /// What each CPU's counter shows.
    pub counter: FaultedCounter<TimeStampCounter>,
}

impl FaultedHardware {
    /// Instruments without a fault for CPU numbers below `cpu_count`; faults are given through `counter`.
    ///
    /// # Errors
    /// Why this machine's counters cannot be used.
    pub fn new(cpu_count: usize) -> Result<Self, NoCounter> {
        let counter = FaultedCounter::new(TimeStampCounter::new()?, cpu_count);
        Ok(Self { hardware: Hardware::new()?, counter })
    }
}

impl Instruments for FaultedHardware {
    #[inline(always)]
    fn stamp(&self) -> Stamp {
        let Stamp { ticks, cpu } = self.hardware.stamp();
        let schedule = self.counter.schedules.get(cpu as usize);
        Stamp { ticks: schedule.map_or(ticks, |schedule| schedule.read(ticks)), cpu }
    }

    fn kernel_ns(&self) -> Option<u64> {
        self.hardware.kernel_ns()
    }

    fn exchange(&self, reference: u32, cpu: u32) -> Option<Exchanged> {
        pinned_exchange(&self.counter, reference, cpu, &|| self.hardware.stamp().cpu)
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings { clock_source: Some("faulted".into()), ..self.hardware.surroundings() }
    }
}

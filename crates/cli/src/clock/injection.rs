//! Faults put into counters on purpose, as they are typed: `1:rate=100` makes the counter of CPU 1 run 100 ppb faster.

use std::fmt;
use std::str::FromStr;
use std::sync::RwLock;

use anyhow::Context;
use clock::{CounterSource, Fault, FaultSchedule, FaultedCounter, TimeStampCounter};
use machine::CpuId;

/// A fault of one CPU's counter, in the units of people.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Injection {
    /// The CPU.
    pub(crate) cpu: u32,
    kind: Kind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    OffsetNs(f64),
    RatePpb(i64),
    StepNs { ns: f64, after_s: f64 },
    IdlePpb(i64),
}

/// Beyond this a nanosecond is no whole number of anything: a hundred days.
const NS_MAX: f64 = 1e16;
/// A counter that runs twice as fast.
const PPB_MAX: i64 = 1_000_000_000;
/// CPUs that the double has room for.
const CPUS_MAX: u32 = 4_096;

/// Refuses faults of CPUs that are not measured.
pub(super) fn check(injections: &[Injection], cpus: &[CpuId]) -> anyhow::Result<()> {
    match injections.iter().find(|injection| !cpus.contains(&CpuId(injection.cpu))) {
        Some(injection) => {
            anyhow::bail!("--inject {injection}: CPU {} is not among those measured", injection.cpu)
        }
        None => Ok(()),
    }
}

/// The hardware's counters, with faults put in.
pub(super) fn double(
    counter: TimeStampCounter,
    cpus: &[CpuId],
    injections: &[Injection],
    counter_hz: f64,
) -> anyhow::Result<RwLock<FaultedCounter<TimeStampCounter>>> {
    let room = if injections.is_empty() { 0 } else { CPUS_MAX as usize };
    let mut double = FaultedCounter::new(counter, room);
    let now_ticks = counter.ticks(0);
    for &cpu in cpus {
        let of_cpu = injections.iter().filter(|injection| injection.cpu == cpu.0);
        let mut of_cpu: Vec<Fault> = of_cpu.map(|injection| injection.fault(counter_hz, now_ticks)).collect();
        of_cpu.sort_by_key(|fault| match fault {
            Fault::Step { at_ticks, .. } => *at_ticks,
            _ => 0,
        });
        if !of_cpu.is_empty() {
            let schedule = double.schedules.get_mut(cpu.0 as usize).context("no room for such a CPU")?;
            *schedule = FaultSchedule::new(now_ticks, &of_cpu);
        }
    }
    Ok(RwLock::new(double))
}

impl Injection {
    /// Whether it shows only while the CPU sleeps.
    pub(crate) const fn is_of_sleep(&self) -> bool {
        matches!(self.kind, Kind::IdlePpb(_))
    }

    /// The fault in ticks, for a counter of this rate whose run begins at `now_ticks`.
    pub(crate) fn fault(&self, counter_hz: f64, now_ticks: u64) -> Fault {
        let ticks = |ns: f64| (ns * counter_hz / 1e9).round() as i64;
        match self.kind {
            Kind::OffsetNs(ns) => Fault::Offset { ticks: ticks(ns) },
            Kind::RatePpb(ppb) => Fault::Rate { ppb },
            Kind::IdlePpb(ppb) => Fault::Idle { ppb },
            Kind::StepNs { ns, after_s } => {
                Fault::Step { at_ticks: now_ticks + (after_s * counter_hz) as u64, ticks: ticks(ns) }
            }
        }
    }
}

impl fmt::Display for Injection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Injection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || {
            "give CPU:offset=NS, CPU:rate=PPB, CPU:step=NS@S or CPU:idle=PPB, such as 1:rate=100".to_owned()
        };
        let (cpu, fault) = text.split_once(':').ok_or_else(usage)?;
        let (name, value) = fault.split_once('=').ok_or_else(usage)?;
        let cpu = cpu.parse().ok().filter(|cpu| *cpu < CPUS_MAX).ok_or_else(usage)?;
        let ns = |text: &str| text.parse::<f64>().ok().filter(|ns| ns.abs() <= NS_MAX).ok_or_else(usage);
        let ppb = |text: &str| text.parse::<i64>().ok().filter(|ppb| ppb.abs() <= PPB_MAX).ok_or_else(usage);
        let kind = match name {
            "offset" => Kind::OffsetNs(ns(value)?),
            "rate" => Kind::RatePpb(ppb(value)?),
            "idle" => Kind::IdlePpb(ppb(value)?),
            "step" => {
                let (size, after) = value.split_once('@').ok_or_else(usage)?;
                let after_s = after.parse::<f64>().ok().filter(|after_s| (0.0..=86_400.0).contains(after_s));
                Kind::StepNs { ns: ns(size)?, after_s: after_s.ok_or_else(usage)? }
            }
            _ => return Err(usage()),
        };
        Ok(Self { cpu, kind, text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_typed_in_units_of_people_and_nonsense_is_refused() {
        for (text, expected) in [
            ("1:offset=500", Fault::Offset { ticks: 1_000 }),
            ("1:rate=-10", Fault::Rate { ppb: -10 }),
            ("0:idle=-1000000000", Fault::Idle { ppb: -1_000_000_000 }),
            ("3:step=-1.5@2", Fault::Step { at_ticks: 4_000_000_007, ticks: -3 }),
        ] {
            let injection: Injection = text.parse().expect(text);
            assert_eq!(injection.fault(2e9, 7), expected, "{text}");
        }
        for text in
            ["", "1", "1:rate", "x:rate=1", "9999:rate=1", "1:rate=nan", "1:offset=inf", "1:step=5", "1:x=1"]
        {
            assert!(text.parse::<Injection>().is_err(), "{text}");
        }
    }
}

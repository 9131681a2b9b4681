//! What other threads do, by `perf_event_open`: samples of their registers by the kernel's clock, when they sleep, whom they wake.
//!
//! No performance counter and no privilege is needed: the event `cpu-clock` counts the CPU time of a thread, and user
//! registers of a thread that one may trace may be sampled at `perf_event_paranoid` 2. There is no skid: the instruction
//! pointer and the registers are of one instant, before the instruction that is named.
//!
//! One ring of records per CPU serves all threads, as events that are inherited by new threads and processes can only write
//! to rings of a CPU (kernel/events/core.c, `perf_mmap`). Threads that were there before have an event per CPU each.

mod attributes;
mod record;
mod refusal;
mod ring;
mod tracepoint;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use machine::CpuId;

use attributes::Begin;
pub use attributes::{PerfError, PerfWatch};
pub use record::{Observation, RegisterSample, Registers, Switch, parse_records};
pub use refusal::Refusal as PerfRefusal;
use ring::Ring;
pub use tracepoint::{WakeTracepoint, WakesUnseen, wake_tracepoint};

use crate::live::allowed_cpus;
use crate::live::event::wait_for_any;

/// Data of a ring in bytes: some 700 samples, that is three seconds of a busy CPU at 250 Hz. What an unprivileged user may
/// lock is 512 KiB per CPU (`kernel.perf_event_mlock_kb`), for all that he watches.
const RING_BYTES: usize = 128 << 10;
/// The same for switches: some 10,000 of them, that is 50 ms of 200,000 per second.
const SWITCH_RING_BYTES: usize = 256 << 10;
/// The same for wakes, which only the privileged see: 50 ms of 300,000 per second.
const WAKE_RING_BYTES: usize = 1 << 20;
/// Events per CPU and thread take a file each; more than this many are not opened.
const FILES_MAX: usize = 16_384;
/// A thread that starts threads while it is looked at is looked at again so many times.
const LOOKS_MAX: usize = 8;

/// What is watched, and the records of it.
#[derive(Debug)]
pub struct PerfSampler {
    rings: Vec<Ring>,
    /// Events that write to the ring of another; kept open, as closing ends them.
    others: Vec<OwnedFd>,
    watch: PerfWatch,
    /// Threads that were there at the beginning and could not be watched.
    pub unwatched: usize,
}

impl PerfSampler {
    /// Watches what the calling thread starts from now on, from its `exec` to its end, with all its threads and children.
    ///
    /// # Errors
    /// The kernel forbids it.
    pub fn of_children(watch: PerfWatch) -> Result<Self, PerfError> {
        let rings = online_cpus().into_iter().map(|cpu| {
            let event = attributes::open(None, cpu, watch, Begin::AtExec)?;
            Ring::new(event, cpu, ring_bytes(watch)).map_err(PerfError::Ring)
        });
        Ok(Self { rings: rings.collect::<Result<_, _>>()?, others: Vec::new(), watch, unwatched: 0 })
    }

    /// Watches the threads that `list` names, and what they start. `list` is asked again until it names no new one.
    ///
    /// # Errors
    /// The kernel forbids it, or there is no thread left.
    pub fn of_threads(list: impl Fn() -> Vec<u32>, watch: PerfWatch) -> Result<Self, PerfError> {
        let cpus = online_cpus();
        let mut sampler = Self { rings: Vec::new(), others: Vec::new(), watch, unwatched: 0 };
        let (mut seen, mut failure) = (BTreeSet::new(), None);
        for _ in 0..LOOKS_MAX {
            // A thread that a watched one has started meanwhile is watched already.
            seen.extend(sampler.started());
            let new: Vec<u32> = list().into_iter().filter(|thread| seen.insert(*thread)).collect();
            if new.is_empty() {
                break;
            }
            for thread in new {
                if sampler.others.len() + cpus.len() > FILES_MAX {
                    sampler.unwatched += 1;
                } else if let Err(error) = sampler.add(thread, &cpus) {
                    // One that has ended meanwhile is nobody's fault.
                    sampler.unwatched += usize::from(!matches!(error, PerfError::NoSuchThread));
                    failure = Some(error);
                }
            }
        }
        if sampler.rings.is_empty() {
            return Err(failure.unwrap_or(PerfError::NoSuchThread));
        }
        Ok(sampler)
    }

    fn add(&mut self, thread: u32, cpus: &[CpuId]) -> Result<(), PerfError> {
        for cpu in cpus {
            let event = attributes::open(Some(thread), *cpu, self.watch, Begin::Now)?;
            if let Some(ring) = self.rings.iter().find(|ring| ring.cpu() == *cpu) {
                ring.take_records_of(&event).map_err(PerfError::Ring)?;
                self.others.push(event);
            } else {
                let bytes = ring_bytes(self.watch);
                self.rings.push(Ring::new(event, *cpu, bytes).map_err(PerfError::Ring)?);
            }
        }
        Ok(())
    }

    /// Threads whose beginning the rings tell of; nothing is taken out of them.
    fn started(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for ring in &self.rings {
            ring.look(|bytes| {
                parse_records(bytes, self.watch, |record| {
                    if let Observation::Started { tid, .. } = record {
                        found.push(tid);
                    }
                });
            });
        }
        found
    }

    /// Waits until a ring of any of these has filled to a part or the time is over.
    ///
    /// # Errors
    /// What the kernel said to poll(2).
    pub fn wait(samplers: &[&Self], patience: Duration) -> io::Result<()> {
        let rings: Vec<_> = samplers.iter().flat_map(|sampler| &sampler.rings).map(AsFd::as_fd).collect();
        wait_for_any(&rings, Some(patience)).map(drop)
    }

    /// Takes all records out of the rings, ring by ring.
    pub fn drain(&mut self, mut take: impl FnMut(Observation)) {
        for ring in &mut self.rings {
            ring.drain(|bytes| {
                let unread = parse_records(bytes, self.watch, &mut take);
                debug_assert_eq!(unread, 0, "the kernel writes whole records");
            });
        }
    }
}

fn ring_bytes(watch: PerfWatch) -> usize {
    match watch {
        PerfWatch::Registers(_) => RING_BYTES,
        PerfWatch::Switches => SWITCH_RING_BYTES,
        PerfWatch::Wakes(_) => WAKE_RING_BYTES,
    }
}

/// CPUs that a thread could run on.
fn online_cpus() -> Vec<CpuId> {
    let root = crate::Root::live();
    let online = root.read("/sys/devices/system/cpu/online").ok();
    let online = online.and_then(|text| text.parse::<machine::CpuSet>().ok());
    online.unwrap_or_else(allowed_cpus).iter().collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// What a shell that counts for a while shows.
    #[test]
    fn a_child_is_seen_from_its_exec_to_its_end() {
        let mut sampler = match PerfSampler::of_children(PerfWatch::Registers(Duration::from_millis(1))) {
            Ok(sampler) => sampler,
            Err(error) => {
                println!("skipped a_child_is_seen_from_its_exec_to_its_end: {error}");
                return;
            }
        };
        let script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn();
        let mut child = child.expect("sh is there");
        let status = child.wait().expect("it ends");
        assert!(status.success());
        let (mut samples, mut ended, mut mapped) = (0, 0, 0);
        sampler.drain(|record| match record {
            Observation::Sample(sample) => {
                assert_eq!(sample.pid, child.id());
                assert_eq!(sample.registers.is_some(), crate::arch::no_decoder().is_none());
                samples += 1;
            }
            Observation::Ended { pid, .. } => ended += usize::from(pid == child.id()),
            Observation::Mapped { .. } => mapped += 1,
            _ => {}
        });
        assert!(samples > 0 && ended == 1 && mapped > 0, "{samples} samples, {ended} ends, {mapped} maps");
    }

    #[test]
    fn a_process_that_is_not_there_is_said() {
        let error =
            PerfSampler::of_threads(|| vec![u32::MAX >> 2], PerfWatch::Registers(Duration::from_millis(1)));
        assert!(error.is_err());
    }
}

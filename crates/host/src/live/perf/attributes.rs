//! What is asked of `perf_event_open`, and why the kernel may say no.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use machine::CpuId;

use super::refusal::{Permission, Refusal};
use super::tracepoint::WakeTracepoint;
use crate::Root;
use crate::answer::owned;
use crate::arch::SAMPLED_REGISTERS;

/// The attributes up to the registers; PERF_ATTR_SIZE_VER5, include/uapi/linux/perf_event.h.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    size_bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock_id: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

// All from include/uapi/linux/perf_event.h.
/// PERF_TYPE_SOFTWARE.
const TYPE_SOFTWARE: u32 = 1;
/// PERF_TYPE_TRACEPOINT.
const TYPE_TRACEPOINT: u32 = 2;
/// PERF_COUNT_SW_CPU_CLOCK: nanoseconds of CPU time of the thread.
const CPU_CLOCK: u64 = 0;
/// PERF_COUNT_SW_DUMMY: counts nothing, and writes down what else is asked for.
const DUMMY: u64 = 9;
/// PERF_SAMPLE_IP, _TID, _TIME and, where registers can be used, _REGS_USER.
pub(super) const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | (SAMPLED_REGISTERS.is_some() as u64) << 12;
/// PERF_SAMPLE_TID, _TIME and _RAW.
pub(super) const WAKE_SAMPLE_TYPE: u64 = 1 << 1 | 1 << 2 | 1 << 10;
/// PERF_SAMPLE_TID and _TIME: at the end of each record that is no sample.
pub(super) const SWITCH_SAMPLE_TYPE: u64 = 1 << 1 | 1 << 2;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const MAPPINGS_OF_CODE: u64 = 1 << 8;
const NAMES: u64 = 1 << 9;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const BEGIN_AND_END: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const THREAD_AND_TIME_EVERYWHERE: u64 = 1 << 18;
const LONG_MAPPINGS: u64 = 1 << 23;
const SWITCHES: u64 = 1 << 26;
/// PERF_FLAG_FD_CLOEXEC.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Bytes in a ring at which the reader is woken, besides its own looking.
const WATERMARK_BYTES: u32 = 32 << 10;

/// What is written down of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerfWatch {
    /// Its registers, where they can be decoded, each time it has used so much CPU time; its name, its beginning and end, and
    /// its code.
    Registers(Duration),
    /// When it leaves and comes back to a CPU.
    Switches,
    /// Whom it wakes; only root and who has CAP_PERFMON may ask.
    Wakes(WakeTracepoint),
}

impl PerfWatch {
    /// Kind, configuration, period, what a sample holds, and flags.
    fn asked(self) -> (u32, u64, u64, u64, u64) {
        match self {
            Self::Registers(period) => {
                let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
                let flags = EXCLUDE_KERNEL | MAPPINGS_OF_CODE | NAMES | LONG_MAPPINGS;
                (TYPE_SOFTWARE, CPU_CLOCK, period_ns, SAMPLE_TYPE, flags)
            }
            Self::Switches => {
                let flags = EXCLUDE_KERNEL | SWITCHES | THREAD_AND_TIME_EVERYWHERE;
                (TYPE_SOFTWARE, DUMMY, 0, SWITCH_SAMPLE_TYPE, flags)
            }
            Self::Wakes(tracepoint) => (TYPE_TRACEPOINT, tracepoint.id, 1, WAKE_SAMPLE_TYPE, 0),
        }
    }

    /// The largest `kernel.perf_event_paranoid` at which those without privilege may ask: user mode up to 2, raw tracepoints up to -1,
    /// Documentation/admin-guide/sysctl/kernel.rst of Linux.
    fn paranoid_most(self) -> i32 {
        match self {
            Self::Registers(_) | Self::Switches => 2,
            Self::Wakes(_) => -1,
        }
    }
}

/// From when on samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// From now on.
    Now,
    /// From the next `exec` of a child.
    AtExec,
}

/// Why a program cannot be watched by the kernel's clock.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// A setting, a container's filter or an owner other than the caller.
    #[error("cannot watch {whom} with perf_event_open: {source} ({why})")]
    Forbidden {
        /// The thread, or `what is started`.
        whom: String,
        /// What the kernel said.
        source: io::Error,
        /// Why.
        why: Refusal,
    },
    /// It has ended, or never was.
    #[error("there is no such process or thread; it may have ended")]
    NoSuchThread,
    /// All else.
    #[error("perf_event_open failed: {0}; raise the limit of open files (ulimit -n) if that is why")]
    Refused(io::Error),
    /// The records have no place.
    #[error("cannot map the ring of records: {0}; raise kernel.perf_event_mlock_kb or ulimit -l")]
    Ring(io::Error),
}

/// Opens one event of a thread (of the calling one if none is named) on one CPU.
pub(super) fn open(
    thread: Option<u32>,
    cpu: CpuId,
    watch: PerfWatch,
    begin: Begin,
) -> Result<OwnedFd, PerfError> {
    let pid = libc::pid_t::try_from(thread.unwrap_or(0)).map_err(|_| PerfError::NoSuchThread)?;
    asked(pid, cpu, watch, begin).map_err(|source| match source.raw_os_error() {
        Some(libc::ESRCH) => PerfError::NoSuchThread,
        Some(libc::EACCES | libc::EPERM | libc::ENOSYS) => {
            let own = || asked(0, cpu, watch, begin).is_ok();
            PerfError::Forbidden {
                whom: thread
                    .map_or_else(|| "what is started".to_owned(), |thread| format!("thread {thread}")),
                why: Permission::read(&Root::live()).refusal(watch.paranoid_most(), thread.map(|_| own())),
                source,
            }
        }
        _ => PerfError::Refused(source),
    })
}

/// Asks the kernel for an event.
fn asked(pid: libc::pid_t, cpu: CpuId, watch: PerfWatch, begin: Begin) -> io::Result<OwnedFd> {
    let begin = if begin == Begin::AtExec { DISABLED | ENABLE_ON_EXEC } else { 0 };
    let (kind, config, sample_period, sample_type, flags) = watch.asked();
    let attributes = Attributes {
        kind,
        size_bytes: size_of::<Attributes>() as u32,
        config,
        sample_period,
        sample_type,
        flags: begin | flags | INHERIT | EXCLUDE_HYPERVISOR | BEGIN_AND_END | WATERMARK,
        wakeup_watermark: WATERMARK_BYTES,
        sample_regs_user: SAMPLED_REGISTERS
            .filter(|_| matches!(watch, PerfWatch::Registers(_)))
            .unwrap_or_default(),
        ..Attributes::default()
    };
    let cpu = libc::c_int::try_from(cpu.0).unwrap_or(libc::c_int::MAX);
    // SAFETY: the attributes are as large as they say, and the kernel only reads them.
    owned(unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, pid, cpu, -1, CLOSE_ON_EXEC)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_are_as_large_as_their_version() {
        // PERF_ATTR_SIZE_VER5.
        assert_eq!(size_of::<Attributes>(), 112);
    }
}

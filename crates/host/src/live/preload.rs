//! What a program does, told by a library in it: samples of its registers where `perf_event_open` is forbidden.
//!
//! The library (`libsidestep_sampler_preload.so`) comes into the program by `LD_PRELOAD` and writes into memory of this process, which
//! it opens as `/proc/PID/fd/N`: nothing is left behind on any file system, and nobody else can open it.

mod library;
mod obstacle;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::NonNull;
use std::time::Duration;

pub(crate) use library::PreloadLibrary;
use library::{LIBRARY, LIBRARY_VARIABLE};
pub use obstacle::{PreloadObstacle, ProgramKind, preload_obstacle};
pub use sample_ring::StopReason;
use sample_ring::{Entry, Event, Sample, SampleRing};

use super::perf::{Code, Observation, RegisterSample, Registers};
use crate::answer::{done, mapped, owned};
use crate::arch::{self, SYSTEM_CALL};

/// Names the shared memory to the library.
const RING_VARIABLE: &str = "SIDESTEP_SAMPLE_RING";

/// Why no program can be watched by the library.
#[derive(Debug, thiserror::Error)]
pub enum PreloadError {
    /// It is not where it belongs.
    #[error("{LIBRARY} is not beside sidestep, nor in ../lib; name it with {LIBRARY_VARIABLE}=FILE")]
    NoLibrary,
    /// `LD_PRELOAD` is cut at blanks and colons; ld.so(8).
    #[error("{0} has a blank or a colon in its name, which LD_PRELOAD does not take; move it")]
    BadPath(PathBuf),
    /// It was built for another architecture than this program.
    #[error(
        "{path} is for {machine}, sidestep for {}; name another with {LIBRARY_VARIABLE}=FILE",
        arch::NAME
    )]
    OtherMachine {
        /// The library.
        path: PathBuf,
        /// What it is for.
        machine: String,
    },
    /// There is no memory for the samples.
    #[error("cannot make memory for samples: {0}")]
    Memory(io::Error),
    /// There is no socket for what programs hand over.
    #[error("cannot make a socket for what programs hand over: {0}")]
    Socket(io::Error),
}

/// Memory that samples come to, until it is dropped.
#[derive(Debug)]
pub struct PreloadSampler {
    file: OwnedFd,
    base: NonNull<SampleRing>,
    library: PreloadLibrary,
    /// Programs in which the library began.
    pub programs: u64,
    /// Samples that found the thread outside of the kernel.
    pub samples: u64,
    /// Samples that found it in the kernel.
    pub in_kernel: u64,
    /// Processes that are not sampled any more, and why.
    pub stopped: BTreeMap<u32, StopReason>,
}

// SAFETY: it owns its mapping alone; nothing in it belongs to a thread.
unsafe impl Send for PreloadSampler {}

impl PreloadSampler {
    /// Memory for one sample per so much CPU time of each thread.
    ///
    /// # Errors
    /// There is no library, or no memory.
    pub fn new(period: Duration) -> Result<Self, PreloadError> {
        let library = PreloadLibrary::find()?;
        let (file, base) = map().map_err(PreloadError::Memory)?;
        let sampler =
            Self { file, base, library, programs: 0, samples: 0, in_kernel: 0, stopped: BTreeMap::new() };
        sampler.ring().open(u64::try_from(period.as_nanos()).unwrap_or(u64::MAX));
        Ok(sampler)
    }

    fn ring(&self) -> &SampleRing {
        // SAFETY: mapped as long as self, aligned to a page, and nothing but atomic words.
        unsafe { self.base.as_ref() }
    }

    /// Lets a command begin with the library in it, and all that it starts.
    pub fn prepare(&self, command: &mut Command) {
        self.library.load_into(command);
        let ring = format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd());
        command.env(RING_VARIABLE, ring);
    }

    /// Takes no samples until [`Self::resume`].
    pub fn pause(&self) {
        self.ring().close();
    }

    /// Takes samples again, of threads that begin from now on; which of the earlier ones are sampled is not defined.
    pub fn resume(&self) {
        self.ring().reopen();
    }

    /// Threads that the kernel gave no timer.
    pub fn unwatched(&self) -> u32 {
        self.ring().unwatched()
    }

    /// Takes what has come, in the order of time.
    pub fn drain(&mut self, mut take: impl FnMut(Observation)) {
        let mut entries = Vec::new();
        self.ring().take(|words| entries.extend(Entry::from_words(words)));
        entries.sort_by_key(|entry| entry.time_ns);
        for entry in &entries {
            self.tell(entry, &mut take);
        }
        let lost = self.ring().take_lost();
        if lost > 0 {
            take(Observation::Lost(lost));
        }
    }

    fn tell(&mut self, entry: &Entry, take: &mut impl FnMut(Observation)) {
        let (pid, tid) = (entry.pid, entry.tid);
        match &entry.event {
            Event::Sample(sample) if sample.code_parts().0.ends_with(SYSTEM_CALL) => self.in_kernel += 1,
            Event::Sample(sample) => {
                self.samples += 1;
                take(Observation::Sample(register_sample(entry, sample)));
            }
            Event::Loaded(name) => {
                self.programs += 1;
                take(Observation::Named { pid, tid, name: text(name), exec: true });
            }
            Event::Forked(parent) => take(Observation::Started { pid, tid, parent: *parent }),
            Event::Ended(name) => {
                take(Observation::Named { pid, tid, name: text(name), exec: false });
                take(Observation::Ended { pid, tid });
            }
            Event::Stopped(reason) => {
                self.stopped.insert(pid, *reason);
            }
        }
    }
}

impl Drop for PreloadSampler {
    fn drop(&mut self) {
        self.ring().close();
        // SAFETY: mapped by us with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), size_of::<SampleRing>()) };
    }
}

fn register_sample(entry: &Entry, sample: &Sample) -> RegisterSample {
    let (before, after) = sample.code_parts();
    let code = || {
        Code::read(sample.ip, |address, into| {
            let part = if address == sample.ip { after } else { before };
            let count = part.len().min(into.len());
            into[..count].copy_from_slice(&part[..count]);
            Some(count)
        })
    };
    let code = code().map(Box::new);
    let registers = Some(Registers { general: sample.registers, is_32_bit: false });
    RegisterSample { pid: entry.pid, tid: entry.tid, ip: sample.ip, time_ns: entry.time_ns, registers, code }
}

fn text(name: &[u8]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// Memory without a name, zeroed.
fn map() -> io::Result<(OwnedFd, NonNull<SampleRing>)> {
    // SAFETY: the name ends with a NUL and is only read.
    let file = owned(unsafe { libc::memfd_create(c"sidestep-samples".as_ptr(), libc::MFD_CLOEXEC) })?;
    let bytes = size_of::<SampleRing>();
    // SAFETY: takes numbers only.
    done(unsafe { libc::ftruncate(file.as_raw_fd(), bytes.cast_signed() as libc::off_t) })?;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a place that the kernel chooses.
    let base =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    Ok((file, mapped(base)?))
}

#[cfg(test)]
mod tests {
    use sample_ring::{CODE_BEFORE_BYTES, CODE_BYTES};

    use super::*;

    fn sampler() -> PreloadSampler {
        let (file, base) = map().expect("memory");
        let library = PreloadLibrary::at("/none".into()).expect("a plain name");
        PreloadSampler {
            file,
            base,
            library,
            programs: 0,
            samples: 0,
            in_kernel: 0,
            stopped: BTreeMap::new(),
        }
    }

    fn put(sampler: &PreloadSampler, time_ns: u64, event: &Event) {
        sampler.ring().put(&Entry { pid: 5, tid: 6, time_ns, event: *event }.to_words());
    }

    fn sample(before: &[u8], readable_end: u8) -> Event {
        let mut code = [0x90; CODE_BEFORE_BYTES + CODE_BYTES];
        code[CODE_BEFORE_BYTES - before.len()..CODE_BEFORE_BYTES].copy_from_slice(before);
        let registers = std::array::from_fn(|number| number as u64);
        Event::Sample(Sample { ip: 0x40_1000, cpu: 1, registers, code, readable: [0, readable_end] })
    }

    #[test]
    fn what_was_written_comes_in_order_and_once() {
        let mut sampler = sampler();
        put(&sampler, 30, &sample(&[0x90; 2], 128));
        put(&sampler, 10, &Event::Loaded(*b"one\0............"));
        put(&sampler, 20, &Event::Forked(4));
        put(&sampler, 40, &Event::Stopped(StopReason::OwnTimer));
        let mut seen = Vec::new();
        sampler.drain(|observation| seen.push(observation));
        let name = "one".to_owned();
        assert_eq!(seen[0], Observation::Named { pid: 5, tid: 6, name, exec: true });
        assert_eq!(seen[1], Observation::Started { pid: 5, tid: 6, parent: 4 });
        let Observation::Sample(sample) = &seen[2] else { panic!("{seen:?}") };
        assert_eq!(sample.registers.expect("sampled").general[15], 15);
        assert_eq!(sample.code.as_ref().expect("in one page").after().len(), CODE_BYTES);
        assert_eq!(
            (seen.len(), sampler.programs, sampler.stopped.get(&5)),
            (3, 1, Some(&StopReason::OwnTimer))
        );
        sampler.drain(|observation| panic!("{observation:?} came twice"));
    }

    #[test]
    fn a_sample_at_the_end_of_its_page_has_less_code_and_one_in_the_kernel_is_counted() {
        let mut sampler = sampler();
        put(&sampler, 1, &sample(&[0x90; 2], (CODE_BEFORE_BYTES + 3) as u8));
        put(&sampler, 2, &sample(SYSTEM_CALL, 128));
        let mut seen = Vec::new();
        sampler.drain(|observation| seen.push(observation));
        let [Observation::Sample(sample)] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!(sample.code.as_ref().map(|code| code.after().len()), Some(3));
        assert_eq!((sampler.samples, sampler.in_kernel), (1, 1));
    }
}

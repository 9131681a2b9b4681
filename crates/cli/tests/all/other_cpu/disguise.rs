//! A program that runs as another CPU: each CPUID instruction it executes is answered from a recorded dump.
//!
//! Where the CPU can fault on CPUID, the fault is switched on after exec, which clears it, and every CPUID of the
//! program, its loader and its libraries arrives here as SIGSEGV (Linux, arch_prctl(2), `ARCH_SET_CPUID`). Elsewhere
//! a breakpoint stands in place of each CPUID of the program itself. In both cases the program finds no files of this
//! machine: they are somebody else's.

use std::arch::x86_64::__cpuid_count;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use host::Cpuid;
use machine::CpuId;

use super::tracer::{self, Registers, Stop};

/// The leaf of what XSAVE writes: Intel SDM vol. 2A, CPUID, 0DH. The CPU goes on writing its own registers, however small
/// the recorded one's are, and the loader leaves as much room for them on its stack as this leaf says.
const SAVED_STATE: u32 = 0xd;

/// How the program is caught when it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Catch {
    /// The CPU faults.
    Fault,
    /// Breakpoints in the program.
    Breakpoint,
}

/// Why a program cannot run as another CPU here.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// This CPU or kernel cannot fault on CPUID.
    NoFault(io::Error),
    /// Something else that ptrace needs.
    Trace(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Trace(error)
    }
}

/// What the program did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Exit code, or the negative number of the signal that ended it.
    pub(crate) code: i32,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it complained of.
    pub(crate) stderr: String,
    /// CPUID instructions answered.
    pub(crate) answered: usize,
}

/// The instruction, and the breakpoint that takes the place of its first byte.
const CPUID: [u8; 2] = [0x0f, 0xa2];
const BREAKPOINT: u8 = 0xcc;
/// `ARCH_SET_CPUID` of arch_prctl: Linux, arch/x86/include/uapi/asm/prctl.h.
const ARCH_SET_CPUID: u64 = 0x1012;

/// Runs a program as the first CPU of a dump.
pub(crate) fn run(program: &Path, arguments: &[&str], dump: &Cpuid, catch: Catch) -> Result<Ran, Refusal> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name);
    let mut command = Command::new(program);
    command.args(arguments).stdin(std::process::Stdio::null());
    // Files, not pipes: nobody reads while the program is traced.
    command.stdout(File::create(place("stdout"))?).stderr(File::create(place("stderr"))?);
    let mut child = tracer::start(&mut command)?;
    let traced = Disguise { dump, catch, main: child.id().cast_signed(), planted: Vec::new(), answered: 0 }
        .trace(program);
    if traced.is_err() {
        child.kill()?;
    }
    // The tracer saw it end unless it was killed just now.
    let _ = child.wait();
    let (code, answered) = traced?;
    let text = |name: &str| fs::read(place(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ran { code, stdout: text("stdout")?, stderr: text("stderr")?, answered })
}

struct Disguise<'a> {
    dump: &'a Cpuid,
    catch: Catch,
    main: libc::pid_t,
    /// Addresses of breakpoints.
    planted: Vec<u64>,
    answered: usize,
}

impl Disguise<'_> {
    /// Exit code and number of answers.
    fn trace(mut self, program: &Path) -> Result<(i32, usize), Refusal> {
        let first = tracer::wait()?;
        assert_eq!(
            (first.thread, first.stop),
            (self.main, Stop::Signal(libc::SIGTRAP)),
            "it stops after exec"
        );
        tracer::follow(self.main)?;
        self.put_on(self.main, program)?;
        let mut seen = vec![self.main];
        tracer::go_on(self.main, 0)?;
        loop {
            let at = tracer::wait()?;
            let is_new = !seen.contains(&at.thread);
            if is_new {
                seen.push(at.thread);
            }
            let signal = match at.stop {
                Stop::Ended(code) if at.thread == self.main => return Ok((code, self.answered)),
                Stop::Ended(_) => continue,
                Stop::Exec => {
                    self.put_on(at.thread, program)?;
                    0
                }
                Stop::Call => {
                    hide(at.thread)?;
                    0
                }
                // A thread that has just been made stops once.
                Stop::Signal(libc::SIGSTOP) if is_new => 0,
                Stop::Signal(signal) if self.answer(at.thread, signal)? => 0,
                Stop::Signal(signal) => signal,
                Stop::Return | Stop::Clone => 0,
            };
            tracer::go_on(at.thread, signal)?;
        }
    }

    /// After exec: the fault on, or breakpoints in.
    fn put_on(&mut self, thread: libc::pid_t, program: &Path) -> Result<(), Refusal> {
        match self.catch {
            Catch::Fault => {
                let result = tracer::call(thread, libc::SYS_arch_prctl, [ARCH_SET_CPUID, 0])?;
                let error = i32::try_from(-result).unwrap_or(0);
                if error == 0 { Ok(()) } else { Err(Refusal::NoFault(io::Error::from_raw_os_error(error))) }
            }
            Catch::Breakpoint => {
                self.planted.extend(plant(thread, program)?);
                Ok(())
            }
        }
    }

    /// Answers the CPUID that a thread stopped at; false if it stopped for something else.
    fn answer(&mut self, thread: libc::pid_t, signal: i32) -> io::Result<bool> {
        let mut registers = tracer::registers(thread)?;
        let address = match (self.catch, signal) {
            (Catch::Fault, libc::SIGSEGV) => registers.rip,
            // The breakpoint has been executed: one byte.
            (Catch::Breakpoint, libc::SIGTRAP) => registers.rip - 1,
            _ => return Ok(false),
        };
        let is_cpuid = match self.catch {
            Catch::Fault => {
                let mut code = [0; 2];
                tracer::memory(thread)?.read_exact_at(&mut code, address).is_ok() && code == CPUID
            }
            Catch::Breakpoint => self.planted.contains(&address),
        };
        if is_cpuid {
            fill(&mut registers, address, self.dump);
            tracer::set_registers(thread, &registers)?;
            self.answered += 1;
        }
        Ok(is_cpuid)
    }
}

/// The registers after a CPUID at `address`: the answer, zero-extended, and the next instruction.
pub(crate) fn fill(registers: &mut Registers, address: u64, dump: &Cpuid) {
    let (leaf, subleaf) = (registers.rax as u32, registers.rcx as u32);
    let recorded = dump.known(CpuId(0), leaf, subleaf);
    let answer = match recorded {
        Some(_) if leaf == SAVED_STATE => {
            let real = __cpuid_count(leaf, subleaf);
            [real.eax, real.ebx, real.ecx, real.edx]
        }
        recorded => recorded.unwrap_or_default(),
    };
    let [eax, ebx, ecx, edx] = answer.map(u64::from);
    (registers.rax, registers.rbx, registers.rcx, registers.rdx) = (eax, ebx, ecx, edx);
    registers.rip = address + CPUID.len() as u64;
}

/// Puts a breakpoint in place of each CPUID of the program's own code; their addresses.
fn plant(thread: libc::pid_t, program: &Path) -> io::Result<Vec<u64>> {
    let memory = tracer::memory(thread)?;
    let name = fs::canonicalize(program)?;
    let maps = fs::read_to_string(format!("/proc/{thread}/maps"))?;
    let mut planted = Vec::new();
    for (start, end) in maps.lines().filter_map(|line| code_of(line, &name)) {
        let mut code = vec![0; usize::try_from(end - start).expect("code is smaller than memory")];
        memory.read_exact_at(&mut code, start)?;
        for &offset in cpuids_once(&code).iter() {
            let address = start + offset as u64;
            memory.write_all_at(&[BREAKPOINT], address)?;
            planted.push(address);
        }
    }
    Ok(planted)
}

/// `cpuids` of code that is run again and again, searched when it is first seen: by length and first bytes.
fn cpuids_once(code: &[u8]) -> Arc<Vec<usize>> {
    /// Enough of a program's code to know it from another of the same length.
    const START_BYTES: usize = 1 << 16;
    type Found = BTreeMap<(usize, Vec<u8>), Arc<Vec<usize>>>;
    static FOUND: Mutex<Found> = Mutex::new(BTreeMap::new());
    let start = code[..code.len().min(START_BYTES)].to_vec();
    let mut found = FOUND.lock().expect("nobody panics while searching");
    Arc::clone(found.entry((code.len(), start)).or_insert_with(|| Arc::new(cpuids(code))))
}

/// The addresses of a line of `/proc/PID/maps`, if it is code of that file.
fn code_of(line: &str, name: &Path) -> Option<(u64, u64)> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_code = words.next()?.contains('x');
    let is_ours = line.as_bytes()[line.find('/')?..] == *name.as_os_str().as_bytes();
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    (is_code && is_ours).then_some((number(start)?, number(end)?))
}

/// Offsets of CPUID instructions. Two bytes alone may be part of another instruction, but the compiler, which keeps RBX
/// for itself, always surrounds CPUID so: `mov REG, rbx; cpuid; xchg REG, rbx` (Rust, core::arch::x86_64::__cpuid_count).
pub(crate) fn cpuids(code: &[u8]) -> Vec<usize> {
    let is_one = |window: &[u8]| matches!(window, [0x48 | 0x49, 0x89, 0xd8..=0xdf, a, b, 0x48 | 0x4c, 0x87] if [*a, *b] == CPUID);
    code.windows(7).enumerate().filter(|(_, window)| is_one(window)).map(|(offset, _)| offset + 3).collect()
}

/// Lets a system call that names a file of this machine find none; /proc/self is the program's own.
fn hide(thread: libc::pid_t) -> io::Result<()> {
    let mut registers = tracer::registers(thread)?;
    let address = match registers.orig_rax.cast_signed() {
        libc::SYS_openat
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_readlinkat
        | libc::SYS_faccessat
        | libc::SYS_faccessat2 => registers.rsi,
        libc::SYS_open | libc::SYS_stat | libc::SYS_lstat | libc::SYS_readlink | libc::SYS_access => {
            registers.rdi
        }
        // The kernel's messages.
        libc::SYS_syslog => return refuse(thread, &mut registers, libc::EPERM),
        _ => return Ok(()),
    };
    let path = text(thread, address)?;
    if is_of_machine(&path) { refuse(thread, &mut registers, libc::ENOENT) } else { Ok(()) }
}

/// True for files by which a kernel describes its machine.
pub(crate) fn is_of_machine(path: &[u8]) -> bool {
    let starts = |start: &str| path.starts_with(start.as_bytes());
    starts("/sys") || starts("/dev/cpu") || (starts("/proc") && !starts("/proc/self"))
}

/// Skips the call that a thread is about to make.
fn refuse(thread: libc::pid_t, registers: &mut Registers, error: i32) -> io::Result<()> {
    registers.orig_rax = u64::MAX;
    registers.rax = i64::from(-error).cast_unsigned();
    tracer::set_registers(thread, registers)
}

/// The text at an address, up to its zero byte or the end of what is mapped.
fn text(thread: libc::pid_t, address: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; libc::PATH_MAX as usize];
    let length = tracer::memory(thread)?.read_at(&mut bytes, address).unwrap_or(0);
    bytes.truncate(length);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
    bytes.truncate(end);
    Ok(bytes)
}

//! The handler of SIGPROF: a sample, or what the program has for the signal.

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;

use libc::{siginfo_t, ucontext_t};
use sample_ring::{CODE_BEFORE_BYTES, CODE_BYTES, Entry, Event, Sample, StopReason};

use crate::timer::TimerInfo;
use crate::{arch, next, own_use, state, timer};

/// The smallest page: what lies in one page is readable together.
const PAGE_BYTES: u64 = 4096;
/// Addresses of user mode end here with four levels of page tables, and no later than 2^56 with five; the page of vsyscall is
/// beyond both, and cannot be read.
const USER_END: u64 = 1 << 56;
/// Puts the handler in place; `flags` are those of the program's own handler, if it has one.
pub(crate) fn install(flags: c_int, mask: u64) -> bool {
    // SAFETY: plain numbers.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = address();
    action.sa_flags = flags | libc::SA_SIGINFO;
    own_use::set_mask(&mut action.sa_mask, mask);
    // SAFETY: the action is valid; the old one is not asked for.
    unsafe { next::sigaction(libc::SIGPROF, &raw const action, ptr::null_mut()) == 0 }
}

fn address() -> usize {
    on_signal as *const () as usize
}

/// Looks whether the handler is still ours; a runtime may replace it by a system call of its own. If it is not, sampling ends.
pub(crate) fn is_in_place() -> bool {
    // SAFETY: plain numbers.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: only asks; the action is ours to fill.
    let asked = unsafe { next::sigaction(libc::SIGPROF, ptr::null(), &raw mut action) };
    let is_ours = asked == 0 && action.sa_sigaction == address();
    if !is_ours {
        state::stop(StopReason::HandlerReplaced);
    }
    is_ours
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the C library gives every thread a place for it.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let error = unsafe { *place };
    // SAFETY: the kernel's information of a timer's signal has this form; of others the first three numbers do, and all of it
    // is there to be read.
    let told = unsafe { &*info.cast::<TimerInfo>() };
    match told.of_ours() {
        // SAFETY: with SA_SIGINFO the third argument is the thread's context.
        Some((thread, _)) if state::is_sampled() => sample(thread, unsafe { &*context.cast::<ucontext_t>() }),
        Some((_, number)) => timer::stop(number),
        // SAFETY: as the kernel gave them.
        None => unsafe { own_use::hand_over(signal, info, context) },
    }
    // SAFETY: as above.
    unsafe { *place = error };
}

fn sample(thread: u32, context: &ucontext_t) {
    let Some(ring) = state::ring() else { return };
    let Some((ip, registers)) = arch::saved_registers(context) else { return };
    // SAFETY: takes nothing.
    let cpu = unsafe { libc::sched_getcpu() }.unsigned_abs();
    // SAFETY: takes nothing.
    let pid = unsafe { libc::getpid() }.unsigned_abs();
    let (code, readable) = code_around(ip);
    let sample = Sample { ip, cpu, registers, code, readable };
    ring.put(&Entry { pid, tid: thread, time_ns: state::time_ns(), event: Event::Sample(sample) }.to_words());
}

/// The code around an address that is being executed, as far as it lies in the same page: that one must be there.
fn code_around(ip: u64) -> ([u8; CODE_BEFORE_BYTES + CODE_BYTES], [u8; 2]) {
    let mut code = [0; CODE_BEFORE_BYTES + CODE_BYTES];
    if ip >= USER_END {
        return (code, [CODE_BEFORE_BYTES as u8; 2]);
    }
    let in_page = ip % PAGE_BYTES;
    let before = in_page.min(CODE_BEFORE_BYTES as u64) as usize;
    let after = (PAGE_BYTES - in_page).min(CODE_BYTES as u64) as usize;
    let (first, end) = (CODE_BEFORE_BYTES - before, CODE_BEFORE_BYTES + after);
    let from = (ip - before as u64) as *const u8;
    for (offset, byte) in code[first..end].iter_mut().enumerate() {
        // SAFETY: the page is mapped, as an instruction in it comes next; volatile, as others may write code there.
        *byte = unsafe { from.wrapping_add(offset).read_volatile() };
    }
    (code, [first as u8, end as u8])
}

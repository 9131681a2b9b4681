//! What happens when the library is loaded, and in the child of a fork.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

use libc::c_char;
use sample_ring::{Event, SampleRing};

use crate::{handler, next, own_use, state, timer, write_watch};

/// Names the file of the shared memory.
const RING: &CStr = c"SIDESTEP_SAMPLE_RING";

/// The process that was forked last, for its child.
static PARENT: AtomicI32 = AtomicI32::new(0);

/// Run by the loader before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    write_watch::at_load();
    sample();
}

/// Begins to sample, if there is a ring for it.
fn sample() {
    // SAFETY: the name is a C string; the program has not begun to change its environment.
    let path = unsafe { libc::getenv(RING.as_ptr()) };
    if path.is_null() || !is_numbered_as_seen() {
        return;
    }
    // SAFETY: a C string of the environment.
    let Some(ring) = map(unsafe { CStr::from_ptr(path) }) else { return };
    if ring.period_ns().is_none() || !timer::make_key() {
        return;
    }
    // SAFETY: plain numbers.
    let mut inherited: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only asks; the action is ours to fill.
    unsafe { next::sigaction(libc::SIGPROF, std::ptr::null(), &raw mut inherited) };
    own_use::remember(&inherited);
    if !handler::install(libc::SA_RESTART | libc::SA_ONSTACK, 0) {
        return;
    }
    state::begin(ring);
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(in_child)) };
    state::tell(&Event::Loaded(timer::name()));
    timer::begin();
}

extern "C" fn before_fork() {
    // SAFETY: takes nothing.
    PARENT.store(unsafe { libc::getpid() }, Ordering::Relaxed);
}

/// The child has no timers, whatever its thread had.
extern "C" fn in_child() {
    if state::is_sampled() {
        state::tell(&Event::Forked(PARENT.load(Ordering::Relaxed).unsigned_abs()));
        timer::begin();
    }
}

/// False in a namespace of its own, where threads have other numbers than those that sidestep sees.
pub(crate) fn is_numbered_as_seen() -> bool {
    let mut text = [0_u8; 16];
    // SAFETY: a C string, and a buffer as long as is said.
    let length =
        unsafe { libc::readlink(c"/proc/self".as_ptr(), text.as_mut_ptr().cast::<c_char>(), text.len()) };
    let number =
        usize::try_from(length).ok().and_then(|length| std::str::from_utf8(text.get(..length)?).ok());
    // SAFETY: takes nothing.
    let own = unsafe { libc::getpid() };
    number.and_then(|number| number.parse::<c_int>().ok()) == Some(own)
}

/// The ring in a file that is large enough; shorter ones would end the program at the first sample.
fn map(path: &CStr) -> Option<&'static SampleRing> {
    // SAFETY: the path is a C string.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: plain numbers.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the file is open, and the status ours to fill.
    let asked = unsafe { libc::fstat(file, &raw mut status) };
    let bytes = size_of::<SampleRing>();
    let mut memory = libc::MAP_FAILED;
    if asked == 0 && usize::try_from(status.st_size).is_ok_and(|size| size >= bytes) {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, 0) };
    }
    // SAFETY: the file is ours.
    unsafe { libc::close(file) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: mapped for good, aligned to a page, and nothing but atomic words, of which any value is one.
    Some(unsafe { &*memory.cast::<SampleRing>() })
}

//! Threads that come later: each begins with a timer of its own.

use std::ffi::{c_int, c_void};

use libc::{pthread_attr_t, pthread_t};

use crate::next::{self, Start};
use crate::{handler, state, timer};

/// What the program wanted to be begun.
struct Begun {
    start: Start,
    argument: *mut c_void,
}

/// The C library's `pthread_create`; the thread has a timer before it comes to what it was started for.
///
/// # Safety
/// As for the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    if !state::is_sampled() || !handler::is_in_place() {
        // SAFETY: the caller's promise.
        return unsafe { next::pthread_create(thread, attributes, start, argument) };
    }
    let begun = Box::into_raw(Box::new(Begun { start, argument }));
    // SAFETY: the caller's promise; what is begun instead takes such a pointer.
    let status = unsafe { next::pthread_create(thread, attributes, begin, begun.cast()) };
    if status != 0 {
        // SAFETY: no thread was made, so it is still ours.
        drop(unsafe { Box::from_raw(begun) });
    }
    status
}

/// What a thread of a sampled program begins with. Nothing here is left to be dropped when `pthread_exit` unwinds through it.
unsafe extern "C-unwind" fn begin(begun: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` for this thread alone.
    let begun = unsafe { Box::from_raw(begun.cast::<Begun>()) };
    let Begun { start, argument } = *begun;
    timer::begin();
    // SAFETY: the promise of who called `pthread_create`.
    unsafe { start(argument) }
}

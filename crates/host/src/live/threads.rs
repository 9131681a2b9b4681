//! Threads that the kernel may refuse: a limit on tasks (`ulimit -u`, `pids.max` of a control group) is met at any moment.
//!
//! Whoever waits for a thread has to be released when it never comes, so nobody here starts one that cannot be refused.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::thread::{Builder, Scope, ScopedJoinHandle};

thread_local! {
    /// Threads that the calling one may still start; `None` leaves it to the kernel.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Starts a thread that ends within the scope; `what` stands in the error.
///
/// # Errors
/// The kernel has no room for one more.
pub fn start_thread<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    what: impl fmt::Display,
    work: impl FnOnce() -> R + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, R>, ThreadError> {
    let started =
        may_start().and_then(|()| Builder::new().name("sidestep".to_owned()).spawn_scoped(scope, work));
    started.map_err(|error| ThreadError::new(what, error))
}

/// Lets the calling thread start only so many more while `work` runs, and then refuses as the kernel does: root is bound by no
/// `ulimit -u`, and not every test may make a control group.
pub fn with_threads_left<R>(count: usize, work: impl FnOnce() -> R) -> R {
    /// Puts the former limit back, also after a panic.
    struct Before(Option<usize>);
    impl Drop for Before {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }
    let _before = Before(LEFT.replace(Some(count)));
    work()
}

fn may_start() -> io::Result<()> {
    match LEFT.get() {
        None => Ok(()),
        Some(0) => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}

/// A thread or process that could not be started, as the limit on tasks is reached.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {what}: {source}; raise ulimit -u, or pids.max of the control group")]
pub struct ThreadError {
    /// What the thread was for.
    what: String,
    /// What the kernel said.
    source: ThreadRefused,
}

impl ThreadError {
    /// Of a thread or process for `what`, to which the kernel said this.
    pub(super) fn new(what: impl fmt::Display, said: io::Error) -> Self {
        let error = Self { what: what.to_string(), source: ThreadRefused(said) };
        // Only the first is kept.
        let _ = FIRST_REFUSED.set(error.to_string());
        error
    }
}

/// What could not be started first, in words.
static FIRST_REFUSED: OnceLock<String> = OnceLock::new();

/// The first thread or process that this process could not start, if there was one: a result that goes on without it is not whole.
pub fn first_refused() -> Option<&'static str> {
    FIRST_REFUSED.get().map(String::as_str)
}

/// What the kernel said to one thread more: at the end of the chain of every error that comes from it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ThreadRefused(io::Error);

#[cfg(test)]
mod tests {
    use machine::CpuId;

    use super::*;
    use crate::live::start_on;

    #[test]
    fn a_refused_thread_is_named_with_what_to_do_and_the_next_scope_starts_again() {
        let start = || {
            std::thread::scope(|scope| {
                let first = start_on(scope, CpuId(3), || 1).map_err(|error| error.to_string())?;
                let second = start_on(scope, CpuId(4), || 2).map_err(|error| error.to_string())?;
                Ok::<_, String>(first.join().expect("no panic") + second.join().expect("no panic"))
            })
        };
        assert_eq!(start(), Ok(3));
        let refused = with_threads_left(1, start).expect_err("one is left");
        assert!(refused.starts_with("cannot start a thread for CPU 4: "), "{refused}");
        assert!(refused.ends_with("; raise ulimit -u, or pids.max of the control group"), "{refused}");
        assert_eq!(start(), Ok(3));
    }
}

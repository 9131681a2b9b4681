//! A thread or process that the kernel refuses, and the first of them.

use std::fmt;
use std::io;
use std::sync::OnceLock;

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

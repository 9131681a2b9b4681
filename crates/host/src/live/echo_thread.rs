//! A thread of this process that sends back every byte it is sent, over two pipes: the same work as an
//! [`EchoProcess`](super::EchoProcess), without a switch of address space.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread::{self, JoinHandle};

/// A running thread, seen from the one that started it.
#[derive(Debug)]
pub struct EchoThread {
    /// `None` only while it is dropped: the thread ends when it is closed.
    to_thread: Option<PipeWriter>,
    from_thread: PipeReader,
    thread: Option<JoinHandle<()>>,
}

impl EchoThread {
    /// Starts a thread on the CPUs of the calling one.
    ///
    /// # Errors
    /// What the kernel said: too many open files or threads, or too little memory.
    pub fn start() -> io::Result<Self> {
        let (reader, to_thread) = io::pipe()?;
        let (from_thread, writer) = io::pipe()?;
        let thread = thread::Builder::new().spawn(move || echo(reader, writer))?;
        Ok(Self { to_thread: Some(to_thread), from_thread, thread: Some(thread) })
    }

    /// Sends a byte and waits until it is back.
    ///
    /// # Errors
    /// `BrokenPipe` or `UnexpectedEof` if the thread is gone.
    #[inline]
    pub fn round_trip(&mut self) -> io::Result<()> {
        let to_thread = self.to_thread.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        to_thread.write_all(&[1])?;
        self.from_thread.read_exact(&mut [0])
    }
}

impl Drop for EchoThread {
    fn drop(&mut self) {
        self.to_thread = None;
        if let Some(thread) = self.thread.take() {
            // It cannot panic, and what it says does not matter any more.
            let _ = thread.join();
        }
    }
}

/// Until the other end is closed.
fn echo(mut reader: PipeReader, mut writer: PipeWriter) {
    let mut byte = [0];
    while reader.read_exact(&mut byte).is_ok() && writer.write_all(&byte).is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_until_it_is_dropped() {
        let mut echo = EchoThread::start().expect("a thread");
        for _ in 0..100 {
            echo.round_trip().expect("the thread answers");
        }
        // Returns only when the thread has ended.
        drop(echo);
    }
}

//! A reader that works ahead in a thread of its own: decoding is most of the time of reading a tarball.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// How much is decoded at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// How many chunks may wait to be read.
const CHUNKS_AHEAD: usize = 4;

/// What another thread has read so far. Dropping it ends that thread.
pub(super) struct Prefetch {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    position_bytes: usize,
}

impl Prefetch {
    /// Starts reading `inner`; fails where no thread can be had.
    pub(super) fn start(inner: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(CHUNKS_AHEAD);
        std::thread::Builder::new().name("decode".to_owned()).spawn(move || fill(inner, &sender))?;
        Ok(Self { chunks, chunk: Vec::new(), position_bytes: 0 })
    }
}

/// Sends chunk after chunk until the end, an error, or nobody listens.
fn fill(mut inner: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let outcome = (&mut inner).take(CHUNK_BYTES as u64).read_to_end(&mut chunk);
        let is_over = outcome.is_err() || chunk.is_empty();
        // What was decoded before an error is of use: the archive may have ended there.
        if !chunk.is_empty() && sender.send(Ok(chunk)).is_err() {
            return;
        }
        if let Err(error) = outcome
            && sender.send(Err(error)).is_err()
        {
            return;
        }
        if is_over {
            return;
        }
    }
}

impl Read for Prefetch {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position_bytes == self.chunk.len() {
            match self.chunks.recv() {
                Ok(chunk) => self.chunk = chunk?,
                // The sender is gone: the stream has ended.
                Err(_) => return Ok(0),
            }
            self.position_bytes = 0;
        }
        let count = (&self.chunk[self.position_bytes..]).read(buffer)?;
        self.position_bytes += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::FileTooLarge.into())
        }
    }

    #[test]
    fn what_is_read_ahead_is_what_was_there_and_errors_come_in_their_place() {
        let bytes: Vec<u8> = (0..CHUNK_BYTES * 3 + 17).map(|index| (index % 251) as u8).collect();
        let mut read = Vec::new();
        Prefetch::start(io::Cursor::new(bytes.clone()))
            .expect("a thread")
            .read_to_end(&mut read)
            .expect("bytes");
        assert!(read == bytes);

        let mut read = Vec::new();
        let error = Prefetch::start(io::Cursor::new(vec![7; 10]).chain(Broken))
            .expect("a thread")
            .read_to_end(&mut read)
            .expect_err("an error");
        assert_eq!((read.len(), error.kind()), (10, io::ErrorKind::FileTooLarge));
    }
}

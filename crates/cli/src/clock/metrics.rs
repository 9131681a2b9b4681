//! Where metrics go: a file that is replaced as a whole, and a Unix socket that answers whoever connects.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live;

use super::arguments::WatchArguments;
use crate::output;

/// A file is written this often at most: replacing one safely waits for the disk, and scrapers come every 15 s or less often.
const FILE_PERIOD: Duration = Duration::from_secs(15);
/// Who connects and says nothing gets the bare text after this.
const REQUEST_PATIENCE: Duration = Duration::from_millis(200);
/// Who does not read is given up after this.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);
/// More of a request is not read.
const REQUEST_BYTES: usize = 1_024;
/// Of the OpenMetrics specification 1.0, "Protocol negotiation".
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// File and socket, as far as they were asked for.
#[derive(Debug)]
pub(super) struct Outlets {
    file: Option<PathBuf>,
    /// When the file was last due and tried.
    tried: Option<Instant>,
    /// The file could not be written when it was last tried, which has been said.
    fails: bool,
    /// Answers as long as it is held.
    _socket: Option<Socket>,
}

/// A socket that answers until it is dropped.
#[derive(Debug)]
struct Socket {
    path: PathBuf,
}

impl Outlets {
    /// Opens what was asked for. The text is made in the socket's thread whenever somebody asks there: with hundreds of
    /// CPUs, making it for each probe would cost more than the probe.
    ///
    /// # Errors
    /// A socket that cannot be made, or one on which somebody listens.
    pub(super) fn open(
        arguments: &WatchArguments,
        text: impl Fn() -> String + Send + 'static,
    ) -> anyhow::Result<Self> {
        let socket =
            arguments.metrics_socket.as_deref().map(|path| Socket::listen(path, text)).transpose()?;
        Ok(Self { file: arguments.metrics_file.clone(), tried: None, fails: false, _socket: socket })
    }

    /// Writes the file if it is due, or for the last time. What fails in between, as on a disk that is full for a while, is
    /// said once and tried again: a watch does not end for it.
    ///
    /// # Errors
    /// A file that cannot be written the first or the last time.
    pub(super) fn write_file(&mut self, last: bool, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        if !last && self.tried.is_some_and(|tried| tried.elapsed() < FILE_PERIOD) {
            return Ok(());
        }
        let is_first = self.tried.replace(Instant::now()).is_none();
        let written = live::write_atomically(path, text().as_bytes());
        if is_first || last {
            return Ok(written?);
        }
        if written.is_err() != self.fails {
            self.fails = written.is_err();
            output::complain(&match written {
                Err(error) => format!("{error}; tried again every {} s", FILE_PERIOD.as_secs()),
                Ok(()) => format!("{} is written again", path.display()),
            });
        }
        Ok(())
    }
}

impl Socket {
    fn listen(path: &Path, text: impl Fn() -> String + Send + 'static) -> anyhow::Result<Self> {
        let told = || format!("cannot listen on {}", path.display());
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_deserted(path)?;
                UnixListener::bind(path).with_context(told)?
            }
            bound => bound.with_context(told)?,
        };
        thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // Who went away does not matter to those who come.
                    drop(answer(stream, &text));
                }
            })
            .with_context(told)?;
        Ok(Self { path: path.to_owned() })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // What is gone already is as good.
        drop(fs::remove_file(&self.path));
    }
}

/// Takes away a socket that nobody listens on any more, and nothing else.
fn remove_deserted(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let path_text = path.display();
    let is_socket = fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket());
    anyhow::ensure!(is_socket, "{path_text} is there and is no socket; choose another path");
    let refused = UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
    anyhow::ensure!(refused, "somebody listens on {path_text} already; choose another path");
    fs::remove_file(path).with_context(|| format!("cannot take away the deserted socket {path_text}"))
}

/// One answer: with a head of HTTP if the request is one.
fn answer(mut stream: UnixStream, text: impl Fn() -> String) -> std::io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_PATIENCE))?;
    stream.set_write_timeout(Some(ANSWER_PATIENCE))?;
    let mut request = [0; REQUEST_BYTES];
    let length = stream.read(&mut request).unwrap_or(0);
    let text = text();
    if request[..length].starts_with(b"GET ") {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            text.len()
        );
        stream.write_all(head.as_bytes())?;
    }
    stream.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn ask(path: &Path, request: &[u8]) -> String {
        let mut stream = UnixStream::connect(path).expect("somebody listens");
        stream.write_all(request).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers and closes");
        text
    }

    #[test]
    fn a_socket_answers_plainly_and_by_http_and_is_gone_afterwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics");
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let text = move || format!("{}\n# EOF\n", counter.fetch_add(1, Ordering::Relaxed));
        let socket = Socket::listen(&path, text).expect("a new socket");
        assert_eq!(asked.load(Ordering::Relaxed), 0, "no text is made that nobody asks for");
        assert_eq!(ask(&path, b"\n"), "0\n# EOF\n");
        let answer = ask(&path, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n1\n# EOF\n"),
            "{answer}"
        );
        let error = Socket::listen(&path, String::new).expect_err("somebody listens");
        assert!(error.to_string().contains("somebody listens"), "{error}");
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_for_a_while_does_not_end_the_watch() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("there/sidestep.prom");
        let there = folder.path().join("there");
        let mut outlets = Outlets { file: Some(path.clone()), tried: None, fails: false, _socket: None };
        let mut write = |last| {
            outlets.tried = outlets.tried.and_then(|tried| tried.checked_sub(FILE_PERIOD));
            let written = outlets.write_file(last, || "text".to_owned());
            (written.is_ok(), outlets.fails)
        };
        // The first time nobody knows yet whether the path is right.
        assert_eq!(write(false), (false, false));
        for is_there in [true, false, false, true] {
            let done = if is_there { fs::create_dir_all(&there) } else { fs::remove_dir_all(&there) };
            assert!(done.is_ok() || !is_there);
            assert_eq!(write(false), (true, !is_there));
            assert_eq!(path.exists(), is_there);
        }
        fs::remove_dir_all(&there).expect("a folder");
        assert!(!write(true).0);
    }

    #[test]
    fn a_deserted_socket_is_replaced_and_a_file_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics");
        drop(UnixListener::bind(&path).expect("a socket that nobody listens on soon"));
        drop(Socket::listen(&path, String::new).expect("a deserted socket is no hindrance"));
        fs::write(&path, "precious").expect("a file");
        let error = Socket::listen(&path, String::new).expect_err("a file is there");
        assert!(error.to_string().contains("no socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("still there"), "precious");
    }
}

//! Where metrics go: a file that is replaced as a whole, and a Unix socket that answers whoever connects.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live;

use super::arguments::WatchArguments;

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
    written: Option<Instant>,
    socket: Option<Socket>,
}

/// A socket that answers with the newest text until it is dropped.
#[derive(Debug)]
struct Socket {
    path: PathBuf,
    text: Arc<Mutex<String>>,
}

impl Outlets {
    /// Opens what was asked for.
    ///
    /// # Errors
    /// A socket that cannot be made, or one on which somebody listens.
    pub(super) fn open(arguments: &WatchArguments) -> anyhow::Result<Self> {
        let socket = arguments.metrics_socket.as_deref().map(Socket::listen).transpose()?;
        Ok(Self { file: arguments.metrics_file.clone(), written: None, socket })
    }

    /// Whether anybody wants the text.
    pub(super) fn is_wanted(&self) -> bool {
        self.socket.is_some() || self.is_file_due(false)
    }

    /// Gives out a new text; `last` writes the file even if it is not due.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn tell(&mut self, text: &str, last: bool) -> anyhow::Result<()> {
        if let Some(socket) = &self.socket {
            text.clone_into(&mut socket.text.lock().unwrap_or_else(PoisonError::into_inner));
        }
        if self.is_file_due(last)
            && let Some(path) = &self.file
        {
            live::write_atomically(path, text.as_bytes())?;
            self.written = Some(Instant::now());
        }
        Ok(())
    }

    fn is_file_due(&self, last: bool) -> bool {
        self.file.is_some() && (last || self.written.is_none_or(|written| written.elapsed() >= FILE_PERIOD))
    }
}

impl Socket {
    fn listen(path: &Path) -> anyhow::Result<Self> {
        let told = || format!("cannot listen on {}", path.display());
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_deserted(path)?;
                UnixListener::bind(path).with_context(told)?
            }
            bound => bound.with_context(told)?,
        };
        let text = Arc::new(Mutex::new(String::new()));
        let shared = Arc::clone(&text);
        thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    let text = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    // Who went away does not matter to those who come.
                    drop(answer(stream, &text));
                }
            })
            .with_context(told)?;
        Ok(Self { path: path.to_owned(), text })
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
fn answer(mut stream: UnixStream, text: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_PATIENCE))?;
    stream.set_write_timeout(Some(ANSWER_PATIENCE))?;
    let mut request = [0; REQUEST_BYTES];
    let length = stream.read(&mut request).unwrap_or(0);
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
        let socket = Socket::listen(&path).expect("a new socket");
        "# EOF\n".clone_into(&mut socket.text.lock().expect("nobody panicked"));
        assert_eq!(ask(&path, b"\n"), "# EOF\n");
        let answer = ask(&path, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        let error = Socket::listen(&path).expect_err("somebody listens");
        assert!(error.to_string().contains("somebody listens"), "{error}");
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_deserted_socket_is_replaced_and_a_file_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics");
        drop(UnixListener::bind(&path).expect("a socket that nobody listens on soon"));
        drop(Socket::listen(&path).expect("a deserted socket is no hindrance"));
        fs::write(&path, "precious").expect("a file");
        let error = Socket::listen(&path).expect_err("a file is there");
        assert!(error.to_string().contains("no socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("still there"), "precious");
    }
}

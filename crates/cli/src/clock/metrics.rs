//! Where metrics go: a file that is replaced as a whole, a Unix socket and a port that answer whoever connects.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use host::live::{self, start_own};
use report::MetricsFormat;

use super::arguments::WatchArguments;
use crate::output;

/// A file is written this often at most: replacing one safely waits for the disk, and scrapers come every 15 s or less often.
const FILE_PERIOD: Duration = Duration::from_secs(15);
/// Who connects and says nothing gets the bare text after this.
const REQUEST_PATIENCE: Duration = Duration::from_millis(200);
/// Who does not read is given up after this.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);
/// More of a request is not read: what the servers of the web allow for a head.
const REQUEST_BYTES: usize = 8_192;

/// Makes the text of the moment.
pub(super) type Texts = dyn Fn(MetricsFormat) -> String + Send + Sync;

/// File, socket and port, as far as they were asked for.
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
    /// Opens what was asked for. The text is made in the thread that answers whenever somebody asks there: with hundreds of
    /// CPUs, making it for each probe would cost more than the probe.
    ///
    /// # Errors
    /// A socket that cannot be made, one on which somebody listens, or no thread to answer.
    pub(super) fn open(arguments: &WatchArguments, texts: Arc<Texts>) -> anyhow::Result<Self> {
        let socket = arguments.metrics_socket.as_deref();
        let socket = socket.map(|path| Socket::listen(path, Arc::clone(&texts))).transpose()?;
        if let Some(address) = arguments.metrics_listen {
            let address = listen(address, texts)?;
            output::say(&format!("metrics on http://{address}/metrics"));
        }
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
    fn listen(path: &Path, texts: Arc<Texts>) -> anyhow::Result<Self> {
        let told = || format!("cannot listen on {}", path.display());
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                remove_deserted(path)?;
                UnixListener::bind(path).with_context(told)?
            }
            bound => bound.with_context(told)?,
        };
        let socket = Self { path: path.to_owned() };
        start_own(format_args!("the thread that answers on {}", path.display()), move || {
            for stream in listener.incoming().flatten() {
                let patient = stream.set_read_timeout(Some(REQUEST_PATIENCE));
                let patient = patient.and_then(|()| stream.set_write_timeout(Some(ANSWER_PATIENCE)));
                // Who went away does not matter to those who come.
                drop(patient.and_then(|()| answer(stream, &*texts)));
            }
        })?;
        Ok(socket)
    }
}

/// Answers on a port for as long as the process lives; the address, whose port the kernel has chosen where 0 was given.
fn listen(address: SocketAddr, texts: Arc<Texts>) -> anyhow::Result<SocketAddr> {
    let told = || format!("cannot listen on {address}; choose another port with --metrics-listen");
    let listener = TcpListener::bind(address).with_context(told)?;
    let bound = listener.local_addr().with_context(told)?;
    start_own(format_args!("the thread that answers on {bound}"), move || {
        for stream in listener.incoming().flatten() {
            let patient = stream.set_read_timeout(Some(REQUEST_PATIENCE));
            let patient = patient.and_then(|()| stream.set_write_timeout(Some(ANSWER_PATIENCE)));
            drop(patient.and_then(|()| answer(stream, &*texts)));
        }
    })?;
    Ok(bound)
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
fn answer(mut stream: impl Read + Write, texts: &Texts) -> std::io::Result<()> {
    let request = request(&mut stream);
    let Some(target) = request.strip_prefix("GET ") else {
        return stream.write_all(texts(MetricsFormat::Prometheus).as_bytes());
    };
    let format = wanted(target);
    let text = texts(format);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nVary: Accept\r\nConnection: close\r\n\r\n",
        format.content_type(),
        text.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}

/// The head of a request of HTTP, or the first line of anything else, as far as it comes in time.
fn request(stream: &mut impl Read) -> String {
    let (mut read, mut buffer) = (Vec::new(), [0; 1_024]);
    let is_whole = |read: &[u8]| {
        if read.starts_with(b"GET ") {
            read.windows(4).any(|four| four == b"\r\n\r\n")
        } else {
            read.contains(&b'\n')
        }
    };
    while read.len() < REQUEST_BYTES && !is_whole(&read) {
        match stream.read(&mut buffer) {
            Ok(length) if length > 0 => read.extend_from_slice(&buffer[..length]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// The format that the head of a request prefers by its Accept, RFC 9110, 12.5.1; the older one where it does not care.
fn wanted(head: &str) -> MetricsFormat {
    let accepts = head.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("accept").then_some(value)
    });
    let (mut open, mut plain) = (0.0_f64, 0.0_f64);
    for range in accepts.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f64>().ok()).unwrap_or(1.0);
        match kind.as_str() {
            "application/openmetrics-text" => open = open.max(weight),
            "text/plain" | "text/*" => plain = plain.max(weight),
            _ => {}
        }
    }
    if open > 0.0 && open >= plain { MetricsFormat::OpenMetrics } else { MetricsFormat::Prometheus }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn ask(path: &Path, request: &[u8]) -> String {
        asked(UnixStream::connect(path).expect("somebody listens"), request)
    }

    fn asked(mut stream: impl Read + Write, request: &[u8]) -> String {
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
        let text = move |format| format!("{} {format:?}\n", counter.fetch_add(1, Ordering::Relaxed));
        let socket = Socket::listen(&path, Arc::new(text)).expect("a new socket");
        assert_eq!(asked.load(Ordering::Relaxed), 0, "no text is made that nobody asks for");
        assert_eq!(ask(&path, b"\n"), "0 Prometheus\n");
        let answer = ask(&path, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n1 Prometheus\n"),
            "{answer}"
        );
        let error = Socket::listen(&path, nothing()).expect_err("somebody listens");
        assert!(error.to_string().contains("somebody listens"), "{error}");
        drop(socket);
        assert!(!path.exists());
    }

    fn nothing() -> Arc<Texts> {
        Arc::new(|_| String::new())
    }

    #[test]
    fn a_port_answers_in_the_format_that_is_asked_for_also_where_the_request_comes_in_pieces() {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let address = listen(local, Arc::new(|format| format!("{format:?}\n"))).expect("a free port");
        let connect = || TcpStream::connect(address).expect("somebody listens");
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        for (accept, expected) in [
            ("*/*", MetricsFormat::Prometheus),
            (prometheus, MetricsFormat::OpenMetrics),
            ("text/plain, application/openmetrics-text;q=0.5", MetricsFormat::Prometheus),
            ("application/openmetrics-text;q=0, text/html", MetricsFormat::Prometheus),
            ("Application/OpenMetrics-Text", MetricsFormat::OpenMetrics),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\naccept: {accept}\r\n\r\n");
            let answer = asked(connect(), request.as_bytes());
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains(&format!("Content-Type: {}\r\n", expected.content_type())), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{expected:?}\n")), "{accept}: {answer}");
        }
        let mut stream = connect();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n").expect("it reads");
        stream.flush().expect("it reads");
        let answer = asked(stream, b"Accept: application/openmetrics-text\r\n\r\n");
        assert!(answer.ends_with("OpenMetrics\n"), "{answer}");
        let error = listen(address, nothing()).expect_err("somebody listens");
        assert!(error.to_string().contains("--metrics-listen"), "{error}");
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
        drop(Socket::listen(&path, nothing()).expect("a deserted socket is no hindrance"));
        fs::write(&path, "precious").expect("a file");
        let error = Socket::listen(&path, nothing()).expect_err("a file is there");
        assert!(error.to_string().contains("no socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("still there"), "precious");
    }
}

//! One headless Chromium and its debugging pipe: JSON messages ended by a zero byte, on descriptors 3 and 4.
//!
//! Protocol: Chrome DevTools Protocol, <https://chromedevtools.github.io/devtools-protocol/>; the pipe is
//! the flag `--remote-debugging-pipe`. No socket is opened, so nothing else can connect.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The browser as Debian names it.
pub(super) const PROGRAM: &str = "chromium";
/// How long the browser may take to answer one command; a loaded two-core machine needs seconds.
const ANSWER_PATIENCE: Duration = Duration::from_secs(60);
/// How long the browser may take to leave when asked to.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// Flags that make it small, silent and cut off: the proxy is a port that nobody serves.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--proxy-server=127.0.0.1:9",
    "--remote-debugging-pipe",
];

/// Moves our two pipes to the descriptors Chromium expects them on.
const PIPE_SCRIPT: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#;

/// A running browser with one tab; it dies with this value.
pub(super) struct Chromium {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    next_id: u64,
    /// What the tab has told since it was opened, without answers to commands.
    pub(super) events: Vec<Value>,
    _profile: TempDir,
}

impl Chromium {
    /// Starts the browser and opens an empty tab.
    pub(super) fn start() -> anyhow::Result<Self> {
        let profile = tempfile::tempdir().context("cannot make a browser profile")?;
        let mut command = Command::new("sh");
        command.args(["-c", PIPE_SCRIPT, PROGRAM]).args(FLAGS);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start sh")?;
        let commands = child.stdin.take().expect("standard input was asked to be a pipe");
        let output = child.stdout.take().expect("standard output was asked to be a pipe");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            commands,
            messages,
            session: None,
            next_id: 0,
            events: Vec::new(),
            _profile: profile,
        };
        browser.open_tab()?;
        Ok(browser)
    }

    fn open_tab(&mut self) -> anyhow::Result<()> {
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", &attach)?;
        let session = attached["sessionId"].as_str().context("the browser gave no session")?;
        self.session = Some(session.to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}))?;
        }
        Ok(())
    }

    /// Sends one command and waits for its answer; events that arrive meanwhile are kept.
    pub(super) fn call(&mut self, method: &str, parameters: &Value) -> anyhow::Result<Value> {
        self.next_id += 1;
        let id = self.next_id;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).with_context(|| format!("the browser is gone before {method}"))?;
        let deadline = Instant::now() + ANSWER_PATIENCE;
        loop {
            let answer = self.receive(deadline).with_context(|| format!("no answer to {method}"))?;
            if answer["id"] != id {
                self.events.push(answer);
                continue;
            }
            anyhow::ensure!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
            return Ok(answer["result"].clone());
        }
    }

    /// Loads a file on a screen of that width and waits until it is painted.
    pub(super) fn load(&mut self, file: &Path, width: u32) -> anyhow::Result<()> {
        /// Wider ones have a mouse.
        const TABLET_WIDTH: u32 = 768;
        let mobile = width <= TABLET_WIDTH;
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", &metrics)?;
        let before = self.events.len();
        let answer = self.call("Page.navigate", &json!({"url": url(file)}))?;
        anyhow::ensure!(answer.get("errorText").is_none(), "cannot load {}: {answer}", file.display());
        let deadline = Instant::now() + ANSWER_PATIENCE;
        while !self.events[before..].iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.receive(deadline).context("waited for the page to load")?;
            self.events.push(message);
        }
        let twice =
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))";
        self.ask(twice).map(drop)
    }

    /// The value of a JavaScript expression; a promise is waited for.
    pub(super) fn ask(&mut self, expression: &str) -> anyhow::Result<Value> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &parameters)?;
        let error = &answer["exceptionDetails"];
        anyhow::ensure!(error.is_null(), "{expression}: {error}");
        Ok(answer["result"]["value"].clone())
    }

    fn receive(&self, deadline: Instant) -> anyhow::Result<Value> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.messages.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => anyhow::anyhow!("the browser is silent for {ANSWER_PATIENCE:?}"),
            RecvTimeoutError::Disconnected => anyhow::anyhow!("the browser has ended"),
        })
    }
}

/// The address of a local file: every byte that is not plain is escaped.
pub(super) fn url(file: &Path) -> String {
    let letter = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    let escaped: String = file.to_string_lossy().bytes().map(letter).collect();
    format!("file://{escaped}")
}

impl Drop for Chromium {
    /// Asks it to leave, then makes it; either way it is waited for, so that its profile can be removed.
    fn drop(&mut self) {
        self.session = None;
        let asked = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0").is_ok();
        let deadline = Instant::now() + CLOSE_PATIENCE;
        while asked && Instant::now() < deadline && self.receive(deadline).is_ok() {}
        // Both fail only when the process has already ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! One page in the browser: loading it, asking it, photographing it, and what it did that it should not have.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use super::chromium::Chromium;
use super::picture::{Picture, from_base64};

/// A desktop window, in CSS pixels.
pub(super) const DESKTOP: Window = Window { width: 1280, height: 900 };
/// A phone held upright, in CSS pixels.
pub(super) const PHONE: Window = Window { width: 390, height: 844 };

/// How long a figure may take to appear before the check gives up; not a target.
const PATIENCE: Duration = Duration::from_secs(40);

/// The size of the browser's window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// A rectangle of the window, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectangle {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A loaded page.
pub(super) struct Page {
    browser: Chromium,
    window: Window,
}

impl Page {
    /// A browser with an empty tab of the given size.
    pub(super) fn new(window: Window, flags: &[&str]) -> anyhow::Result<Self> {
        let mut browser = Chromium::start(flags)?;
        let mobile = window.width < DESKTOP.width;
        let metrics =
            json!({"width": window.width, "height": window.height, "deviceScaleFactor": 1, "mobile": mobile});
        browser.call("Emulation.setDeviceMetricsOverride", &metrics)?;
        Ok(Self { browser, window })
    }

    /// Opens `file` in a fresh browser and waits for its load event.
    pub(super) fn open(file: &Path, window: Window, flags: &[&str]) -> anyhow::Result<Self> {
        let mut page = Self::new(window, flags)?;
        page.load(file)?;
        Ok(page)
    }

    /// Loads `file` and waits for its load event.
    pub(super) fn load(&mut self, file: &Path) -> anyhow::Result<()> {
        let from = self.browser.events.len();
        let answer = self.browser.call("Page.navigate", &json!({"url": url(file)}))?;
        anyhow::ensure!(answer.get("errorText").is_none(), "cannot load {}: {answer}", file.display());
        self.browser.wait_for("Page.loadEventFired", from)
    }

    /// Passes one command of the protocol on.
    pub(super) fn call(&mut self, method: &str, parameters: &Value) -> anyhow::Result<Value> {
        self.browser.call(method, parameters)
    }

    /// The value of a JavaScript expression; a promise is waited for.
    pub(super) fn ask(&mut self, expression: &str) -> anyhow::Result<Value> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.browser.call("Runtime.evaluate", &parameters)?;
        anyhow::ensure!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        Ok(answer["result"]["value"].clone())
    }

    /// A JavaScript list of strings.
    pub(super) fn ask_names(&mut self, expression: &str) -> anyhow::Result<Vec<String>> {
        let value = self.ask(expression)?;
        let list = value.as_array().with_context(|| format!("{expression} gave no list"))?;
        Ok(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Waits until `expression` is true; the time it took.
    pub(super) fn wait_until(&mut self, expression: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        while self.ask(expression)? != json!(true) {
            anyhow::ensure!(begun.elapsed() < PATIENCE, "waited {PATIENCE:?} for {expression}");
            self.next_frame()?;
        }
        Ok(begun.elapsed())
    }

    /// Lets the page paint twice: what has been asked for before is on the screen afterwards.
    pub(super) fn next_frame(&mut self) -> anyhow::Result<()> {
        let twice =
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))";
        self.ask(twice).map(drop)
    }

    /// Scrolls the first element of `selector` into the middle and says where it is.
    pub(super) fn show(&mut self, selector: &str) -> anyhow::Result<Rectangle> {
        let quoted = json!(selector);
        let found = self.ask(&format!(
            "(() => {{ const e = document.querySelector({quoted}); if (!e) return null; \
             e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const r = e.getBoundingClientRect(); \
             return [r.left, r.top, r.width, r.height]; }})()"
        ))?;
        let numbers: Vec<f64> = found.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let [left, top, width, height] = numbers[..] else { anyhow::bail!("{selector} is not on the page") };
        anyhow::ensure!(width > 1.0 && height > 1.0, "{selector} has no size: {width} x {height} px");
        Ok(Rectangle { left, top, width, height })
    }

    /// A photograph of the window.
    pub(super) fn photograph(&mut self) -> anyhow::Result<Picture> {
        Picture::decode(&self.photograph_bytes(false)?)
    }

    /// A photograph of the window, or of the whole page, as a PNG file's bytes.
    pub(super) fn photograph_bytes(&mut self, whole_page: bool) -> anyhow::Result<Vec<u8>> {
        let mut parameters = json!({"format": "png", "captureBeyondViewport": whole_page});
        if whole_page {
            let height = self.ask("document.documentElement.scrollHeight")?;
            parameters["clip"] =
                json!({"x": 0, "y": 0, "width": self.window.width, "height": height, "scale": 1});
        }
        let answer = self.browser.call("Page.captureScreenshot", &parameters)?;
        from_base64(answer["data"].as_str().context("the browser took no photograph")?)
    }

    /// Console errors, failed loads and uncaught exceptions so far, in words.
    pub(super) fn complaints(&self) -> Vec<String> {
        self.browser.events.iter().filter_map(complaint).collect()
    }

    /// Addresses of all requests so far that go beyond the page itself and its own data.
    pub(super) fn requests(&self, own: &Path) -> Vec<String> {
        let events =
            self.browser.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let addresses = events.filter_map(|event| event["params"]["request"]["url"].as_str());
        let inside = |address: &&str| {
            *address == url(own)
                || ["data:", "blob:", "about:"].iter().any(|start| address.starts_with(start))
        };
        addresses.filter(|address| !inside(address)).map(str::to_owned).collect()
    }
}

fn complaint(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(format!("exception: {}", parameters["exceptionDetails"])),
        "Runtime.consoleAPICalled" if parameters["type"] == "error" || parameters["type"] == "assert" => {
            Some(format!("console: {}", parameters["args"]))
        }
        "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
            Some(format!("log: {} {}", parameters["entry"]["text"], parameters["entry"]["url"]))
        }
        _ => None,
    }
}

/// The address of a local file: every byte that is not plain is escaped.
fn url(file: &Path) -> String {
    let letter = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    let escaped: String = file.to_string_lossy().bytes().map(letter).collect();
    format!("file://{escaped}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_escaped() {
        assert_eq!(url(Path::new("/a b/ü#.html")), "file:///a%20b/%C3%BC%23.html");
    }

    #[test]
    fn only_errors_are_complaints() {
        let console =
            |kind: &str| json!({"method": "Runtime.consoleAPICalled", "params": {"type": kind, "args": []}});
        assert!(complaint(&console("error")).is_some());
        assert!(complaint(&console("warning")).is_none());
        assert!(complaint(&json!({"method": "Runtime.exceptionThrown", "params": {}})).is_some());
        let entry = json!({"method": "Log.entryAdded", "params": {"entry": {"level": "error", "text": "x"}}});
        assert!(complaint(&entry).is_some());
    }
}

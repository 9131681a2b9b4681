//! DuckDB: found in PATH, never linked in. It gets a script on its standard input and prints tables.

use std::io::{self, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::Builder;

use anyhow::{Context, bail, ensure};

/// The oldest version that the scripts were run with; the newest is 1.5.6.
const OLDEST: [u32; 3] = [1, 4, 4];
/// How it is installed.
const INSTALL: &str = "install it with pip install duckdb-cli, or from duckdb.org/install";
/// So much of what it says is repeated.
const SAID_BYTES_MAX: u64 = 4096;
/// Bytes of tables that are read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Runs a script and hands its tables to `read`.
///
/// # Errors
/// DuckDB is not there, too old, or says what is wrong; or what `read` says.
pub(super) fn run<T>(
    script: &str,
    read: impl FnOnce(BufReader<ChildStdout>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    ensure_version()?;
    // Without the user's own settings: these are empty ones.
    let mut child = Command::new("duckdb")
        .args(["-batch", "-bail", "-init", "", ":memory:"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(&error))?;
    let script = script.to_owned();
    let mut stdin = child.stdin.take().context("DuckDB has no standard input")?;
    // It may stop before it has read everything, which its message then says.
    Builder::new().spawn(move || drop(stdin.write_all(script.as_bytes())))?;
    let stderr = child.stderr.take().context("DuckDB has no standard error")?;
    let said = Builder::new().spawn(move || said(stderr))?;
    let stdout = child.stdout.take().context("DuckDB has no standard output")?;
    let found = read(BufReader::with_capacity(BUFFER_BYTES, stdout));
    let status = ended(&mut child, found.is_err())?;
    let said = said.join().unwrap_or_default();
    if !status && !said.is_empty() {
        bail!("DuckDB: {}", said.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    }
    found
}

/// Waits for it, and stops it first where nobody reads what it prints. True if it did all.
fn ended(child: &mut Child, is_unread: bool) -> io::Result<bool> {
    if is_unread && child.try_wait()?.is_none() {
        // It blocks on a full pipe at the latest; it may also have ended just now.
        let _ = child.kill();
    }
    Ok(child.wait()?.success())
}

fn said(stderr: impl Read) -> String {
    let mut text = Vec::new();
    let mut stderr = BufReader::new(stderr);
    // What it says more is thrown away, so that it does not block.
    let _ = stderr.by_ref().take(SAID_BYTES_MAX).read_to_end(&mut text);
    let _ = io::copy(&mut stderr, &mut io::sink());
    String::from_utf8_lossy(&text).trim().to_owned()
}

fn not_started(error: &io::Error) -> anyhow::Error {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "it is not in PATH".to_owned(),
        _ => error.to_string(),
    };
    anyhow::anyhow!("cannot run DuckDB, which reads the rows of a fleet: {why}; {INSTALL}")
}

/// # Errors
/// It is not there or too old.
fn ensure_version() -> anyhow::Result<()> {
    let output = Command::new("duckdb")
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(&error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = version(&text).with_context(|| {
        format!(
            "cannot run DuckDB: duckdb --version says {:?}; {INSTALL}",
            text.trim().chars().take(80).collect::<String>()
        )
    })?;
    let [major, minor, patch] = OLDEST;
    ensure!(
        found >= OLDEST,
        "DuckDB {} is too old, {major}.{minor}.{patch} is needed; {INSTALL}",
        found.map(|n| n.to_string()).join(".")
    );
    Ok(())
}

/// Reads `v1.5.6 (Variegata) 1234abcd`.
fn version(text: &str) -> Option<[u32; 3]> {
    let word = text.split_whitespace().next()?.strip_prefix('v')?;
    let mut parts = word.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some([parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_older_ones_are_less() {
        assert_eq!(version("v1.5.6 (Variegata) 1234abcd\n"), Some([1, 5, 6]));
        assert_eq!(version("v2.0.0-dev12 x"), Some([2, 0, 0]));
        for text in ["", "v1", "1.5.6", "vx.y.z", "v1.99999999999.0"] {
            assert_eq!(version(text), None, "{text}");
        }
        assert!(version("v0.10.2 20b1486d11") < Some(OLDEST));
    }
}

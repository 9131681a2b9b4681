//! A task of ours that runs while another step does: what it prints is shown when its turn comes.

use std::io::{Read, Seek};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use crate::cargo;
use crate::totals::Totals;

/// How far it steps back for the other step, as nice(1) counts.
const NICENESS: &str = "10";

/// A task that was started.
#[derive(Debug)]
pub(super) struct Beside {
    child: Child,
    printed: std::fs::File,
}

impl Beside {
    /// Starts `cargo xtask` with these words.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(words: &str) -> anyhow::Result<Self> {
        let printed = tempfile::tempfile().context("cannot make a temporary file")?;
        let [output, errors] = [printed.try_clone()?, printed.try_clone()?].map(Stdio::from);
        let mut command = Command::new("nice");
        command.args(["-n", NICENESS]).arg(cargo::this_program()?).args(words.split_whitespace());
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        Ok(Self { child: child.with_context(|| format!("cannot start xtask {words}"))?, printed })
    }

    /// Waits for its end, shows what it printed, and counts by its closing lines.
    ///
    /// # Errors
    /// It ended badly and named no check that failed.
    pub(super) fn end(mut self) -> anyhow::Result<Totals> {
        let status = self.child.wait().context("cannot wait for it")?;
        let mut text = String::new();
        self.printed.rewind()?;
        self.printed.read_to_string(&mut text)?;
        print!("{text}");
        let totals = Totals::of_closing(&text);
        anyhow::ensure!(status.success() || totals.failed > 0, "it ended with {status}; see above");
        Ok(totals)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It has ended, unless the steps before it could not go on.
        let _ = self.child.kill();
    }
}

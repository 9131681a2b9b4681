//! Workloads made ready to run: inputs that are generated once and kept, an empty folder for what a turn writes, and the number of
//! a turn.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use host::live::{ChildOutput, ChildRun, run_child};
use host::{FolderError, ScratchFolder, filled_once};
use workloads::{Metric, MetricError, Output, Workload};

use crate::program::{Program, how_it_failed};

/// The longest that an input may take to be made.
const GENERATE_LIMIT: Duration = Duration::from_secs(300);

/// A workload that is ready to run.
#[derive(Debug)]
pub struct Prepared {
    /// Where it runs: the folder of its input, which it leaves as it is.
    pub folder: PathBuf,
    /// For what a turn writes; `$SCRATCH` to the command. Clear it between turns.
    pub scratch: ScratchFolder,
    /// One turn, as a script for `sh -c`.
    pub command: String,
    /// What is measured.
    pub metric: Metric,
}

/// Why a workload cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Its input cannot be made or kept.
    #[error("cannot make the input of {id}: {source}")]
    Input {
        /// Its id.
        id: String,
        /// Why.
        source: FolderError<String>,
    },
    /// There is no room for what it writes.
    #[error("cannot make a folder for what {id} writes: {source}; make room in TMPDIR")]
    Scratch {
        /// Its id.
        id: String,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// Makes a workload ready below the folder `cache`, where its input is kept until its script changes.
///
/// # Errors
/// `PrepareError`.
pub fn prepare(workload: &Workload, cache: &Path) -> Result<Prepared, PrepareError> {
    let id = || workload.id.clone();
    let scratch = ScratchFolder::new().map_err(|source| PrepareError::Scratch { id: id(), source })?;
    let folder = match (&workload.generate, workload.input_hash()) {
        (Some(script), Some(hash)) => {
            let place = cache.join("workloads").join(format!("{}-{hash:016x}", workload.id));
            filled_once(&place, |folder| generate(script, folder))
                .map_err(|source| PrepareError::Input { id: id(), source })?;
            place
        }
        _ => scratch.path().to_owned(),
    };
    Ok(Prepared { folder, scratch, command: workload.script(), metric: workload.metric.clone() })
}

/// Fills a folder by a script; why it failed, if it did.
fn generate(script: &str, folder: &Path) -> Result<(), String> {
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", script]).current_dir(folder);
    let run = run_child(shell, &[], ChildOutput::Discard, Some(GENERATE_LIMIT))
        .map_err(|error| error.to_string())?;
    let how = how_it_failed(&run);
    how.map_or(Ok(()), |how| {
        Err(format!("its script ended with {how}; sidestep workloads --long names what is missing"))
    })
}

impl Prepared {
    /// One turn as a program of an experiment.
    pub fn program(&self) -> Program {
        // `cd` in the script, as a program of an experiment has no folder of its own.
        let script = format!("cd \"$SIDESTEP_INPUT\" || exit 1\n{}", self.command);
        let words = ["sh", "-c", &script].map(OsString::from).to_vec();
        let variable = |name: &str, path: &Path| (OsString::from(name), path.as_os_str().to_owned());
        let environment =
            vec![variable("SIDESTEP_INPUT", &self.folder), variable("SCRATCH", self.scratch.path())];
        Program { words, environment }
    }

    /// One turn, ready to be started.
    pub fn turn(&self) -> Command {
        self.program().command()
    }

    /// The number of a turn whose output was captured.
    ///
    /// # Errors
    /// It printed none, several, or one that is not finite.
    pub fn number(&self, run: &ChildRun) -> Result<f64, MetricError> {
        let file = self.metric.file().and_then(|name| self.scratch.read(name));
        let output =
            Output { wall_s: run.wall_s, stdout: &run.output, stderr: &run.errors, file: file.as_deref() };
        self.metric.read(&output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(more: &str) -> Workload {
        let text = format!(
            "id = \"a\"\ntitle = \"A\"\nsuites = [\"server\"]\ngroup = \"g\"\nseconds_a_turn = 1.0\nthreads = 1\n\
             stresses = [\"x\"]\nlicence = \"MIT\"\n{more}"
        );
        workloads::read("a.toml", &text).expect("a workload")
    }

    fn turn(prepared: &Prepared) -> ChildRun {
        let limit = Some(Duration::from_secs(20));
        let run = run_child(prepared.turn(), &[], ChildOutput::Capture, limit);
        run.expect("sh is there")
    }

    #[test]
    fn an_input_is_made_once_and_a_turn_reads_it_and_writes_elsewhere() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let text = "generate = \"echo 42 > number; date +%N > when\"\n\
                    command = \"cat number > $SCRATCH/out; cat when\"\n\
                    [metric]\npattern = '\\d+'\nfrom = \"file:out\"\nunit = \"\"\nbetter = \"higher\"";
        let first = prepare(&workload(text), cache.path()).expect("sh is there");
        let run = turn(&first);
        assert_eq!(first.number(&run), Ok(42.0), "{run:?}");
        let again = prepare(&workload(text), cache.path()).expect("sh is there");
        assert_eq!(turn(&again).output, run.output, "it is the same input");
        assert_ne!(first.scratch.path(), again.scratch.path());
        let other = prepare(&workload(&text.replace("42", "43")), cache.path()).expect("sh is there");
        assert_ne!(first.folder, other.folder);
        first.scratch.clear().expect("writable");
        assert!(
            first.number(&run).expect_err("no file").to_string().contains("in out; its last lines: nothing")
        );
    }

    #[test]
    fn an_input_that_cannot_be_made_says_why_and_leaves_nothing() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let text = "command = \"true\"\ngenerate = \"no-such-program; true\"\n";
        let error = prepare(&workload(text), cache.path()).expect_err("no such program").to_string();
        assert!(
            error.starts_with("cannot make the input of a: its script ended with exit code 127"),
            "{error}"
        );
        assert!(error.contains("no-such-program") && error.contains("sidestep workloads --long"), "{error}");
        let left = std::fs::read_dir(cache.path().join("workloads")).expect("there");
        assert!(left.flatten().all(|entry| entry.file_name().to_string_lossy().ends_with(".lock")));
    }

    #[test]
    fn a_server_runs_beside_a_turn_and_ends_with_it() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let text = "command = \"cat $SCRATCH/up; kill -0 $server && echo $server\"\n\
                    [server]\nstart = \"touch $SCRATCH/up; exec sleep 60\"\nready = \"test -e $SCRATCH/up\"\n";
        let prepared = prepare(&workload(text), cache.path()).expect("sh is there");
        let run = turn(&prepared);
        assert_eq!(how_it_failed(&run), None);
        let server: u32 = String::from_utf8_lossy(&run.output).trim().parse().expect("its number");
        assert!(!host::live::is_running(server));
        let dead = text.replace("exec sleep 60", "echo no port >&2; exit 1").replace("touch", "true");
        let prepared = prepare(&workload(&dead), cache.path()).expect("sh is there");
        let how = how_it_failed(&turn(&prepared)).expect("its server ended");
        assert_eq!(how, "exit code 1: \"the server does not answer: no port\"");
    }
}

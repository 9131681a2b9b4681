//! A user's program as the subject: run once per trial, charged by the kernel, never trusted.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clock::TickRate;
use host::live::{ChildError, ChildOutput, ChildRun, Ending, peak_resident_bytes, pending_signal, run_child};
use machine::counted;
use record::Better;
use regex::bytes::Regex;
use stats::{Cell, Factors};
use workloads::last_lines;

use super::drift_probe::DriftProbe;
use super::subject::{GuardSpec, RowSpec, Subject, Trial};
use super::switcher::{Switcher, SwitchingError};
use crate::program::{Program, how_it_failed};
use crate::workload::Prepared;

/// The rows of what a program takes, as the sentence names them.
pub(super) const METRIC: &str = "metric";
pub(super) const WALL_TIME: &str = "wall time";
pub(super) const CPU_TIME: &str = "CPU time";

/// How it is run.
#[derive(Debug, Clone, Default)]
pub struct HowToRun {
    /// A shell command before each run, outside the timing.
    pub prepare: Option<String>,
    /// A shell command after each run, outside the timing.
    pub cleanup: Option<String>,
    /// A run that takes longer is killed and counts as failed.
    pub limit: Option<Duration>,
    /// Runs that end with another code than 0 count all the same.
    pub any_exit_code: bool,
    /// What becomes of its output, unless a number is looked for.
    pub output: ChildOutput,
    /// The workload that is run, if it is one: its folder is emptied before each run, and its number read.
    pub workload: Option<Arc<Prepared>>,
}

/// Why a run ends the experiment.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program cannot be started, in either state.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// The state cannot be made.
    #[error("{0}")]
    Switching(#[from] SwitchingError),
    /// What a run of a workload wrote cannot be taken away.
    #[error("cannot empty the folder of the workload: {0}")]
    Scratch(std::io::Error),
    /// A command around the runs failed.
    #[error("{flag} {command:?} failed: {how}; correct it, or leave it out")]
    Around {
        /// `--prepare` or `--cleanup`.
        flag: &'static str,
        /// What was to be run.
        command: String,
        /// How it ended.
        how: String,
    },
}

/// What runs of programs have in common: how they are made, and what is read of each.
pub struct ProgramRuns {
    how: HowToRun,
    metric: Option<Metric>,
    /// Where the metric was found.
    metric_found: StreamCounts,
    /// Runs that left processes behind, of all.
    left_processes: [usize; 2],
    drift: DriftProbe,
    begun: Instant,
}

impl ProgramRuns {
    /// Gets ready; the clock starts here.
    pub(crate) fn new(how: HowToRun, metric: Option<Metric>, seed: u64) -> Self {
        let (metric_found, drift) = (StreamCounts::default(), DriftProbe::new(seed));
        Self { how, metric, metric_found, left_processes: [0, 0], drift, begun: Instant::now() }
    }

    /// What a reader has to know of the runs, one sentence each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let [left, all] = self.left_processes;
        let left = (left > 0).then(|| {
            format!("{left} of {all} runs left processes behind, whose work is in no number here: let the program wait for them")
        });
        self.metric_found.note().into_iter().chain(left)
    }

    /// What becomes of the output of a run.
    pub(crate) fn output(&self) -> ChildOutput {
        if self.better().is_some() { ChildOutput::Capture } else { self.how.output }
    }

    /// Which direction of the number that is looked for in a run is the good one; `None` if only its time counts.
    fn better(&self) -> Option<Better> {
        let of_workload = |workload: &Arc<Prepared>| match workload.metric {
            workloads::Metric::Time => None,
            workloads::Metric::Pattern { better, .. } => Some(better),
        };
        let printed = self.metric.as_ref().map(|metric| metric.better);
        printed.or_else(|| self.how.workload.as_ref().and_then(of_workload))
    }

    /// The number that is looked for in a run; what was searched without success.
    fn number(&mut self, run: &ChildRun) -> Option<Result<f64, String>> {
        self.better()?;
        if let Some(metric) = &self.metric {
            return Some(metric.found(run, &mut self.metric_found));
        }
        let workload = self.how.workload.as_ref()?;
        Some(workload.number(run).map_err(|why| why.to_string()))
    }

    /// From now on a run may take so long.
    pub fn limit_to(&mut self, limit: Duration) {
        self.how.limit = Some(limit);
    }

    /// How long a run may take.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.how.limit
    }

    /// What every run measures.
    pub(crate) fn rows(&self) -> Vec<RowSpec> {
        program_rows(self.better())
    }

    /// Seconds since it was made.
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Runs what comes before a run.
    pub(crate) fn prepare(&self) -> Result<(), CommandError> {
        if let Some(workload) = &self.how.workload {
            workload.scratch.clear().map_err(CommandError::Scratch)?;
        }
        self.around("--prepare", self.how.prepare.as_ref())
    }

    /// What a run brought; then runs what comes after it.
    pub(crate) fn trial(&mut self, run: &ChildRun) -> Result<Trial, CommandError> {
        let guards = self.drift.readings();
        self.around("--cleanup", self.how.cleanup.as_ref())?;
        self.left_processes[0] += usize::from(run.left_processes);
        self.left_processes[1] += 1;
        let number = self.number(run);
        let (values, failure) = program_values(run, number, self.how.any_exit_code);
        Ok(Trial { values, guards, failure })
    }

    /// Runs a command around the runs, if there is one.
    fn around(&self, flag: &'static str, command: Option<&String>) -> Result<(), CommandError> {
        let Some(text) = command else { return Ok(()) };
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(text);
        let run = run_child(shell, &[], self.how.output, None)?;
        match failure(&run, false) {
            // After Ctrl-C the trial is thrown away anyway.
            Some(failed) if run.ending != Ending::Interrupted => {
                Err(CommandError::Around { flag, command: text.clone(), how: failed })
            }
            _ => Ok(()),
        }
    }
}

/// Runs programs.
pub struct CommandSubject {
    programs: [Program; 2],
    /// What is read of each run.
    pub runs: ProgramRuns,
    /// Makes the states.
    pub switcher: Switcher,
    /// With a toggle: the rate by which a loop is timed that the toggle cannot move.
    control: Option<TickRate>,
}

impl CommandSubject {
    /// Gets ready; the clock starts here. With `control` a loop in registers is timed under each state as well.
    pub fn new(
        programs: [Program; 2],
        how: HowToRun,
        metric: Option<Metric>,
        switcher: Switcher,
        control: Option<TickRate>,
        seed: u64,
    ) -> Self {
        Self { programs, runs: ProgramRuns::new(how, metric, seed), switcher, control }
    }
}

/// What a run brought, by [`program_rows`]; why it does not count, if it does not.
fn program_values(
    run: &ChildRun,
    own: Option<Result<f64, String>>,
    any_exit_code: bool,
) -> (Vec<f64>, Option<String>) {
    let memory = run.max_resident_bytes;
    // The kernel counts what this process held at the start of the child as the child's.
    let floor_bytes = peak_resident_bytes().unwrap_or(0);
    let memory = if memory > floor_bytes { memory as f64 / f64::from(1 << 20) } else { 0.0 };
    let of_kernel = [
        run.wall_s,
        run.user_s + run.system_s,
        run.user_s,
        run.system_s,
        memory,
        run.page_faults as f64,
        run.context_switches as f64,
    ];
    let number = own.as_ref().map(|own| own.as_ref().copied().unwrap_or(f64::NAN));
    let mut values: Vec<f64> = number.into_iter().chain(of_kernel).collect();
    let failure = failure(run, any_exit_code).or_else(|| own.and_then(Result::err));
    if failure.is_some() {
        values.fill(f64::NAN);
    }
    (values, failure)
}

/// The rows of a program.
fn program_rows(metric: Option<Better>) -> Vec<RowSpec> {
    let row = |name: &str, unit: &str| RowSpec {
        name: name.to_owned(),
        group: "program".to_owned(),
        unit: unit.to_owned(),
        better: Better::Lower,
        moved_by: Factors::ALL,
        zero: "the kernel counted nothing in many runs",
    };
    let own = metric.map(|better| RowSpec {
        better,
        zero: "it was zero or less in many runs, and such numbers have no ratio",
        ..row(METRIC, "")
    });
    let of_kernel = [
        row(WALL_TIME, "s"),
        row(CPU_TIME, "s"),
        row("user time", "s"),
        row("system time", "s"),
        RowSpec {
            zero: "less than sidestep itself holds, which the kernel counts in",
            ..row("peak memory", "MiB")
        },
        row("page faults", ""),
        row("context switches", ""),
    ];
    own.into_iter().chain(of_kernel).collect()
}

impl Subject for CommandSubject {
    type Error = CommandError;

    fn rows(&self) -> Vec<RowSpec> {
        let control = self.control.map(|_| RowSpec {
            name: "multiply-chain".to_owned(),
            group: "control".to_owned(),
            unit: "ns".to_owned(),
            better: Better::Lower,
            moved_by: Factors::NONE,
            zero: "the kernel counted nothing in many runs",
        });
        self.runs.rows().into_iter().chain(control).collect()
    }

    fn guards(&self) -> Vec<GuardSpec> {
        DriftProbe::GUARDS.to_vec()
    }

    fn trial(&mut self, state: Cell) -> Result<Trial, CommandError> {
        self.switcher.write(state)?;
        self.runs.prepare()?;
        let command = self.programs[usize::from(state != Cell::BASELINE)].command();
        let control_ns = match self.control {
            Some(rate) => {
                let _state = self.switcher.make(state)?;
                Some(DriftProbe::control_ns(rate))
            }
            None => None,
        };
        let settings = self.switcher.settings(state);
        let run = run_child(command, &settings, self.runs.output(), self.runs.limit())?;
        let mut trial = self.runs.trial(&run)?;
        trial.values.extend(control_ns);
        Ok(trial)
    }

    fn elapsed_s(&self) -> f64 {
        self.runs.elapsed_s()
    }

    fn must_stop(&self) -> bool {
        pending_signal().is_some()
    }
}

/// How a run failed; `None` if it counts.
fn failure(run: &ChildRun, any_exit_code: bool) -> Option<String> {
    if any_exit_code && matches!(run.ending, Ending::Code(_)) { None } else { how_it_failed(run) }
}

/// A number that the program prints.
#[derive(Debug, Clone)]
pub struct Metric {
    /// Its first group, or the whole match, is the number.
    pub pattern: Regex,
    /// Which direction is the good one.
    pub better: Better,
}

/// On how many runs the number stood on which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamCounts {
    output: usize,
    errors: usize,
}

impl Metric {
    /// The number in what a run printed, standard output first, and the stream is counted.
    ///
    /// # Errors
    /// No number stands there: what was searched.
    pub(crate) fn found(&self, run: &ChildRun, counts: &mut StreamCounts) -> Result<f64, String> {
        if let Some(number) = last_number(&self.pattern, &run.output) {
            counts.output += 1;
            return Ok(number);
        }
        let number = last_number(&self.pattern, &run.errors).ok_or_else(|| {
            let [output, errors] = [&run.output, &run.errors].map(|stream| last_lines(&String::from_utf8_lossy(stream)));
            format!(
                "its output holds no number where --metric looks for one; last lines of standard output: {output}; of standard error: {errors}"
            )
        })?;
        counts.errors += 1;
        Ok(number)
    }
}

impl StreamCounts {
    /// Where the number was found, for the notes of an outcome.
    pub fn note(self) -> Option<String> {
        match self {
            Self { output: 0, errors: 0 } => None,
            Self { errors: 0, .. } => Some("metric: found on standard output".to_owned()),
            Self { output: 0, .. } => Some("metric: found on standard error".to_owned()),
            Self { output, errors } => Some(format!(
                "metric: found on standard output in {}, on standard error in {errors}; name one in the pattern",
                counted(output, "run")
            )),
        }
    }
}

/// The number that the pattern finds last: programs print their result after their progress.
fn last_number(pattern: &Regex, output: &[u8]) -> Option<f64> {
    let last = pattern.captures_iter(output).last()?;
    let text = last.get(1).or_else(|| last.get(0))?;
    let text = std::str::from_utf8(text.as_bytes()).ok()?;
    text.trim().replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use host::live::ProcessSetting;
    use regex::bytes::Regex;
    use stats::Arm;
    use toggles::{Pair, Risk, Switch, Value, find};

    use super::*;

    fn subject(a: &str, b: &str, metric: Option<Metric>) -> CommandSubject {
        let program = |text: &str| Program::of(["sh", "-c", text].map(OsString::from).to_vec());
        CommandSubject::new([program(a), program(b)], HowToRun::default(), metric, Switcher::none(), None, 1)
    }

    #[test]
    fn a_failed_run_has_no_values_and_says_how_it_failed() {
        let mut subject = subject("exit 0", "echo no input >&2; exit 2", None);
        let worked = subject.trial(Arm::A.into()).expect("sh is there");
        assert!(worked.failure.is_none() && worked.values[0] > 0.0, "{worked:?}");
        assert_eq!(worked.values.len(), subject.rows().len());
        assert_eq!(worked.guards.len(), subject.guards().len());
        let failed = subject.trial(Arm::B.into()).expect("sh is there");
        assert_eq!(failed.failure.as_deref(), Some("exit code 2: \"no input\""));
        assert!(failed.values.iter().all(|value| value.is_nan()));
    }

    #[test]
    fn a_run_without_the_number_looked_for_has_failed() {
        let metric = Metric { pattern: Regex::new(r"x=(\d+)").expect("a pattern"), better: Better::Higher };
        let mut subject = subject("echo x=42", "echo y=42", Some(metric));
        let printed = subject.trial(Arm::A.into()).expect("sh is there").values[0];
        assert!((printed - 42.0).abs() < 1e-12, "{printed}");
        let failure = subject.trial(Arm::B.into()).expect("sh is there").failure.unwrap_or_default();
        assert!(failure.ends_with("of standard output: \"y=42\"; of standard error: nothing"), "{failure}");
    }

    #[test]
    fn a_number_on_standard_error_is_found_if_standard_output_has_none() {
        let metric = Metric { pattern: Regex::new(r"x=(\d+)").expect("a pattern"), better: Better::Higher };
        let mut subject = subject("echo x=1 >&2; echo y=3", "echo x=1 >&2; echo x=2", Some(metric));
        let mut value = |arm: Arm| subject.trial(arm.into()).expect("sh is there").values[0];
        let (a, b) = (value(Arm::A), value(Arm::B));
        assert!((a - 1.0).abs() < 1e-12 && (b - 2.0).abs() < 1e-12, "{a} {b}");
        let note = subject.runs.metric_found.note().unwrap_or_default();
        assert!(note.contains("standard output in 1 run, on standard error in 1"), "{note}");
    }

    #[test]
    fn what_only_a_program_reads_reaches_it_although_no_thread_can_have_it() {
        let value = |name: &str| Value { name: name.to_owned(), means: String::new(), risk: Risk::Process };
        let tunable =
            |value| Switch::Process(vec![ProcessSetting::GlibcTunable("glibc.malloc.hugetlb", value)]);
        let toggle = find("huge-malloc").expect("it is in the catalogue");
        let pair = Pair { toggle, values: ["off", "on"].map(value), switches: ["0", "1"].map(tunable) };
        let switcher = Switcher::new(&[pair], Duration::ZERO).expect("nothing is written");
        let has_it = "case $GLIBC_TUNABLES in *hugetlb=1*) exit 0;; esac; exit 4";
        let mut subject = subject(has_it, has_it, None);
        subject.switcher = switcher;
        subject.control = Some(TickRate::calibrate(2_000_000).expect("a counter that counts"));
        let failure = |subject: &mut CommandSubject, arm: Arm| {
            let trial = subject.trial(arm.into()).expect("sh is there, and the thread is not asked");
            assert_eq!(trial.values.len(), subject.rows().len());
            trial.failure
        };
        assert_eq!(failure(&mut subject, Arm::A).as_deref(), Some("exit code 4"));
        assert_eq!(failure(&mut subject, Arm::B), None);
    }

    #[test]
    fn a_prepare_that_fails_ends_the_experiment_and_is_named() {
        let mut subject = subject("true", "true", None);
        subject.runs.how.prepare = Some("exit 9".to_owned());
        let error = subject.trial(Arm::A.into()).expect_err("prepare fails");
        assert!(error.to_string().contains("--prepare \"exit 9\" failed: exit code 9"), "{error}");
    }

    #[test]
    fn the_last_number_of_the_first_group_is_the_metric() {
        let pattern = Regex::new(r"rate: ([\d.,]+)").expect("a pattern");
        for (output, expected) in [
            ("rate: 1.5\nrate: 2.5 MB/s\n", Some(2.5)),
            ("rate: 1,234.5", Some(1234.5)),
            ("speed: 3", None),
            ("rate: ...", None),
        ] {
            assert_eq!(last_number(&pattern, output.as_bytes()), expected, "{output}");
        }
        let whole = Regex::new(r"\d+").expect("a pattern");
        assert_eq!(last_number(&whole, b"7 of 9"), Some(9.0));
    }

    #[test]
    fn the_note_names_the_stream() {
        let note = |output, errors| StreamCounts { output, errors }.note().unwrap_or_default();
        assert_eq!(note(0, 0), "");
        assert!(note(9, 0).ends_with("standard output") && note(0, 9).ends_with("standard error"));
        assert!(note(4, 5).contains("in 4 runs, on standard error in 5"));
    }
}

//! The line at the foot of the terminal that shows progress, on a terminal only: of probes, of an experiment, of a bill.

use std::time::{Duration, Instant};

use experiments::ab::across_reboot::visit;
use experiments::ab::subject::PASSES_PER_BLOCK;
use experiments::ab::{self, TimeEstimate};
use experiments::bill::Course;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use probes::session::Progress;
use record::BillPhase;

use crate::output;

/// Steps of the bar.
const STEPS: u64 = 1000;
/// Redraws per second; each costs a system call while nothing is measured.
const REDRAWS_PER_S: u8 = 4;

/// A bar of that template, which draws on stderr if that is a terminal and the user did not ask for quiet.
fn bar(quiet: bool, template: &str) -> ProgressBar {
    let target =
        if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S) };
    let bar = ProgressBar::with_draw_target(Some(STEPS), target);
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    bar.set_style(style.progress_chars("━━─"));
    bar
}

/// The line of probes: one after the other, with the time left.
#[derive(Debug)]
pub(crate) struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// A line that draws on stderr if that is a terminal and the user did not ask for quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        Self(bar(quiet, "{prefix:>8} {msg:<14} {bar:30} {percent:>3} %"))
    }

    /// Begins the line of a probe; `left` is the time that this and all later probes take at most.
    pub(crate) fn begin(&self, probe: &str, left: Duration) {
        self.0.set_position(0);
        self.0.set_prefix(format!("{} s left", left.as_secs()));
        self.0.set_message(probe.to_owned());
        self.0.tick();
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for ProgressLine {
    fn update(&self, share_done: f64) {
        self.0.set_position((share_done.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
}

/// The line of an experiment: pairs done, the estimate with its interval, the time left.
pub(crate) struct ExperimentLine {
    bar: ProgressBar,
    quiet: bool,
    /// Whether an experiment that cannot show an interval is refused.
    is_estimated: bool,
    /// Why the experiment was not begun.
    refused: Option<String>,
}

impl ExperimentLine {
    /// A line that draws on stderr if that is a terminal and the user did not ask for quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = bar(quiet, "{prefix:>9} {bar:16} {msg}");
        bar.set_message("getting ready");
        bar.tick();
        Self { bar, quiet, is_estimated: false, refused: None }
    }

    /// The same that says what is required before the start, and refuses what cannot show an interval.
    pub(crate) fn estimated(self) -> Self {
        Self { is_estimated: true, ..self }
    }

    /// The error of an experiment that was not begun as it cannot show anything.
    pub(crate) fn afforded(&mut self) -> anyhow::Result<()> {
        self.refused.take().map_or(Ok(()), |refused| Err(anyhow::anyhow!(refused)))
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl ab::Progress for ExperimentLine {
    fn afforded_s(&mut self, estimate: &TimeEstimate) -> Option<f64> {
        if !self.is_estimated {
            return Some(estimate.budget_s);
        }
        let needed = estimate_text(estimate);
        if !estimate.is_affordable() {
            self.refused = Some(format!(
                "cannot show an interval within {:.0} s: {needed}; give --budget {:.0}s, or a shorter task",
                estimate.budget_s,
                estimate.budget_needed_s()
            ));
            return None;
        }
        if !self.quiet {
            self.bar.suspend(|| output::say(&format!("{needed}; the budget is {:.0} s", estimate.budget_s)));
        }
        Some(estimate.budget_s)
    }

    fn standing(&mut self, standing: &ab::Standing) {
        self.bar.set_position((standing.share * STEPS as f64) as u64);
        self.bar.set_prefix(format!("{:.0} s left", standing.left_s));
        self.bar.set_message(message(standing));
    }
}

/// What an experiment takes at least.
fn estimate_text(estimate: &TimeEstimate) -> String {
    let before =
        if estimate.aa_share > 0.0 { ", after up to half as many with nothing switched" } else { "" };
    format!(
        "a run takes {}, an interval requires {} runs{before}: {:.1} s at least",
        seconds(estimate.run_s),
        estimate.runs_min,
        estimate.least_s()
    )
}

/// Two digits that say something, whatever the size.
fn seconds(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

fn message(standing: &ab::Standing) -> String {
    let percent = |log: f64| 100.0 * log.exp_m1();
    let so_far = standing.shifts.first().copied().flatten().map_or_else(String::new, |shift| {
        let ends = shift.interval.map_or_else(String::new, |ends| {
            format!(" [{:+.1}, {:+.1}]", percent(ends.low), percent(ends.high))
        });
        format!(", {:+.1} %{ends}", percent(shift.value))
    });
    let phase = if standing.is_aa { "A/A, nothing switched: " } else { "" };
    format!("{phase}{} pairs{so_far}", standing.blocks * PASSES_PER_BLOCK)
}

/// All runs are fitted for a line: not after each of many short ones.
const REDRAWN_AFTER: Duration = Duration::from_millis(250);
/// Settings shown while it runs.
const SHOWN: usize = 2;

/// The line of a bill: time left, what runs, and what costs most so far.
pub(crate) struct BillLine {
    bar: ProgressBar,
    program: String,
    settings: Vec<String>,
    drawn: Option<Instant>,
}

impl BillLine {
    pub(crate) fn new(program: &str, settings: &[String], quiet: bool) -> Self {
        let bar = bar(quiet, "{prefix:>10} {bar:20} {wide_msg}");
        Self { bar, program: program.to_owned(), settings: settings.to_vec(), drawn: None }
    }

    pub(crate) fn show(&mut self, course: &Course) {
        if self.drawn.is_some_and(|last| last.elapsed() < REDRAWN_AFTER) {
            return;
        }
        self.drawn = Some(Instant::now());
        let (spent_s, budget_s) = (course.spent_s(), course.rules.budget_s);
        self.bar.set_position((spent_s / budget_s * STEPS as f64) as u64);
        self.bar.set_prefix(format!("{:.0} s left", (budget_s - spent_s).max(0.0)));
        // Fitting all runs takes time: only for someone who watches.
        if self.bar.is_hidden() {
            return;
        }
        let phase = match course.phase() {
            BillPhase::WarmUp => "warming up",
            BillPhase::Screening => "screening",
            BillPhase::Confirming => "confirming",
            BillPhase::Joint => "all together",
        };
        let most: Vec<String> = course
            .standing()
            .into_iter()
            .take(SHOWN)
            .map(|one| format!("{} {:+.1} %", self.settings[one.setting], 100.0 * one.cost.exp_m1()))
            .collect();
        self.bar.set_message(format!("{}: {phase} {}", self.program, most.join(", ")));
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl visit::Standing for ProgressLine {
    fn trials(&mut self, done: usize, of: usize) {
        self.0.set_prefix(String::new());
        self.0.set_message(format!("{done} of {of} trials"));
        self.update(done as f64 / of.max(1) as f64);
    }
}

#[cfg(test)]
mod tests {
    use experiments::ab::Progress as _;
    use stats::{Interval, Shift};

    use super::*;

    #[test]
    fn what_cannot_show_an_interval_is_refused_with_the_budget_that_can() {
        let estimate =
            TimeEstimate { run_s: 1.3, runs_min: 24, aa_share: 1.0 / 3.0, spent_s: 2.6, budget_s: 20.0 };
        let mut line = ExperimentLine::new(true).estimated();
        assert_eq!(line.afforded_s(&estimate), None);
        let refused = line.afforded().expect_err("too little").to_string();
        assert_eq!(
            refused,
            "cannot show an interval within 20 s: a run takes 1.3 s, an interval requires 24 runs, after up to half as \
             many with nothing switched: 49.4 s at least; give --budget 55s, or a shorter task"
        );
        let enough = TimeEstimate { budget_s: 60.0, ..estimate };
        assert_eq!(line.afforded_s(&enough), Some(60.0));
        assert!(line.afforded().is_ok());
    }

    #[test]
    fn the_line_tells_pairs_estimate_and_interval() {
        let shift = Shift { value: 0.018, interval: Some(Interval { low: 0.011, high: 0.025 }), pairs: 9 };
        let standing =
            ab::Standing { is_aa: false, blocks: 9, shifts: vec![Some(shift)], share: 0.4, left_s: 9.0 };
        assert_eq!(message(&standing), "18 pairs, +1.8 % [+1.1, +2.5]");
        let begun = ab::Standing { is_aa: true, blocks: 1, shifts: Vec::new(), ..standing };
        assert_eq!(message(&begun), "A/A, nothing switched: 2 pairs");
    }
}

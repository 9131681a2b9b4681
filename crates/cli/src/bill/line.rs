//! The progress of a bill: time left, what runs, and what costs most so far; on a terminal only.

use std::time::{Duration, Instant};

use experiments::bill::Course;
use indicatif::ProgressBar;
use record::BillPhase;

use crate::progress::{STEPS, bar};

/// All runs are fitted for a line: not after each of many short ones.
const REDRAWN_AFTER: Duration = Duration::from_millis(250);
/// Settings shown while it runs.
const SHOWN: usize = 2;

/// The line at the foot of the terminal.
pub(super) struct Line {
    bar: ProgressBar,
    program: String,
    settings: Vec<String>,
    drawn: Option<Instant>,
}

impl Line {
    pub(super) fn new(program: &str, settings: &[String], quiet: bool) -> Self {
        let bar = bar(quiet, "{prefix:>10} {bar:20} {wide_msg}");
        Self { bar, program: program.to_owned(), settings: settings.to_vec(), drawn: None }
    }

    pub(super) fn show(&mut self, course: &Course) {
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

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

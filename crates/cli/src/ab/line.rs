//! The progress of an experiment: pairs done, the estimate with its interval, the time left; on a terminal only.

use experiments::ab::subject::PASSES_PER_BLOCK;
use experiments::ab::{Bill, Progress, Standing};
use indicatif::ProgressBar;

use crate::output;
use crate::progress::{STEPS, bar};

/// The line at the foot of the terminal.
pub(crate) struct Line {
    bar: ProgressBar,
    /// The toggles of a factorial experiment; else none.
    toggles: Vec<String>,
    quiet: bool,
    /// Whether an experiment that cannot show an interval is refused.
    is_billed: bool,
    /// Why the experiment was not begun.
    refused: Option<String>,
}

impl Line {
    /// A line that draws on stderr if that is a terminal and the user did not ask for quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        Self::of_toggles(quiet, Vec::new())
    }

    /// The same for a factorial experiment with these toggles.
    pub(crate) fn of_toggles(quiet: bool, toggles: Vec<String>) -> Self {
        let bar = bar(quiet, "{prefix:>9} {bar:16} {msg}");
        bar.set_message("getting ready");
        bar.tick();
        Self { bar, toggles, quiet, is_billed: false, refused: None }
    }

    /// The same that says what is required before the start, and refuses what cannot show an interval.
    pub(crate) fn billed(self) -> Self {
        Self { is_billed: true, ..self }
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

impl Progress for Line {
    fn afforded_s(&mut self, bill: &Bill) -> Option<f64> {
        if !self.is_billed {
            return Some(bill.budget_s);
        }
        let told = bill_text(bill);
        if !bill.is_affordable() {
            self.refused = Some(format!(
                "cannot show an interval within {:.0} s: {told}; give --budget {:.0}s, or a shorter task",
                bill.budget_s,
                bill.budget_needed_s()
            ));
            return None;
        }
        if !self.quiet {
            self.bar.suspend(|| output::say(&format!("{told}; the budget is {:.0} s", bill.budget_s)));
        }
        Some(bill.budget_s)
    }

    fn standing(&mut self, standing: &Standing) {
        self.bar.set_position((standing.share * STEPS as f64) as u64);
        self.bar.set_prefix(format!("{:.0} s left", standing.left_s));
        self.bar.set_message(match self.toggles.as_slice() {
            [] => message(standing),
            toggles => message_of(toggles, standing),
        });
    }
}

/// What an experiment takes at least.
fn bill_text(bill: &Bill) -> String {
    let before = if bill.twin_share > 0.0 { ", after up to half as many with nothing switched" } else { "" };
    format!(
        "a run takes {}, an interval requires {} runs{before}: {:.1} s at least",
        seconds(bill.run_s),
        bill.runs_min,
        bill.least_s()
    )
}

/// Two digits that say something, whatever the size.
fn seconds(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

fn message(standing: &Standing) -> String {
    let percent = |log: f64| 100.0 * log.exp_m1();
    let so_far = standing.shifts.first().copied().flatten().map_or_else(String::new, |shift| {
        let ends = shift.interval.map_or_else(String::new, |ends| {
            format!(" [{:+.1}, {:+.1}]", percent(ends.low), percent(ends.high))
        });
        format!(", {:+.1} %{ends}", percent(shift.value))
    });
    let phase = if standing.twin { "A/A, nothing switched: " } else { "" };
    format!("{phase}{} pairs{so_far}", standing.blocks * PASSES_PER_BLOCK)
}

/// The same of several toggles: blocks, and each main effect so far.
fn message_of(toggles: &[String], standing: &Standing) -> String {
    let percent = |log: f64| 100.0 * log.exp_m1();
    let so_far = toggles.iter().zip(&standing.shifts).filter_map(|(toggle, shift)| {
        let shift = (*shift)?;
        let half =
            shift.interval.map_or_else(String::new, |ends| format!(" ±{:.1}", percent(ends.half_width())));
        Some(format!("{toggle} {:+.1}{half} %", percent(shift.value)))
    });
    let parts: Vec<String> = [format!("{} blocks", standing.blocks)].into_iter().chain(so_far).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use stats::{Interval, Shift};

    use super::*;

    #[test]
    fn what_cannot_show_an_interval_is_refused_with_the_budget_that_can() {
        let bill = Bill { run_s: 1.3, runs_min: 24, twin_share: 1.0 / 3.0, spent_s: 2.6, budget_s: 20.0 };
        let mut line = Line::new(true).billed();
        assert_eq!(line.afforded_s(&bill), None);
        let refused = line.afforded().expect_err("too little").to_string();
        assert_eq!(
            refused,
            "cannot show an interval within 20 s: a run takes 1.3 s, an interval requires 24 runs, after up to half as \
             many with nothing switched: 49.4 s at least; give --budget 55s, or a shorter task"
        );
        let enough = Bill { budget_s: 60.0, ..bill };
        assert_eq!(line.afforded_s(&enough), Some(60.0));
        assert!(line.afforded().is_ok());
    }

    #[test]
    fn the_line_tells_pairs_estimate_and_interval() {
        let shift = Shift { value: 0.018, interval: Some(Interval { low: 0.011, high: 0.025 }), pairs: 9 };
        let standing =
            Standing { twin: false, blocks: 9, shifts: vec![Some(shift)], share: 0.4, left_s: 9.0 };
        assert_eq!(message(&standing), "18 pairs, +1.8 % [+1.1, +2.5]");
        let begun = Standing { twin: true, blocks: 1, shifts: Vec::new(), ..standing.clone() };
        assert_eq!(message(&begun), "A/A, nothing switched: 2 pairs");
        let both = Standing { shifts: vec![Some(shift), None], ..standing };
        let toggles = ["thp", "ssbd"].map(str::to_owned);
        assert_eq!(message_of(&toggles, &both), "9 blocks, thp +1.8 ±0.7 %");
    }
}

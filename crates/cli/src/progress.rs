//! The line at the foot of the terminal that shows progress, on a terminal only; one per probe, with the time left.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use probes::session::Progress;

/// Steps of the bar.
pub(crate) const STEPS: u64 = 1000;
/// Redraws per second; each costs a system call while nothing is measured.
const REDRAWS_PER_S: u8 = 4;

/// A bar of that template, which draws on stderr if that is a terminal and the user did not ask for quiet.
pub(crate) fn bar(quiet: bool, template: &str) -> ProgressBar {
    let target =
        if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S) };
    let bar = ProgressBar::with_draw_target(Some(STEPS), target);
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    bar.set_style(style.progress_chars("━━─"));
    bar
}

/// The line of a probe.
#[derive(Debug)]
pub(crate) struct Line(ProgressBar);

impl Line {
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

impl Progress for Line {
    fn update(&self, share_done: f64) {
        self.0.set_position((share_done.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
}

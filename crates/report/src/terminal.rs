//! The summary in the terminal: findings first, then compact tables, one screen.

mod findings;
mod paint;
mod sockets;
mod tables;

use std::fmt::Write;

use record::Record;

use crate::{escape, machine_text::headline, number};
pub(crate) use paint::{Ink, Paper, bar, table_of, two_sided_bar, wrap};
pub(crate) use tables::page_gain;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// No line is wider than this.
    pub width_columns: usize,
    /// ANSI colours may be used.
    pub colour: bool,
}

impl Default for Terminal {
    /// Eighty columns, no colour: what a pipe gets.
    fn default() -> Self {
        Self { width_columns: 80, colour: false }
    }
}

/// Beyond this many lines the findings are told more briefly: a large terminal window shows about as many.
const SCREEN_LINES: usize = 45;

/// The summary of a record: findings, levels, bandwidth, cores, clocks, guards.
pub fn terminal(record: &Record, terminal: Terminal) -> String {
    let mut body = Paper::new(terminal);
    tables::memory(&mut body, record);
    sockets::write(&mut body, record);
    tables::cores(&mut body, record);
    guards(&mut body, record);
    let mut head = Paper::new(terminal);
    opening(&mut head, record);
    let left = SCREEN_LINES.saturating_sub(head.line_count() + body.line_count());
    findings::write(&mut head, &record.findings, left);
    head.append(body);
    head.finish()
}

fn opening(paper: &mut Paper, record: &Record) {
    let origin = &record.provenance;
    if let Some(planted) = crate::plan::planted(record) {
        paper.wrapped("! planted: ", &planted);
    }
    let mut title = headline(&record.machine);
    if let Some(host) = &origin.host_name {
        title = format!("{}: {title}", escape::plain(host));
    }
    paper.strong(&title);
    let mut run =
        format!("sidestep {} {}", escape::plain(&origin.tool_version), escape::plain(&origin.started_utc));
    let _ = write!(run, ", {} s of {} s", number::short(record.elapsed_s), number::short(origin.budget_s));
    if !origin.cpus.is_empty() {
        let _ = write!(run, ", CPUs {}", origin.cpus);
    }
    paper.wrapped_inked(Ink::Faint, "", &format!("{run}, seed {}", origin.seed));
    if let Some(why) = &record.partial {
        paper.wrapped("! partial: ", &format!("{}; what was done until then follows", escape::plain(why)));
    }
    paper.blank();
}

fn guards(paper: &mut Paper, record: &Record) {
    let guards = &record.guards;
    let mut signs = Vec::new();
    if let Some(share) = guards.steal_share {
        signs.push(format!("steal {}", number::percent(share)));
    }
    if let Some(share) = guards.others_share {
        signs.push(format!("other load {}", number::percent(share)));
    }
    if guards.windows > 0 {
        let share = number::percent(guards.windows_dropped as f64 / guards.windows as f64);
        signs.push(format!(
            "{} of {} set aside ({share})",
            guards.windows_dropped,
            machine::counted(guards.windows as usize, "window")
        ));
    }
    signs.push(format!("{} pre-emptions", guards.involuntary_switches));
    if let Some([low, high]) = guards.core_hz {
        signs.push(format!("core {} to {}", number::frequency(low), number::frequency(high)));
    }
    if let Some(events) = guards.throttle_events.filter(|&events| events > 0) {
        signs.push(format!("{events} thermal throttle events"));
    }
    paper.wrapped("guards  ", &signs.join(", "));
    for doubt in &guards.doubts {
        paper.wrapped("doubt   ", &escape::plain(doubt));
    }
    for line in record.neighbours.iter().flat_map(crate::plan::beside) {
        paper.wrapped("beside  ", &line);
    }
    let dropped = crate::plan::not_done(record);
    if !dropped.is_empty() {
        paper.wrapped("left out  ", &dropped.join("; "));
    }
}

//! The self-test as text of 80 columns.

use std::fmt::Write;

use probes::selftest::{Coverage, Selftest, Twins};

use super::between_runs::BetweenRuns;

/// Columns of the text.
const COLUMNS: usize = 80;
/// From this share on a difference is told without decimals.
const COARSE: f64 = 0.1;
/// Smaller differences are not told apart.
const FINEST: f64 = 0.0001;

/// What is printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report<'a> {
    pub(super) found: &'a Selftest,
    pub(super) between_runs: &'a BetweenRuns,
    pub(super) spots: &'a [String],
    pub(super) elapsed_s: f64,
}

impl Report<'_> {
    /// All of it.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.control(&mut text);
        self.overlap(&mut text);
        self.resolution(&mut text);
        for twins in &self.found.twins {
            surface(&mut text, twins);
        }
        if let Some(found) = &self.found.coverage {
            coverage(&mut text, found);
        }
        text.push_str(&self.between_runs.text());
        list(&mut text, "Not measured", &self.found.without);
        list(&mut text, "Blind spots", self.spots);
        list(&mut text, "Not as promised", &self.found.failures());
        text.push_str(&wrapped("", &format!("{} ({:.0} s)", self.sentence(), self.elapsed_s)));
        text
    }

    /// What can be seen, in one sentence.
    pub(super) fn sentence(&self) -> String {
        let wanted = ["memory latency", "L1 latency"];
        let kind = wanted.iter().find_map(|name| self.found.resolution.iter().find(|r| r.kind == *name));
        let Some(kind) = kind.or(self.found.resolution.first()) else {
            return "On this machine, now: nothing can be told.".to_owned();
        };
        format!(
            "On this machine, now: I can see {} in {:.1} s for {}, not {}.",
            percent(kind.detectable),
            kind.seconds,
            kind.kind,
            percent(kind.detectable / 5.0)
        )
    }

    fn control(&self, text: &mut String) {
        if self.found.control.is_empty() {
            return;
        }
        line(text, "Control loops   clock   mul/rot   share of core   drift mul   drift ports");
        for state in &self.found.control {
            let clock =
                state.core_hz.map_or_else(|| "unknown".to_owned(), |hz| format!("{:.2} GHz", hz.0 / 1e9));
            let drift =
                |drift: Option<f64>| drift.map_or_else(|| "-".to_owned(), |d| format!("{:+.1} %", d * 100.0));
            line(
                text,
                &format!(
                    "  CPU {:<5} {clock:>11} {:>9.2} {:>13.0} % {:>11} {:>13}",
                    state.cpu,
                    state.multiply_per_rotate,
                    state.core_share * 100.0,
                    drift(state.multiply_drift),
                    drift(state.port_drift)
                ),
            );
        }
        text.push('\n');
    }

    fn overlap(&self, text: &mut String) {
        if self.found.overlap.is_empty() {
            return;
        }
        line(text, "Two threads at once   seen per ms   slices together");
        for overlap in &self.found.overlap {
            line(
                text,
                format!(
                    "  CPU {:<4} and {:<6} {:>12.0} {:>15.0} %   {}",
                    overlap.a,
                    overlap.b,
                    overlap.fresh_per_ms,
                    overlap.together_share * 100.0,
                    if overlap.can_tell { "" } else { "cannot tell" }
                )
                .trim_end(),
            );
        }
        text.push('\n');
    }

    fn resolution(&self, text: &mut String) {
        if self.found.resolution.is_empty() {
            return;
        }
        line(text, "Equal work, twice      typical  pairs  time  A/A shift    sees  1 % in  alarms");
        for found in &self.found.resolution {
            line(
                text,
                &format!(
                    "  {:<18} {:>11} {:>5} {:>4.1}s {:>10} {:>7} {:>7} {:>7}",
                    found.kind,
                    format!("{} {}", significant(found.typical), found.unit),
                    found.pairs,
                    found.seconds,
                    format!("{:+.2} %", found.shift * 100.0),
                    percent(found.detectable),
                    seconds(found.seconds_for_one_percent),
                    format!("{}/{}", found.alarms, found.groups)
                ),
            );
        }
        let alarms = self.found.alarms;
        text.push_str(&wrapped(
            "  ",
            &format!(
                "sees: a difference found in four of five tries of this time. Alarms at 5 %: {} in {} groups of 12 pairs; \
                 more than {} would be too many.",
                alarms.alarms, alarms.groups, alarms.limit
            ),
        ));
        text.push('\n');
    }
}

fn surface(text: &mut String, twins: &Twins) {
    line(text, &format!("Latency surface against itself ({} pages)", twins.page_bytes));
    text.push_str(&wrapped(
        "  ",
        &format!(
            "{} of {} cells called different (Benjamini-Hochberg, 5 %); {:.1} % of those not marked unstable agree \
             within 5 %; {:.1} % unstable, {:.1} % converged; {:.0} s",
            twins.called_different,
            twins.cells,
            twins.agreeing_share * 100.0,
            twins.unstable_share * 100.0,
            twins.converged_share * 100.0,
            twins.seconds
        ),
    ));
    for pair in &twins.named {
        line(
            text,
            &format!(
                "  {:>9} / {:<8} {:>8} ±{:<7} {:>8} ±{:<7} q {:.3} maps {},{}",
                pair.block_bytes.to_string(),
                pair.stride_bytes.to_string(),
                significant(pair.ns[0]),
                percent(pair.half_width[0]),
                significant(pair.ns[1]),
                percent(pair.half_width[1]),
                pair.q,
                pair.mappings[0],
                pair.mappings[1]
            ),
        );
    }
    text.push('\n');
}

fn coverage(text: &mut String, found: &Coverage) {
    line(text, &format!("Coverage of intervals ({} cells x {} repeats)", found.cells, found.repeats));
    text.push_str(&wrapped(
        "  ",
        &format!(
            "{:.1} % of {} intervals hold the median of all repeats ({:.1} % of those converged); {:.1} % converged, \
             {:.1} % unstable; widths times {:.2} would cover 90 %, times {:.2} 95 %; {:.0} s",
            found.covered_share * 100.0,
            found.intervals,
            found.covered_share_converged * 100.0,
            found.converged_share * 100.0,
            found.unstable_share * 100.0,
            found.factor_for_90_percent,
            found.factor_for_95_percent,
            found.seconds
        ),
    ));
    if !found.named.is_empty() {
        line(text, "      block / stride          ns  covered  half-width  scatter  far, unmarked");
    }
    for cell in &found.named {
        line(
            text,
            &format!(
                "  {:>9} / {:<8} {:>9} {:>6.0} % {:>11} {:>8} {:>12.0} %",
                cell.block_bytes.to_string(),
                cell.stride_bytes.to_string(),
                significant(cell.ns),
                cell.covered_share * 100.0,
                percent(cell.half_width),
                percent(cell.scatter),
                cell.far_unmarked_share * 100.0
            ),
        );
    }
    text.push('\n');
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    line(text, title);
    for item in items {
        text.push_str(&wrapped("  ", item));
    }
    text.push('\n');
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("writing to a string cannot fail");
}

/// The words in lines of 80 columns, the later ones indented further.
pub(super) fn wrapped(indent: &str, words: &str) -> String {
    let (mut text, mut row) = (String::new(), indent.to_owned());
    for word in words.split_whitespace() {
        if row.chars().count() + 1 + word.chars().count() > COLUMNS {
            line(&mut text, row.trim_end());
            row = format!("{indent}  ");
        }
        row.push_str(word);
        row.push(' ');
    }
    line(&mut text, row.trim_end());
    text
}

/// More than eleven times as much: nobody needs that to the percent.
const MEANINGLESS: f64 = 10.0;

pub(super) fn percent(share: f64) -> String {
    if share.abs() < FINEST {
        return "<0.01 %".to_owned();
    }
    if share >= MEANINGLESS {
        return format!(">{:.0} %", MEANINGLESS * 100.0);
    }
    let decimals = if share.abs() >= COARSE {
        0
    } else if share.abs() >= COARSE / 100.0 {
        1
    } else {
        2
    };
    format!("{:.decimals$} %", share * 100.0)
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 4.0) as usize;
    format!("{value:.decimals$}")
}

/// A time for people: short ones with a decimal, long ones in minutes or hours.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.1 => "<0.1 s".to_owned(),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use probes::selftest::{Alarms, CellPair, Overlap, Resolution};

    use super::*;

    fn resolution(kind: &str, detectable: f64) -> Resolution {
        Resolution {
            kind: kind.to_owned(),
            unit: "ns".to_owned(),
            typical: 112.345,
            pairs: 500,
            seconds: 2.0,
            shift: -0.001,
            interval: stats::Interval { low: -0.004, high: 0.002 },
            half_width: 0.003,
            detectable,
            seconds_for_one_percent: 0.72,
            groups: 41,
            alarms: 2,
        }
    }

    fn no_history() -> BetweenRuns {
        BetweenRuns { rests_on: "nothing".to_owned(), classes: Vec::new(), falls_short: Vec::new() }
    }

    fn example() -> Selftest {
        let pair = CellPair {
            block_bytes: machine::Bytes(12 << 20),
            stride_bytes: machine::Bytes(2048),
            ns: [110.0, 130.5],
            half_width: [0.01, 0.2],
            mappings: [1, 3],
            quality: [record::Quality::Converged, record::Quality::Wide],
            q: 0.012,
        };
        Selftest {
            overlap: vec![Overlap {
                a: machine::CpuId(0),
                b: machine::CpuId(1),
                fresh_per_ms: 9000.0,
                together_share: 0.97,
                can_tell: true,
            }],
            resolution: vec![resolution("L1 latency", 0.0004), resolution("memory latency", 0.006)],
            alarms: Alarms { groups: 82, alarms: 4, limit: 10 },
            twins: vec![Twins {
                page_bytes: machine::Bytes(4096),
                cells: 258,
                called_different: 1,
                agreeing_share: 0.98,
                disagreeing: 4,
                unstable_share: 0.05,
                converged_share: 0.9,
                named: vec![pair],
                seconds: 24.0,
            }],
            ..Selftest::default()
        }
    }

    #[test]
    fn the_text_fits_80_columns_and_ends_with_what_can_be_seen() {
        let spots =
            ["a spot that is told in so many words that they cannot all stand in one line of text"
                .to_owned()];
        let (found, between_runs) = (example(), no_history());
        let text =
            Report { found: &found, between_runs: &between_runs, spots: &spots, elapsed_s: 31.0 }.text();
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        let last = "On this machine, now: I can see 0.6 % in 2.0 s for memory latency, not 0.1 %. (31 s)";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(words(&text).ends_with(&words(last)), "{text}");
    }

    #[test]
    fn nothing_measured_is_said() {
        let found = Selftest::default();
        let text = Report { found: &found, between_runs: &no_history(), spots: &[], elapsed_s: 0.0 }.text();
        assert!(text.contains("nothing can be told"), "{text}");
    }
}

//! The self-test: which difference each kind of loop would show here, what held of the stated limits, and blind spots.

use record::{BetweenRuns, Selftest};
use stats::{Knowledge, Reach};

use crate::number;
use crate::page::{Cell, Page, Section, Statement, Table, Tone};

/// The self-test as a page: what was measured, what a comparison of runs can show on this host, what is outside the stated limits and
/// what cannot be seen here, a line each, and the wall time.
pub fn selftest_page(
    found: &Selftest,
    between: &BetweenRuns,
    failures: &[String],
    blind_spots: &[String],
    elapsed_s: f64,
) -> Page {
    let tone = match (found.resolution.is_empty(), failures.is_empty()) {
        (true, _) => Tone::Doubt,
        (false, true) => Tone::Good,
        (false, false) => Tone::Look,
    };
    let outside = failures.iter().map(|line| format!("outside the stated limits: {line}"));
    let short = between.falls_short.iter().map(Statement::plain);
    let spots = blind_spots.len();
    let more = format!("{} on this machine: --long", machine::counted(spots, "blind spot"));
    let section = between_runs(between).under("between-runs", "Between runs");
    let section = section.unwrap_or_else(|| Section::new("between-runs", "Between runs"));
    let details = std::iter::once(section.saying(Tone::Faint, &between.rests_on))
        .chain(Section::new("not-measured", "Not measured").list(found.without.clone()).filled())
        .chain(Section::new("blind-spots", "Blind spots").list(blind_spots.to_vec()).filled());
    Page {
        answer: Statement::new(tone, answer(found)),
        because: outside
            .map(Statement::look)
            .chain(short)
            .chain((spots > 0).then(|| Statement::faint(more)))
            .collect(),
        sections: resolution(found).section("").into_iter().chain(details.map(Section::detailed)).collect(),
        about: vec![format!("took {:.0} s", elapsed_s)],
        ..Page::default()
    }
}

/// The smallest difference that is detected, of the kind that stands for all.
fn answer(found: &Selftest) -> String {
    found.headline().map_or_else(
        || "undetermined: nothing was measured".to_owned(),
        |kind| {
            let detectable = number::percent(kind.detectable);
            format!("{}: a difference of {detectable} is detected in {:.1} s", kind.kind, kind.seconds)
        },
    )
}

fn resolution(found: &Selftest) -> Table {
    let alarms = found.alarms;
    Table::of("resolution", &found.resolution)
        .prose("equal work, twice", |one| &one.kind)
        .number("typical", |one| {
            Cell::shown(format!("{} {}", number::short(one.typical), one.unit), one.typical)
        })
        .number("detects", |one| Cell::percent(one.detectable))
        .number("1 % in", |one| {
            let seconds = one.seconds_for_one_percent;
            Cell::shown(number::duration_ns(seconds * 1e9), seconds)
        })
        .number(("A/A shift", 1), |one| {
            Cell::within(format!("{:+.2} %", one.shift * 100.0), one.shift, one.interval)
        })
        .number(("pairs", 2), |one| one.pairs)
        .number(("time", "s", 2), |one| Cell::tenths(one.seconds))
        .number(("alarms", 3), |one| format!("{}/{}", one.alarms, one.groups))
        .legend(format!(
            "detects: a difference found in four of five tries of this time. Alarms at 5 %: {} in {} groups of 12 pairs; more \
             than {} would be too many.",
            alarms.alarms, alarms.groups, alarms.limit
        ))
}

fn between_runs(found: &BetweenRuns) -> Table {
    let mark = |one: &Reach| if one.knowledge == Knowledge::History { "" } else { " *" };
    Table::of("between_runs", &found.classes)
        .prose("class", |one| format!("{}{}", one.class.name(), mark(one)))
        .number(("spread of runs", 1), |one| Cell::percent(one.class_spread))
        .number(("row, 1 against 1", 1), |one| Cell::percent(one.row[0]))
        .number("class, 1 against 1", |one| Cell::percent(one.whole[0]))
        .number(("row, 3 against 3", 1), |one| Cell::percent(one.row[1]))
        .number("class, 3 against 3", |one| Cell::percent(one.whole[1]))
        .legend("the smallest difference that four of five tries detect")
}

#[cfg(test)]
mod tests {
    use record::{Alarms, Resolution};

    use super::*;
    use crate::Terminal;

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

    fn example() -> Selftest {
        Selftest {
            resolution: vec![resolution("L1 latency", 0.0004), resolution("memory latency", 0.006)],
            alarms: Alarms { groups: 82, alarms: 4, limit: 10 },
            ..Selftest::default()
        }
    }

    #[test]
    fn the_page_fits_80_columns_and_begins_with_what_can_be_detected() {
        let found = example();
        let between_runs = BetweenRuns { rests_on: "nothing".to_owned(), ..BetweenRuns::default() };
        let [failures, spots] = ["4 cells differ", "no counters of the core"].map(|line| [line.to_owned()]);
        let page = selftest_page(&found, &between_runs, &failures, &spots, 31.0);
        let (short, long) =
            (page.terminal(Terminal::default(), false), page.terminal(Terminal::default(), true));
        assert!(long.lines().all(|line| line.chars().count() <= 80), "{long}");
        assert!(
            short.starts_with("memory latency: a difference of 0.6 % is detected in 2.0 s")
                && short.lines().count() <= 24,
            "{short}"
        );
        assert!(short.contains("! outside the stated limits: 4 cells differ"), "{short}");
        for part in ["memory latency", "no counters of the core", "took 31 s"] {
            assert!(long.contains(part), "{part}: {long}");
        }
    }
}

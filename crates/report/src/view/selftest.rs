//! The self-test: which difference each kind of loop would show here, what held of the stated limits, and blind spots.

use record::{BetweenRuns, CellPair, Coverage, Selftest, Twins};
use stats::{Knowledge, Reach};

use crate::number;
use crate::page::{Cell, Page, Section, Statement, Table, Tone};

/// What is shown of a self-test.
#[derive(Debug, Clone, Copy)]
pub struct SelftestReport<'a> {
    /// What was measured.
    pub found: &'a Selftest,
    /// What a comparison of runs can show on this host.
    pub between_runs: &'a BetweenRuns,
    /// What is outside the stated limits, a line each.
    pub failures: &'a [String],
    /// What sidestep cannot see here, a line each.
    pub blind_spots: &'a [String],
    /// Wall time in seconds.
    pub elapsed_s: f64,
}

/// The self-test as a page.
pub fn selftest_page(report: &SelftestReport) -> Page {
    let found = report.found;
    let tone = match (found.resolution.is_empty(), report.failures.is_empty()) {
        (true, _) => Tone::Doubt,
        (false, true) => Tone::Good,
        (false, false) => Tone::Look,
    };
    let outside = report.failures.iter().map(|line| format!("outside the stated limits: {line}"));
    let short = report.between_runs.falls_short.iter().map(Statement::plain);
    let spots = report.blind_spots.len();
    let more = format!("{} on this machine: --long", machine::counted(spots, "blind spot"));
    let between = between_runs(report.between_runs).under("between-runs", "Between runs");
    let between = between.unwrap_or_else(|| Section::new("between-runs", "Between runs"));
    let details = [
        Some(between.saying(Tone::Faint, &report.between_runs.rests_on)),
        control(found).section("Control loops"),
        overlap(found).section("Two threads at once"),
    ];
    let details = (details.into_iter().flatten())
        .chain(found.twins.iter().map(surface))
        .chain(found.coverage.iter().map(coverage))
        .chain(Section::new("not-measured", "Not measured").list(found.without.clone()).filled())
        .chain(Section::new("blind-spots", "Blind spots").list(report.blind_spots.to_vec()).filled());
    Page {
        answer: Statement::new(tone, answer(found)),
        because: outside
            .map(Statement::look)
            .chain(short)
            .chain((spots > 0).then(|| Statement::faint(more)))
            .collect(),
        sections: resolution(found).section("").into_iter().chain(details.map(Section::detailed)).collect(),
        about: vec![format!("took {:.0} s", report.elapsed_s)],
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

fn tenths(value: f64) -> Cell {
    Cell::shown(format!("{value:.1}"), value)
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
        .number(("time", "s", 2), |one| tenths(one.seconds))
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

fn control(found: &Selftest) -> Table {
    let drift = |drift: f64| Cell::shown(format!("{:+.1}", drift * 100.0), drift * 100.0);
    let clock = |hertz: machine::Hertz| Cell::shown(format!("{:.2}", hertz.0 / 1e9), hertz.0 / 1e9);
    Table::of("control", &found.control)
        .number("CPU", |state| state.cpu)
        .number(("clock", "GHz"), |state| state.core_hz.map_or_else(|| number::UNKNOWN.into(), clock))
        .number(("multiply/rotate", 1), |state| state.multiply_per_rotate)
        .number("share of core", |state| Cell::percent(state.core_share))
        .number(("drift of multiply", "%"), |state| state.multiply_drift.map(drift))
        .number(("drift of ports", "%"), |state| state.port_drift.map(drift))
        .table()
}

fn overlap(found: &Selftest) -> Table {
    Table::of("overlap", &found.overlap)
        .word("CPUs", |pair| format!("{} and {}", pair.a, pair.b))
        .number("seen per ms", |pair| Cell::shown(number::short(pair.fresh_per_ms), pair.fresh_per_ms))
        .number("slices together", |pair| Cell::percent(pair.together_share))
        .word(
            "usable",
            |pair| if pair.can_tell { (Tone::Good, "yes") } else { (Tone::Doubt, "undetermined") },
        )
        .table()
}

fn surface(twins: &Twins) -> Section {
    let value = |pair: &CellPair, side: usize| {
        let [ns, half] = [number::short(pair.ns[side]), number::percent(pair.half_width[side])];
        Cell::shown(format!("{ns} ±{half}"), pair.ns[side])
    };
    let table = Table::of("surface", &twins.named)
        .number("block", |pair| pair.block_bytes)
        .number("stride", |pair| pair.stride_bytes)
        .number(("first", "ns"), |pair| value(pair, 0))
        .number(("second", "ns"), |pair| value(pair, 1))
        .number("q", |pair| Cell::shown(format!("{:.3}", pair.q), pair.q))
        .number(("mappings", 1), |pair| format!("{}, {}", pair.mappings[0], pair.mappings[1]))
        .table();
    let [agreeing, unstable, converged] =
        [twins.agreeing_share, twins.unstable_share, twins.converged_share].map(|share| share * 100.0);
    let text = format!(
        "{} of {} cells called different (Benjamini-Hochberg, 5 %); {agreeing:.1} % of those not marked unstable agree within \
         5 %; {unstable:.1} % unstable, {converged:.1} % converged; {:.0} s",
        twins.called_different, twins.cells, twins.seconds
    );
    of_cells(format!("Latency surface against itself ({} pages)", twins.page_bytes), text, table)
}

/// A section of what was said of cells, and of those that are named.
fn of_cells(title: String, text: String, table: Table) -> Section {
    let section = Section::new(table.id, title).saying(Tone::Plain, text);
    if table.rows.is_empty() { section } else { section.table(table) }
}

fn coverage(found: &Coverage) -> Section {
    let table = Table::of("coverage", &found.named)
        .number("block", |cell| cell.block_bytes)
        .number("stride", |cell| cell.stride_bytes)
        .number(("median", "ns"), |cell| Cell::shown(number::short(cell.ns), cell.ns))
        .number("covered", |cell| Cell::percent(cell.covered_share))
        .number("half-width", |cell| Cell::percent(cell.half_width))
        .number(("scatter", 1), |cell| Cell::percent(cell.scatter))
        .number(("far, unmarked", 1), |cell| Cell::percent(cell.far_unmarked_share))
        .table();
    let shares =
        [found.covered_share, found.covered_share_converged, found.converged_share, found.unstable_share];
    let [covered, of_converged, converged, unstable] = shares.map(|share| share * 100.0);
    let text = format!(
        "{covered:.1} % of {} intervals hold the median of all repeats ({of_converged:.1} % of those converged); {converged:.1} % converged, {unstable:.1} % \
         unstable; widths times {:.2} would cover 90 %, times {:.2} 95 %; {:.0} s",
        found.intervals, found.factor_for_90_percent, found.factor_for_95_percent, found.seconds
    );
    of_cells(
        format!("Coverage of intervals ({} cells x {} repeats)", found.cells, found.repeats),
        text,
        table,
    )
}

#[cfg(test)]
mod tests {
    use record::{Alarms, Overlap, Resolution};

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
    fn the_page_fits_80_columns_and_begins_with_what_can_be_detected() {
        let found = example();
        let between_runs = BetweenRuns { rests_on: "nothing".to_owned(), ..BetweenRuns::default() };
        let report = SelftestReport {
            found: &found,
            between_runs: &between_runs,
            failures: &["4 cells differ".to_owned()],
            blind_spots: &["no counters of the core".to_owned()],
            elapsed_s: 31.0,
        };
        let page = selftest_page(&report);
        let (short, long) =
            (page.terminal(Terminal::default(), false), page.terminal(Terminal::default(), true));
        assert!(long.lines().all(|line| line.chars().count() <= 80), "{long}");
        assert!(
            short.starts_with("memory latency: a difference of 0.6 % is detected in 2.0 s")
                && short.lines().count() <= 24,
            "{short}"
        );
        assert!(short.contains("! outside the stated limits: 4 cells differ"), "{short}");
        for part in ["memory latency", "0 and 1", "130 ±20 %", "no counters of the core", "took 31 s"] {
            assert!(long.contains(part), "{part}: {long}");
        }
    }
}

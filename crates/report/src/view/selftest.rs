//! The self-test: which difference each kind of loop would show here, what held of the stated limits, and blind spots.

use machine::Bytes;
use record::{BetweenRuns, Coverage, Selftest, Twins};
use stats::Knowledge;

use crate::number;
use crate::page::{Block, Cell, Column, Page, Section, Statement, Table, Tone};

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
    let outside = |line: &String| Statement::new(Tone::Look, format!("outside the stated limits: {line}"));
    let short = report.between_runs.falls_short.iter().map(|line| Statement::new(Tone::Plain, line));
    let spots = report.blind_spots.len();
    let more = format!("{} on this machine: --long", machine::counted(spots, "blind spot"));
    let spots = (spots > 0).then(|| Statement::new(Tone::Faint, more));
    let mut sections = vec![
        of_table("resolution", "", resolution(found)),
        of_table("between-runs", "Between runs", between_runs(report.between_runs))
            .saying(Tone::Faint, &report.between_runs.rests_on),
        of_table("control", "Control loops", control(found)),
        of_table("overlap", "Two threads at once", overlap(found)),
    ];
    sections.extend(found.twins.iter().map(surface));
    sections.extend(found.coverage.iter().map(coverage));
    for (id, title, lines) in [
        ("not-measured", "Not measured", found.without.as_slice()),
        ("blind-spots", "Blind spots", report.blind_spots),
    ] {
        let section = Section::detail(id, title);
        let filled = (!lines.is_empty()).then(|| section.with(Block::List(lines.to_vec())));
        sections.extend(filled);
    }
    sections.retain(|section| !section.blocks.is_empty());
    for section in &mut sections {
        section.is_detail = section.id != "resolution";
    }
    Page {
        answer: Statement::new(tone, answer(found)),
        because: report.failures.iter().map(outside).chain(short).chain(spots).collect(),
        sections,
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

/// A section of a table; empty without rows.
fn of_table(id: &'static str, title: &str, table: Table) -> Section {
    let section = Section::new(id, title);
    if table.rows.is_empty() { section } else { section.with(Block::Table(table)) }
}

fn percent(share: f64) -> Cell {
    Cell::shown(number::percent(share), share)
}

fn resolution(found: &Selftest) -> Table {
    let columns = vec![
        Column::prose("equal work, twice"),
        Column::number("typical", ""),
        Column::number("detects", ""),
        Column::number("1 % in", ""),
        Column::number("A/A shift", "").priority(1),
        Column::number("pairs", "").priority(2),
        Column::number("time", "s").priority(2),
        Column::number("alarms", "").priority(3),
    ];
    let mut table = Table::new("resolution", columns);
    for one in &found.resolution {
        let one_percent_s = one.seconds_for_one_percent;
        table.row(vec![
            Cell::text(&one.kind),
            Cell::shown(format!("{} {}", number::short(one.typical), one.unit), one.typical),
            percent(one.detectable),
            Cell::shown(number::duration_ns(one_percent_s * 1e9), one_percent_s),
            Cell::within(format!("{:+.2} %", one.shift * 100.0), one.shift, one.interval),
            Cell::count(one.pairs),
            Cell::shown(format!("{:.1}", one.seconds), one.seconds),
            Cell::text(format!("{}/{}", one.alarms, one.groups)),
        ]);
    }
    let alarms = found.alarms;
    table.legend = Some(format!(
        "detects: a difference found in four of five tries of this time. Alarms at 5 %: {} in {} groups of 12 pairs; more \
         than {} would be too many.",
        alarms.alarms, alarms.groups, alarms.limit
    ));
    table
}

fn between_runs(found: &BetweenRuns) -> Table {
    let columns = vec![
        Column::prose("class"),
        Column::number("spread of runs", "").priority(1),
        Column::number("row, 1 against 1", "").priority(1),
        Column::number("class, 1 against 1", ""),
        Column::number("row, 3 against 3", "").priority(1),
        Column::number("class, 3 against 3", ""),
    ];
    let mut table = Table::new("between_runs", columns);
    for one in &found.classes {
        let mark = if one.knowledge == Knowledge::History { "" } else { " *" };
        table.row(vec![
            Cell::text(format!("{}{mark}", one.class.name())),
            percent(one.class_spread),
            percent(one.row[0]),
            percent(one.whole[0]),
            percent(one.row[1]),
            percent(one.whole[1]),
        ]);
    }
    table.legend = Some("the smallest difference that four of five tries detect".to_owned());
    table
}

fn control(found: &Selftest) -> Table {
    let columns = vec![
        Column::number("CPU", ""),
        Column::number("clock", "GHz"),
        Column::number("multiply/rotate", "").priority(1),
        Column::number("share of core", ""),
        Column::number("drift of multiply", "%"),
        Column::number("drift of ports", "%"),
    ];
    let drift = |drift: Option<f64>| {
        drift.map_or(Cell::Empty, |drift| Cell::shown(format!("{:+.1}", drift * 100.0), drift * 100.0))
    };
    let mut table = Table::new("control", columns);
    for state in &found.control {
        let clock = |ghz: f64| Cell::shown(format!("{ghz:.2}"), ghz);
        table.row(vec![
            Cell::text(state.cpu.to_string()),
            state.core_hz.map_or_else(|| Cell::text(number::UNKNOWN), |hz| clock(hz.0 / 1e9)),
            Cell::number(state.multiply_per_rotate),
            percent(state.core_share),
            drift(state.multiply_drift),
            drift(state.port_drift),
        ]);
    }
    table
}

fn overlap(found: &Selftest) -> Table {
    let columns = vec![
        Column::word("CPUs"),
        Column::number("seen per ms", ""),
        Column::number("slices together", ""),
        Column::word("usable"),
    ];
    let mut table = Table::new("overlap", columns);
    for pair in &found.overlap {
        let (tone, usable) = if pair.can_tell { (Tone::Good, "yes") } else { (Tone::Doubt, "undetermined") };
        table.row(vec![
            Cell::text(format!("{} and {}", pair.a, pair.b)),
            Cell::shown(number::short(pair.fresh_per_ms), pair.fresh_per_ms),
            percent(pair.together_share),
            Cell::State(tone, usable.to_owned()),
        ]);
    }
    table
}

/// Block and stride, the first columns of a table of cells.
fn place_columns() -> Vec<Column> {
    vec![Column::number("block", ""), Column::number("stride", "")]
}

fn place(block_bytes: Bytes, stride_bytes: Bytes) -> Vec<Cell> {
    [block_bytes, stride_bytes].map(|bytes| Cell::shown(bytes.to_string(), bytes.0 as f64)).to_vec()
}

fn surface(twins: &Twins) -> Section {
    let mut columns = place_columns();
    columns.extend([
        Column::number("first", "ns"),
        Column::number("second", "ns"),
        Column::number("q", ""),
        Column::number("mappings", "").priority(1),
    ]);
    let mut table = Table::new("surface", columns);
    for pair in &twins.named {
        let value = |index: usize| {
            let text =
                format!("{} ±{}", number::short(pair.ns[index]), number::percent(pair.half_width[index]));
            Cell::shown(text, pair.ns[index])
        };
        let mut cells = place(pair.block_bytes, pair.stride_bytes);
        let q = Cell::shown(format!("{:.3}", pair.q), pair.q);
        let mappings = Cell::text(format!("{}, {}", pair.mappings[0], pair.mappings[1]));
        cells.extend([value(0), value(1), q, mappings]);
        table.row(cells);
    }
    let text = format!(
        "{} of {} cells called different (Benjamini-Hochberg, 5 %); {:.1} % of those not marked unstable agree within \
         5 %; {:.1} % unstable, {:.1} % converged; {:.0} s",
        twins.called_different,
        twins.cells,
        twins.agreeing_share * 100.0,
        twins.unstable_share * 100.0,
        twins.converged_share * 100.0,
        twins.seconds
    );
    let title = format!("Latency surface against itself ({} pages)", twins.page_bytes);
    let section = Section::new("surface", title).saying(Tone::Plain, text);
    if table.rows.is_empty() { section } else { section.with(Block::Table(table)) }
}

fn coverage(found: &Coverage) -> Section {
    let mut columns = place_columns();
    columns.extend([
        Column::number("median", "ns"),
        Column::number("covered", ""),
        Column::number("half-width", ""),
        Column::number("scatter", "").priority(1),
        Column::number("far, unmarked", "").priority(1),
    ]);
    let mut table = Table::new("coverage", columns);
    for cell in &found.named {
        let mut cells = place(cell.block_bytes, cell.stride_bytes);
        let shares = [cell.covered_share, cell.half_width, cell.scatter, cell.far_unmarked_share];
        cells.push(Cell::shown(number::short(cell.ns), cell.ns));
        cells.extend(shares.map(percent));
        table.row(cells);
    }
    let text = format!(
        "{:.1} % of {} intervals hold the median of all repeats ({:.1} % of those converged); {:.1} % converged, {:.1} % \
         unstable; widths times {:.2} would cover 90 %, times {:.2} 95 %; {:.0} s",
        found.covered_share * 100.0,
        found.intervals,
        found.covered_share_converged * 100.0,
        found.converged_share * 100.0,
        found.unstable_share * 100.0,
        found.factor_for_90_percent,
        found.factor_for_95_percent,
        found.seconds
    );
    let title = format!("Coverage of intervals ({} cells x {} repeats)", found.cells, found.repeats);
    let section = Section::new("coverage", title).saying(Tone::Plain, text);
    if table.rows.is_empty() { section } else { section.with(Block::Table(table)) }
}

#[cfg(test)]
mod tests {
    use record::{Alarms, CellPair, Overlap, Resolution};

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

//! Fleets: which nodes are odd, what explains it, which states are a minority's, and a map of all of them.

use record::{
    FleetBusy, FleetCheck, FleetDeviation, FleetLevel, FleetMinority, FleetNode, FleetRepeat, FleetRows,
    FleetStatus, FleetStratum, FleetSuspect, FleetVerdict,
};
use stats::text::{joined, percent};

use crate::draw::{MatrixCell, MatrixChart, MatrixPanel, Measure};
use crate::page::{Cell, Drawn, Page, Section, Statement, Table, Tone};

/// Rows of each table on a first screen.
const FIRST: usize = 8;
/// Nodes in a row of the map where racks are not known.
const ROW_NODES: usize = 64;
/// The brightest colour of the map is this and more.
const REACH_PERCENT: f64 = 10.0;
/// Above the map.
const MAP: &str = "Deviation of each node, median over its metrics";

/// The page of a check.
pub fn fleet_check_page(found: &FleetCheck) -> Page {
    let tone = match found.verdict {
        FleetVerdict::Uniform => Tone::Good,
        FleetVerdict::Odd => Tone::Look,
        FleetVerdict::CannotTell => Tone::Doubt,
    };
    let sections = [
        levels(&found.levels).section("What explains differences"),
        suspects(&found.suspects).section("Nodes that are odd beside it"),
        minorities(&found.minorities).section("States of a minority"),
        busy(&found.busy).section("Busy nodes: measure again"),
        Section::new("notes", "Notes").list(found.notes.iter().cloned()).filled(),
        Section::new("map", "Map of the fleet").figure("fleet-median", MAP, map(found)).filled(),
        strata(&found.strata).section("What was compared").map(Section::detailed),
        nodes(&found.nodes).under("nodes", ""),
    ];
    let is_open = found.suspects.iter().any(|one| one.status == FleetStatus::Suspect)
        || found.levels.iter().any(|one| one.status == FleetStatus::Suspect);
    let confirm = "Nothing is a fault from one record of each node. Repeat what is suspect beside healthy nodes: \
                   sidestep fleet check ... --json > check.json; sidestep fleet confirm check.json --drop DIR";
    Page {
        answer: Statement::new(tone, &found.sentence),
        sections: sections.into_iter().flatten().collect(),
        next: if is_open { vec![confirm.to_owned()] } else { Vec::new() },
        about: vec![format!(
            "{} numbers of {}; worse: what a unit of work costs more, so half a bandwidth is +100 %; check {}",
            found.rows,
            machine::counted(found.nodes.len(), "node"),
            found.id
        )],
        ..Page::default()
    }
}

/// A status, and how it is meant.
fn status(status: FleetStatus) -> (Tone, &'static str) {
    let tone = match status {
        FleetStatus::Suspect => Tone::Doubt,
        FleetStatus::Confirmed => Tone::Look,
        FleetStatus::NotSeenAgain => Tone::Good,
    };
    (tone, status.words())
}

fn repeated(repeat: &FleetRepeat) -> String {
    let FleetRepeat { suspect_runs, healthy_runs, worse_percent, p, .. } = repeat;
    format!("repeated: {worse_percent:+.1} % ({suspect_runs} against {healthy_runs}, p {p:.4})")
}

fn worst(worst: &[FleetDeviation]) -> Option<String> {
    let first = worst.first()?;
    Some(format!("most: {} {:+.1} %", first.metric, first.worse_percent))
}

/// What there is to say below a row.
fn said(parts: [Option<String>; 4]) -> Option<String> {
    Some(joined(parts.into_iter().flatten(), "; ")).filter(|text| !text.is_empty())
}

fn levels(levels: &[FleetLevel]) -> Table {
    let detail = |one: &&FleetLevel| {
        let tied = (!one.tied.is_empty())
            .then(|| format!("cannot be distinguished from {}: the same nodes", one.tied.join(", ")));
        let confounded = (!one.confounded.is_empty()).then(|| {
            format!(
                "not separable from {}: too few nodes have one without the other",
                one.confounded.join(", ")
            )
        });
        said([tied, confounded, one.repeat.as_ref().map(repeated), worst(&one.worst)])
    };
    Table::of("levels", levels)
        .prose("factor", |one| format!("{}={}", one.factor, one.level))
        .number(("worse", "%"), |one| Cell::signed_tenths(one.worse_percent))
        .number("metrics", |one| one.metrics)
        .number(("of", 2), |one| one.of_metrics)
        .number("nodes", |one| one.nodes)
        .number(("of nodes", 2), |one| one.of_nodes)
        .word("status", |one| status(one.status))
        .detail(detail)
        .first(FIRST)
        .table()
}

fn suspects(suspects: &[FleetSuspect]) -> Table {
    let detail = |one: &&FleetSuspect| {
        let shared = (!one.shared.is_empty()).then(|| format!("all on {}", one.shared));
        said([None, shared, one.repeat.as_ref().map(repeated), worst(&one.worst)])
    };
    Table::of("suspects", suspects)
        .word("node", |one| &one.node)
        .number(("worse", "%"), |one| Cell::signed_tenths(one.worse_percent))
        .number("metrics", |one| one.metrics)
        .number(("of", 2), |one| one.of_metrics)
        .word("status", |one| status(one.status))
        .prose(("repeat beside", 1), |one| one.matched.join(", "))
        .detail(detail)
        .first(FIRST)
        .table()
}

fn minorities(minorities: &[FleetMinority]) -> Table {
    Table::of("states", minorities)
        .prose("what", |one| format!("{} {}", one.kind, one.id))
        .prose("state", |one| match one.rate_ppb.filter(|_| one.state == "moves") {
            Some(rate) => format!("{}, {rate:+.0} ppb in the median", one.state),
            None => one.state.clone(),
        })
        .prose("usual", |one| &one.usual)
        .number("nodes", |one| one.nodes)
        .number(("of", 1), |one| one.of_nodes)
        .prose(("same nodes as", 1), |one| one.explained_by.join(", "))
        .prose(("such as", 2), |one| one.examples.join(", "))
        .first(FIRST)
        .table()
}

fn busy(busy: &[FleetBusy]) -> Table {
    Table::of("busy", busy)
        .word("node", |one| &one.node)
        .number("other programs", |one| one.others_share.map(|share| Cell::shown(percent(share), share)))
        .number("steal", |one| one.steal_share.map(|share| Cell::shown(percent(share), share)))
        .number("scatter", |one| one.scatter.map(|times| Cell::shown(format!("{times:.1} times"), times)))
        .number("metrics beyond", |one| one.metrics)
        .first(FIRST)
        .legend("busy: not odd, as nothing is known of a node from numbers taken beside other work")
}

fn strata(strata: &[FleetStratum]) -> Table {
    Table::of("strata", strata)
        .prose("CPU", |one| &one.cpu_model)
        .word("preset", |one| &one.preset)
        .number("nodes", |one| one.nodes)
        .number("quiet", |one| one.quiet_nodes)
        .number("metrics", |one| one.metrics)
        .number(("odd from metrics", 1), |one| {
            one.wide_metrics.as_ref().and_then(|limits| limits.first().copied())
        })
        .number(("or two beyond", "spreads", 1), |one| {
            one.narrow_spreads.map(|limit| Cell::shown(format!("{limit:.0}"), limit))
        })
        .legend("limits come from the tails of these nodes")
}

/// All nodes, for programs.
fn nodes(nodes: &[FleetNode]) -> Table {
    let overall = |one: &&FleetNode| one.deviation_percent.first().copied().flatten();
    Table::of("nodes", nodes)
        .word("node", |one| &one.node)
        .word("rack", |one| &one.place.rack)
        .number("position", |one| one.place.position)
        .number(("worse", "%"), |one| Cell::known(overall(one)))
        .number("metrics beyond", |one| one.beyond)
        .word("busy", |one| one.is_busy)
        .word("run", |one| &one.run_id)
        .data()
}

/// The fleet, rack by position: of each node the median over all its metrics, before anything is explained.
fn map(found: &FleetCheck) -> Option<Drawn> {
    let overall = |node: &FleetNode| node.deviation_percent.first().copied().flatten();
    let at = |node: &FleetNode| {
        let (rack, position) = (&node.place.rack, node.place.position);
        if rack.is_empty() {
            (position / ROW_NODES, String::new(), position % ROW_NODES)
        } else {
            (0, rack.clone(), position)
        }
    };
    let mut rows: Vec<(usize, String)> =
        found.nodes.iter().map(at).map(|(row, rack, _)| (row, rack)).collect();
    rows.sort();
    rows.dedup();
    let columns = found.nodes.iter().map(|node| at(node).2 + 1).max().unwrap_or(0);
    let cell = |node: &FleetNode| {
        let (row, rack, column) = at(node);
        let value = overall(node)?;
        let row = rows.binary_search(&(row, rack)).ok()?;
        Some(MatrixCell {
            row,
            column,
            measure: Measure { doubtful: node.is_busy, basis: node.node.clone(), ..Measure::exact(value) },
        })
    };
    let label = |(row, rack): &(usize, String)| {
        if rack.is_empty() { format!("{}-", row * ROW_NODES) } else { rack.clone() }
    };
    let chart = MatrixChart {
        row_label: "rack",
        column_label: "position",
        unit: " %",
        most: Some(REACH_PERCENT),
        panels_per_row: 1,
        square: false,
        note: "hatched: busy; grey: no check-up",
        panels: vec![MatrixPanel {
            title: String::new(),
            rows: rows.iter().map(label).collect(),
            columns: (0..columns).map(|column| column.to_string()).collect(),
            cells: found.nodes.iter().filter_map(cell).collect(),
        }],
        ..MatrixChart::default()
    };
    let reading = "One cell a node. A column that differs is a slot, a row a rack; bright costs more than the fleet's median.";
    Drawn::of(&chart, "fleet-median", reading)
}

/// The page of a drop directory that was laid flat.
pub fn fleet_rows_page(rows: &FleetRows) -> Page {
    let count = |number: u64, noun: &str| machine::counted(number as usize, noun);
    let answer = format!(
        "{} of {}: {}, {} in {}",
        count(rows.records, "record"),
        count(rows.nodes, "node"),
        count(rows.metrics, "number"),
        count(rows.states, "state"),
        rows.folder
    );
    let is_whole = rows.unread.is_empty() && rows.ambiguous.is_empty();
    let partial =
        (rows.partial > 0).then(|| Statement::doubt(format!("{} stopped early", count(rows.partial, "run"))));
    let without = (!rows.unread.is_empty())
        .then(|| Statement::doubt(format!("{} gave no rows", machine::counted(rows.unread.len(), "file"))));
    let several = rows.ambiguous.iter().map(|one| {
        Statement::look(format!("{} seems to be the name of several machines: {}", one.node, one.because))
    });
    let unread = Table::of("unread", &rows.unread)
        .prose("file", |one| &one.file)
        .prose("why", |one| &one.reason)
        .first(FIRST)
        .table();
    let files = Section::new("files", "files").list(rows.files.iter().cloned()).detailed();
    Page {
        answer: Statement::new(if is_whole { Tone::Good } else { Tone::Look }, answer),
        because: partial.into_iter().chain(without).chain(several).collect(),
        sections: unread.section("files without rows").into_iter().chain([files]).collect(),
        ..Page::default()
    }
}

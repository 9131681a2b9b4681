//! How a simulated memory was fitted: to published numbers, or to what this machine measured; and what that leaves open.

use std::collections::BTreeSet;

use machine::Bytes;
use models::memory::{
    FitReport, Identified, MeasuredFit, PagePlacement, Residual, Scenario, Simulation, Workaround,
};

use super::{bytes, state};
use crate::number::{self, short};
use crate::page::{Block, Cell, Column, Section, Statement, Table, Tone};

/// Sums of squared tolerances that differ by less than this are alike.
const RIVAL_SQUARES: f64 = 0.5;
/// The best of the other choices that stand on a first screen.
const ALTERNATIVES_FIRST: usize = 6;
/// Chains whose median error is larger are not described by the model.
const DOUBTFUL_PERCENT: f64 = 20.0;
/// A fitted time that may as well be nothing or twice as long is no result.
const UNDETERMINED_ABOVE_PERCENT: f64 = 100.0;

/// The sections of whichever fits there are.
pub(super) fn sections(simulation: &Simulation) -> Vec<Section> {
    let published = simulation.fit.iter().flat_map(of_published);
    published.chain(simulation.measured.iter().flat_map(of_measured)).collect()
}

fn of_published(report: &FitReport) -> Vec<Section> {
    let mut section =
        Section::new("fit", "Fit to the published numbers").with(Block::Table(residuals(report)));
    section = section.with(Block::List(identified(report)));
    let alternatives = Section::new("alternatives", "Choices that no document makes, best first")
        .with(Block::Table(alternatives(report)));
    vec![section, alternatives]
}

/// Each published number by the fit to all, and by a fit to the others.
fn residuals(report: &FitReport) -> Table {
    let columns = vec![
        Column::word("number"),
        Column::word("state"),
        Column::number("published", ""),
        Column::number("fitted", ""),
        Column::number("error", ""),
        Column::number("by the others", "").priority(1),
        Column::number("error then", "").priority(1),
    ];
    let mut table = Table::new("fit", columns);
    for one in &report.fit.residuals {
        let is_it = |other: &&Residual| (&other.name, other.workaround) == (&one.name, one.workaround);
        let other = report.held_out.iter().find(is_it);
        table.row(vec![
            Cell::text(&one.name),
            Cell::text(state(one.workaround == Workaround::On)),
            Cell::number(one.published),
            Cell::number(one.predicted),
            Cell::change(Some(one.error_percent)),
            Cell::known(other.map(|other| other.predicted)),
            Cell::change(other.map(|other| other.error_percent)),
        ]);
    }
    table.legend = Some("by the others: by a fit that was not shown this number".to_owned());
    table
}

/// What the published numbers determine.
fn identified(report: &FitReport) -> Vec<String> {
    let known = &report.identification;
    let within = |one: &Identified| {
        let percent = one.uncertainty_percent;
        let within = percent.map_or_else(|| number::UNKNOWN.to_owned(), |percent| format!("±{percent:.0} %"));
        format!("{} {} {within}", one.parameter, short(one.value))
    };
    let mut said = vec![format!(
        "{} published numbers determine {} of {} fitted parameters: {}. ±: for one tolerance of error in each number.",
        known.numbers,
        known.rank,
        known.fitted.len(),
        known.fitted.iter().map(within).collect::<Vec<_>>().join(", ")
    )];
    if known.rank_with_outstanding_lines <= known.rank {
        let pairs = known.outstanding_lines.iter().map(|one| {
            let [lines, startup] = [one.outstanding_lines, one.startup_lines].map(short);
            format!("{lines} with {startup} (sum of squares {})", short(one.squares))
        });
        said.push(format!(
            "Only the combination of outstanding_lines and startup_lines is determined. Best pairs: {}.",
            pairs.collect::<Vec<_>>().join("; ")
        ));
    }
    said.extend(rival(report));
    said
}

/// Another choice that the numbers allow until the one that was held out is shown.
fn rival(report: &FitReport) -> Option<String> {
    let (best, others) = report.alternatives.split_first()?;
    let without = best.squares_without?;
    let rival = others.iter().find(|one| {
        let is_as_good = one.squares_without.is_some_and(|squares| squares < without + RIVAL_SQUARES);
        is_as_good && one.worst > 1.0
    })?;
    let predicted = rival.held_out.as_ref()?;
    let stride = rival.stride_bytes.map_or_else(String::new, |stride| format!(" and a stride of {stride}"));
    Some(format!(
        "The choice rests on one number, {} {}: {} reads per walk{stride} fit the others as well, but predict {} for it instead of {}.",
        predicted.name,
        state(predicted.workaround == Workaround::On),
        rival.page_table_levels.unwrap_or(1),
        short(predicted.predicted),
        short(predicted.published)
    ))
}

fn alternatives(report: &FitReport) -> Table {
    let columns = vec![
        Column::number("reads per walk", ""),
        Column::number("stride", ""),
        Column::number("per read", "ns"),
        Column::number("worst", ""),
        Column::number("held out", ""),
        Column::number("error", ""),
        Column::number("squares", "").priority(1),
    ];
    let mut table = Table { first_rows: Some(ALTERNATIVES_FIRST), ..Table::new("alternatives", columns) };
    for one in &report.alternatives {
        let held_out = one.held_out.as_ref();
        table.row(vec![
            Cell::count(one.page_table_levels.unwrap_or(1) as usize),
            one.stride_bytes.map_or(Cell::Empty, bytes),
            Cell::number(one.uncached_read_ns),
            Cell::shown(format!("{:.1}", one.worst), one.worst),
            Cell::known(held_out.map(|one| one.predicted)),
            Cell::change(held_out.map(|one| one.error_percent)),
            Cell::known(one.squares_without),
        ]);
    }
    table.legend = Some(
        "worst: the largest error in units of its tolerance; held out: the number that was left out, by a fit of the others; squares: what that fit leaves, in squared tolerances"
            .to_owned(),
    );
    table
}

/// What keeps a fit to measured latencies from being believed.
pub(super) fn doubts(fit: &MeasuredFit) -> Vec<Statement> {
    let mut said = Vec::new();
    let is_poor = |region: &&models::memory::RegionResidual| region.median_error_percent > DOUBTFUL_PERCENT;
    let poor: Vec<String> = fit
        .regions
        .iter()
        .filter(is_poor)
        .map(|region| format!("{} ({:.0} %)", region.place, region.median_error_percent))
        .collect();
    if !poor.is_empty() {
        said.push(Statement::new(
            Tone::Doubt,
            format!(
                "The model does not fit chains served by {}: only the order of magnitude holds there.",
                poor.join(", ")
            ),
        ));
    }
    if fit.is_guest {
        said.push(Statement::new(
            Tone::Faint,
            "In a guest the host translates each page-table entry again: the fitted walk contains that. A workaround in the host would come on top.",
        ));
    }
    said
}

fn of_measured(fit: &MeasuredFit) -> Vec<Section> {
    let mut section =
        Section::new("measured", "Fit to the measured latencies").with(Block::Table(regions(fit)));
    section = section.with(Block::List(vec![
        placement(fit),
        fitted(fit),
        "Page walks are assumed to hold up a stream. Newer cores walk ahead of their loads and pay less."
            .to_owned(),
    ]));
    let mut sections = vec![section];
    if !fit.scenarios.is_empty() {
        let title = "A random load over 200 MiB, by how a walk might be read";
        sections.push(Section::new("scenarios", title).with(Block::Table(scenarios(fit))));
    }
    let title = "Error of the model by block and stride, per cent of the measured latency";
    sections.push(Section::detail("errors", title).with(Block::Table(errors(fit))));
    sections
}

fn regions(fit: &MeasuredFit) -> Table {
    let columns = vec![
        Column::word("served by"),
        Column::number("chains", ""),
        Column::number("median error", ""),
        Column::number("median size", "").priority(1),
        Column::number("worst", ""),
    ];
    let mut table = Table::new("regions", columns);
    for region in &fit.regions {
        table.row(vec![
            Cell::text(&region.place),
            Cell::count(region.chains),
            Cell::change(Some(region.bias_percent)),
            Cell::shown(format!("{:.0} %", region.median_error_percent), region.median_error_percent),
            Cell::change(Some(region.worst_percent)),
        ]);
    }
    table
}

fn scenarios(fit: &MeasuredFit) -> Table {
    let columns = vec![
        Column::number("reads per walk", ""),
        Column::number("per read", "ns"),
        Column::number("off", "ns"),
        Column::number("on", "ns"),
        Column::number("change", ""),
    ];
    let mut table = Table::new("scenarios", columns);
    let change = |one: &Scenario| (one.random_200mb_ns / one.random_200mb_off_ns - 1.0) * 100.0;
    for one in &fit.scenarios {
        table.row(vec![
            Cell::count(one.reads_per_walk as usize),
            Cell::number(one.ns_per_read),
            Cell::number(one.random_200mb_off_ns),
            Cell::number(one.random_200mb_ns),
            Cell::change(number::finite(change(one))),
        ]);
    }
    table.legend = Some(format!(
        "This CPU has no such workaround, so what a read past all caches costs is assumed: as long as a load from memory (as in the tests above), or {} times as long, as the numbers of the Phenom are fitted.",
        short(fit.phenom_reads_in_loads)
    ));
    table
}

fn placement(fit: &MeasuredFit) -> String {
    let where_pages_lie = match fit.page_placement {
        PagePlacement::Scattered => "scattered over memory",
        PagePlacement::Contiguous => "contiguous",
    };
    let last = if fit.last_cache_bytes == fit.last_cache_claimed_bytes {
        format!("all {} of the last cache fit best", fit.last_cache_bytes)
    } else {
        format!(
            "{} of the claimed {} of the last cache fit best ({} times better than all of it); others may use the rest",
            fit.last_cache_bytes,
            fit.last_cache_claimed_bytes,
            short(fit.claimed_worse)
        )
    };
    format!(
        "{} chains in random order, median error {:.1} %; {last}. Pages are assumed {where_pages_lie}, which fits {} times better than the opposite.",
        fit.chains.len(),
        fit.median_error_percent,
        short(fit.other_placement_worse)
    )
}

fn fitted(fit: &MeasuredFit) -> String {
    let one = |one: &Identified| {
        let within = match one.uncertainty_percent {
            Some(percent) if percent < 1.0 => "±<1 %".to_owned(),
            Some(percent) if percent <= UNDETERMINED_ABOVE_PERCENT => format!("±{percent:.0} %"),
            // The best of the fits is no measurement: a number here would be copied.
            _ => return format!("{}: undetermined", one.parameter),
        };
        format!("{} {} {within}", one.parameter, short(one.value))
    };
    let each: Vec<String> = fit.fitted.iter().map(one).collect();
    format!("Fitted, ± by the scatter of the chains: {}.", each.join("; "))
}

/// Errors by block and stride.
fn errors(fit: &MeasuredFit) -> Table {
    let of = |key: fn(&models::memory::ChainResidual) -> Bytes| {
        fit.chains.iter().map(key).collect::<BTreeSet<Bytes>>()
    };
    let (blocks, strides) = (of(|chain| chain.block_bytes), of(|chain| chain.stride_bytes));
    let columns = strides.iter().map(|stride| Column::number(stride.to_string(), ""));
    let mut table = Table::new("errors", [Column::number("block", "")].into_iter().chain(columns).collect());
    for block in &blocks {
        let error = |stride: &Bytes| {
            let found =
                fit.chains.iter().find(|one| (one.block_bytes, one.stride_bytes) == (*block, *stride));
            found.map_or(Cell::Empty, |one| {
                Cell::shown(format!("{:+.0}", one.error_percent), one.error_percent)
            })
        };
        table.row([bytes(*block)].into_iter().chain(strides.iter().map(error)).collect());
    }
    table
}

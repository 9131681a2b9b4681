//! How a simulated memory was fitted: to published numbers, or to what this machine measured; and what that leaves open.

use models::memory::{
    ChainResidual, FitReport, Identified, MeasuredFit, PagePlacement, Residual, Scenario, Simulation,
    Workaround,
};

use super::state;
use crate::number::{self, short};
use crate::page::{Cell, Section, Statement, Table};

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

fn of_published(report: &FitReport) -> [Section; 2] {
    let fit = Section::new("fit", "Fit to the published numbers");
    let alternatives = Section::new("alternatives", "Choices that no document makes, best first");
    [fit.table(residuals(report)).list(identified(report)), alternatives.table(self::alternatives(report))]
}

/// Each published number by the fit to all, and by a fit to the others.
fn residuals(report: &FitReport) -> Table {
    let other = |one: &Residual| {
        let is_it = |other: &&Residual| (&other.name, other.workaround) == (&one.name, one.workaround);
        report.held_out.iter().find(is_it)
    };
    Table::of("fit", &report.fit.residuals)
        .word("number", |one| &one.name)
        .word("state", |one| state(one.workaround == Workaround::On))
        .number("published", |one| one.published)
        .number("fitted", |one| one.predicted)
        .number("error", |one| Cell::change(Some(one.error_percent)))
        .number(("by the others", 1), |one| Cell::known(other(one).map(|other| other.predicted)))
        .number(("error then", 1), |one| Cell::change(other(one).map(|other| other.error_percent)))
        .legend("by the others: by a fit that was not shown this number")
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
    Table::of("alternatives", &report.alternatives)
        .number("reads per walk", |one| one.page_table_levels.unwrap_or(1))
        .number("stride", |one| one.stride_bytes)
        .number(("per read", "ns"), |one| one.uncached_read_ns)
        .number("worst", |one| Cell::shown(format!("{:.1}", one.worst), one.worst))
        .number("held out", |one| Cell::known(one.held_out.as_ref().map(|one| one.predicted)))
        .number("error", |one| Cell::change(one.held_out.as_ref().map(|one| one.error_percent)))
        .number(("squares", 1), |one| Cell::known(one.squares_without))
        .first(ALTERNATIVES_FIRST)
        .legend("worst: the largest error in units of its tolerance; held out: the number that was left out, by a fit of the others; squares: what that fit leaves, in squared tolerances")
}

/// What keeps a fit to measured latencies from being believed.
pub(super) fn doubts(fit: &MeasuredFit) -> impl Iterator<Item = Statement> {
    let poor = fit.regions.iter().filter(|region| region.median_error_percent > DOUBTFUL_PERCENT);
    let poor: Vec<String> =
        poor.map(|region| format!("{} ({:.0} %)", region.place, region.median_error_percent)).collect();
    let doubt = format!(
        "The model does not fit chains served by {}: only the order of magnitude holds there.",
        poor.join(", ")
    );
    let of_guest = "In a guest the host translates each page-table entry again: the fitted walk contains that. A workaround in the host would come on top.";
    let doubt = (!poor.is_empty()).then(|| Statement::doubt(doubt));
    doubt.into_iter().chain(fit.is_guest.then(|| Statement::faint(of_guest)))
}

fn of_measured(fit: &MeasuredFit) -> Vec<Section> {
    let streams =
        "Page walks are assumed to hold up a stream. Newer cores walk ahead of their loads and pay less.";
    let errors =
        Section::new("errors", "Error of the model by block and stride, per cent of the measured latency");
    let sections = [
        Some(Section::new("measured", "Fit to the measured latencies").table(regions(fit)).list([
            placement(fit),
            fitted(fit),
            streams.to_owned(),
        ])),
        scenarios(fit).section("A random load over 200 MiB, by how a walk might be read"),
        Some(errors.table(self::errors(fit)).detailed()),
    ];
    sections.into_iter().flatten().collect()
}

fn regions(fit: &MeasuredFit) -> Table {
    Table::of("regions", &fit.regions)
        .word("served by", |region| &region.place)
        .number("chains", |region| region.chains)
        .number("median error", |region| Cell::change(Some(region.bias_percent)))
        .number(("median size", 1), |region| {
            Cell::shown(format!("{:.0} %", region.median_error_percent), region.median_error_percent)
        })
        .number("worst", |region| Cell::change(Some(region.worst_percent)))
        .table()
}

fn scenarios(fit: &MeasuredFit) -> Table {
    let change = |one: &Scenario| (one.random_200mb_ns / one.random_200mb_off_ns - 1.0) * 100.0;
    Table::of("scenarios", &fit.scenarios)
        .number("reads per walk", |one| one.reads_per_walk)
        .number(("per read", "ns"), |one| one.ns_per_read)
        .number(("off", "ns"), |one| one.random_200mb_off_ns)
        .number(("on", "ns"), |one| one.random_200mb_ns)
        .number("change", |one| Cell::change(number::finite(change(one))))
        .legend(format!(
            "This CPU has no such workaround, so what a read past all caches costs is assumed: as long as a load from memory (as in the tests above), or {} times as long, as the numbers of the Phenom are fitted.",
            short(fit.phenom_reads_in_loads)
        ))
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
    let error = |one: &ChainResidual| Cell::shown(format!("{:+.0}", one.error_percent), one.error_percent);
    super::by_place("errors", &fit.chains, |chain| (chain.block_bytes, chain.stride_bytes), error)
}

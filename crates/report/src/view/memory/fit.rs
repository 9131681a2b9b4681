//! How a simulated memory was fitted to published numbers, and what that leaves open.

use models::memory::{FitReport, Identified, Residual, Workaround};

use super::state;
use crate::number::{self, short};
use crate::page::{Cell, Section, Table};

/// Sums of squared tolerances that differ by less than this are alike.
const RIVAL_SQUARES: f64 = 0.5;
/// The best of the other choices that stand on a first screen.
const ALTERNATIVES_FIRST: usize = 6;

/// The fit, and what else it could have been.
pub(super) fn sections(report: &FitReport) -> [Section; 2] {
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
        number::joined(known.fitted.iter().map(within), ", ")
    )];
    if known.rank_with_outstanding_lines <= known.rank {
        let pairs = known.outstanding_lines.iter().map(|one| {
            let [lines, startup] = [one.outstanding_lines, one.startup_lines].map(short);
            format!("{lines} with {startup} (sum of squares {})", short(one.squares))
        });
        said.push(format!(
            "Only the combination of outstanding_lines and startup_lines is determined. Best pairs: {}.",
            number::joined(pairs, "; ")
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

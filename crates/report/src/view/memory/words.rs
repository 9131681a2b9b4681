//! What a simulated memory says in words: the cost of the workaround, where it comes from, and what stays undetermined.

use models::memory::{Part, Row, Simulation, StrideDifference, Unit};

use crate::number::{self, short};
use crate::page::Statement;

/// Smaller changes are called none, in per cent.
const UNCHANGED_PERCENT: f64 = 1.0;
/// Smaller changes are not even a row more.
const SAME_PERCENT: f64 = 0.05;
/// The base page, over which prefetch does not go.
const PAGE_BYTES: f64 = 4096.0;

/// Change of a row in per cent, with its sign.
pub(super) fn change_percent(row: &Row) -> f64 {
    (row.on / row.off - 1.0) * 100.0
}

/// Whether both states are one.
pub(super) fn is_unchanged(row: &Row) -> bool {
    let change = change_percent(row);
    change.is_nan() || change.abs() < SAME_PERCENT
}

/// Rows of the machine's own board.
fn own_rows(simulation: &Simulation) -> impl Iterator<Item = &Row> {
    let own = simulation.boards.first().map(|board| board.name.as_str());
    let rows = simulation.rows.iter().filter(|row| row.board_off == row.board_on);
    rows.filter(move |row| own == Some(row.board_on.as_str()))
}

/// What the workaround costs where it costs most.
pub(super) fn answer(simulation: &Simulation) -> Statement {
    let workaround = &simulation.workaround;
    let ratio = |row: &&Row| row.on / row.off;
    let changed = |unit: Unit| {
        own_rows(simulation)
            .filter(move |row| row.unit == unit && change_percent(row).abs() >= UNCHANGED_PERCENT)
    };
    let slowest = changed(Unit::Nanoseconds).max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let narrowest = changed(Unit::MegabytesPerSecond).min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let chain = slowest.map(|row| {
        let times = short(row.on / row.off);
        format!("{} takes {times} times as long ({} to {} ns)", row.name, short(row.off), short(row.on))
    });
    let stream = narrowest.map(|row| {
        let lost = short(-change_percent(row));
        format!("{} loses {lost} % ({} to {} MB/s)", row.name, short(row.off), short(row.on))
    });
    let costs = number::joined(chain.into_iter().chain(stream), "; ");
    if !costs.is_empty() {
        return Statement::look(format!("With {workaround} {costs}."));
    }
    if own_rows(simulation).next().is_none() {
        return Statement::doubt(format!(
            "Cost of {workaround}: undetermined: no test of this machine is predicted."
        ));
    }
    Statement::good(format!("{workaround} changes no test by {UNCHANGED_PERCENT} % or more."))
}

/// Where the cost comes from, and how near the model is to published numbers.
pub(super) fn because(simulation: &Simulation) -> Vec<Statement> {
    one_walk(simulation).into_iter().chain(near_published(simulation)).map(Statement::plain).collect()
}

/// The rest, test by test.
pub(super) fn details(simulation: &Simulation) -> Vec<String> {
    let mut said: Vec<String> = published_stride(simulation).into_iter().collect();
    said.extend(own_rows(simulation).filter_map(stream));
    said.extend(unchanged(simulation));
    said.extend(hardest(simulation));
    said
}

/// A chain at a stride of a page or more walks at every load.
fn one_walk(simulation: &Simulation) -> Option<String> {
    let page = simulation.strides.iter().max_by_key(|one| one.stride_bytes)?;
    let levels = simulation.boards.first()?.page_table_levels.value;
    let added = page.on_ns - page.off_ns;
    let workaround = &simulation.workaround;
    if added < 1.0 {
        return Some(format!("A page walk costs no more with {workaround}."));
    }
    Some(format!(
        "A page walk costs {} ns more: its {levels} levels are read from memory ({} ns each), not from the caches. A chain of loads with a new page at each step takes {} ns instead of {}.",
        short(added),
        short(simulation.parameters.uncached_read_ns),
        short(page.on_ns),
        short(page.off_ns)
    ))
}

/// The largest error against published numbers.
fn near_published(simulation: &Simulation) -> Option<String> {
    let errors = simulation.rows.iter().flat_map(|row| [row.error_off_percent, row.error_on_percent]);
    let errors: Vec<f64> = errors.flatten().map(f64::abs).collect();
    let worst = errors.iter().copied().reduce(f64::max)?;
    Some(format!("{} are met within {worst:.1} %.", number::count(errors.len(), "published number")))
}

/// At which stride the published difference of a latency test arises.
fn published_stride(simulation: &Simulation) -> Option<String> {
    let is_published = |row: &&Row| row.unit == Unit::Nanoseconds && row.published_off.is_some();
    let row = own_rows(simulation).find(is_published)?;
    let published = row.published_on? - row.published_off?;
    let added = |one: &StrideDifference| one.on_ns - one.off_ns;
    let miss = |one: &&StrideDifference| (added(one) - published).abs();
    let nearest = simulation.strides.iter().min_by(|a, b| miss(a).total_cmp(&miss(b)))?;
    Some(format!(
        "The published difference of {} ns belongs to a stride of {}: there the workaround adds {} ns to each load of a chain through memory.",
        short(published),
        nearest.stride_bytes,
        short(added(nearest))
    ))
}

fn part(parts: &[Part], name: &str) -> f64 {
    parts.iter().find(|part| part.name == name).map_or(0.0, |part| part.ns)
}

/// What walks cost, their reads included.
fn walking(parts: &[Part]) -> f64 {
    part(parts, "walk") + part(parts, "page table")
}

/// A stream pays once per page.
fn stream(row: &Row) -> Option<String> {
    if row.unit != Unit::MegabytesPerSecond || change_percent(row).abs() < UNCHANGED_PERCENT {
        return None;
    }
    // Bytes at 10^6 bytes per second, in nanoseconds.
    let page_ns = |mb_per_s: f64| PAGE_BYTES / mb_per_s * 1e3;
    let walk = walking(&row.parts_on) - walking(&row.parts_off);
    let share = walk * row.on / row.stride_bytes.0 as f64 / 1e3 * 100.0;
    Some(format!(
        "{}: {} ns more for each 4 KiB. Page walks take {} % of the time; prefetch stops at the end of a page, so nothing streams meanwhile.",
        row.name,
        short(page_ns(row.on) - page_ns(row.off)),
        short(share)
    ))
}

fn unchanged(simulation: &Simulation) -> Option<String> {
    let rows = own_rows(simulation).filter(|row| change_percent(row).abs() < UNCHANGED_PERCENT);
    let names = number::joined(rows.map(|row| &row.name), ", ");
    (!names.is_empty()).then(|| {
        format!(
            "Unchanged within {UNCHANGED_PERCENT} %: {names}. What fits the caches also fits the TLBs, so no page walks occur."
        )
    })
}

/// How often a program may make the slowest load before it hurts.
fn hardest(simulation: &Simulation) -> Option<String> {
    let chains = own_rows(simulation).filter(|row| row.unit == Unit::Nanoseconds);
    let row = chains.max_by(|a, b| (a.on / a.off).total_cmp(&(b.on / b.off)))?;
    let added = row.on - row.off;
    (change_percent(row) >= UNCHANGED_PERCENT).then(|| {
        format!(
            "{}: {} of {} ns per load are page walks. A program with one such load per {} ns takes 1.5 times as long; with one per {} ns, twice as long.",
            row.name,
            short(walking(&row.parts_on)),
            short(row.on),
            short(added / 0.5),
            short(added)
        )
    })
}

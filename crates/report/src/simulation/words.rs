//! What a simulation says in words: where the time goes, and what the numbers cannot tell.

use models::memory::{FitReport, Part, Row, Simulation, Unit, Workaround};

use crate::number;

/// Changes below this are called none, in per cent.
const UNCHANGED_PERCENT: f64 = 1.0;

/// Sums of squared tolerances that differ by less than this are alike.
const RIVAL_SQUARES: f64 = 0.5;

/// Change of a row in per cent, with its sign.
pub(super) fn change_percent(row: &Row) -> f64 {
    (row.on / row.off - 1.0) * 100.0
}

/// `+42.2 %`; `none` where nothing moves.
pub(super) fn change(row: &Row) -> String {
    let percent = change_percent(row);
    if !percent.is_finite() {
        return "-".to_owned();
    }
    if percent.abs() < 0.05 { "none".to_owned() } else { format!("{percent:+.1} %") }
}

/// `-0.4, +2.0 %`.
pub(super) fn errors(row: &Row) -> String {
    let one = |error: Option<f64>| error.map_or_else(|| "-".to_owned(), |error| format!("{error:+.1}"));
    if row.error_off_percent.is_none() && row.error_on_percent.is_none() {
        return String::new();
    }
    if row.measured.is_some() {
        return format!("{} %", one(row.error_off_percent));
    }
    format!("{}, {} %", one(row.error_off_percent), one(row.error_on_percent))
}

/// What stands beside predictions.
pub(super) fn known(simulation: &Simulation) -> &'static str {
    if simulation.measured.is_some() { "measured" } else { "published" }
}

/// `59, 99`, or what was measured.
pub(super) fn published(row: &Row) -> String {
    if let Some(measured) = row.measured {
        return number::column(measured);
    }
    let one = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    if row.published_off.is_none() && row.published_on.is_none() {
        return String::new();
    }
    format!("{}, {}", one(row.published_off), one(row.published_on))
}

fn part(parts: &[Part], name: &str) -> f64 {
    parts.iter().find(|part| part.name == name).map_or(0.0, |part| part.ns)
}

/// What walks cost, their reads included.
fn walking(parts: &[Part]) -> f64 {
    part(parts, "walk") + part(parts, "page table")
}

fn short(value: f64) -> String {
    number::short(value)
}

/// The sentences, most telling first.
pub(super) fn sentences(simulation: &Simulation) -> Vec<String> {
    let own = |row: &&Row| simulation.boards.first().is_some_and(|board| row.board_on == board.name);
    let rows: Vec<&Row> =
        simulation.rows.iter().filter(|row| row.board_off == row.board_on).filter(own).collect();
    let (withheld, rows): (Vec<&Row>, Vec<&Row>) = rows.into_iter().partition(|row| row.withheld.is_some());
    let mut sentences = Vec::new();
    sentences.extend(one_walk(simulation));
    sentences.extend(stride(simulation, &rows));
    sentences
        .extend(rows.iter().filter(|row| row.unit == Unit::MegabytesPerSecond).filter_map(|row| stream(row)));
    sentences.extend(untouched(&rows));
    sentences.extend(hardest(&rows));
    sentences.extend(said_of_withheld(&withheld, &simulation.workaround));
    sentences.extend(boards(simulation));
    sentences.extend(simulation.measured.iter().flat_map(super::measured::sentences));
    sentences
}

/// A chain at a stride of a page or more walks at every load.
fn one_walk(simulation: &Simulation) -> Option<String> {
    let page = simulation.strides.iter().max_by_key(|one| one.stride_bytes)?;
    let levels = simulation.boards.first()?.page_table_levels.value;
    let added = page.on_ns - page.off_ns;
    if added < 1.0 {
        return Some(format!(
            "{}: the workaround adds nothing to a walk of the page table.",
            simulation.workaround
        ));
    }
    Some(format!(
        "A walk of the page table costs {} ns more with {}: entries of its {levels} levels that came from the caches now come from memory, {} ns each. A chain of loads that changes page at every step takes {} ns instead of {}.",
        short(added),
        simulation.workaround,
        short(simulation.parameters.uncached_read_ns),
        short(page.on_ns),
        short(page.off_ns)
    ))
}

/// Which numbers are withheld, once for each reason.
fn said_of_withheld(rows: &[&Row], workaround: &str) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let why = row.withheld.as_deref().unwrap_or_default();
        // What was measured without the workaround may stand in the table.
        let name =
            if row.off.is_finite() { format!("{} with {workaround}", row.name) } else { row.name.clone() };
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    reasons.into_iter().map(|(why, names)| format!("{}: undetermined: {why}.", names.join(", "))).collect()
}

/// At which stride the published difference of a latency test arises.
fn stride(simulation: &Simulation, rows: &[&Row]) -> Option<String> {
    let wanted = |row: &&&Row| row.unit == Unit::Nanoseconds && row.published_off.is_some();
    let row = rows.iter().find(wanted)?;
    let published = row.published_on? - row.published_off?;
    let miss = |on: f64, off: f64| (on - off - published).abs();
    let nearest = simulation
        .strides
        .iter()
        .min_by(|a, b| miss(a.on_ns, a.off_ns).total_cmp(&miss(b.on_ns, b.off_ns)))?;
    let told: Vec<String> = simulation
        .strides
        .iter()
        .map(|one| format!("{} at {}", short(one.on_ns - one.off_ns), one.stride_bytes))
        .collect();
    Some(format!(
        "The published +{} ns arise at a stride of {}: a chain through memory gains {} ns per load there ({}).",
        short(published),
        nearest.stride_bytes,
        short(nearest.on_ns - nearest.off_ns),
        told.join(", ")
    ))
}

/// A stream pays once per page.
fn stream(row: &Row) -> Option<String> {
    if change_percent(row).abs() < UNCHANGED_PERCENT {
        return None;
    }
    // Bytes at 10^6 bytes per second, in nanoseconds.
    let page_ns = |mb_per_s: f64| 4096.0 / mb_per_s * 1e3;
    let added = page_ns(row.on) - page_ns(row.off);
    let walk = walking(&row.parts_on) - walking(&row.parts_off);
    let share = walk * row.on / row.stride_bytes.0 as f64 / 1e3 * 100.0;
    Some(format!(
        "{}: {} to {} MB/s, {} ns more for each 4 KiB; {} % of the time is now spent in walks, during which nothing streams, as prefetch stops at the end of a page.",
        row.name,
        short(row.off),
        short(row.on),
        short(added),
        short(share)
    ))
}

fn untouched(rows: &[&Row]) -> Option<String> {
    let names: Vec<&str> = rows
        .iter()
        .filter(|row| change_percent(row).abs() < UNCHANGED_PERCENT)
        .map(|row| row.name.as_str())
        .collect();
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "Unchanged within {UNCHANGED_PERCENT} %: {}: what fits the caches also fits the translation buffers, and nobody walks.",
        names.join(", ")
    ))
}

fn hardest(rows: &[&Row]) -> Option<String> {
    let chains = rows.iter().filter(|row| row.unit == Unit::Nanoseconds);
    let row = chains.max_by(|a, b| (a.on / a.off).total_cmp(&(b.on / b.off)))?;
    if row.on < row.off * 1.01 {
        return None;
    }
    let added = row.on - row.off;
    Some(format!(
        "{} is hit hardest, {} times slower: {} of {} ns per load are walks. A program takes half as long again if it makes one such load in each {} ns of its time, and twice as long with one in each {} ns.",
        row.name,
        short(row.on / row.off),
        short(walking(&row.parts_on)),
        short(row.on),
        short(added / 0.5),
        short(added)
    ))
}

/// Rows that compare different boards say so.
fn boards(simulation: &Simulation) -> Vec<String> {
    let title = |name: &str| {
        let board = simulation.boards.iter().find(|board| board.name == name);
        board.map_or_else(|| name.to_owned(), |board| board.title.clone())
    };
    let differing = simulation.rows.iter().filter(|row| row.board_off != row.board_on);
    differing
        .map(|row| {
            format!(
                "{} compares two boards: off is the {}; on is the {}. It is no measurement of one board.",
                row.name,
                title(&row.board_off),
                title(&row.board_on)
            )
        })
        .collect()
}

/// Another choice that the numbers allow until the one that was held out is shown.
fn rival(report: &FitReport) -> Option<String> {
    let (best, others) = report.alternatives.split_first()?;
    let without = best.squares_without?;
    let rival = others.iter().find(|one| {
        let as_good = one.squares_without.is_some_and(|squares| squares < without + RIVAL_SQUARES);
        as_good && one.worst > 1.0
    })?;
    let told = rival.held_out.as_ref()?;
    let reads = rival.page_table_levels.unwrap_or(1);
    let stride = rival.stride_bytes.map_or_else(String::new, |stride| format!(" and a stride of {stride}"));
    Some(format!(
        "Not told without the number held out ({} {}): {reads} reads per walk{stride} fit the others as well, and predict {} for it instead of {}. The choice rests on that number.",
        told.name,
        super::state(told.workaround == Workaround::On),
        short(told.predicted),
        short(told.published)
    ))
}

/// What the fit can tell and cannot.
pub(super) fn of_the_fit(simulation: &Simulation) -> Vec<String> {
    let Some(report) = &simulation.fit else { return Vec::new() };
    let known = &report.identification;
    let fitted = known.fitted.iter().map(|one| {
        let within = one.uncertainty_percent.map_or("untold".to_owned(), |u| format!("±{u:.0} %"));
        format!("{} {} {within}", one.parameter, short(one.value))
    });
    let mut sentences = vec![format!(
        "{} published numbers tell {} of {} fitted parameters ({}; ± for one tolerance of error in each number).",
        known.numbers,
        known.rank,
        known.fitted.len(),
        fitted.collect::<Vec<_>>().join(", ")
    )];
    if known.rank_with_outstanding_lines <= known.rank {
        let told: Vec<String> = known
            .outstanding_lines
            .iter()
            .map(|one| {
                format!(
                    "{} with {} (sum of squares {})",
                    short(one.outstanding_lines),
                    short(one.startup_lines),
                    short(one.squares)
                )
            })
            .collect();
        sentences.push(format!(
            "Degenerate: outstanding_lines and startup_lines count only together. Lines under way with lines at the start of a stream that fit best: {}.",
            told.join("; ")
        ));
    }
    let least_told = known.fitted.iter().max_by(|a, b| {
        let of = |one: &models::memory::Identified| one.uncertainty_percent.unwrap_or(f64::INFINITY);
        of(a).total_cmp(&of(b))
    });
    if let Some(one) = least_told {
        sentences.push(format!("Told least: {}.", one.parameter));
    }
    sentences.extend(rival(report));
    sentences
}

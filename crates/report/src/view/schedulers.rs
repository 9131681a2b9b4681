//! Simulated schedulers: what a placement policy gains by number of threads, beside what was published.

mod figures;
mod words;

use models::scheduling::{JoinedNumber, Packing, Policy, PolicyGain, PolicyRow, SchedulingSimulation};
use stats::Interval;

use super::simulated;
use crate::number;
use crate::page::{Block, Cell, Column, Page, Placed, Section, Table};

/// Numbers of threads on a first screen.
const ROWS_FIRST: usize = 8;

/// The simulation as a page.
pub fn schedulers_page(simulation: &SchedulingSimulation) -> Page {
    let machine = &simulation.machine;
    let mut sections = Vec::new();
    if !simulation.rows.is_empty() {
        sections.push(Section::new("gains", "").with(Block::Table(gains(simulation))));
    }
    if !simulation.policies.is_empty() {
        let section = Section::new("policies", "").with(Block::Table(side_by_side(&simulation.policies)));
        sections.push(section.with(Block::Table(all_numbers(&simulation.policies))));
    }
    if let Some(found) = &simulation.packing {
        let compared = format!(
            "{} in pairs: partners in one {} over partners in two",
            number::count(found.threads, "thread"),
            found.level
        );
        let table = packing(found, machine.has_turbo());
        sections.push(Section::new("packing", compared).with(Block::Table(table)));
    }
    if let Some((heading, drawn)) = figures::gain(simulation) {
        let placed = Placed { name: "simulated-gain", heading: heading.to_owned(), drawn };
        sections.push(Section::new("curve", "").with(Block::Figure(Box::new(placed))));
    }
    if !simulation.published.is_empty() {
        let section = Section::detail("published", "Published numbers, joined afterwards");
        sections.push(section.with(Block::Table(published(simulation))));
    }
    let numbers = machine.numbers();
    let numbers = numbers.into_iter().map(|(name, value, source)| [name, value, source.to_owned()]);
    sections.push(simulated::numbers(numbers));
    Page {
        subject: words::subject(simulation),
        answer: words::answer(simulation),
        because: words::because(simulation),
        sections,
        about: vec![format!("seed {}", simulation.scenario.seed)],
        ..Page::default()
    }
}

fn gain(percent: f64, interval: Interval) -> Cell {
    Cell::within(number::signed_percent(percent), percent, interval)
}

fn gains(simulation: &SchedulingSimulation) -> Table {
    let sleeps = simulation.machine.sleeps();
    let mut columns = vec![
        Column::number("threads", ""),
        Column::number("over random", ""),
        Column::bar(),
        Column::number("over in-order", ""),
        Column::number("over kernel-like", ""),
        Column::number("shared", "").priority(1),
        Column::number("runs", "").priority(3),
        Column::number("cycles per ns", "").priority(4),
    ];
    if sleeps {
        columns.push(Column::number("awake", "").priority(2));
    }
    let mut table = Table { first_rows: Some(ROWS_FIRST), ..Table::new("gains", columns) };
    let most = simulation.rows.iter().map(|row| row.gain_over_random_percent).fold(0.0, f64::max);
    for row in &simulation.rows {
        let found = &row.throughput;
        let share = row.gain_over_random_percent / most;
        let mut cells = vec![
            Cell::count(row.threads),
            gain(row.gain_over_random_percent, row.gain_over_random_interval),
            if share > 0.0 { Cell::Share(share) } else { Cell::Empty },
            gain(row.gain_over_in_order_percent, row.gain_over_in_order_interval),
            gain(row.gain_over_kernel_like_percent, row.gain_over_kernel_like_interval),
            Cell::shown(number::percent(found.shared), found.shared),
            Cell::count(found.runs),
            Cell::number(found.cycles_per_ns),
        ];
        if sleeps {
            cells.push(Cell::shown(number::short(found.awake), found.awake));
        }
        table.row(cells);
    }
    let (smallest, clocked) = (&simulation.machine.level[0].name, &simulation.machine.clock.level);
    let awake =
        if sleeps { format!("; awake: mean number of awake units ({clocked})") } else { String::new() };
    table.legend = Some(format!(
        "gain in throughput over random idle CPUs, the first idle CPU, and Linux without knowledge of shared data; shared: time with two threads in one {smallest}{awake}"
    ));
    table
}

/// What each policy gains over random placement, a column each.
fn side_by_side(rows: &[PolicyRow]) -> Table {
    let policies = || Policy::ALL.into_iter().filter(|policy| *policy != Policy::Random);
    let start = [Column::number("threads", ""), Column::number("random", "")];
    // A header breaks at blanks only.
    let columns = policies().map(|policy| Column::number(policy.name().replace('-', " "), ""));
    let mut table = Table {
        first_rows: Some(ROWS_FIRST),
        ..Table::new("side_by_side", start.into_iter().chain(columns).collect())
    };
    let mut half: f64 = 0.0;
    for row in rows {
        let of = |policy| row.policies.iter().find(|one| one.policy == policy);
        let own = of(Policy::Random).map(|random| random.throughput.cycles_per_ns);
        let mut cells = vec![Cell::count(row.threads), Cell::known(own)];
        for policy in policies() {
            cells.push(of(policy).map_or(Cell::Empty, |PolicyGain { over_random, .. }| {
                half = half.max(over_random.interval.half_width());
                let text = number::signed_percent(over_random.percent);
                Cell::shown(text.trim_end_matches(" %"), over_random.percent)
            }));
        }
        table.row(cells);
    }
    table.legend = Some(format!(
        "random: throughput of threads on random idle CPUs, in cycles of work per ns; the others: gain over it in per cent, ±{half:.2} at most"
    ));
    table
}

/// Every number of every policy.
fn all_numbers(rows: &[PolicyRow]) -> Table {
    let columns = vec![
        Column::number("threads", ""),
        Column::word("policy"),
        Column::number("cycles per ns", ""),
        Column::number("over random", ""),
        Column::number("over kernel-like", ""),
        Column::number("shared", ""),
        Column::number("runs", ""),
    ];
    let mut table = Table { is_data: true, ..Table::new("policies", columns) };
    for (threads, one) in rows.iter().flat_map(|row| row.policies.iter().map(|one| (row.threads, one))) {
        table.row(vec![
            Cell::count(threads),
            Cell::text(one.policy.name()),
            Cell::number(one.throughput.cycles_per_ns),
            gain(one.over_random.percent, one.over_random.interval),
            gain(one.over_kernel_like.percent, one.over_kernel_like.interval),
            Cell::number(one.throughput.shared),
            Cell::count(one.throughput.runs),
        ]);
    }
    table
}

fn packing(packing: &Packing, has_turbo: bool) -> Table {
    let mut columns = vec![
        Column::number("gain from the partner", "%"),
        Column::number(if has_turbo { "packing, with turbo" } else { "packing gains" }, ""),
    ];
    columns.extend(has_turbo.then(|| Column::number("without turbo", "")));
    let mut table = Table::new("packing", columns);
    for point in &packing.points {
        let mut cells = vec![
            Cell::shown(number::short(point.sharing_percent), point.sharing_percent),
            Cell::change(Some(point.gain_of_packing_percent)),
        ];
        cells.extend(has_turbo.then(|| Cell::change(Some(point.gain_of_packing_without_turbo_percent))));
        table.row(cells);
    }
    table
}

fn published(simulation: &SchedulingSimulation) -> Table {
    let columns = vec![
        Column::word("workload"),
        Column::number("threads", "").priority(1),
        Column::word("over").priority(1),
        Column::number("published", ""),
        Column::number("predicted", ""),
        Column::prose("source").priority(2),
    ];
    let mut table = Table::new("published", columns);
    for one in &simulation.published {
        let threads = one.published.threads;
        table.row(vec![
            Cell::text(&one.published.workload),
            threads.map_or_else(|| Cell::text(number::UNKNOWN), Cell::count),
            Cell::text(one.published.over.name()),
            Cell::shown(words::range(one.published.gain_percent), one.published.gain_percent[0]),
            Cell::shown(predicted(one), one.predicted_percent.unwrap_or(f64::NAN)),
            Cell::text(&one.published.source),
        ]);
    }
    table.legend = Some(
        "threads unknown: predicted is the range over all numbers of threads above; -: not simulated here"
            .to_owned(),
    );
    table
}

fn predicted(one: &JoinedNumber) -> String {
    match one.predicted_percent {
        Some(percent) if one.published.fitted => format!("{} (fitted)", number::signed_percent(percent)),
        Some(percent) => number::signed_percent(percent),
        None if one.published.threads.is_some() => "-".to_owned(),
        None => words::range(one.predicted_range_percent),
    }
}

#[cfg(test)]
mod tests;

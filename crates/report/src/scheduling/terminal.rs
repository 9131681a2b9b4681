//! Gains of a policy in the terminal: numbers, the curve, what was published beside it, words.

use models::scheduling::{JoinedNumber, Packing, Policy, PolicyGain, PolicyRow, SchedulingSimulation};

use super::words;
use crate::escape::plain;
use crate::number;
use crate::terminal::{Ink, Paper, Terminal, table_of, two_sided_bar};

/// Width of the longest bar.
const BAR_COLUMNS: usize = 24;
/// Width of the table with a column per policy; a narrower one would cut numbers in two.
const SIDE_BY_SIDE_COLUMNS: usize = 72;
/// The same of the table of gains with its units and all columns.
const GAINS_COLUMNS: usize = 70;

/// The simulation for people.
pub fn scheduling_terminal(simulation: &SchedulingSimulation, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    let title = format!("{} {}", simulation.machine.title, words::origin(simulation));
    paper.wrapped_inked(Ink::Strong, "", &plain(&title));
    paper.wrapped_inked(Ink::Faint, "", &words::scenario(simulation));
    paper.blank();
    if !simulation.rows.is_empty() {
        gains(&mut paper, simulation, terminal.width_columns);
        if simulation.scenario.policy != Some(Policy::Random) {
            paper.blank();
            curve(&mut paper, simulation);
        }
    }
    if !simulation.policies.is_empty() {
        if terminal.width_columns < SIDE_BY_SIDE_COLUMNS {
            below_each_other(&mut paper, &simulation.policies);
        } else {
            side_by_side(&mut paper, &simulation.policies);
        }
    }
    if let Some(found) = &simulation.packing {
        packing(&mut paper, found, simulation.machine.has_turbo());
    }
    paper.blank();
    published(&mut paper, simulation);
    for sentence in words::sentences(simulation) {
        paper.wrapped("- ", &plain(&sentence));
    }
    paper.finish()
}

fn gains(paper: &mut Paper, simulation: &SchedulingSimulation, width_columns: usize) {
    let sleeps = simulation.machine.sleeps();
    let is_narrow = width_columns < GAINS_COLUMNS;
    // Narrow, names are broken at their blanks and hyphens, and the unit stands below.
    let name = |name: &str| if is_narrow { name.replace([' ', '-'], "\n") } else { name.to_owned() };
    let gain = |percent: f64| {
        let said = words::signed(percent);
        if is_narrow { said.trim_end_matches(" %").to_owned() } else { said }
    };
    let mut headers = ["threads", "over random", "", "over in-order", "over kernel-like"].map(name).to_vec();
    if !is_narrow {
        headers.push(name("shared"));
        headers.extend(sleeps.then(|| name("awake")));
    }
    let mut table = table_of(&headers);
    for row in &simulation.rows {
        let half = row.gain_over_random_interval.half_width();
        let mut cells = vec![
            row.threads.to_string(),
            gain(row.gain_over_random_percent),
            if half > 0.0 { format!("±{half:.2}") } else { String::new() },
            gain(row.gain_over_in_order_percent),
            gain(row.gain_over_kernel_like_percent),
        ];
        if !is_narrow {
            cells.push(number::percent(row.throughput.shared));
            cells.extend(sleeps.then(|| number::short(row.throughput.awake)));
        }
        table.add_row(cells);
    }
    paper.table(table);
    let (smallest, clocked) = (&simulation.machine.level[0].name, &simulation.machine.clock.level);
    let shared = format!(
        "; shared: part of the running time in which the smallest unit ({smallest}) held another thread"
    );
    let awake = format!("; awake: mean number of units ({clocked})");
    let columns = match (is_narrow, sleeps) {
        (true, _) => ", in per cent".to_owned(),
        (false, true) => shared + &awake,
        (false, false) => shared,
    };
    paper.wrapped_inked(
        Ink::Faint,
        "",
        &plain(&format!(
            "throughput of {} against threads on idle CPUs at random, on the first idle CPU, and as a kernel that does not know of data{columns}",
            simulation.scenario.policy.map_or("a policy", Policy::name)
        )),
    );
}

/// Bars of the gain over random placement, and what was published for the same number of threads.
fn curve(paper: &mut Paper, simulation: &SchedulingSimulation) {
    paper.strong("Gain over random placement");
    let gains = || simulation.rows.iter().map(|row| row.gain_over_random_percent);
    let ends = [gains().fold(0.0, f64::min), gains().fold(0.0, f64::max)];
    for row in &simulation.rows {
        let gain = row.gain_over_random_percent;
        let bar = two_sided_bar(gain, ends, BAR_COLUMNS);
        paper.inked(Ink::Plain, &format!("{:>3} {bar} {:>7}", row.threads, words::signed(gain)));
    }
}

/// A line per policy, where there is no room for a column each.
fn below_each_other(paper: &mut Paper, rows: &[PolicyRow]) {
    let mut table = table_of(&["threads", "policy", "gain"].map(str::to_owned));
    for row in rows {
        for one in row.policies.iter().filter(|one| one.policy != Policy::Random) {
            table.add_row([
                row.threads.to_string(),
                one.policy.name().to_owned(),
                words::signed(one.over_random.percent),
            ]);
        }
    }
    paper.table(table);
    paper.wrapped_inked(Ink::Faint, "", "gain: over threads on idle CPUs at random");
}

/// A column per policy: what it gains over random placement, whose own throughput stands beside.
fn side_by_side(paper: &mut Paper, rows: &[PolicyRow]) {
    let policies = Policy::ALL.into_iter().filter(|policy| *policy != Policy::Random);
    let headers = ["threads".to_owned(), "random".to_owned()];
    // The names are as wide as all numbers together: a line for each word of them.
    let names = policies.map(|policy| policy.name().replace('-', "\n"));
    let mut table = table_of(&headers.into_iter().chain(names).collect::<Vec<_>>());
    let is_random = |one: &&PolicyGain| one.policy == Policy::Random;
    let mut half: f64 = 0.0;
    for row in rows {
        let own = row.policies.iter().find(is_random);
        let own = own.map_or_else(String::new, |random| format!("{:.2}", random.throughput.cycles_per_ns));
        let mut cells = vec![row.threads.to_string(), own];
        for one in row.policies.iter().filter(|one| !is_random(one)) {
            half = half.max(one.over_random.interval.half_width());
            cells.push(words::signed(one.over_random.percent).trim_end_matches(" %").to_owned());
        }
        table.add_row(cells);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        &format!("random: throughput of threads on idle CPUs at random, in cycles of work per ns; the others: what they gain over it, in per cent, ±{half:.2} at most"),
    );
}

fn packing(paper: &mut Paper, packing: &Packing, has_turbo: bool) {
    let threads = number::count(packing.threads, "thread");
    let compared = format!("{threads} in pairs: {} over {}", words::in_one(packing), words::IN_TWO);
    paper.wrapped_inked(Ink::Strong, "", &compared);
    let headers: &[&str] = if has_turbo { &["with turbo", "without"] } else { &["packing gains"] };
    let headers = ["a thread gains from its partner"].iter().chain(headers);
    let mut table = table_of(&headers.map(|header| (*header).to_owned()).collect::<Vec<_>>());
    for point in &packing.points {
        let mut cells = vec![
            format!("{} %", number::short(point.sharing_percent)),
            words::signed(point.gain_of_packing_percent),
        ];
        if has_turbo {
            cells.push(words::signed(point.gain_of_packing_without_turbo_percent));
        }
        table.add_row(cells);
    }
    paper.table(table);
}

fn published(paper: &mut Paper, simulation: &SchedulingSimulation) {
    if simulation.published.is_empty() {
        return;
    }
    paper.strong("Published, joined afterwards");
    let headers = ["workload", "threads", "over", "published", "predicted"];
    let mut table = table_of(&headers.map(str::to_owned));
    for one in &simulation.published {
        table.add_row([
            plain(&one.published.workload),
            one.published.threads.map_or("unknown".to_owned(), |threads| threads.to_string()),
            one.published.over.name().to_owned(),
            words::published(one),
            predicted(one),
        ]);
    }
    paper.table(table);
    let any = |holds: fn(&JoinedNumber) -> bool| simulation.published.iter().any(holds);
    let legend = [
        any(|one| one.published.threads.is_none()).then_some(
            "where nobody says how many ran, predicted is the range of all numbers of threads above",
        ),
        any(|one| one.published.threads.is_some() && one.predicted_percent.is_none())
            .then_some("-: that number of threads is not simulated here"),
    ];
    let legend: Vec<&str> = legend.into_iter().flatten().collect();
    if !legend.is_empty() {
        paper.wrapped_inked(Ink::Faint, "", &legend.join("; "));
    }
    paper.blank();
}

fn predicted(one: &JoinedNumber) -> String {
    match one.predicted_percent {
        Some(percent) if one.published.fitted => format!("{} (fitted)", words::signed(percent)),
        Some(percent) => words::signed(percent),
        None if one.published.threads.is_some() => "-".to_owned(),
        None => words::range(one.predicted_range_percent),
    }
}

//! Simulated schedulers: what a placement policy gains by number of threads, beside what was published.

mod words;

use models::scheduling::{GainRow, JoinedNumber, SchedulingSimulation};
use stats::Interval;

use super::simulated;
use crate::draw::{LineChart, LinePanel, LinePoint, LineSeries, Measure};
use crate::number;
use crate::page::{Cell, Drawn, Page, Section, Table};

/// Numbers of threads on a first screen.
const ROWS_FIRST: usize = 8;

/// The simulation as a page.
pub fn schedulers_page(simulation: &SchedulingSimulation) -> Page {
    let machine = &simulation.machine;
    let picture = curve(simulation)
        .map(|(heading, drawn)| Section::new("curve", "").figure("simulated-gain", heading, Some(drawn)));
    let sections = [
        gains(simulation).section(""),
        picture,
        published(simulation).section("Published numbers, joined afterwards").map(Section::detailed),
    ];
    let page = Page {
        answer: words::answer(simulation),
        because: words::because(simulation),
        sections: sections.into_iter().flatten().collect(),
        about: vec![format!("seed {}", simulation.scenario.seed)],
        ..Page::default()
    };
    simulated::page(&machine.title, simulated::numbers(machine), page)
}

fn gain(percent: f64, interval: Interval) -> Cell {
    Cell::within(number::signed_percent(percent), percent, interval)
}

fn gains(simulation: &SchedulingSimulation) -> Table {
    let most = simulation.rows.iter().map(|row| row.gain_over_random_percent).fold(0.0, f64::max);
    let share = |row: &GainRow| Some(row.gain_over_random_percent / most).filter(|share| *share > 0.0);
    let mut rows = Table::of("gains", &simulation.rows)
        .number("threads", |row| row.threads)
        .number("over random", |row| gain(row.gain_over_random_percent, row.gain_over_random_interval))
        .bar(|row| share(row).map(Cell::Share))
        .number("over in-order", |row| gain(row.gain_over_in_order_percent, row.gain_over_in_order_interval))
        .number("over kernel-like", |row| {
            gain(row.gain_over_kernel_like_percent, row.gain_over_kernel_like_interval)
        })
        .number(("shared", 1), |row| Cell::percent(row.throughput.shared))
        .number(("runs", 3), |row| row.throughput.runs)
        .number(("cycles per ns", 4), |row| row.throughput.cycles_per_ns)
        .first(ROWS_FIRST);
    let (smallest, clocked) = (&simulation.machine.level[0].name, &simulation.machine.clock.level);
    let mut awake = String::new();
    if simulation.machine.sleeps() {
        rows = rows.number(("awake", 2), |row| Cell::short(row.throughput.awake));
        awake = format!("; awake: mean number of awake units ({clocked})");
    }
    rows.legend(format!(
        "gain in throughput over random idle CPUs, the first idle CPU, and Linux without knowledge of shared data; shared: time with two threads in one {smallest}{awake}"
    ))
}

fn published(simulation: &SchedulingSimulation) -> Table {
    Table::of("published", &simulation.published)
        .word("workload", |one| &one.published.workload)
        .number(("threads", 1), |one| {
            one.published.threads.map_or_else(|| number::UNKNOWN.into(), Cell::from)
        })
        .word(("over", 1), |one| one.published.over.name())
        .number("published", |one| {
            Cell::shown(words::range(one.published.gain_percent), one.published.gain_percent[0])
        })
        .number("predicted", |one| Cell::shown(predicted(one), one.predicted_percent.unwrap_or(f64::NAN)))
        .prose(("source", 2), |one| &one.published.source)
        .legend(
            "threads unknown: predicted is the range over all numbers of threads above; -: not simulated here",
        )
}

fn predicted(one: &JoinedNumber) -> String {
    match one.predicted_percent {
        Some(percent) if one.published.fitted => format!("{} (fitted)", number::signed_percent(percent)),
        Some(percent) => number::signed_percent(percent),
        None if one.published.threads.is_some() => "-".to_owned(),
        None => words::range(one.predicted_range_percent),
    }
}

/// The curve with its heading; none if there is nothing to draw.
fn curve(simulation: &SchedulingSimulation) -> Option<(&'static str, Drawn)> {
    let chart = gain_chart(&simulation.rows);
    let reading = "Above zero the policy is better. Ribbons are 95 % intervals of the runs.";
    Some(("Gain by number of threads", Drawn::of(&chart, "simulated-gain", reading)?))
}

type Curve<'a> = (&'a str, Vec<(f64, f64, Interval)>);

fn gain_chart(rows: &[GainRow]) -> LineChart {
    let curve = |value: fn(&GainRow) -> (f64, Interval)| -> Vec<(f64, f64, Interval)> {
        rows.iter().map(|row| (row.threads as f64, value(row).0, value(row).1)).collect()
    };
    chart(
        "threads",
        "Gain, per cent",
        vec![
            ("over random", curve(|row| (row.gain_over_random_percent, row.gain_over_random_interval))),
            ("over in-order", curve(|row| (row.gain_over_in_order_percent, row.gain_over_in_order_interval))),
            (
                "over kernel-like",
                curve(|row| (row.gain_over_kernel_like_percent, row.gain_over_kernel_like_interval)),
            ),
        ],
    )
}

fn chart(x_label: &'static str, y_label: &'static str, curves: Vec<Curve<'_>>) -> LineChart {
    let series = curves.into_iter().enumerate().map(|(style, (name, points))| {
        let point = |(x, value, ends)| LinePoint {
            x,
            measure: Measure { ends: Some(ends), ..Measure::exact(value) },
        };
        LineSeries { name: name.to_owned(), style, points: points.into_iter().map(point).collect() }
    });
    LineChart::straight(x_label, y_label, " %", LinePanel::new(y_label, series))
}

#[cfg(test)]
mod tests {
    use models::scheduling::{Pattern, Policy, Scenario, SchedulingMachine, simulate};

    use super::*;
    use crate::Terminal;

    fn simulation(sharing: f64) -> SchedulingSimulation {
        under(Policy::ModulesFirst, sharing)
    }

    fn under(policy: Policy, sharing: f64) -> SchedulingSimulation {
        on("fx-8150", policy, sharing)
    }

    fn on(name: &str, policy: Policy, sharing: f64) -> SchedulingSimulation {
        let machine: SchedulingMachine = models::known(name).expect("it comes with sidestep");
        let pattern = Pattern::Copies;
        simulate(&machine, Scenario { policy, pattern, threads: [3, 4], sharing, seed: 1 })
    }

    fn text(found: &SchedulingSimulation, width_columns: usize) -> String {
        schedulers_page(found).terminal(Terminal { width_columns, colour: false }, true)
    }

    fn said(found: &SchedulingSimulation) -> String {
        text(found, 80).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_page_holds_the_curve_what_was_published_and_the_source_of_each_number() {
        for found in [simulation(0.0), under(Policy::DataAware, 0.2)] {
            let page = schedulers_page(&found).html();
            assert!(page.contains("<svg") && page.contains("assumed") && !page.contains("<script"));
        }
        let text = said(&simulation(0.0));
        for part in ["DiRT 3", "ComputerBase", "BeHardware", "threads unknown: predicted is the range"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn the_first_screen_fits_24_lines() {
        for name in models::known_machines_of(models::MachineKind::Threads).map(|known| known.name) {
            let machine: SchedulingMachine = models::known(name).expect("it comes with sidestep");
            let threads = [1, machine.cpus.value];
            let pattern = Pattern::Copies;
            let policy = Policy::ModulesFirst;
            let scenario = Scenario { policy, pattern, threads, sharing: 0.0, seed: 1 };
            let page = schedulers_page(&simulate(&machine, scenario));
            let text = page.terminal(Terminal::default(), false);
            assert!(text.lines().count() <= 24, "{name}: {text}");
        }
    }

    #[test]
    fn no_number_is_cut_in_40_columns() {
        let narrow = text(&simulation(0.0), 40);
        assert!(narrow.contains("+8.8") && narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }

    #[test]
    fn the_largest_gain_is_named_over_each_baseline_and_none_within_the_noise() {
        let mut found = simulation(0.0);
        let text = said(&found);
        let answer = "modules-first gains at most 8.8 % over random placement (4 threads) and 16.1 % over in-order (4 threads).";
        assert!(
            text.contains(answer) && text.contains("awake: mean number of awake units (module)"),
            "{text}"
        );
        found.rows[0].gain_over_random_interval = Interval { low: -1.0, high: 7.0 };
        assert!(said(&found).contains("No difference from random placement detected with 3 threads."));
        let alike = said(&on("jacobsville", Policy::ModulesFirst, 0.0));
        assert!(alike.contains("33.5 % over in-order and kernel-like (4 threads)."), "{alike}");
        assert!(!alike.contains("awake: mean") && alike.contains("unknown: clock.hz_by_awake"), "{alike}");
    }

    #[test]
    fn a_policy_is_not_compared_with_itself() {
        let found = under(Policy::Random, 0.0);
        let nothing = Interval { low: 0.0, high: 0.0 };
        assert!(found.rows.iter().all(|row| row.gain_over_random_interval == nothing));
        let text = said(&found);
        assert!(!text.contains("No gain over random") && !text.contains("is better"), "{text}");
    }
}

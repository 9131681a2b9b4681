//! Pages of simulated schedulers: what they answer, in any width and form.

use models::scheduling::{Pattern, Policy, Scenario, SchedulingMachine, simulate};

use super::*;
use crate::Terminal;

fn simulation(sharing: [f64; 2]) -> SchedulingSimulation {
    under(Policy::ModulesFirst, sharing)
}

fn under(policy: Policy, sharing: [f64; 2]) -> SchedulingSimulation {
    on("fx-8150", policy, sharing)
}

fn on(name: &str, policy: Policy, sharing: [f64; 2]) -> SchedulingSimulation {
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
    for found in [simulation([0.0; 2]), simulation([0.0, 0.4])] {
        let page = schedulers_page(&found).html();
        assert!(page.contains("<svg") && page.contains("assumed") && !page.contains("<script"));
    }
    let text = said(&simulation([0.0; 2]));
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
        let scenario = Scenario { policy, pattern, threads, sharing: [0.0; 2], seed: 1 };
        let page = schedulers_page(&simulate(&machine, scenario));
        let text = page.terminal(Terminal::default(), false);
        assert!(text.lines().count() <= 24, "{name}: {text}");
    }
}

#[test]
fn no_number_is_cut_in_40_columns() {
    let narrow = text(&simulation([0.0; 2]), 40);
    assert!(narrow.contains("+8.8") && narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
}

#[test]
fn grouping_by_process_says_what_a_process_is() {
    let alike = said(&under(Policy::ProcessGrouping, [0.0; 2]));
    assert!(
        alike.contains("One last-level cache serves all CPUs, so process-grouping equals kernel-like."),
        "{alike}"
    );
    let grouped = said(&on("ryzen-1800x", Policy::ProcessGrouping, [0.0; 2]));
    assert!(
        grouped.contains("treats each pair of threads as a process and keeps it in one ccx."),
        "{grouped}"
    );
}

#[test]
fn the_largest_gain_is_named_over_each_baseline_and_none_within_the_noise() {
    let mut found = simulation([0.0; 2]);
    let text = said(&found);
    let answer = "modules-first gains at most 8.8 % over random placement (4 threads) and 16.1 % over in-order (4 threads).";
    assert!(text.contains(answer) && text.contains("awake: mean number of awake units (module)"), "{text}");
    found.rows[0].gain_over_random_interval = Interval { low: -1.0, high: 7.0 };
    assert!(said(&found).contains("No difference from random placement detected with 3 threads."));
    let alike = said(&on("jacobsville", Policy::ModulesFirst, [0.0; 2]));
    assert!(alike.contains("33.5 % over in-order and kernel-like (4 threads)."), "{alike}");
    assert!(!alike.contains("awake") && alike.contains("unknown: clock"), "{alike}");
}

#[test]
fn a_policy_is_not_compared_with_itself() {
    let found = under(Policy::Random, [0.0; 2]);
    let nothing = Interval { low: 0.0, high: 0.0 };
    assert!(found.rows.iter().all(|row| row.gain_over_random_interval == nothing));
    let text = said(&found);
    assert!(!text.contains("No gain over random") && !text.contains("is better"), "{text}");
}

#[test]
fn a_range_of_sharing_says_where_packing_pays() {
    let text = said(&simulation([0.0, 0.4]));
    assert!(text.contains("16.1 %") && text.contains("25 %"), "{text}");
    let mut found = on("ryzen-1800x", Policy::Pack, [0.0, 0.4]);
    let text = said(&found);
    for part in [
        "packing partners into one ccx beats spreading them over two from any gain.",
        "Partners in one smt share no more data than in one ccx.",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let first = schedulers_page(&found).terminal(Terminal::default(), false);
    assert!(!first.contains("turbo"), "{first}");
    let ccx = found.machine.level[1].shares_data.as_mut().expect("it has");
    ccx.value = 0.5;
    assert!(said(&found).contains("Partners in one smt share more data; that is not compared here."));
}

#[test]
fn packing_that_changes_nothing_is_equivalent_and_one_that_always_pays_does_so_from_any_gain() {
    let mut found = simulation([0.0, 0.4]);
    let packing = found.packing.as_mut().expect("asked for");
    packing.threads = 1;
    packing.break_even_percent = Some(0.0);
    assert!(said(&found).contains("With 1 thread, packing partners into one module beats spreading them over two from any gain; without turbo from a gain of 25 %"));
    let packing = found.packing.as_mut().expect("asked for");
    for point in &mut packing.points {
        point.gain_of_packing_percent = 0.0;
        point.gain_of_packing_without_turbo_percent = 0.0;
    }
    assert!(said(&found).contains(
        "With 1 thread, packing partners into one module and spreading them over two are equivalent here."
    ));
}

//! Schedulers on paper: gain by number of threads in the terminal, as CSV and as a page.

mod html;
mod terminal;
mod words;

use std::fmt::Write;

use models::scheduling::{Policy, SchedulingSimulation, Throughput};

pub use html::scheduling_html;
pub use terminal::scheduling_terminal;

/// Every number of the simulation as CSV: a row per number of threads, or a row per strength of sharing.
pub fn scheduling_csv(simulation: &SchedulingSimulation) -> String {
    let mut text = String::from(
        "section,threads,sharing_percent,gain_over_random_percent,gain_over_random_low,gain_over_random_high,gain_over_in_order_percent,gain_over_kernel_like_percent,cycles_per_ns,shared,wake_ns,awake,runs,gain_of_packing_percent,gain_of_packing_without_turbo_percent,policy\n",
    );
    for row in &simulation.rows {
        let interval = row.gain_over_random_interval;
        let _ = writeln!(
            text,
            "gain,{},{},{},{},{},{},{},{},,,{}",
            row.threads,
            simulation.scenario.sharing[0] * 100.0,
            row.gain_over_random_percent,
            interval.low,
            interval.high,
            row.gain_over_in_order_percent,
            row.gain_over_kernel_like_percent,
            throughput_cells(&row.throughput),
            simulation.scenario.policy.map_or("", Policy::name)
        );
    }
    for row in &simulation.policies {
        for one in &row.policies {
            let random = one.over_random;
            let _ = writeln!(
                text,
                "policy,{},{},{},{},{},,{},{},,,{}",
                row.threads,
                simulation.scenario.sharing[0] * 100.0,
                random.percent,
                random.interval.low,
                random.interval.high,
                one.over_kernel_like.percent,
                throughput_cells(&one.throughput),
                one.policy.name()
            );
        }
    }
    if let Some(packing) = &simulation.packing {
        for point in &packing.points {
            let _ = writeln!(
                text,
                "packing,{},{},,,,,,,,,,,{},{},",
                packing.threads,
                point.sharing_percent,
                point.gain_of_packing_percent,
                point.gain_of_packing_without_turbo_percent
            );
        }
    }
    text
}

/// The columns from `cycles_per_ns` to `runs`.
fn throughput_cells(found: &Throughput) -> String {
    let Throughput { cycles_per_ns, shared, wake_ns, awake, runs, .. } = found;
    format!("{cycles_per_ns},{shared},{wake_ns},{awake},{runs}")
}

#[cfg(test)]
mod tests {
    use models::scheduling::{Class, KNOWN, Pattern, Scenario, parse, simulate};

    use super::*;
    use stats::Interval;

    use crate::{Html, Terminal};

    fn simulation(sharing: [f64; 2]) -> SchedulingSimulation {
        under(Some(Policy::ModulesFirst), sharing)
    }

    fn under(policy: Option<Policy>, sharing: [f64; 2]) -> SchedulingSimulation {
        on("fx-8150", policy, sharing)
    }

    fn on(name: &str, policy: Option<Policy>, sharing: [f64; 2]) -> SchedulingSimulation {
        let (_, file, text) =
            KNOWN.iter().find(|(known, ..)| *known == name).expect("it comes with sidestep");
        let machine = parse(text, file).expect("it is read");
        let (pattern, class) = (Pattern::Copies, Class::Integer);
        simulate(&machine, Scenario { policy, pattern, class, threads: [3, 4], sharing, seed: 1 })
    }

    #[test]
    fn every_line_of_the_csv_has_as_many_fields_as_its_head() {
        let text = scheduling_csv(&simulation([0.0; 2]))
            + &scheduling_csv(&simulation([0.0, 0.4]))
            + &scheduling_csv(&under(None, [0.0; 2]));
        let fields: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(fields.len() > 10 && fields.iter().all(|count| *count == fields[0]), "{fields:?}");
    }

    #[test]
    fn the_page_holds_the_curve_what_was_published_and_the_source_of_each_number() {
        let page = scheduling_html(&simulation([0.0; 2]), Html { script: false });
        for part in ["<svg", "DiRT 3", "ComputerBase", "BeHardware", "assumed"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<script"));
    }

    #[test]
    fn what_a_policy_loses_is_a_bar_to_the_left() {
        let text = scheduling_terminal(&under(Some(Policy::Pack), [0.0; 2]), Terminal::default());
        let of_four = text.lines().find(|line| line.starts_with("  4 ")).expect("a bar");
        assert!(of_four.contains("██│") && of_four.contains("-6."), "{text}");
    }

    #[test]
    fn all_policies_stand_side_by_side_in_80_columns_and_on_a_page() {
        let found = under(None, [0.0; 2]);
        let text = scheduling_terminal(&found, Terminal { width_columns: 80, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let of_four = text.lines().find(|line| line.starts_with("4 ")).expect("a row");
        let cells: Vec<&str> = of_four.split_whitespace().collect();
        assert!(cells.len() == 1 + Policy::ALL.len() && cells[5].starts_with("-6."), "{text}");
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "Most is gained over random placement with 4 threads, by modules-first, modules-first-patient,",
            "kernel-like, process-grouping and data-aware: +8.8 %.",
            "Most is lost against random placement with 4 threads, by in-order and pack: -6.",
        ] {
            assert!(said.contains(part), "{part}: {text}");
        }
        let page = scheduling_html(&found, Html { script: false });
        assert!(page.contains("<svg") && page.contains("process-grouping"));
    }

    #[test]
    fn no_number_is_cut_in_two_in_40_columns() {
        for policy in [None, Some(Policy::ModulesFirst)] {
            let narrow = Terminal { width_columns: 40, colour: false };
            let text = scheduling_terminal(&under(policy, [0.0; 2]), narrow);
            assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
            let of_four = text.lines().any(|line| line.starts_with("4 ") && line.contains("+8.8"));
            assert!(of_four, "{text}");
        }
    }

    #[test]
    fn what_is_most_is_told_of_each_baseline_and_of_none_that_the_runs_do_not_tell() {
        let said = |found: &SchedulingSimulation| {
            let text = scheduling_terminal(found, Terminal::default());
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let mut found = simulation([0.0; 2]);
        let text = said(&found);
        for part in [
            "Most is gained over random placement with 4 threads (+8.8 %) and over in-order with 4 threads (+16.1 %).",
            "where nobody says how many ran, predicted is the range of all numbers of threads above",
            "-: that number of threads is not simulated here",
            "awake: mean number of units (module)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        found.rows[0].gain_over_random_interval = Interval { low: -1.0, high: 7.0 };
        assert!(said(&found).contains("No gain over random placement can be told from none with 3 threads."));
        let alike = said(&on("jacobsville", Some(Policy::ModulesFirst), [0.0; 2]));
        assert!(alike.contains("over in-order and kernel-like alike with 4 threads (+33.5 %)."), "{alike}");
        assert!(!alike.contains("nobody says") && !alike.contains("awake"), "{alike}");
        assert!(alike.contains("; not known: clock."), "{alike}");
    }

    #[test]
    fn a_policy_is_not_compared_with_itself() {
        let found = under(Some(Policy::Random), [0.0; 2]);
        assert!(
            found.rows.iter().all(|row| row.gain_over_random_interval == Interval { low: 0.0, high: 0.0 })
        );
        let text = scheduling_terminal(&found, Terminal::default());
        for part in ["Gain over random placement", "Nothing is gained", "Random placement is better"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_policy_that_cannot_differ_from_another_says_why() {
        let why =
            "One last-level cache serves all CPUs, so that process-grouping does what kernel-like does.";
        for (policy, is_told) in
            [(Some(Policy::ProcessGrouping), true), (None, true), (Some(Policy::KernelLike), false)]
        {
            let text = scheduling_terminal(&under(policy, [0.0; 2]), Terminal::default());
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(text.contains(why), is_told, "{policy:?}: {text}");
        }
        let text = scheduling_terminal(
            &on("ryzen-1800x", Some(Policy::ProcessGrouping), [0.0; 2]),
            Terminal::default(),
        );
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("takes each pair of threads for a process, and keeps it in one ccx."),
            "{text}"
        );
    }

    #[test]
    fn a_range_of_sharing_says_where_packing_pays() {
        let found = simulation([0.0, 0.4]);
        let text = scheduling_terminal(&found, Terminal { width_columns: 80, colour: false });
        assert!(text.contains("16.1 %") && text.contains("25 %"), "{text}");
        assert!(scheduling_html(&found, Html { script: false }).contains("<svg"));
    }

    #[test]
    fn packing_names_the_unit_that_matters_and_no_turbo_where_there_is_none() {
        let mut found = on("ryzen-1800x", Some(Policy::Pack), [0.0, 0.4]);
        let said = |found: &SchedulingSimulation| {
            let text = scheduling_terminal(found, Terminal::default());
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = said(&found);
        for part in [
            "packing partners into one ccx beats spreading them over two from any gain.",
            "Partners in one smt have no more of the shared data in reach than in one ccx.",
        ] {
            assert!(text.contains(part) && !text.contains("turbo"), "{text}");
        }
        let ccx = found.machine.level[1].shares_data.as_mut().expect("it has");
        ccx.value = 0.5;
        assert!(said(&found).contains("Partners in one smt have more of the shared data in reach; that is"));
    }

    #[test]
    fn packing_that_changes_nothing_is_the_same_and_one_that_always_pays_does_so_from_any_gain() {
        let mut found = simulation([0.0, 0.4]);
        let packing = found.packing.as_mut().expect("asked for");
        packing.threads = 1;
        packing.break_even_percent = Some(0.0);
        let said = |found: &SchedulingSimulation| {
            let text = scheduling_terminal(found, Terminal::default());
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(said(&found).contains("With 1 thread, packing partners into one module beats spreading them over two from any gain; without turbo from a gain of 25 %"));
        let packing = found.packing.as_mut().expect("asked for");
        for point in &mut packing.points {
            point.gain_of_packing_percent = 0.0;
            point.gain_of_packing_without_turbo_percent = 0.0;
        }
        assert!(said(&found).contains(
            "With 1 thread, packing partners into one module and spreading them over two are the same here."
        ));
    }
}

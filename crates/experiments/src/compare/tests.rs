//! Comparisons of small made-up configurations: what is claimed, what is not, and what is refused.

use std::fmt::Write;

use stats::Random;

use super::*;

const NO_PATCH: &str = include_str!("../../../../examples/phenom-9600/no-patch.csv");
const PATCH: &str = include_str!("../../../../examples/phenom-9600/patch.csv");

fn table(name: &str, rows: &[(&str, &str, &str, &str, Vec<f64>)]) -> Configuration {
    let mut text = "name,unit,better,group,values,kind\n".to_owned();
    for (test, unit, better, group, values) in rows {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "{test},{unit},{better},{group},{},micro", values.join(" "));
    }
    read(name, text.as_bytes()).expect("a table").remove(0)
}

fn noisy(centre: f64, noise: f64, count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| centre * (noise * random.normal()).exp()).collect()
}

fn arms(before: f64, after: f64, noise: f64) -> [Configuration; 2] {
    let one = |name: &str, centre: f64, seed: u64| {
        table(
            name,
            &[
                ("latency", "ns", "lower", "memory", noisy(centre, noise, 20, seed)),
                ("rate", "GB/s", "higher", "memory", noisy(1e3 / centre, noise, 20, seed + 1)),
                ("loop", "it/s", "higher", "controls", noisy(5.0, 0.001, 20, seed + 2)),
            ],
        )
    };
    [one("before", before, 1), one("after", after, 11)]
}

fn compared(configurations: &[Configuration]) -> ComparisonTable {
    compare(configurations, &[], &Options::default()).expect("comparable")
}

fn example() -> Vec<Configuration> {
    [("no-patch", NO_PATCH), ("patch", PATCH)]
        .into_iter()
        .flat_map(|(name, text)| read(name, text.as_bytes()).expect("the example can be read"))
        .collect()
}

#[test]
fn the_article_is_reproduced_row_by_row_and_in_its_averages() {
    let options = Options { without: vec!["memory".to_owned()], ..Options::default() };
    let found = compare(example(), &[], &options).expect("comparable");
    let printed: Vec<String> = found.rows.iter().map(|row| format!("{:.1}", row.symmetric_percent)).collect();
    let article = [
        "9.6", "38.7", "38.7", "50.6", "7.8", "13.3", "57.1", "9.2", "5.1", "29.9", "12.0", "4.8", "0.0",
        "0.0",
    ];
    assert_eq!(printed, article);
    let average = |group: &str| found.averages.iter().find(|one| one.group == group).expect("an average");
    assert_eq!(format!("{:.1}", average("all").symmetric_percent), "19.8");
    assert_eq!(format!("{:.1}", average("without:memory").symmetric_percent), "13.9");
    assert_eq!((average("all").rows, average("without:memory").rows), (14, 10));
}

#[test]
fn single_runs_carry_no_interval_and_nothing_is_claimed_of_them() {
    let found = compared(&example());
    assert!(found.rows.iter().all(|row| row.interval.is_none() && row.q.is_none()));
    assert!(found.rows.iter().all(|row| row.verdict == Verdict::Inconclusive));
    assert!(found.averages.iter().all(|one| one.floor_percent.is_none()));
    assert!(found.cautions.iter().any(|caution| caution.contains("single runs carry no interval")));
}

#[test]
fn a_slowdown_is_slower_in_both_directions_of_better_and_the_control_stays() {
    let found = compared(&arms(10.0, 11.0, 0.01));
    let verdicts: Vec<Verdict> = found.rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Slower, Verdict::Slower, Verdict::Equivalent], "{:#?}", found.rows);
    assert!(found.rows[0].change_percent > 8.0 && found.rows[1].change_percent < -8.0);
    assert!(found.drift.moved.is_empty() && found.drift.controls == ["loop"]);
    assert!(is_slower_by(&found.rows[0], 2.0) && !is_slower_by(&found.rows[0], 20.0));
    let memory = found.averages.iter().find(|one| one.group == "memory").expect("an average");
    assert!((8.0..12.0).contains(&memory.geometric_percent), "{memory:?}");
    assert!(memory.floor_percent.is_some_and(|floor| floor > 0.0 && floor < 2.0), "{memory:?}");
}

#[test]
fn a_configuration_against_itself_is_never_called_different() {
    let [one, _] = arms(10.0, 10.0, 0.05);
    let found = compared(&[one.clone(), one]);
    assert!(found.rows.iter().all(|row| !matches!(row.verdict, Verdict::Faster | Verdict::Slower)));
    assert_eq!(found.configurations[0].name, "before (1)");
}

#[test]
fn of_hundreds_of_rows_of_nothing_at_most_one_is_claimed() {
    let names: Vec<String> = (0..400).map(|index| format!("test {index}")).collect();
    let of = |seed: u64| {
        let rows: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                (name.as_str(), "s", "lower", "g", noisy(1.0, 0.02, 10, seed + index as u64))
            })
            .collect();
        table("x", &rows)
    };
    let found = compared(&[of(1), of(1_000_000)]);
    let claims =
        found.rows.iter().filter(|row| matches!(row.verdict, Verdict::Faster | Verdict::Slower)).count();
    assert!(claims <= 1, "{claims} of 400");
}

#[test]
fn a_control_that_moved_raises_the_margin_of_all_others() {
    let [before, mut after] = arms(10.0, 10.4, 0.002);
    let control = after.tests.iter_mut().find(|test| test.control).expect("a control");
    control.cells.values_mut().flat_map(|cell| &mut cell.samples).for_each(|sample| sample.value *= 0.9);
    let found = compared(&[before, after]);
    assert_eq!(found.drift.moved, ["loop"]);
    let latency = &found.rows[0];
    assert!(latency.margin_percent > 9.0 && latency.verdict != Verdict::Slower, "{latency:?}");
}

#[test]
fn tests_of_one_configuration_only_are_listed_and_not_imputed() {
    let [before, mut after] = arms(10.0, 11.0, 0.01);
    after.tests.remove(1);
    let found = compared(&[before, after]);
    assert_eq!(found.rows.len(), 2);
    assert_eq!(found.unmatched[0].name, "rate");
    assert_eq!(found.unmatched[0].present_in, ["before"]);
}

#[test]
fn what_does_not_fit_together_is_refused_in_one_line() {
    let one = |unit: &str, better: &str, values: Vec<f64>| table("x", &[("a", unit, better, "g", values)]);
    let other = table("y", &[("b", "s", "lower", "g", vec![1.0])]);
    let base = one("s", "lower", vec![1.0]);
    let with = |second: Configuration, options: Options| {
        compare([base.clone(), second], &[], &options).expect_err("refused").to_string()
    };
    let none = Options::default();
    assert!(
        with(one("ms", "lower", vec![1.0]), none.clone())
            .starts_with("a is in s in x (1), but in ms in x (2)")
    );
    assert!(with(one("s", "higher", vec![1.0]), none.clone()).starts_with("a is better when higher in one"));
    assert!(with(other, none.clone()).starts_with("x, y have no test in common"));
    let baseline = Options { baseline: Some("z".to_owned()), ..none.clone() };
    assert!(with(base.clone(), baseline).starts_with("no configuration is called z"));
    let without = Options { without: vec!["memory".to_owned()], ..none.clone() };
    assert!(with(base.clone(), without).starts_with("no test is in the group memory; the groups are g"));
    assert!(
        compare(std::slice::from_ref(&base), &[], &none).expect_err("one").to_string().starts_with("only x")
    );
}

#[test]
fn several_candidates_stand_in_order_against_the_baseline_that_was_chosen() {
    let [before, after] = arms(10.0, 11.0, 0.01);
    let mut third = after.clone();
    third.name = "third".to_owned();
    for asked in ["2", "after"] {
        let options = Options { baseline: Some(asked.to_owned()), ..Options::default() };
        let found =
            compare([before.clone(), after.clone(), third.clone()], &[], &options).expect("comparable");
        let names: Vec<&str> = found.rows[..2].iter().map(|row| row.candidate.as_str()).collect();
        assert_eq!((found.baseline, names), (1, vec!["before", "third"]));
        assert_eq!(found.rows[0].verdict, Verdict::Faster);
    }
}

/// A surface of two levels, each cell with three values a half percent apart.
fn surface(name: &str, memory_ns: f64, blocks: u64) -> Configuration {
    let cell = |block: u64| {
        let (level, value) = if block < 4 { ("L1", 1.0) } else { ("memory", memory_ns) };
        let samples = [0.995, 1.0, 1.005].map(|share| Sample::plain(value * share)).into();
        ([block, 64], Cell { level: Some(level.to_owned()), samples, ..Cell::default() })
    };
    let mut one = table(name, &[("latency", "ns", "lower", "memory", vec![1.0])]);
    one.tests[0].cells = (0..blocks).map(cell).collect();
    one
}

#[test]
fn a_surface_is_one_row_per_level_over_the_cells_that_both_hold() {
    let found = compared(&[surface("x", 60.0, 12), surface("y", 90.0, 9)]);
    let rows: Vec<(&str, f64)> =
        found.rows.iter().map(|row| (row.name.as_str(), row.change_percent)).collect();
    assert_eq!(rows, [("latency, L1", 0.0), ("latency, memory", 50.0)]);
    assert_eq!(found.rows[1].verdict, Verdict::Slower);
}

#[test]
fn other_machines_and_changed_conditions_are_said() {
    let [mut before, mut after] = arms(10.0, 11.0, 0.01);
    let fact = |name: &str, value: &str| record::Fact { name: name.to_owned(), value: value.to_owned() };
    before.facts = vec![fact("kernel", "6.1"), fact("CPU", "x"), fact("board", "same")];
    after.facts = vec![fact("kernel", "6.2"), fact("CPU", "y"), fact("board", "same")];
    let found = compared(&[before, after]);
    let names: Vec<&str> = found.differences.iter().map(|one| one.fact.as_str()).collect();
    assert_eq!(names, ["kernel", "CPU"]);
    assert!(found.cautions[0].starts_with("these are different machines"));
}

#[test]
fn a_reboot_between_is_reported_and_the_same_boot_is_not() {
    let in_boot = |name: &str, boot: &str| {
        let [mut one, _] = arms(10.0, 10.0, 0.01);
        name.clone_into(&mut one.name);
        one.facts.push(record::Fact { name: record::BOOT.to_owned(), value: boot.to_owned() });
        one
    };
    let says_so = |second: &str| {
        let found = compared(&[in_boot("a", "1f0c2d3e"), in_boot("b", second)]);
        found.cautions.iter().any(|caution| caution.contains("a reboot lies between"))
    };
    assert!(says_so("99aa0011"));
    assert!(!says_so("1f0c2d3e"));
}

//! The table of truth against verdict.

use super::definition::Machine;
use super::verdict::Row;

/// Prints the head of a table: its columns, with bars between them.
fn head(columns: &str) {
    println!("| {columns} |\n|{}", "---|".repeat(columns.split(" | ").count()));
}

/// A line per machine.
pub fn list(machines: &[Machine]) {
    head("machine | tier | in tests | CPUs | kernel | what it is");
    for machine in machines {
        let tests = if machine.in_tests { "yes" } else { "no" };
        let (name, kernel) = (&machine.name, &machine.kernel);
        println!(
            "| {name} | {} | {tests} | {} | {}, {} | {} |",
            machine.tier,
            machine.cpus(),
            kernel.package,
            kernel.suite,
            machine.title
        );
    }
}

/// One machine's result: in all rows, or in those that do not hold.
pub fn show(machine: &Machine, rows: &[Row], seconds: f64, all: bool) {
    let wrong = rows.iter().filter(|row| !row.holds).count();
    let verdict = if wrong == 0 { "all held".to_owned() } else { format!("{wrong} did not hold") };
    println!("{}: {} statements, {verdict} ({seconds:.1} s)", machine.name, rows.len());
    let shown: Vec<&Row> = rows.iter().filter(|row| all || !row.holds).collect();
    if shown.is_empty() {
        return;
    }
    head("holds | step | what | expected | said | source");
    for row in shown {
        println!("| {} | {} |", if row.holds { "yes" } else { "NO" }, cells(row));
    }
}

fn cells(row: &Row) -> String {
    let cell = |text: &String| text.replace('|', "\\|").replace('\n', " ");
    [&row.step, &row.what, &row.expected, &row.said, &row.source].map(cell).join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_in_a_value_does_not_end_its_cell() {
        let row = Row {
            step: "a".to_owned(),
            what: "b".to_owned(),
            expected: "x|y".to_owned(),
            said: "1\n2".to_owned(),
            source: "s".to_owned(),
            holds: true,
        };
        assert_eq!(cells(&row), "a | b | x\\|y | 1 2 | s");
    }
}

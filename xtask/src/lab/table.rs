//! The table of truth against verdict: in the terminal, and in docs/lab.md.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;

use super::definition::{self, Machine};
use super::verdict::Row;
use crate::cargo;

/// What stands between these lines of the page is written here.
const BEGIN: &str = "<!-- written by cargo xtask lab --table -->";
const END: &str = "<!-- end of what is written -->";

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

/// Writes the stored rows of all machines into docs/lab.md.
///
/// # Errors
/// A machine has never been run here, or the page has no place for the table.
pub fn write(cache: &Path) -> anyhow::Result<()> {
    let machines = definition::load(&definition::folder(), &[])?;
    let mut sections = String::new();
    let mut summary =
        String::from("| machine | tier | what it is | statements | held |\n|---|---|---|---|---|\n");
    for machine in &machines {
        let file = cache.join("results").join(format!("{}.json", machine.name));
        let bytes = fs::read(&file)
            .with_context(|| format!("{} has not been run here: cargo xtask lab {0}", machine.name))?;
        let rows: Vec<Row> = serde_json::from_slice(&bytes).with_context(|| format!("{}", file.display()))?;
        let held = rows.iter().filter(|row| row.holds).count();
        let (name, title) = (&machine.name, &machine.title);
        // Forges drop full stops from the names of headings.
        let place = name.replace('.', "");
        let _ = writeln!(
            summary,
            "| [{name}](#{place}) | {} | {title} | {} | {held} |",
            machine.tier,
            rows.len()
        );
        sections += &section(machine, &rows);
    }
    let page = cargo::root().join("docs/lab.md");
    let text = fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    let text = replaced(&text, &format!("{summary}{sections}"))
        .with_context(|| format!("docs/lab.md has no lines {BEGIN} and {END}"))?;
    fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))
}

/// A heading, what the machine stands for, and its rows; exit codes that are right are no news.
fn section(machine: &Machine, rows: &[Row]) -> String {
    let mut text = format!("\n### {}\n\n{}. {}\n\n", machine.name, machine.title, machine.why.trim());
    text += "| step | what | expected | said | source |\n|---|---|---|---|---|\n";
    for row in rows.iter().filter(|row| !row.holds || row.what != "exit code") {
        let _ = writeln!(text, "| {} |", cells(row));
    }
    text
}

/// `page` with `table` between the marks.
fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_written() {
        let page = format!("# Lab\n\n{BEGIN}\nold\n{END}\n\nlast\n");
        let new = replaced(&page, "| a |\n").expect("it has both marks");
        assert_eq!(new, format!("# Lab\n\n{BEGIN}\n\n| a |\n\n{END}\n\nlast\n"));
        assert_eq!(replaced(&new, "| a |\n"), Some(new.clone()));
        assert!(replaced("# Lab\n", "").is_none());
    }

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

//! Workloads: what there is to measure with, what of it can run here, and what one turn of each gave.

use record::Better;
use serde::Serialize;

use crate::page::{Block, Cell, Page, Section, Statement, Table, Tone};

/// Workloads on a first screen.
const WORKLOADS_FIRST: usize = 16;

/// What `sidestep workloads` lists.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadList {
    /// Version of this document.
    pub schema: u32,
    /// Each workload.
    pub workloads: Vec<WorkloadLine>,
    /// The command that installs what is missing; one for each kind of distribution if this one is unknown.
    pub install: Vec<String>,
}

/// One workload on this machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadLine {
    /// As it is typed.
    pub id: String,
    /// What it does.
    pub title: String,
    /// The suites in which it is.
    pub suites: Vec<String>,
    /// Its heading in a table.
    pub group: String,
    /// The row of an article for which it stands.
    pub article_row: Option<String>,
    /// What its time depends on, the most important first.
    pub stresses: Vec<String>,
    /// Seconds of a turn on a current machine.
    pub seconds_a_turn: f64,
    /// Threads that it keeps busy; `None` is one for each CPU.
    pub threads: Option<u16>,
    /// Unit of its number.
    pub unit: String,
    /// Which direction of it is the good one.
    pub better: Better,
    /// True where a mitigation in memory or kernel cannot move it.
    pub control: bool,
    /// Why its turns differ, where they do.
    pub why_noisy: Option<String>,
    /// Licence of the program.
    pub licence: String,
    /// Packages that it requires on this distribution.
    pub packages: Vec<String>,
    /// Those that are not installed; `None` if that is unknown.
    pub missing: Option<Vec<String>>,
    /// What is run, as a script.
    pub command: String,
}

/// What `sidestep workloads check` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadCheck {
    /// Version of this document.
    pub schema: u32,
    /// Turns of each workload, without the first where there are several.
    pub turns: usize,
    /// Each workload.
    pub checked: Vec<CheckedWorkload>,
}

/// Turns of one workload: means over all of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedWorkload {
    /// As it is typed.
    pub id: String,
    /// Seconds of a turn.
    pub wall_s: Option<f64>,
    /// CPU time in user mode, in seconds.
    pub user_s: Option<f64>,
    /// CPU time in the kernel, in seconds.
    pub system_s: Option<f64>,
    /// Coefficient of variation of the CPU time in user mode, in percent, from three turns on.
    pub user_cv_percent: Option<f64>,
    /// Its number.
    pub value: Option<f64>,
    /// Unit of that.
    pub unit: String,
    /// Why it has no number, in one line.
    pub problem: Option<String>,
}

pub fn workloads_page(list: &WorkloadList) -> Page {
    let lines = &list.workloads;
    let count = machine::counted(lines.len(), "workload");
    let lacking = lines.iter().filter(|line| line.missing.as_ref().is_some_and(|it| !it.is_empty())).count();
    let is_known = lines.iter().all(|line| line.missing.is_some());
    let answer = match (is_known, lacking) {
        (false, _) => Statement::doubt(format!("{count}; whether their packages are here is unknown")),
        (true, 0) => Statement::good(format!("{count}, all packages are here")),
        (true, _) => Statement::look(format!("{count}, {lacking} of them lack packages")),
    };
    let table = Table::of("workloads", lines)
        .word("workload", |line| &line.id)
        .prose("stresses", |line| line.stresses.join(", "))
        .number(("a turn", "s"), |line| Cell::tenths(line.seconds_a_turn))
        .word(("threads", 2), |line| line.threads.map_or("all".to_owned(), |count| count.to_string()))
        .word(("group", 3), |line| &line.group)
        .word(("packages", 1), |line| match line.missing.as_deref() {
            None => (Tone::Doubt, "unknown".to_owned()),
            Some([]) => (Tone::Good, "here".to_owned()),
            Some([one]) => (Tone::Look, format!("no {one}")),
            Some(several) => (Tone::Look, format!("{} missing", several.len())),
        })
        .first(WORKLOADS_FIRST)
        .table();
    let mut next = vec!["One turn of each: sidestep workloads check".to_owned()];
    if !list.install.is_empty() {
        next.insert(0, "The command that installs what is missing: see --long".to_owned());
    }
    let commands = list.install.iter().cloned().map(Block::Command);
    let install = commands.fold(Section::new("install", "To install what is missing"), Section::with);
    let mut sections = vec![Section::new("workloads", "").table(table), titles(lines)];
    sections.extend(install.filled().map(Section::detailed));
    Page { answer, sections, next, ..Page::default() }
}

/// What each does, and for what it stands.
fn titles(lines: &[WorkloadLine]) -> Section {
    let facts = lines.iter().map(|line| {
        let control = if line.control { "; a control" } else { "" };
        let row = line.article_row.as_ref().map_or(String::new(), |row| format!("; stands for {row}"));
        let noisy = line.why_noisy.as_ref().map_or(String::new(), |why| format!("; noisy: {why}"));
        (line.id.clone(), format!("{}{control}{row}{noisy}", line.title))
    });
    Section::new("titles", "What each does").facts(facts).detailed()
}

/// What turns gave.
pub fn workload_check_page(check: &WorkloadCheck) -> Page {
    let failed = check.checked.iter().filter(|one| one.problem.is_some()).count();
    let count = machine::counted(check.checked.len(), "workload");
    let answer = match failed {
        0 => Statement::good(format!("{count} checked, all run")),
        _ => Statement::look(format!("{count} checked, {failed} of them without a number")),
    };
    let table = Table::of("checked", &check.checked)
        .word("workload", |one| &one.id)
        .number(("a turn", "s"), |one| Cell::known(one.wall_s))
        .number(("user", "s"), |one| Cell::known(one.user_s))
        .number(("system", "s", 2), |one| Cell::known(one.system_s))
        .number(("user CV", "%", 1), |one| Cell::known(one.user_cv_percent))
        .number("metric", |one| Cell::known(one.value))
        .word("unit", |one| one.value.map(|_| &one.unit))
        .detail(|one| one.problem.clone())
        .table();
    let sections = vec![Section::new("checked", "").table(table)];
    Page { answer, sections, ..Page::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Terminal;

    fn line(id: &str, missing: Option<&[&str]>) -> WorkloadLine {
        WorkloadLine {
            id: id.to_owned(),
            title: format!("does {id}"),
            stresses: vec!["branches".to_owned(), "TLB".to_owned()],
            seconds_a_turn: 1.5,
            missing: missing.map(|all| all.iter().map(|&one| one.to_owned()).collect()),
            article_row: Some("WinZip".to_owned()),
            suites: Vec::new(),
            group: "archives".to_owned(),
            threads: None,
            unit: "s".to_owned(),
            better: Better::Lower,
            control: false,
            why_noisy: None,
            licence: "MIT".to_owned(),
            packages: Vec::new(),
            command: "zip".to_owned(),
        }
    }

    fn list(lines: Vec<WorkloadLine>, long: bool) -> String {
        let list = WorkloadList { schema: 1, workloads: lines, install: Vec::new() };
        workloads_page(&list).terminal(Terminal::default(), long)
    }

    #[test]
    fn the_list_begins_with_what_is_missing() {
        let text = list(vec![line("zip", Some(&[])), line("x264", Some(&["x264"]))], true);
        assert!(text.starts_with("2 workloads, 1 of them lack packages\n"), "{text}");
        for part in ["zip", "branches, TLB", "1.5", "all", "here", "no x264", "stands for WinZip"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(list(vec![line("zip", Some(&[]))], false).starts_with("1 workload, all packages are here"));
        assert!(list(vec![line("zip", None)], false).contains("is unknown"));
    }

    #[test]
    fn a_workload_without_a_number_says_why_below_its_row() {
        let good = CheckedWorkload {
            wall_s: Some(2.0),
            value: Some(3.0),
            unit: "fps".to_owned(),
            ..Default::default()
        };
        let bad = CheckedWorkload { problem: Some("it printed none".to_owned()), ..Default::default() };
        let check = WorkloadCheck { schema: 1, turns: 1, checked: vec![good, bad] };
        let text = workload_check_page(&check).terminal(Terminal::default(), false);
        assert!(text.starts_with("2 workloads checked, 1 of them without a number\n"), "{text}");
        assert!(text.contains("fps") && text.contains("it printed none"), "{text}");
    }

    #[test]
    fn the_command_that_installs_stands_alone_on_its_line() {
        let command = format!("sudo apt-get install {}", "package ".repeat(20).trim());
        let workloads = vec![line("x264", Some(&["x264"]))];
        let list = WorkloadList { schema: 1, workloads, install: vec![command.clone()] };
        let page = workloads_page(&list);
        let text = page.terminal(Terminal::default(), true);
        assert!(text.lines().any(|line| line.trim() == command), "{text}");
        assert!(page.terminal(Terminal::default(), false).contains("installs what is missing: see --long"));
    }
}

//! The parts that are not figures: the first screen, findings, conditions, machine, data and command.

use std::fmt::Write;

use record::{Provenance, Record, Severity};

use super::markup::{Charts, commands, folded, terms};
use crate::escape::{self, markup};
use crate::number::count;
use crate::page::Section;
use crate::page::html::{blocks, opening};
use crate::terminal::Terminal;
use crate::view::check_up::{self, METHOD, check_up_page};
use crate::view::machine_page;

/// Width of the full description of the machine, in columns of a fixed font.
const MACHINE_COLUMNS: usize = 100;

fn mark_and_word(severity: Severity) -> (&'static str, &'static str, &'static str) {
    match severity {
        Severity::Warning => ("!", "warning", "Costs performance or makes numbers wrong"),
        Severity::Inconclusive => ("?", "inconclusive", "Inconclusive"),
        Severity::Notice => ("i", "notice", "Worth knowing"),
        Severity::Good => ("✓", "good", "As expected"),
    }
}

/// The first screen, when and how it was measured, and contents.
pub(super) fn head(record: &Record, charts: &mut Charts) -> String {
    let page = check_up_page(record, None);
    let links = [
        ("findings", "Findings"),
        ("conditions", "Conditions"),
        ("machine", "Machine"),
        ("flaws", if record.flaws.is_empty() { "" } else { "Flaws" }),
        ("levels", "Memory"),
        ("sockets", "Sockets"),
        ("cores", "Cores"),
        ("clocks", "Clocks"),
        ("plan", "Plan"),
        ("data", "Data"),
    ]
    .map(|(id, word)| if word.is_empty() { String::new() } else { format!("<a href=\"#{id}\">{word}</a>") })
    .concat();
    let mut html = opening(&page, "sidestep check-up");
    let first: Vec<Section> = page.sections.into_iter().filter(|section| !section.is_detail).collect();
    html += &blocks(&first, charts);
    if !page.next.is_empty() {
        let _ = writeln!(html, "<div class=\"block\"><h3>What to do next</h3>{}</div>", commands(&page.next));
    }
    for line in &page.about {
        let _ = writeln!(html, "<p class=\"run\">{}</p>", markup(line));
    }
    html + &format!("<nav>{links}</nav>\n")
}

/// The findings, most important first.
pub(super) fn findings(record: &Record) -> String {
    let ordered = check_up::ordered(record);
    let mut html = String::from("<section id=\"findings\"><h2>Findings</h2>\n");
    if ordered.is_empty() {
        html += "<p class=\"note\">None: nothing was judged, or nothing stood out.</p>";
    }
    for finding in ordered {
        let (mark, class, word) = mark_and_word(finding.severity);
        let _ = write!(
            html,
            "<article class=\"finding {class}\"><span class=\"sign\" title=\"{word}\" aria-label=\"{word}\">{mark}</span>\
             <div><h3>{}</h3>",
            markup(&finding.text)
        );
        let facts = check_up::facts(finding);
        if !facts.is_empty() {
            // What is as expected needs no room until somebody asks.
            let folded = finding.severity == Severity::Good;
            html += if folded { "<details><summary>Evidence</summary>" } else { "" };
            html += &terms(&facts);
            html += if folded { "</details>" } else { "" };
        }
        html += "</div></article>\n";
    }
    if record.findings.iter().any(|finding| finding.source.as_deref() == Some(METHOD)) {
        let _ =
            write!(html, "<p class=\"note\">How each was judged, unless a source is named: {METHOD}.</p>");
    }
    html + "</section>\n"
}

/// What disturbed the run, and the doubts in words.
pub(super) fn conditions(record: &Record, charts: &mut Charts) -> String {
    let conditions = Section { title: String::new(), ..check_up::conditions(record) };
    folded("conditions", "Measurement conditions", true, &blocks(&[conditions], charts))
}

/// What the machine claims to be.
pub(super) fn machine(record: &Record) -> String {
    let machine = &record.machine;
    let environment = &machine.environment;
    let identity = &machine.identity;
    let number_of = |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let of_x86 = || {
        format!(
            "{}, family {} model {} stepping {}",
            identity.vendor.as_ref().map_or_else(|| "unknown vendor".to_owned(), ToString::to_string),
            number_of(identity.family),
            number_of(identity.model),
            number_of(identity.stepping)
        )
    };
    let signature = identity.main_id_registers().unwrap_or_else(of_x86);
    let topology = &machine.topology;
    let cores = format!(
        "{}, {}, {}, {}",
        count(topology.packages().len(), "package"),
        count(topology.cores.len(), "core"),
        count(topology.cpus.len(), "CPU"),
        if topology.nodes.is_empty() {
            "nodes unknown".to_owned()
        } else {
            count(topology.nodes.len(), "node")
        }
    );
    let rows = [
        ("CPU", identity.name.clone().unwrap_or_default()),
        ("Signature", signature),
        ("Hypervisor", identity.hypervisor.clone().unwrap_or_else(|| "none seen".to_owned())),
        ("Topology", cores),
        ("Memory", environment.memory_bytes.map_or_else(String::new, |bytes| bytes.to_string())),
        ("Kernel", environment.kernel.clone().unwrap_or_default()),
        ("Command line", environment.command_line.clone().unwrap_or_default()),
        ("Huge pages", environment.transparent_huge_pages.enabled.clone().unwrap_or_default()),
        ("Clock source", environment.clock_sources.current.clone().unwrap_or_default()),
        ("Board", identity.board.clone().unwrap_or_default()),
        ("BIOS", identity.bios.clone().unwrap_or_default()),
    ];
    let terminal = Terminal { width_columns: MACHINE_COLUMNS, colour: false };
    let whole = machine_page(machine).terminal(terminal, true);
    let whole: String = whole.lines().map(|line| markup(line) + "\n").collect();
    format!(
        "<section id=\"machine\"><h2>Machine</h2>{}<details><summary>Everything it tells</summary>\
         <div class=\"scroll\"><pre>{whole}</pre></div></details></section>\n",
        terms(&rows)
    )
}

/// The command to repeat the run, and where the data is.
pub(super) fn data(record: &Record, script: bool) -> String {
    // Of all that writes a record, only the check-up has a plan, and takes a seed.
    let command = repeating(&record.provenance, !record.plan.entries.is_empty());
    let data = if script {
        "<p id=\"download-note\">This page holds the record.</p>\
         <p><button type=\"button\" id=\"download\" hidden>Download record.json</button></p>"
    } else {
        "<p>The raw data is in the record beside this page; <code>sidestep show --csv record.json</code> lists it.</p>"
    };
    format!(
        "<section id=\"data\"><h2>Data</h2><p>To repeat this run:</p>\
         <div class=\"scroll\"><pre class=\"command\">{}</pre></div>{data}</section>\n",
        markup(&command)
    )
}

/// The command that does the same again, with the same random choices if it takes a seed.
fn repeating(provenance: &Provenance, takes_seed: bool) -> String {
    let given = &provenance.arguments;
    let (options, program) =
        given.split_at(given.iter().position(|word| word == "--").unwrap_or(given.len()));
    let is_seeded = options.iter().any(|word| word == "--seed" || word.starts_with("--seed="));
    let seed = [String::from("--seed"), provenance.seed.to_string()];
    let seed = if is_seeded || !takes_seed { &[][..] } else { &seed };
    let words = options.iter().chain(seed).chain(program).map(|word| shell_word(word));
    [String::from("sidestep")].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// An argument as a shell needs it.
pub fn shell_word(argument: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(safe) {
        return argument.to_owned();
    }
    format!("'{}'", escape::plain(argument).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_repeats_a_run_holds_its_seed() {
        for (given, expected) in [
            ("", "sidestep --seed 7"),
            ("run --quick", "sidestep run --quick --seed 7"),
            ("--seed 9", "sidestep --seed 9"),
            ("run --seed=9", "sidestep run --seed=9"),
            ("ab -- ./p --seed 1", "sidestep ab --seed 7 -- ./p --seed 1"),
        ] {
            let arguments = given.split_whitespace().map(str::to_owned).collect();
            let provenance = Provenance { arguments, seed: 7, ..Provenance::default() };
            assert_eq!(repeating(&provenance, true), expected);
        }
        let arguments = vec!["clock".to_owned(), "check".to_owned()];
        let provenance = Provenance { arguments, seed: 7, ..Provenance::default() };
        assert_eq!(repeating(&provenance, false), "sidestep clock check");
    }

    #[test]
    fn arguments_are_quoted_only_where_a_shell_needs_it() {
        for (argument, expected) in
            [("--cpus", "--cpus"), ("0-3,8", "0-3,8"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''")]
        {
            assert_eq!(shell_word(argument), expected);
        }
    }
}

//! The parts that are not figures: verdict, findings, guards, machine, data and command.

use std::fmt::Write;

use record::{Finding, Provenance, Record, Severity};

use super::markup::terms;
use crate::escape::{self, markup};
use crate::terminal::Terminal;
use crate::{machine_text, number};

/// Width of the full description of the machine, in columns of a fixed font.
const MACHINE_COLUMNS: usize = 100;
/// Doubts that stand open.
const DOUBTS_SHOWN: usize = 5;
/// The source of what needs no other: said once, below the findings.
const METHOD: &str = "METHODOLOGY.md";

fn mark_and_word(severity: Severity) -> (&'static str, &'static str, &'static str) {
    match severity {
        Severity::Warning => ("!", "warning", "Costs performance or makes numbers wrong"),
        Severity::Inconclusive => ("?", "inconclusive", "Inconclusive"),
        Severity::Notice => ("i", "notice", "Worth knowing"),
        Severity::Good => ("✓", "good", "As expected"),
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// One sentence that sums the findings up.
fn verdict(record: &Record) -> String {
    let of = |severity| record.findings.iter().filter(|finding| finding.severity == severity).count();
    let (warnings, doubts, good) = (of(Severity::Warning), of(Severity::Inconclusive), of(Severity::Good));
    let mut parts = Vec::new();
    if warnings > 0 {
        parts.push(format!(
            "{} performance or {} numbers wrong",
            count(warnings, "finding costs", "findings cost"),
            if warnings == 1 { "makes" } else { "make" }
        ));
    }
    if doubts > 0 {
        parts.push(format!("{doubts} could not be decided"));
    }
    if good > 0 {
        parts.push(format!("{} as expected", count(good, "check came out", "checks came out")));
    }
    if parts.is_empty() {
        return "Nothing was judged: the record holds no finding that needs action.".to_owned();
    }
    format!("{}.", parts.join("; "))
}

/// Name of the machine, verdict, when and how it was measured, contents.
pub(super) fn head(record: &Record) -> String {
    let origin = &record.provenance;
    let mut title = machine_text::headline(&record.machine);
    if let Some(host) = &origin.host_name {
        title = format!("{host}: {title}");
    }
    let (name, rest) = title.split_once(", ").unwrap_or((&title, ""));
    let mut run = format!(
        "sidestep {}, started {}, took {} s of {} s, seed {}",
        origin.tool_version,
        origin.started_utc,
        number::short(record.elapsed_s),
        number::short(origin.budget_s),
        origin.seed
    );
    run += if origin.root { ", as root" } else { ", without root" };
    let partial = record.partial.as_ref().map_or_else(String::new, |why| {
        format!("<p class=\"partial\"><b>Partial:</b> {}. What was done until then follows.</p>", markup(why))
    });
    let planted = crate::plan::planted(record).map_or_else(String::new, |what| {
        format!("<p class=\"partial\"><b>Planted:</b> {}.</p>", markup(&what))
    });
    let links = [
        ("findings", "Findings"),
        ("guards", "Trust"),
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
    format!(
        "<header>{planted}<p class=\"kicker\">sidestep check-up</p><h1>{}</h1><p class=\"sub\">{}</p>\
         <p class=\"verdict\">{}</p>{partial}<p class=\"run\">{}</p><nav>{links}</nav></header>\n",
        markup(name),
        markup(rest),
        markup(&verdict(record)),
        markup(&run)
    )
}

/// The findings, most important first.
pub(super) fn findings(record: &Record) -> String {
    let mut ordered: Vec<&Finding> = record.findings.iter().collect();
    ordered.sort_by_key(|finding| finding.severity);
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
        let texts = [
            ("Mechanism", &finding.mechanism),
            ("Expected", &finding.prediction),
            ("What to do", &finding.remedy),
        ];
        let source = finding.source.clone().filter(|source| source != METHOD);
        let mut rows: Vec<(&str, String)> = Vec::new();
        for (index, line) in finding.evidence.iter().enumerate() {
            rows.push((if index == 0 { "Evidence" } else { "" }, line.clone()));
        }
        rows.extend(texts.map(|(term, text)| (term, text.clone().unwrap_or_default())));
        rows.push(("Source", source.unwrap_or_default()));
        if rows.iter().any(|(_, text)| !text.is_empty()) {
            // What is as expected needs no room until somebody asks.
            let folded = finding.severity == Severity::Good;
            html += if folded { "<details><summary>Evidence</summary>" } else { "" };
            html += &terms(&rows);
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

/// What disturbed the run, as tiles, and the doubts in words.
pub(super) fn guards(record: &Record) -> String {
    let guards = &record.guards;
    let unknown = || "not told".to_owned();
    let tiles = [
        ("stolen by the hypervisor", guards.steal_share.map_or_else(unknown, number::percent)),
        ("used by other processes", guards.others_share.map_or_else(unknown, number::percent)),
        (
            "load before and after",
            guards
                .load_average
                .map_or_else(unknown, |[a, b]| format!("{} → {}", number::short(a), number::short(b))),
        ),
        ("pre-emptions", guards.involuntary_switches.to_string()),
        ("windows set aside", format!("{} of {}", guards.windows_dropped, guards.windows)),
        (
            "core clock seen",
            guards.core_hz.map_or_else(unknown, |[low, high]| {
                format!("{} – {}", number::frequency(low), number::frequency(high))
            }),
        ),
        (
            "time-stamp counter",
            guards.tsc_hz.map_or_else(unknown, |hertz| {
                let error = guards
                    .tsc_error_ppm
                    .map_or_else(String::new, |ppm| format!(" ±{} ppm", number::short(ppm)));
                format!("{}{error}", number::frequency(hertz))
            }),
        ),
        (
            "thermal throttling",
            guards.throttle_events.map_or_else(unknown, |events| format!("{events} events")),
        ),
    ];
    let mut html =
        String::from("<section id=\"guards\"><h2>Can these numbers be trusted?</h2><div class=\"tiles\">");
    for (what, value) in tiles {
        let _ = write!(html, "<div><b>{}</b><span>{what}</span></div>", markup(&value));
    }
    html += "</div>";
    if let Some(neighbours) = &record.neighbours {
        let said = crate::plan::beside(neighbours);
        let _ =
            write!(html, "<h3>Who else was at work?</h3>{}", doubt_list(&said.iter().collect::<Vec<_>>()));
    }
    let lines: Vec<&String> = guards.doubts.iter().chain(&record.provenance.without).collect();
    if !lines.is_empty() {
        // On a busy machine every clock has a line of its own: a few are read, the rest are looked up.
        let (shown, folded) = lines.split_at(lines.len().min(DOUBTS_SHOWN));
        html += &doubt_list(shown);
        if !folded.is_empty() {
            let _ = write!(
                html,
                "<details><summary>{} more</summary>{}</details>",
                folded.len(),
                doubt_list(folded)
            );
        }
    }
    html + "<p class=\"note\">Behind a number stands its 95 % interval: ±x %, or [low, high] where it is wide. \
            ~ marks an interval wider than aimed for, * a value with several states or mappings that disagree.</p></section>\n"
}

fn doubt_list(lines: &[&String]) -> String {
    let items = lines.iter().fold(String::new(), |mut items, line| {
        let _ = write!(items, "<li>{}</li>", markup(line));
        items
    });
    format!("<ul class=\"doubts\">{items}</ul>")
}

/// What the machine claims to be.
pub(super) fn machine(record: &Record) -> String {
    let machine = &record.machine;
    let environment = &machine.environment;
    let identity = &machine.identity;
    let number_of = |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let signature = format!(
        "{}, family {} model {} stepping {}",
        identity.vendor.as_ref().map_or_else(|| "unknown vendor".to_owned(), ToString::to_string),
        number_of(identity.family),
        number_of(identity.model),
        number_of(identity.stepping)
    );
    let topology = &machine.topology;
    let cores = format!(
        "{}, {}, {}, {}",
        count(topology.packages().len(), "package", "packages"),
        count(topology.cores.len(), "core", "cores"),
        count(topology.cpus.len(), "CPU", "CPUs"),
        if topology.nodes.is_empty() {
            "nodes unknown".to_owned()
        } else {
            count(topology.nodes.len(), "node", "nodes")
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
    let whole =
        machine_text::machine_text(machine, Terminal { width_columns: MACHINE_COLUMNS, colour: false });
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

//! `sidestep flaws`: the catalogue against a machine, and who says what of each flaw.

mod evidence;

use std::path::{Path, PathBuf};

use ::flaws::{Catalogue, Census, Flaw, GateBaseline, GateReason, catalogue, unmet};
use anyhow::Context;
use clap::{Args, Subcommand};
use record::{FlawVerdict, Protection};
use report::FlawList;
use serde_json::json;

use crate::forms::Forms;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::{output, store};
pub(crate) use evidence::{Examined, telling, toggles_missing};

/// The most flaws that are named when a word could mean several.
const NEAR_MAX: usize = 8;
/// Version of the JSON documents of this command.
const SCHEMA: u32 = 2;

const AFTER_HELP: &str = "\
States: not affected, protected, on request (programs that ask for it: the kernel's default for some), partly, not protected, \
unknown.

Exit codes: 0 whatever is found; 1 with --gate, if the kernel calls the machine vulnerable, if sources disagree and one says \
not protected, or if CPUs differ; with --expect, if something got worse; with --gate --strict, also if a flaw is on request; 2 \
bad use; 3 with --strict, if a flaw is on request or unknown.";

/// Options of `flaws`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub(crate) struct FlawArguments {
    #[command(subcommand)]
    pub(crate) command: Option<FlawCommand>,
    #[command(flatten)]
    pub(crate) judged: JudgedArguments,
    /// Say what got worse against this baseline, a record or the JSON of this command; --gate then fails on nothing else
    #[arg(long, value_name = "FILE", conflicts_with = "lscpu")]
    pub(crate) expect: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Which machine is judged, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct JudgedArguments {
    /// Judge a recorded machine: a directory or tarball with proc/ and sys/
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) sysroot: Option<PathBuf>,
    /// Judge a CPUID dump: a directory or tarball with pu0, pu1, ...
    #[arg(long, value_name = "DIR|TARBALL")]
    pub(crate) cpuid: Option<PathBuf>,
    /// Judge reports of lscpu instead: files, folders, tarballs of them, or - for standard input
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["sysroot", "cpuid"])]
    pub(crate) lscpu: Vec<PathBuf>,
    /// Ask only the kernel and the registers, and measure nothing
    #[arg(long)]
    pub(crate) no_timing: bool,
    /// Also measure what disturbs the whole machine: at most 200 split locks, in a process of their own
    #[arg(long, conflicts_with = "no_timing")]
    pub(crate) disruptive: bool,
    /// Also list the flaws that do not concern the machine
    #[arg(long)]
    pub(crate) all: bool,
}

/// What else can be asked of the catalogue.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum FlawCommand {
    /// The catalogue, or the entries in which every word occurs
    List {
        /// Words: part of a CVE, an erratum number, a name
        words: Vec<String>,
        #[command(flatten)]
        forms: Forms,
    },
    /// One flaw: what it is, what this machine says of it, what can be done
    Show {
        /// Its id, a CVE or another of its names
        name: String,
        #[command(flatten)]
        judged: JudgedArguments,
        #[command(flatten)]
        forms: Forms,
    },
}

/// Does what was asked for.
pub(crate) fn flaws(arguments: &FlawArguments, global: &Global) -> anyhow::Result<Outcome> {
    match &arguments.command {
        None if !arguments.judged.lscpu.is_empty() => census(&arguments.judged, &arguments.forms, global),
        None => judge(arguments, global),
        Some(FlawCommand::List { words, forms }) => list(words, forms, global),
        Some(FlawCommand::Show { name, judged, forms }) => show(name, judged, forms, global),
    }
}

fn judge(arguments: &FlawArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let judged = &arguments.judged;
    // Before minutes of measuring: a baseline that cannot be read is said at once.
    let baseline = arguments.expect.as_deref().map(load_baseline).transpose()?;
    let catalogue = catalogue();
    let examined = Examined::of(judged, &catalogue, global)?;
    let verdicts = flaws::judge(&catalogue, &examined.evidence);
    let uneven = flaws::uneven(&catalogue, &examined.evidence);
    let fails = |verdict: &FlawVerdict| {
        baseline.as_ref().map_or_else(|| unmet(verdict), |baseline| baseline.worse(verdict))
    };
    let mut gate: Vec<GateReason> = verdicts.iter().filter_map(fails).collect();
    if baseline.is_none() {
        gate.extend(uneven.iter().map(|why| GateReason { id: "uneven".to_owned(), why: why.clone() }));
    }
    let document = json!({
        "schema": SCHEMA, "machine": examined.machine.identity, "flaws": verdicts, "uneven": uneven,
        "gate": gate, "evidence": examined.evidence,
    });
    let list = FlawList { machine: &examined.machine, verdicts: &verdicts, uneven: &uneven, all: judged.all };
    let page = report::flaws_page(&list);
    output::print(&arguments.forms.text(&page, &document, global)?)?;
    if global.gate || baseline.is_some() {
        for reason in &gate {
            output::complain(&format!("{}: {}", reason.id, reason.why));
        }
    }
    let is_new = |verdict: &&FlawVerdict| baseline.as_ref().is_none_or(|baseline| !baseline.holds(verdict));
    let of = |state| verdicts.iter().filter(is_new).any(|verdict| verdict.protected == state);
    Ok(outcome(global, !gate.is_empty(), of(Protection::OnRequest), of(Protection::Unknown)))
}

/// What `--gate` and `--strict` make of verdicts: of failures, of what protects on request, of what is unknown.
fn outcome(global: &Global, fails: bool, is_on_request: bool, is_unknown: bool) -> Outcome {
    Outcome::judged(global, fails || (global.strict && is_on_request), is_on_request || is_unknown)
}

/// Counts over reports of many machines.
fn census(judged: &JudgedArguments, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let catalogue = catalogue();
    let mut census = Census::new(&catalogue);
    for path in &judged.lscpu {
        host::each_text(path, &mut |name, text| census.take(name, text))?;
    }
    let counts = census.finish();
    for unreadable in &counts.unreadable {
        output::complain(&format!("{}: {}; left out", unreadable.name, unreadable.reason));
    }
    if counts.reports == 0 {
        anyhow::bail!("no report of lscpu was found; give its output as files, folders or tarballs");
    }
    let mut document = serde_json::to_value(&counts)?;
    document["schema"] = SCHEMA.into();
    let page = report::population_page(&counts, judged.all);
    output::print(&forms.text(&page, &document, global)?)?;
    let any = |of: fn(&flaws::PopulationRow) -> usize| counts.population.iter().any(|row| of(row) > 0);
    let is_unknown = any(|row| row.unknown + row.protection_unknown);
    Ok(outcome(global, any(|row| row.fails_gate), any(|row| row.on_request), is_unknown))
}

fn list(words: &[String], forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let catalogue = catalogue();
    let found = catalogue.search(words);
    anyhow::ensure!(
        !found.is_empty(),
        "no flaw of the catalogue has the words {}; sidestep flaws list names them all",
        words.join(" ")
    );
    let document = json!({ "schema": SCHEMA, "flaws": found });
    output::print(&forms.text(&report::flaw_index_page(&found), &document, global)?)?;
    Ok(Outcome::Done)
}

fn show(name: &str, judged: &JudgedArguments, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let catalogue = catalogue();
    let flaw = named(&catalogue, name)?;
    let alone = Catalogue { flaws: vec![flaw.clone()] };
    let examined = Examined::of(judged, &alone, global)?;
    let verdicts = flaws::judge(&alone, &examined.evidence);
    let [verdict] = verdicts.as_slice() else { unreachable!("one flaw has one verdict") };
    let document = json!({ "schema": SCHEMA, "flaw": flaw, "verdict": verdict });
    output::print(&forms.text(&report::flaw_page(flaw, verdict), &document, global)?)?;
    Ok(Outcome::Done)
}

/// The flaw of a name, or an error that names those that are near.
fn named<'a>(catalogue: &'a Catalogue, name: &str) -> anyhow::Result<&'a Flaw> {
    if let Some(flaw) = catalogue.find(name) {
        return Ok(flaw);
    }
    let near: Vec<&str> =
        catalogue.search(&[name.to_owned()]).into_iter().map(|flaw| flaw.id.as_str()).collect();
    match near.as_slice() {
        [] => {
            // A digit of a CVE that differs is another CVE, not a slip.
            let names = catalogue.flaws.iter().flat_map(|flaw| flaw.aliases.iter().chain([&flaw.id]));
            let words = names.map(String::as_str).filter(|name| !name.starts_with("CVE-"));
            let hint = machine::did_you_mean(name, words);
            anyhow::bail!("no flaw is called {name}; {hint}sidestep flaws list names them all")
        }
        [one] => Ok(catalogue.find(one).expect("the search found it")),
        several if several.len() > NEAR_MAX => {
            anyhow::bail!(
                "{name:?} could be any of {}; sidestep flaws list {name:?} names them",
                several.len()
            )
        }
        several => anyhow::bail!("{name} could be {}; name one of them", several.join(", ")),
    }
}

/// Reads the baseline from a document, a record or the folder of a run.
fn load_baseline(path: &Path) -> anyhow::Result<GateBaseline> {
    let (file, bytes) = store::read(path)?;
    // A record may be compressed; the document of flaws is JSON.
    let baseline = match record::decode(&bytes) {
        Ok(record) => GateBaseline::of_verdicts(&record.flaws),
        Err(_) => GateBaseline::parse(&bytes),
    };
    baseline.with_context(|| {
        format!("cannot use {} as the baseline; make one with sidestep flaws --json > FILE", file.display())
    })
}

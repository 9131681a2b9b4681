//! `sidestep flaws`: the catalogue against a machine, and who says what of each flaw.

mod vectors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::flaws::{
    Catalogue, Census, Flaw, GateBaseline, GateReason, NamedReport, Population, Purpose, catalogue, unmet,
};
use anyhow::Context;
use clap::{Args, Subcommand};
use host::{Cpuid, FlawSources, Root, live};
use machine::Machine;
use probes::session::Progress;
use probes::signature::{SignatureProbe, SignatureSetup, measure as measure_one};
use record::{FlawEvidence, FlawVerdict, Protection, Reading};
use serde_json::json;
use toggles::SystemState;

use crate::describe::SourceArguments;
use crate::forms::Forms;
use crate::options::{Global, one_of};
use crate::outcome::Outcome;
use crate::progress::ProgressLine;
use crate::recording::seed_of_now;
use crate::{output, store};

/// The most flaws that are named when a word could mean several.
const NEAR_MAX: usize = 8;
/// Version of the JSON documents of this command.
const SCHEMA: u32 = 2;

const AFTER_HELP: &str = "\
States: not affected, protected, on request (programs that ask for it: the kernel's default for some), partly, not protected, \
unknown.";

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
    /// Print what is open of each flaw by attack vector: programs, guests, sibling threads
    #[arg(long, conflicts_with_all = ["lscpu", "expect", "disruptive", "all"])]
    pub(crate) vectors: bool,
    /// Print the mitigations= word for a use, and what it leaves open: programs of several people, trusted programs, or guests
    #[arg(long = "for", value_name = "USE", value_parser = one_of(vectors::USES), conflicts_with_all = ["lscpu", "expect", "disruptive", "all", "vectors"])]
    pub(crate) purpose: Option<Purpose>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

/// Which machine is judged, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct JudgedArguments {
    #[command(flatten)]
    source: SourceArguments,
    /// Judge instead what was pasted of machines (lscpu, lscpu -J, /proc/cpuinfo, vulnerability files with their paths): files,
    /// folders, tarballs of them, or - for standard input
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["sysroot", "cpuid"])]
    pub(crate) lscpu: Vec<PathBuf>,
    /// Ask only the kernel and the registers, and measure nothing
    #[arg(long)]
    pub(crate) no_timing: bool,
    /// Also measure what disturbs the whole machine: at most 200 split locks, in a process of their own
    #[arg(long, conflicts_with_all = ["no_timing", "sysroot", "cpuid", "lscpu"])]
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
        None if arguments.vectors || arguments.purpose.is_some() => vectors::vectors(arguments, global),
        None if !arguments.judged.lscpu.is_empty() => {
            let catalogue = catalogue();
            let counts = count(&arguments.judged, &catalogue, &catalogue)?;
            census(&counts, arguments.judged.all, &arguments.forms, global)
        }
        None => judge(arguments, global),
        Some(FlawCommand::List { words, forms }) => list(words, forms, global),
        Some(FlawCommand::Show { name, judged, forms }) => show(name, judged, forms, global),
    }
}

fn judge(arguments: &FlawArguments, global: &Global) -> anyhow::Result<Outcome> {
    let judged = &arguments.judged;
    // Before minutes of measuring: a baseline that cannot be read is said at once.
    let baseline = arguments.expect.as_deref().map(load_baseline).transpose()?;
    let catalogue = catalogue();
    let examined = Examined::of(judged, &catalogue, global)?;
    let verdicts = flaws::judge(&catalogue, &examined.evidence);
    let uneven = flaws::uneven(&catalogue, &examined.evidence);
    let masked = flaws::masked(&examined.evidence);
    let fails = |verdict: &FlawVerdict| {
        baseline.as_ref().map_or_else(|| unmet(verdict), |baseline| baseline.worse(verdict))
    };
    let mut gate: Vec<GateReason> = verdicts.iter().filter_map(fails).collect();
    if baseline.is_none() {
        gate.extend(uneven.iter().map(|why| GateReason { id: "uneven".to_owned(), why: why.clone() }));
    }
    let document = json!({
        "schema": SCHEMA, "machine": examined.machine.identity, "flaws": verdicts, "uneven": uneven, "model_made_up": masked,
        "gate": gate, "evidence": examined.evidence,
    });
    let remarks: Vec<String> = masked.into_iter().chain(uneven).collect();
    let mut page = report::flaws_page(&examined.machine, &verdicts, &remarks, judged.all);
    page.extend_next(&judged.source.words());
    if let Some(path) = &arguments.expect {
        page = report::against_baseline(page, &gate, &path.to_string_lossy());
    }
    arguments.forms.print(&page, &document, global)?;
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

/// Counts over the reports that were given.
fn count(judged: &JudgedArguments, all: &Catalogue, catalogue: &Catalogue) -> anyhow::Result<Population> {
    let mut census = Census::new(all, catalogue);
    for path in &judged.lscpu {
        host::each_text(path, &mut |name, text| census.take(name, text))?;
    }
    let counts = census.finish();
    if let ([], [only]) = (counts.named.as_slice(), counts.unreadable.as_slice()) {
        anyhow::bail!("{}: {}; give the output of lscpu, or /proc/cpuinfo", only.name, only.reason);
    }
    for unreadable in &counts.unreadable {
        output::complain(&format!("{}: {}; left out", unreadable.name, unreadable.reason));
    }
    if counts.reports == 0 {
        anyhow::bail!("no report of a machine was found; give the output of lscpu, or /proc/cpuinfo");
    }
    Ok(counts)
}

/// Prints what was counted over the reports.
fn census(counts: &Population, all: bool, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let mut document = serde_json::to_value(counts)?;
    document["schema"] = SCHEMA.into();
    forms.print(&report::population_page(counts, all), &document, global)?;
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
    forms.print(&report::flaw_index_page(&found), &document, global)?;
    Ok(Outcome::Done)
}

fn show(name: &str, judged: &JudgedArguments, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let catalogue = catalogue();
    let flaw = named(&catalogue, name)?;
    let alone = Catalogue { flaws: vec![flaw.clone()] };
    if !judged.lscpu.is_empty() {
        let counts = count(judged, &catalogue, &alone)?;
        if let [NamedReport { verdict: Some(verdict), .. }] = counts.named.as_slice() {
            return show_one(flaw, verdict, forms, global);
        }
        return census(&counts, true, forms, global);
    }
    let examined = Examined::of(judged, &alone, global)?;
    let verdicts = flaws::judge(&alone, &examined.evidence);
    let [verdict] = verdicts.as_slice() else { unreachable!("one flaw has one verdict") };
    show_one(flaw, verdict, forms, global)
}

fn show_one(flaw: &Flaw, verdict: &FlawVerdict, forms: &Forms, global: &Global) -> anyhow::Result<Outcome> {
    let document = json!({ "schema": SCHEMA, "flaw": flaw, "verdict": verdict });
    forms.print(&report::flaw_page(flaw, verdict), &document, global)?;
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

/// A machine with the evidence on its flaws.
pub(crate) struct Examined {
    pub(crate) machine: Machine,
    pub(crate) evidence: FlawEvidence,
}

impl Examined {
    /// Reads kernel and registers of this machine; the check-up measures later.
    pub(crate) fn of_this_machine(catalogue: &Catalogue) -> Self {
        Self::read(catalogue, Some(&Root::live()), Cpuid::live().as_ref())
    }

    /// Reads kernel and registers of a machine, or a dump of its CPUID alone.
    pub(crate) fn read(catalogue: &Catalogue, root: Option<&Root>, cpuid: Option<&Cpuid>) -> Self {
        let live = Root::live();
        let sources = match (root, cpuid) {
            (None, Some(dump)) => FlawSources::of_dump(dump),
            (root, cpuid) => FlawSources::of(root.unwrap_or(&live), cpuid),
        };
        let mut evidence = sources.read(&catalogue.registers());
        if let Some(root) = root.filter(|root| root.is_live()) {
            evidence.toggles_missing = toggles_missing(catalogue, root, &sources.machine);
        }
        Self { machine: sources.machine, evidence }
    }

    /// Reads and measures all evidence of the machine that the arguments name.
    fn of(judged: &JudgedArguments, catalogue: &Catalogue, global: &Global) -> anyhow::Result<Self> {
        let (root, cpuid) = judged.source.open()?;
        let mut examined = Self::read(catalogue, root.as_ref(), cpuid.as_ref());
        if root.is_some_and(|root| root.is_live()) && !judged.no_timing {
            measure(catalogue, &examined.machine, &mut examined.evidence, (judged, global));
        }
        Ok(examined)
    }
}

/// The toggles that the catalogue advises and this machine does not have, with the reasons. What a recording lacks, its machine
/// may have.
fn toggles_missing(catalogue: &Catalogue, root: &Root, machine: &Machine) -> BTreeMap<String, String> {
    let system = SystemState::of(root, machine);
    let named = catalogue.flaws.iter().flat_map(|flaw| &flaw.workaround);
    let missing = |name: &String| {
        let reason = toggles::find(name).ok()?.availability(&system).out_of_reach()?.to_owned();
        Some((name.clone(), reason))
    };
    named.filter_map(|workaround| workaround.switch.toggle.as_ref()).filter_map(missing).collect()
}

/// What one probe takes, for the time left.
const PROBE_TIME: Duration = Duration::from_millis(300);

/// The signature probes that can decide on flaws that may concern a machine.
pub(crate) fn telling(catalogue: &Catalogue, evidence: &FlawEvidence) -> Vec<SignatureProbe> {
    catalogue.telling_probes(evidence).into_iter().filter_map(SignatureProbe::from_name).collect()
}

/// Adds what was measured to the evidence. A flaw that the CPU cannot have is not measured.
fn measure(
    catalogue: &Catalogue,
    machine: &Machine,
    evidence: &mut FlawEvidence,
    (judged, global): (&JudgedArguments, &Global),
) {
    let probes = telling(catalogue, evidence);
    let refuse = |evidence: &mut FlawEvidence, reason: &str| {
        for probe in &probes {
            evidence.timing.insert(probe.quantity().name.to_owned(), Reading::Missing(reason.to_owned()));
        }
    };
    let setup = match SignatureSetup::of(machine, seed_of_now(), judged.disruptive) {
        Ok(setup) => setup,
        Err(error) => {
            refuse(evidence, &error.to_string());
            return;
        }
    };
    // Without a handler Ctrl-C ends the process at once, and nothing is left behind: no setting is changed.
    let line = ProgressLine::new(global.quiet);
    for (index, probe) in probes.iter().enumerate() {
        if live::pending_signal().is_some() {
            break;
        }
        let left = u32::try_from(probes.len() - index).unwrap_or(u32::MAX);
        line.begin(probe.name(), PROBE_TIME.saturating_mul(left));
        line.update(index as f64 / probes.len() as f64);
        evidence.timing.insert(probe.quantity().name.to_owned(), measure_one(*probe, &setup));
    }
    line.end();
}

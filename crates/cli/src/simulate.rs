//! `sidestep simulate`: a modelled machine: one of those that come with sidestep, or one of a file.

mod threads;

use std::path::Path;

use clap::Args;
use machine::Hertz;
use models::interconnect::{SocketMachine, Variant};
use models::memory::MemoryMachine;
use models::tsc::{Governor, TscMachine, Workload};
use models::{KNOWN_MACHINES, MachineKind, interconnect, known_machine, memory, tsc};
use report::Page;

use crate::forms::Forms;
use crate::options::{Global, named};
use crate::outcome::Outcome;
use crate::output::Document;
use crate::store;

/// A machine file is some kilobytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Clocks outside of this are typing errors, in hertz.
const CLOCK_RANGE_HZ: std::ops::RangeInclusive<f64> = 1e6..=1e11;

/// Shorter runs show nothing, longer ones take minutes.
const SECONDS_RANGE: std::ops::RangeInclusive<f64> = 1.0..=3600.0;
/// A simulation of counters for which nothing was asked: long enough for many changes of frequency.
const SECONDS: f64 = 60.0;
/// Seed of a simulation for which none was asked.
const SEED: u64 = 1;

/// Options of `simulate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SimulateArguments {
    /// A machine that comes with sidestep (--help lists them), or a file of your own (TOML)
    #[arg(value_name = "MACHINE|FILE.toml", long_help = MACHINES)]
    machine: String,
    /// With schedulers and counters of time: the random seed
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    forms: Forms,
    #[command(flatten)]
    threads: threads::ThreadsArguments,
    #[command(flatten)]
    memory: MemoryArguments,
    #[command(flatten)]
    sockets: SocketArguments,
    #[command(flatten)]
    scenario: ScenarioArguments,
}

/// All machines by what is simulated of them. Lines of the list are kept as they are: none is longer than 80 columns leave.
const MACHINES: &str = "\
A machine that comes with sidestep, or a file of your own (TOML). The machine decides what is simulated:

  schedulers:        fx-8150, jacobsville, ryzen-1800x
  memory:            phenom-9600
  linked sockets:    x6440-8380, x6440-8384, ranger-x6420,
                     shanghai-2s, istanbul-4s-probe-filter
  counters of time:  k8-opteron

Files of these machines are in machines/ of the sources: copy one to begin.";

/// Options of machines whose memory is simulated.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Memory (phenom-9600)")]
struct MemoryArguments {
    /// Another clock of the north bridge, such as 2.0GHz, on the machine's own board
    #[arg(long, value_name = "CLOCK", value_parser = parse_clock)]
    nb_clock: Option<Hertz>,
}

/// Options of machines of linked sockets.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Linked sockets (x6440-8380 and its relatives)")]
struct SocketArguments {
    /// A link more between two sockets, such as 0-3
    #[arg(long, value_name = "A-B", value_parser = link)]
    add_link: Vec<[usize; 2]>,
    /// A link less: without 1-2 the X6440 is a square, as on boards that leave links unused
    #[arg(long, value_name = "A-B", value_parser = link)]
    remove_link: Vec<[usize; 2]>,
    /// A directory that spares local reads the snoops (HT Assist)
    #[arg(long)]
    snoop_filter: bool,
    /// Another clock of the cores, such as 2.7GHz
    #[arg(long, value_name = "CLOCK", value_parser = parse_clock)]
    clock: Option<Hertz>,
}

/// Options of machines whose counters drift.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Counters of time (k8-opteron)")]
struct ScenarioArguments {
    /// Who sets the frequency: performance, powersave, ondemand, walk
    #[arg(long, value_name = "NAME", value_parser = |text: &str| named(&Governor::ALL, Governor::name, text))]
    governor: Option<Governor>,
    /// What the cores do: busy, idle, one-busy, bursts
    #[arg(long, value_name = "NAME", value_parser = |text: &str| named(&Workload::ALL, Workload::name, text))]
    workload: Option<Workload>,
    /// How long, in seconds; 60 unless given
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<f64>,
}

/// Machines that an option belongs to: of which kinds they are, and how they are called.
type Owners = (&'static [MachineKind], &'static str);

const SOCKETS: Owners = (&[MachineKind::Sockets], "machines of linked sockets, such as x6440-8380");
const MEMORY: Owners = (&[MachineKind::Memory], "machines whose memory is simulated");
const THREADS: Owners = (&[MachineKind::Threads], "machines with threads, such as fx-8150");
const COUNTERS: Owners = (&[MachineKind::Counters], "machines whose counters drift, such as k8-opteron");
const RANDOM: Owners = (
    &[MachineKind::Threads, MachineKind::Counters],
    "machines on which something is drawn, such as fx-8150 and k8-opteron",
);

impl SimulateArguments {
    /// Refuses an option that was given and belongs to machines of another kind: nothing would come of it.
    fn ensure_own(&self, machine: &str, kind: MachineKind) -> anyhow::Result<()> {
        let Self { memory, sockets, threads, scenario, seed, .. } = self;
        let options: [(&str, bool, Owners); 13] = [
            ("--add-link", !sockets.add_link.is_empty(), SOCKETS),
            ("--remove-link", !sockets.remove_link.is_empty(), SOCKETS),
            ("--snoop-filter", sockets.snoop_filter, SOCKETS),
            ("--clock", sockets.clock.is_some(), SOCKETS),
            ("--nb-clock", memory.nb_clock.is_some(), MEMORY),
            ("--threads", threads.threads.is_some(), THREADS),
            ("--policy", threads.policy.is_some(), THREADS),
            ("--sharing", threads.sharing.is_some(), THREADS),
            ("--load", threads.load.is_some(), THREADS),
            ("--seed", seed.is_some(), RANDOM),
            ("--governor", scenario.governor.is_some(), COUNTERS),
            ("--workload", scenario.workload.is_some(), COUNTERS),
            ("--seconds", scenario.seconds.is_some(), COUNTERS),
        ];
        let foreign = |(_, is_given, (kinds, _)): &(&str, bool, Owners)| *is_given && !kinds.contains(&kind);
        let Some((flag, _, (_, owners))) = options.into_iter().find(foreign) else { return Ok(()) };
        let has = match kind {
            MachineKind::Memory => "a memory",
            MachineKind::Sockets => "sockets",
            MachineKind::Counters => "counters",
            MachineKind::Threads => "threads",
        };
        anyhow::bail!("{flag} belongs to {owners}; {machine} has {has}")
    }
}

/// A simulation as a document, and its page.
type Simulated = (Box<dyn Document>, Page);

/// Simulates and prints in the form asked for.
pub(crate) fn simulate(arguments: &SimulateArguments, global: &Global) -> anyhow::Result<Outcome> {
    let machine = &arguments.machine;
    let (text, file) = read(machine)?;
    let kind = MachineKind::judged(&text, &file)?;
    arguments.ensure_own(machine, kind)?;
    let (simulation, page) = match kind {
        MachineKind::Memory => memory(models::parse(&text, &file)?, arguments),
        MachineKind::Sockets => linked_sockets(&models::parse(&text, &file)?, arguments)?,
        MachineKind::Counters => counters(&models::parse(&text, &file)?, arguments),
        MachineKind::Threads => threads::simulate(&models::parse(&text, &file)?, arguments)?,
    };
    arguments.forms.print(&page, &*simulation, global)?;
    Ok(Outcome::Done)
}

/// What each socket gets, why, and what other links would give.
fn linked_sockets(machine: &SocketMachine, arguments: &SimulateArguments) -> anyhow::Result<Simulated> {
    let given = &arguments.sockets;
    let variant = Variant {
        add: given.add_link.clone(),
        remove: given.remove_link.clone(),
        snoop_filter: given.snoop_filter,
        core_hz: given.clock,
    };
    let simulation = interconnect::simulate(machine, &variant)?;
    let page = report::linked_sockets_page(&simulation);
    Ok((Box::new(simulation), page))
}

/// Counters that drift, and what each remedy does.
fn counters(machine: &TscMachine, arguments: &SimulateArguments) -> Simulated {
    let given = &arguments.scenario;
    let scenario = tsc::Scenario {
        governor: given.governor.unwrap_or(Governor::Ondemand),
        workload: given.workload.unwrap_or(Workload::Bursts),
        seconds: given.seconds.unwrap_or(SECONDS),
        seed: arguments.seed.unwrap_or(SEED),
    };
    let simulation = tsc::simulate(machine, scenario);
    let page = report::drift_page(&simulation);
    (Box::new(simulation), page)
}

/// A memory with and without its workaround.
fn memory(mut machine: MemoryMachine, arguments: &SimulateArguments) -> Simulated {
    if let Some(clock) = arguments.memory.nb_clock {
        machine.set_northbridge_hz(clock);
    }
    let forms = &arguments.forms;
    let shows_all = forms.words.long || forms.html.is_some() || forms.csv.is_some();
    let simulation = memory::simulate(&machine, shows_all);
    let page = report::memory_page(&simulation);
    (Box::new(simulation), page)
}

/// Text and file of a machine of ours, or of the file of that name.
fn read(machine: &str) -> anyhow::Result<(String, String)> {
    if let Some(known) = known_machine(machine) {
        return Ok((known.text.to_owned(), known.file.to_owned()));
    }
    let path = Path::new(machine);
    if path.extension().is_none_or(|extension| extension != "toml") {
        let names = KNOWN_MACHINES.map(|known| known.name);
        anyhow::bail!(
            "no machine {machine:?}; {}there is {}; or give a file that ends in .toml",
            machine::did_you_mean(machine, names),
            names.join(", ")
        );
    }
    let bytes = store::read_bounded(path, FILE_BYTES_MAX, "machine file")?;
    let text =
        String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{machine} is not UTF-8; write it anew"))?;
    Ok((text, machine.to_owned()))
}

/// Reads `1.8GHz`, `1800MHz` or `1800 MHz`.
fn parse_clock(text: &str) -> Result<Hertz, String> {
    let lower = text.trim().to_ascii_lowercase();
    let units = [("ghz", 1e9), ("mhz", 1e6)];
    let found = units.into_iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, factor)));
    let clock = found.and_then(|(digits, factor)| Some(digits.trim().parse::<f64>().ok()? * factor));
    match clock {
        Some(clock) if CLOCK_RANGE_HZ.contains(&clock) => Ok(Hertz(clock)),
        Some(_) => Err("give between 1MHz and 100GHz".to_owned()),
        None => Err("give a clock such as 1.8GHz or 1800MHz".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim_end_matches('s').parse::<f64>().ok();
    let range = || format!("give {} to {} seconds", SECONDS_RANGE.start(), SECONDS_RANGE.end());
    seconds.filter(|seconds| SECONDS_RANGE.contains(seconds)).ok_or_else(range)
}

/// Reads `0-3`.
fn link(text: &str) -> Result<[usize; 2], String> {
    let ends = text.split_once('-');
    let ends = ends.and_then(|(from, to)| Some([from.trim().parse().ok()?, to.trim().parse().ok()?]));
    ends.ok_or_else(|| "give two sockets such as 0-3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_machine_and_policy_and_fits_80_columns() {
        let mut command = <crate::arguments::Arguments as clap::CommandFactory>::command();
        command.build();
        let own = command.find_subcommand_mut("simulate").expect("it is a command");
        let help = own.render_long_help().to_string();
        let names = KNOWN_MACHINES.into_iter().map(|known| known.name);
        for name in names.chain(models::scheduling::Policy::ALL.map(models::scheduling::Policy::name)) {
            assert!(help.contains(name), "{name}: {help}");
        }
        for line in MACHINES.lines().chain(threads::POLICIES.lines()) {
            // Help of an option begins in column 10.
            assert!(line.len() <= 80 - 10 || !line.starts_with(' '), "{line}");
        }
    }

    #[test]
    fn clocks_carry_a_unit() {
        for (text, hertz) in [("1.8GHz", 1.8e9), ("1800 MHz", 1.8e9), ("2ghz", 2e9)] {
            let clock = parse_clock(text).expect(text).0;
            assert!((clock / hertz - 1.0).abs() < 1e-12, "{text}");
        }
        for text in ["", "1.8", "GHz", "nanGHz", "-1GHz", "1e9GHz", "infMHz", "ä"] {
            assert!(parse_clock(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_and_seconds_are_read() {
        assert_eq!(named(&Governor::ALL, Governor::name, "walk"), Ok(Governor::Walk));
        let unknown = named(&Workload::ALL, Workload::name, "sleepy");
        assert!(unknown.is_err_and(|error| error.contains("one-busy")));
        assert_eq!(seconds("5s"), Ok(5.0));
        for text in ["", "0", "nan", "1e9", "-5"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_link_is_two_sockets() {
        assert_eq!(link("0-3"), Ok([0, 3]));
        for text in ["", "3", "0-", "a-b", "0-3-1", "-1-2", "0-99999999999999999999"] {
            assert!(link(text).is_err(), "{text}");
        }
    }
}

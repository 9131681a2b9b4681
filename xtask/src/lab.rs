//! `cargo xtask lab`: machines whose truth is known are booted in QEMU with sidestep inside, and what it says is held against the truth.
//!
//! A machine is one file, `lab/machines/NAME.toml`; lab/README.md says how to write one. Speeds of an emulator mean nothing: identity,
//! topology, tables of firmware, states of the kernel and what is switched are real.

pub mod archive;
pub mod definition;
pub mod emulator;
pub mod guest;
pub mod image;
pub mod packages;
pub mod silicon;
pub mod table;
pub mod transcript;
pub mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::cargo;
use crate::totals::Totals;
use definition::Machine;
use emulator::Emulator;
use packages::Unpacked;
use transcript::Transcript;
use verdict::Row;

/// Machines whose truth is known, in QEMU: truth against verdict
///
/// Boots each machine of lab/machines (or those named) with target/release/sidestep inside, runs its steps and checks what it expects.
/// Needs QEMU and dpkg-deb; kernels and busybox are fetched from the Debian archive of this host's apt sources into target/lab, nothing
/// is installed. Logs of a failure are kept in target/lab/failed.
#[derive(Debug, Default, clap::Args)]
pub struct Arguments {
    /// Files of lab/machines without their ending; all without
    machines: Vec<String>,
    /// Only machines of this tier
    #[arg(long)]
    tier: Option<u8>,
    /// List the machines and end
    #[arg(long)]
    list: bool,
    /// Keep serial log and outputs of every machine there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Another time limit for every boot, s
    #[arg(long)]
    seconds: Option<u64>,
    /// Fetch kernels anew, which may be newer
    #[arg(long)]
    refresh: bool,
}

/// More CPUs than that keep several of the host busy, where each has a thread.
const CPUS_OF_A_SMALL_ONE: u32 = 4;

/// A kernel's last words. QEMU 7.2 with a thread for each CPU sometimes runs code that the kernel is just patching (seen: Linux 6.12,
/// two of three bytes of a jump, in one of some hundred boots); what fails twice is no such thing.
const PANIC: &str = "Kernel panic - not syncing";

/// One machine, ready to boot or not.
struct Prepared {
    machine: Machine,
    emulator: Emulator,
    kernel: Unpacked,
}

/// What a machine came to.
struct Outcome {
    machine: Machine,
    printed: String,
    transcript: Transcript,
    rows: Vec<Row>,
    seconds: f64,
}

/// The machines of `cargo xtask test`.
///
/// # Errors
/// As for `run`.
pub fn check() -> anyhow::Result<Totals> {
    those(|machine| machine.in_tests)
}

/// The machines that only `cargo xtask test --all` boots.
///
/// # Errors
/// As for `run`.
pub fn check_others() -> anyhow::Result<Totals> {
    those(|machine| !machine.in_tests)
}

/// The machines of one architecture.
///
/// # Errors
/// As for `run`.
pub fn of_architecture(name: &str) -> anyhow::Result<Totals> {
    those(|machine| machine.architecture == name)
}

fn those(are_meant: impl Fn(&Machine) -> bool) -> anyhow::Result<Totals> {
    let mut machines = definition::load(&definition::folder(), &[])?;
    machines.retain(are_meant);
    all(&Arguments::default(), machines, false)
}

/// `cargo xtask lab`.
///
/// # Errors
/// A machine that is not there or whose file is wrong, or a folder that cannot be written.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let mut machines = definition::load(&definition::folder(), &arguments.machines)?;
    machines.retain(|machine| arguments.tier.is_none_or(|tier| tier == machine.tier));
    if arguments.list {
        table::list(&machines);
        return Ok(Totals::default());
    }
    all(arguments, machines, true)
}

fn all(arguments: &Arguments, machines: Vec<Machine>, shows_rows: bool) -> anyhow::Result<Totals> {
    let begun = Instant::now();
    let cache = cargo::target().join("lab");
    if arguments.refresh {
        for folder in ["kernels", "busybox"] {
            let _ = fs::remove_dir_all(cache.join(folder));
        }
    }
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let mut totals = Totals::default();
    let mut ready = Vec::new();
    // Fetched one after another: two machines may share a kernel.
    for machine in machines {
        let name = machine.name.clone();
        match prepare(machine, &cache) {
            Ok(prepared) => ready.push(prepared),
            Err(why) => {
                let why = format!("lab: {name}: {why:#}").replace('\n', "; ");
                println!("skipped: {why}");
                totals.add(Totals::one_skipped(why));
            }
        }
    }
    let mut results = Vec::new();
    for (name, outcome) in boot_all(ready, &cache, arguments) {
        match outcome {
            Ok(outcome) => {
                totals.add(counted(&outcome));
                results.push(outcome);
            }
            Err(why) => totals.add(Totals::one_failed(format!("lab: {name}: {why:#}"))),
        }
    }
    results.sort_by(|left, right| left.machine.name.cmp(&right.machine.name));
    for outcome in &results {
        table::show(&outcome.machine, &outcome.rows, outcome.seconds, shows_rows);
    }
    println!("{} machines in {:.0} s", results.len(), begun.elapsed().as_secs_f64());
    Ok(totals)
}

fn prepare(machine: Machine, cache: &Path) -> anyhow::Result<Prepared> {
    let row = guest::architecture(&machine)?;
    guest::foreign_program(row)?;
    let debian = row.debian;
    let emulator = guest::emulator(&machine, cache)?;
    let kernel = packages::kernel(cache, &machine.kernel, debian)?;
    packages::busybox(cache, debian)?;
    Ok(Prepared { machine, emulator, kernel })
}

/// Does a machine keep more than one of the host's CPUs busy, or need them all?
fn is_large(machine: &Machine) -> bool {
    machine.qemu.whole_host || (!machine.qemu.one_thread && machine.cpus() > CPUS_OF_A_SMALL_ONE)
}

/// Boots the large ones one by one, then as many of the others at a time as this host has CPUs, those first that take longest.
fn boot_all(
    mut ready: Vec<Prepared>,
    cache: &Path,
    arguments: &Arguments,
) -> Vec<(String, anyhow::Result<Outcome>)> {
    let boot = |prepared: Prepared| {
        let name = prepared.machine.name.clone();
        let outcome = boot_one(prepared, cache, arguments);
        if let Ok(outcome) = &outcome {
            println!("{name}: booted and judged in {:.0} s", outcome.seconds);
        }
        (name, outcome)
    };
    ready.sort_by_key(|prepared| prepared.machine.time_limit_s);
    let (large, small): (Vec<_>, Vec<_>) = ready.into_iter().partition(|one| is_large(&one.machine));
    let mut done: Vec<_> = large.into_iter().map(boot).collect();
    let waiting = Mutex::new(small);
    let next = || waiting.lock().expect("nobody panics while it is held").pop();
    let work = || std::iter::from_fn(next).map(boot).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            done.extend(worker.join().expect("a boot does not panic"));
        }
    });
    done
}

fn boot_one(prepared: Prepared, cache: &Path, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let Prepared { machine, emulator, kernel } = prepared;
    let initrd = cache.join(format!("initrd-{}.cpio", machine.name));
    fs::write(&initrd, guest::file_system(&machine, &kernel, cache)?)
        .with_context(|| format!("cannot write {}", initrd.display()))?;
    let limit = Duration::from_secs(arguments.seconds.unwrap_or(machine.time_limit_s));
    let words = guest::arguments(&machine, &kernel.image, &initrd)?;
    let mut boot = guest::boot(&emulator, &words, limit);
    if boot.as_ref().is_ok_and(|boot| boot.printed.contains(PANIC)) {
        println!("{}: the guest's kernel panicked; booted once more", machine.name);
        boot = guest::boot(&emulator, &words, limit);
    }
    let _ = fs::remove_file(&initrd);
    let boot = boot?;
    let transcript = Transcript::read(&boot.printed);
    let mut rows = verdict::judge(&machine, &transcript);
    if boot.hangs {
        rows.push(Row {
            step: "power-off".to_owned(),
            what: "time limit".to_owned(),
            expected: format!("{} s", limit.as_secs()),
            said: format!("stopped by it; {}", transcript.last_words()),
            source: format!("lab/machines/{}.toml", machine.name),
            holds: false,
        });
    }
    let outcome = Outcome { machine, printed: boot.printed, transcript, rows, seconds: boot.seconds };
    keep(&outcome, cache, arguments.keep.as_deref())?;
    Ok(outcome)
}

/// Log and outputs where asked for, or where something is wrong.
fn keep(outcome: &Outcome, cache: &Path, asked: Option<&Path>) -> anyhow::Result<()> {
    let name = &outcome.machine.name;
    let failed = cache.join("failed").join(name);
    let _ = fs::remove_dir_all(&failed);
    let holds = outcome.rows.iter().all(|row| row.holds);
    let folders = [asked.map(|folder| folder.join(name)), (!holds).then_some(failed)];
    for folder in folders.into_iter().flatten() {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(folder.join("serial.log"), &outcome.printed)?;
        for (step, output) in outcome.transcript.outputs() {
            fs::write(folder.join(format!("{step}.out")), &output.text)?;
            fs::write(folder.join(format!("{step}.err")), &output.errors)?;
        }
    }
    Ok(())
}

fn counted(outcome: &Outcome) -> Totals {
    let mut totals = Totals::default();
    let name = &outcome.machine.name;
    for row in &outcome.rows {
        let line =
            format!("lab: {name}: {}: {}: expected {}, said {}", row.step, row.what, row.expected, row.said);
        totals.add(Totals::one(row.holds, line));
    }
    if totals.failed > 0 {
        println!("{name}: log and outputs are in target/lab/failed/{name}");
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_does_not_hold_fails_the_run() {
        let machine = Machine::parse("a", definition::tests::SMALL).expect("it is right");
        let printed =
            "@@begin machine\n{\"identity\": {\"family\": 15}}\n\n@@errors machine\n\n@@end machine 0 0.1\n";
        let transcript = Transcript::read(printed);
        let rows = verdict::judge(&machine, &transcript);
        let outcome = Outcome { machine, printed: printed.to_owned(), transcript, rows, seconds: 1.0 };
        let totals = counted(&outcome);
        assert_eq!((totals.passed, totals.failed), (1, 1));
        assert_eq!(totals.failures, ["lab: a: machine: family: expected 16, said 15"]);
    }
}

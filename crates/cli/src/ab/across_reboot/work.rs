//! What is measured in each boot, once that has settled: from the command line into the journal, and from the journal into a subject.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::Context;
use clock::TickRate;
use experiments::ab::across_reboot::journal::Work;
use experiments::ab::across_reboot::visit::{LOOK_S, Look, Next, Settling};
use experiments::ab::command_subject::{CommandSubject, HowToRun, Metric};
use experiments::ab::effects::OF_A_BOOT;
use experiments::ab::probe_subject::ProbeSubject;
use experiments::ab::switcher::Switcher;
use experiments::program::Program;
use host::live::{Disturbance, Pinned, effective_root, pending_signal, snapshot};
use host::{Root, ensure_trusted};
use machine::{CpuId, Machine};
use probes::session::Progress;
use record::Better;
use regex::bytes::Regex;

use crate::ab::arguments::AbArguments;
use crate::ab::{CALIBRATION_NS, not_started};
use crate::progress::ProgressLine;
use crate::recording::chosen_cpus;

/// The words of the command line, with the program where it is now: after a boot neither folder nor path are the same.
pub(super) fn work(arguments: &AbArguments) -> anyhow::Result<Work> {
    let text = |word: &OsString| -> anyhow::Result<String> {
        word.clone().into_string().map_err(|word| {
            anyhow::anyhow!("{} is no UTF-8, and the journal is; give another word", word.display())
        })
    };
    let directory = env::current_dir().context("the folder in which this runs is unknown")?;
    let mut command = arguments.command.iter().map(text).collect::<anyhow::Result<Vec<String>>>()?;
    if let Some(program) = command.first_mut() {
        *program = text(&located(program, &directory).into_os_string())?;
    }
    let program = &arguments.program;
    program.metric()?;
    anyhow::ensure!(
        !command.is_empty()
            || (program.metric.is_none() && program.prepare.is_none() && program.cleanup.is_none()),
        "--metric, --prepare and --cleanup belong to a program; give one after --"
    );
    Ok(Work {
        command,
        directory: text(&directory.into_os_string())?,
        metric: program.metric.clone(),
        higher_is_better: program.better == Better::Higher,
        prepare: program.prepare.clone(),
        cleanup: program.cleanup.clone(),
        timeout_s: program.timeout.map(|limit| limit.as_secs_f64()),
        ignore_failure: program.ignore_failure,
        cpu: arguments.cpu().map(|cpu| cpu.0),
    })
}

/// The program's file, as the shell would find it; the bare name if there is none, which then fails when it is started.
fn located(program: &str, directory: &Path) -> PathBuf {
    if program.contains('/') {
        return directory.join(program.trim_start_matches("./"));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders)
        .map(|folder| directory.join(folder).join(program))
        .find(|file| file.is_file());
    found.unwrap_or_else(|| PathBuf::from(program))
}

/// Root runs after a boot, with nobody looking, only what nobody else can change: the program, the folder it runs in, and every
/// file that a word of it or of `--prepare` and `--cleanup` names, as an interpreter runs those.
pub(super) fn ensure_only_root_writes(work: &Work) -> anyhow::Result<()> {
    if !effective_root() || work.command.is_empty() {
        return Ok(());
    }
    for path in [PathBuf::from(&work.directory)].into_iter().chain(named_files(work)) {
        ensure_trusted(&path).map_err(|why| {
            anyhow::anyhow!(
                "cannot run {} as root unattended: {why}; put it where only root writes, or resume by hand",
                path.display()
            )
        })?;
    }
    Ok(())
}

/// The files that the words of a journal name, found as they will be when it is run.
fn named_files(work: &Work) -> impl Iterator<Item = PathBuf> {
    let directory = Path::new(&work.directory);
    let lines = [&work.prepare, &work.cleanup].into_iter().flatten();
    let of_shell =
        lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || "\"';&|()<>`=$".contains(c)));
    let words = work.command.iter().map(String::as_str).chain(of_shell).filter(|word| !word.is_empty());
    words.flat_map(move |word| [directory.join(word), located(word, directory)]).filter(|path| path.is_file())
}

/// Gets ready to run the program of a journal.
pub(super) fn program_subject(work: &Work, seed: u64) -> anyhow::Result<CommandSubject> {
    env::set_current_dir(&work.directory)
        .with_context(|| format!("cannot enter {}, where the program runs; make it again", work.directory))?;
    let program = Program::of(work.command.iter().map(OsString::from).collect());
    let how = HowToRun {
        prepare: work.prepare.clone(),
        cleanup: work.cleanup.clone(),
        limit: work.timeout_s.and_then(|limit_s| Duration::try_from_secs_f64(limit_s).ok()),
        any_exit_code: work.ignore_failure,
        ..HowToRun::default()
    };
    let better = if work.higher_is_better { Better::Higher } else { Better::Lower };
    let metric = match &work.metric {
        Some(text) => {
            let pattern =
                Regex::new(text).with_context(|| format!("the pattern {text} of the journal is none"))?;
            Some(Metric { pattern, better })
        }
        None => None,
    };
    let control = TickRate::calibrate(CALIBRATION_NS).ok();
    Ok(CommandSubject::new([program.clone(), program], how, metric, Switcher::none(), control, seed))
}

/// Gets the probes ready on the CPU of a journal; the guard pins this thread to it.
pub(super) fn probe_subject(
    work: &Work,
    machine: &Machine,
    seed: u64,
) -> anyhow::Result<(ProbeSubject, Pinned)> {
    let asked = work.cpu.map(|cpu| [CpuId(cpu)].into_iter().collect());
    let cpus = chosen_cpus(machine, asked.as_ref())?;
    let cpu = *cpus.last().context("no CPU may be used here")?;
    let pinned = Pinned::to(cpu)?;
    let started =
        ProbeSubject::start_with(&OF_A_BOOT, Switcher::none(), &machine.identity, cpu, seed, f64::INFINITY);
    Ok((started.map_err(not_started)?, pinned))
}

/// Pins this thread for a program, if a CPU was asked for.
pub(super) fn pinned(work: &Work) -> anyhow::Result<Option<Pinned>> {
    Ok(work.cpu.map(|cpu| Pinned::to(CpuId(cpu))).transpose()?)
}

/// Clock ticks of /proc/stat in a second, the same on all x86. Source: Linux, `USER_HZ` in
/// include/asm-generic/param.h.
const TICKS_PER_S: f64 = 100.0;

/// Waits, and says whether the machine settled; a signal ends it early.
pub(super) fn settle(patience_s: f64, line: &ProgressLine) -> bool {
    let begun = Instant::now();
    let mut settling = Settling::default();
    let mut before = snapshot();
    line.begin("settling", Duration::from_secs_f64(patience_s));
    while pending_signal().is_none() {
        line.update(begun.elapsed().as_secs_f64() / patience_s.max(1.0));
        let looked = Instant::now();
        thread::sleep(Duration::from_secs_f64(LOOK_S));
        let now = snapshot();
        let uptime = Root::live().read("/proc/uptime").unwrap_or_default();
        let look = Look {
            uptime_s: uptime.split_whitespace().next().and_then(|word| word.parse().ok()),
            waited_s: begun.elapsed().as_secs_f64(),
            busy_cpus: busy_cpus(&before, &now, looked.elapsed().as_secs_f64()),
        };
        before = now;
        match settling.look(&look, patience_s) {
            Next::Wait => {}
            Next::Settled => return true,
            Next::Unsettled => return false,
        }
    }
    false
}

/// CPUs that others kept busy between two readings.
fn busy_cpus(before: &Disturbance, now: &Disturbance, elapsed_s: f64) -> f64 {
    let busy = |of: &Disturbance| of.total_ticks.saturating_sub(of.idle_ticks).saturating_sub(of.own_ticks);
    busy(now).saturating_sub(busy(before)) as f64 / (TICKS_PER_S * elapsed_s.max(LOOK_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_a_journal_names_are_found_in_its_words_and_in_lines_for_the_shell() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["script", "before", "data"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let work = Work {
            command: ["/bin/sh", "./script", "--flag"].map(str::to_owned).to_vec(),
            directory: folder.path().display().to_string(),
            metric: None,
            higher_is_better: false,
            prepare: Some("./before;(cat <data)".to_owned()),
            cleanup: None,
            timeout_s: None,
            ignore_failure: false,
            cpu: None,
        };
        let found: Vec<PathBuf> = named_files(&work).collect();
        for name in ["script", "before", "data"] {
            assert!(found.contains(&folder.path().join(name)), "{name}: {found:?}");
        }
        assert!(found.contains(&PathBuf::from("/bin/sh")), "{found:?}");
        assert!(found.iter().any(|path| path.ends_with("cat") && path.is_absolute()), "{found:?}");
    }

    #[test]
    fn a_program_is_found_as_the_shell_finds_it_and_keeps_its_name_if_it_is_not() {
        let here = Path::new("/some/where");
        assert_eq!(located("./run", here), Path::new("/some/where/run"));
        assert_eq!(located("/bin/run", here), Path::new("/bin/run"));
        assert_eq!(located("no-such-program-at-all", here), Path::new("no-such-program-at-all"));
        assert!(located("sh", here).is_absolute());
        assert!(located("sh", here).ends_with("sh"));
    }

    #[test]
    fn own_and_idle_time_is_nobody_elses() {
        let before =
            Disturbance { total_ticks: 1000, idle_ticks: 900, own_ticks: 10, ..Disturbance::default() };
        let now = Disturbance { total_ticks: 1400, idle_ticks: 1080, own_ticks: 30, ..before };
        // 400 ticks, 180 idle and 20 ours: 200 in two seconds of 100 ticks.
        assert!((busy_cpus(&before, &now, 2.0) - 1.0).abs() < 1e-12);
        assert!(busy_cpus(&now, &before, 2.0).abs() < 1e-12);
    }
}

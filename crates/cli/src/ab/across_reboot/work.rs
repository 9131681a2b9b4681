//! What is measured in each boot: from the command line into the journal, and from the journal into a subject.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clock::TickRate;
use experiments::ab::across_reboot::journal::Work;
use experiments::ab::command_subject::{CommandSubject, HowToRun, Metric, Program};
use experiments::ab::effects::OF_A_BOOT;
use experiments::ab::probe_subject::ProbeSubject;
use experiments::ab::switcher::Switcher;
use host::live::{ChildOutput, Pinned};
use machine::{CpuId, Machine};
use record::Better;
use regex::bytes::Regex;

use crate::ab::arguments::{AbArguments, Way};
use crate::ab::not_started;
use crate::check_up::chosen_cpus;

/// Time in which the rate of the counter is found: a few ppm.
const CALIBRATION_NS: u64 = 20_000_000;

/// The words of the command line, with the program where it is now: after a boot neither folder nor path are the same.
pub(super) fn work(arguments: &AbArguments) -> anyhow::Result<Work> {
    let text = |word: &OsString| -> anyhow::Result<String> {
        word.clone().into_string().map_err(|word| {
            anyhow::anyhow!("{} is no UTF-8, and the journal is; give another word", word.display())
        })
    };
    let directory = env::current_dir().context("cannot tell the folder in which this runs")?;
    let mut command = arguments.command.iter().map(text).collect::<anyhow::Result<Vec<String>>>()?;
    if let Some(program) = command.first_mut() {
        *program = text(&located(program, &directory).into_os_string())?;
    }
    if let Some(pattern) = &arguments.metric {
        Regex::new(pattern).with_context(|| format!("--metric {pattern} is no regular expression"))?;
    }
    anyhow::ensure!(
        !command.is_empty()
            || (arguments.metric.is_none() && arguments.prepare.is_none() && arguments.cleanup.is_none()),
        "--metric, --prepare and --cleanup belong to a program; give one after --"
    );
    Ok(Work {
        command,
        directory: text(&directory.into_os_string())?,
        metric: arguments.metric.clone(),
        higher_is_better: arguments.better == Way::Higher,
        prepare: arguments.prepare.clone(),
        cleanup: arguments.cleanup.clone(),
        timeout_s: arguments.timeout.map(|limit| limit.as_secs_f64()),
        ignore_failure: arguments.ignore_failure,
        cpu: arguments.cpu().map(|cpu| cpu.0),
    })
}

/// The program's file, as the shell would find it; the bare name if there is none, which is then told when it is started.
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
        output: ChildOutput::Discard,
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
    let wanted = work.cpu.map(|cpu| [CpuId(cpu)].into_iter().collect());
    let cpus = chosen_cpus(machine, wanted.as_ref())?;
    let cpu = *cpus.last().context("no CPU may be used here")?;
    let pinned = Pinned::to(cpu)?;
    let started = ProbeSubject::start_with(&[&OF_A_BOOT], Switcher::none(), &machine.identity, cpu, seed);
    Ok((started.map_err(not_started)?, pinned))
}

/// Pins this thread for a program, if a CPU was asked for.
pub(super) fn pinned(work: &Work) -> anyhow::Result<Option<Pinned>> {
    Ok(work.cpu.map(|cpu| Pinned::to(CpuId(cpu))).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_as_the_shell_finds_it_and_keeps_its_name_if_it_is_not() {
        let here = Path::new("/some/where");
        assert_eq!(located("./run", here), Path::new("/some/where/run"));
        assert_eq!(located("/bin/run", here), Path::new("/bin/run"));
        assert_eq!(located("no-such-program-at-all", here), Path::new("no-such-program-at-all"));
        assert!(located("sh", here).is_absolute());
        assert!(located("sh", here).ends_with("sh"));
    }
}

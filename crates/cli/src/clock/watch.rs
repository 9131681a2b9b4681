//! `sidestep clock watch`: a probe each second for a thousandth of a CPU, and a line for each thing that happens.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clock::{CounterSource, TickRate, TimeStampCounter, monotonic_raw_ns, resolution_ticks};
use host::live;
use probes::clock_watch::probe::Prober;
use probes::clock_watch::{Pulse, Watcher};
use record::{CLOCK_EVENT_SCHEMA, ClockEvent, ClockHappening, ClockWatchSummary};
use report::{ClockMetrics, clock_event_terminal, clock_happening_text, clock_metrics};

use super::{WatchArguments, injection};
use crate::options::Global;
use crate::outcome::{CouldNotMeasure, Outcome};
use crate::{describe, output, recording};

/// Time for the counter's rate.
const CALIBRATION_NS: u64 = 50_000_000;
/// Share of one CPU that the watch may take: counters are compared only while it is below.
const CPU_SHARE: f64 = 0.001;
/// The share allows a comparison of two counters about so often, in nanoseconds.
const SPACING_NS: u64 = 1_000_000_000;
/// What a start may take besides, in nanoseconds: reading the machine and the counter's rate.
const START_NS: f64 = 100e6;
/// Shorter periods would take more than the share.
const PERIOD_MIN: Duration = Duration::from_millis(100);
/// A signal is noticed within this.
const NAP: Duration = Duration::from_millis(250);

/// Watches until the budget is spent or a signal comes.
pub(crate) fn watch(arguments: &WatchArguments, global: &Global) -> anyhow::Result<Outcome> {
    if let Some(fault) = arguments.inject.iter().find(|fault| fault.is_of_sleep()) {
        anyhow::bail!("--inject {fault}: a watch does not know who sleeps; sidestep clock check does");
    }
    anyhow::ensure!(arguments.period >= PERIOD_MIN, "--period is below 0.1s; give 0.1s or more");
    // Before all else, as where the counter raises signals, so does the kernel's own clock in user space.
    let counter = TimeStampCounter::new();
    let machine = describe::live_machine();
    let cpus = recording::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    injection::check(&arguments.inject, &cpus)?;
    let counter = counter.map_err(CouldNotMeasure::because)?;
    live::install_handlers()?;
    let rate = TickRate::calibrate(CALIBRATION_NS)?;
    let double = injection::double(counter, &cpus, &arguments.inject, rate.hz)?;
    let period_ns = arguments.period.as_nanos() as u64;
    let watcher =
        Watcher::new(rate.hz, resolution_ticks(&counter, 0), cpus.len() - 1, period_ns.max(SPACING_NS));
    let mut round = Round {
        global,
        prober: Prober::new(&double, &cpus).map_err(CouldNotMeasure::because)?,
        seen: Seen {
            watcher,
            counts: ClockMetrics::no_counts(),
            summary: ClockWatchSummary::default(),
            has_pairs: cpus.len() > 1,
            last_probe_s: 0.0,
        },
        metrics_file: arguments.metrics_file.clone().map(MetricsFile::new),
        started_ns: monotonic_raw_ns(),
    };
    let clock_source = machine.environment.clock_sources.current.clone();
    let period_s = arguments.period.as_secs_f64();
    round.report(ClockHappening::Began { cpus: cpus.len(), clock_source, period_s })?;
    round.run(arguments)?;
    let written = round.write_metrics(true);
    for what in round.seen.finish() {
        round.report(what)?;
    }
    let summary = round.seen.summary;
    round.report(ClockHappening::Ended(summary))?;
    written?;
    let refused = round.prober.refused().map(str::to_owned);
    Ok(match live::pending_signal() {
        _ if global.gate && summary.events > 0 => Outcome::Gated,
        Some(signal) => Outcome::Interrupted(signal),
        None => match refused {
            Some(reason) if !summary.could_watch() => Outcome::NotMeasured(anyhow::anyhow!("{reason}")),
            _ if !summary.could_watch() => Outcome::Inconclusive,
            _ => Outcome::Done,
        },
    })
}

/// What lives as long as the watch.
struct Round<'a, S> {
    global: &'a Global,
    prober: Prober<'a, S>,
    seen: Seen,
    metrics_file: Option<MetricsFile>,
    started_ns: u64,
}

/// What has been seen so far.
struct Seen {
    watcher: Watcher,
    counts: BTreeMap<&'static str, u64>,
    summary: ClockWatchSummary,
    /// Whether there are two CPUs to compare.
    has_pairs: bool,
    last_probe_s: f64,
}

impl Seen {
    /// Judges a probe and counts it; what happened is given back.
    fn take(&mut self, pulse: Pulse) -> Vec<ClockHappening> {
        self.summary.probes += 1;
        self.summary.spared += u64::from(self.has_pairs && pulse.exchange.is_none());
        let is_usable = pulse.exchange.as_ref().is_some_and(|exchange| matches!(exchange.seen, Ok(Some(_))));
        self.summary.usable += u64::from(is_usable);
        self.last_probe_s = pulse.realtime_ns as f64 / 1e9;
        let happened = self.watcher.judge(pulse);
        self.count(&happened);
        happened
    }

    /// What is certain and was not reported yet, at the end, and how much was watched.
    fn finish(&mut self) -> Vec<ClockHappening> {
        let happened = self.watcher.finish();
        self.count(&happened);
        self.watcher.summarise(&mut self.summary);
        happened
    }

    fn count(&mut self, happened: &[ClockHappening]) {
        self.summary.events += happened.len() as u64;
        for what in happened {
            if let Some(count) = ClockMetrics::kind(what).and_then(|kind| self.counts.get_mut(kind)) {
                *count += 1;
            }
        }
    }

    fn metrics(&self) -> String {
        let pulse = self.watcher.last();
        let mut summary = self.summary;
        self.watcher.summarise(&mut summary);
        let metrics = ClockMetrics {
            pairs: &self.watcher.rows(),
            counts: &self.counts,
            summary,
            clock_source: pulse.and_then(|pulse| pulse.system_state.clock_source.as_deref()),
            synchronised: pulse.and_then(|pulse| pulse.synchronised),
            last_probe_s: self.last_probe_s,
        };
        clock_metrics(&metrics)
    }
}

impl<S: CounterSource + Send> Round<'_, S> {
    fn run(&mut self, arguments: &WatchArguments) -> anyhow::Result<()> {
        let period_ns = arguments.period.as_nanos() as u64;
        let end_ns = arguments.budget.map(|budget| self.started_ns + budget.as_nanos() as u64);
        let mut due_ns = self.started_ns;
        while wait_until(due_ns, end_ns) {
            let started_ns = self.started_ns;
            let may_compare = || {
                let watched_ns = monotonic_raw_ns().saturating_sub(started_ns) as f64;
                (live::process_cpu_time_ns() as f64) < CPU_SHARE * watched_ns + START_NS
            };
            let pulse = self.prober.probe(due_ns, may_compare);
            let happened = self.seen.take(pulse);
            for what in happened {
                self.report(what)?;
            }
            self.account();
            self.write_metrics(false)?;
            // A probe that was missed is not made up for.
            let now_ns = monotonic_raw_ns();
            due_ns += period_ns * (now_ns.saturating_sub(due_ns) / period_ns + 1);
        }
        self.account();
        Ok(())
    }

    fn write_metrics(&mut self, last: bool) -> anyhow::Result<()> {
        self.metrics_file.as_mut().map_or(Ok(()), |file| file.write(last, || self.seen.metrics()))
    }

    fn account(&mut self) {
        let watched_ns = monotonic_raw_ns().saturating_sub(self.started_ns) as f64;
        let summary = &mut self.seen.summary;
        summary.watched_s = watched_ns / 1e9;
        summary.cpu_share = live::process_cpu_time_ns() as f64 / watched_ns.max(1.0);
    }

    /// One event on stdout: a line, or a document on one line.
    fn report(&self, what: ClockHappening) -> anyhow::Result<()> {
        let text = clock_happening_text(&what);
        let event = ClockEvent { schema: CLOCK_EVENT_SCHEMA, at_utc: live::utc_now(), text, what };
        if self.global.json {
            output::print(&output::json_line(&event)?)
        } else if !self.global.quiet {
            output::print(&clock_event_terminal(&event, output::terminal(self.global)))
        } else {
            Ok(())
        }
    }
}

/// Sleeps until a time of the raw clock; false if the end or a signal comes first.
fn wait_until(due_ns: u64, end_ns: Option<u64>) -> bool {
    loop {
        let now_ns = monotonic_raw_ns();
        if live::pending_signal().is_some() || end_ns.is_some_and(|end_ns| now_ns.max(due_ns) >= end_ns) {
            // What is left of the budget is waited for, as whoever gave it expects.
            let left = end_ns.map_or(0, |end_ns| end_ns.saturating_sub(now_ns));
            if live::pending_signal().is_none() && left > 0 {
                thread::sleep(Duration::from_nanos(left).min(NAP));
                continue;
            }
            return false;
        }
        if now_ns >= due_ns {
            return true;
        }
        thread::sleep(Duration::from_nanos(due_ns - now_ns).min(NAP));
    }
}

/// A file is written this often at most: replacing one safely waits for the disk, and scrapers come every 15 s or less often.
const FILE_PERIOD: Duration = Duration::from_secs(15);

/// A file that is kept up to date.
struct MetricsFile {
    path: PathBuf,
    /// When it was last due and tried.
    tried: Option<Instant>,
    /// It could not be written when it was last tried, which has been said.
    fails: bool,
}

impl MetricsFile {
    fn new(path: PathBuf) -> Self {
        Self { path, tried: None, fails: false }
    }

    /// Writes the file if it is due, or for the last time. What fails in between, as on a disk that is full for a while, is
    /// said once and tried again: a watch does not end for it.
    ///
    /// # Errors
    /// A file that cannot be written the first or the last time.
    fn write(&mut self, last: bool, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if !last && self.tried.is_some_and(|tried| tried.elapsed() < FILE_PERIOD) {
            return Ok(());
        }
        let is_first = self.tried.replace(Instant::now()).is_none();
        let written = live::write_atomically(&self.path, text().as_bytes());
        if is_first || last {
            return Ok(written?);
        }
        if written.is_err() != self.fails {
            self.fails = written.is_err();
            output::complain(&match written {
                Err(error) => format!("{error}; tried again every {} s", FILE_PERIOD.as_secs()),
                Ok(()) => format!("{} is written again", self.path.display()),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_for_a_while_does_not_end_the_watch() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("there/sidestep.prom");
        let there = folder.path().join("there");
        let mut file = MetricsFile { path: path.clone(), tried: None, fails: false };
        let mut write = |last| {
            file.tried = file.tried.and_then(|tried| tried.checked_sub(FILE_PERIOD));
            let written = file.write(last, || "text".to_owned());
            (written.is_ok(), file.fails)
        };
        // The first time it is unknown whether the path is right.
        assert_eq!(write(false), (false, false));
        for is_there in [true, false, false, true] {
            let done = if is_there { fs::create_dir_all(&there) } else { fs::remove_dir_all(&there) };
            assert!(done.is_ok() || !is_there);
            assert_eq!(write(false), (true, !is_there));
            assert_eq!(path.exists(), is_there);
        }
        fs::remove_dir_all(&there).expect("a folder");
        assert!(!write(true).0);
    }
}

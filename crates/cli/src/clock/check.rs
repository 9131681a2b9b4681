//! `sidestep clock check`: the counters of all CPUs against each other, the kernel's clocks, what the kernel thinks.

use std::time::{Duration, Instant};

use ::flaws::catalogue;
use clock::{ExchangeLimits, TickRate, TimeStampCounter};
use experiments::held_toggle::HeldFrequencies;
use host::live;
use host::{FlawSources, Root, kernel_clocks, kernel_clocks_now};
use machine::{CpuId, Machine};
use probes::clock_pairs::check_up::Shares;
use probes::clock_pairs::system_clocks::{ClockMarks, RTC_S};
use probes::clock_pairs::{self, ClockPairsError, Frequencies, NoFrequencies, Settings, backwards, verdict};
use probes::session::Progress;
use record::{CLOCK_CHECK_SCHEMA, ClockCheck, ClockVerdict, FlawVerdict, Record};

use super::arguments::{CheckArguments, StressName};
use super::ended;
use super::injection;
use crate::flaws::toggles_missing;
use crate::global::Global;
use crate::outcome::Outcome;
use crate::progress::ProgressLine;
use crate::recording::{self, Recording};
use crate::{describe, provenance};

/// How long a check takes at most without --budget: about half of it is left for watching the counters, in which drift of 20 ppb is
/// seen.
const BUDGET: Duration = Duration::from_secs(12);
/// A shorter check does not look at the hardware clock, for whose seconds it would have to wait.
const WITH_RTC_FROM: Duration = Duration::from_secs(8);
/// A signal is noticed within this.
const LOOK_FOR_SIGNAL: Duration = Duration::from_millis(100);
/// Time for the counter's rate, which turns ticks into nanoseconds.
const CALIBRATION_NS: u64 = 50_000_000;

/// Measures or reads, and prints.
pub(crate) fn check(arguments: &CheckArguments, global: &Global) -> anyhow::Result<Outcome> {
    arguments.forms.ensure_writable()?;
    let recording = Recording::begin(arguments.record.as_deref())?;
    let measure = || match &arguments.sysroot {
        Some(path) => Ok(recorded(&Root::open(path)?)),
        None => on_this_machine(arguments, global),
    };
    let Checked { check, failure, left_changed, machine, cpus, verdicts } =
        Recording::around(recording.as_ref(), measure)?;
    let verdict = check.verdict;
    let page = report::clock_check_page(&check);
    let text = arguments.forms.text(&page, &check, global)?;
    let record = || Record {
        clock_check: Some(check),
        flaws: verdicts,
        partial: failure.as_ref().map(ToString::to_string),
        ..recording::begun(machine, &cpus, arguments.budget.unwrap_or(BUDGET).as_secs_f64())
    };
    Recording::finish(recording.as_ref(), record, &text, global)?;
    let fails = matches!(verdict, ClockVerdict::Unsafe | ClockVerdict::Correctable);
    ended(&left_changed, failure, || Outcome::judged(global, fails, verdict == ClockVerdict::CannotTell))
}

/// A check, how it went, and of what.
struct Checked {
    check: ClockCheck,
    /// Why nothing could be measured, if so.
    failure: Option<anyhow::Error>,
    /// What was switched and is not put back.
    left_changed: Vec<String>,
    machine: Machine,
    cpus: Vec<CpuId>,
    verdicts: Vec<FlawVerdict>,
}

/// What a recorded machine tells.
fn recorded(root: &Root) -> Checked {
    let machine = host::describe(root, None);
    let verdicts = judged(root);
    let mut check = begun(root, &machine);
    check.because.push("nothing was measured: this is a recorded machine".to_owned());
    diagnosis::clock_remedies(&mut check, &verdicts);
    Checked { check, failure: None, left_changed: Vec::new(), machine, cpus: Vec::new(), verdicts }
}

fn judged(root: &Root) -> Vec<FlawVerdict> {
    let catalogue = catalogue();
    let sources = FlawSources::of(root, None);
    let mut evidence = sources.read(&catalogue.registers());
    if root.is_live() {
        evidence.toggles_missing = toggles_missing(&catalogue, root, &sources.machine);
    }
    ::flaws::judge(&catalogue, &evidence)
}

fn begun(root: &Root, machine: &Machine) -> ClockCheck {
    ClockCheck { schema: CLOCK_CHECK_SCHEMA, kernel: kernel_clocks(root, machine), ..ClockCheck::default() }
}

/// Measures this machine.
fn on_this_machine(arguments: &CheckArguments, global: &Global) -> anyhow::Result<Checked> {
    let until = Instant::now() + arguments.budget.unwrap_or(BUDGET);
    // First, as where the counter raises signals, so does the kernel's own clock in user space.
    let counter = TimeStampCounter::new();
    let root = Root::live();
    let machine = describe::live_machine();
    let cpus = provenance::chosen_cpus(&machine, arguments.cpus.as_ref())?;
    injection::check(&arguments.inject, &cpus)?;
    // Before anything is measured, as the budget is for this as well.
    let verdicts = if machine.identity.vendor.is_some() { judged(&root) } else { Vec::new() };
    let mut check = begun(&root, &machine);
    let measured = match counter {
        Ok(counter) => {
            live::install_handlers()?;
            let subject = Subject { machine: &machine, counter, cpus: &cpus, until };
            measure(&mut check, &subject, arguments, global)
        }
        Err(denied) => Err(denied.into()),
    };
    let (left_changed, failure) = match measured {
        Ok(left_changed) => (left_changed, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    if let Some(failure) = &failure {
        check.because.insert(0, format!("{failure:#}"));
    }
    diagnosis::clock_remedies(&mut check, &verdicts);
    let nothing_seen = failure.is_none() && check.pairs.iter().all(|pair| pair.usable == 0);
    let failure =
        failure.or_else(|| nothing_seen.then(|| anyhow::anyhow!("no two CPUs ever ran at the same time")));
    Ok(Checked { check, failure, left_changed, machine, cpus, verdicts })
}

/// What is measured.
struct Subject<'a> {
    machine: &'a Machine,
    counter: TimeStampCounter,
    cpus: &'a [CpuId],
    /// When all of it has to be done.
    until: Instant,
}

/// Time until then.
fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// Watches the counters, looks for backwards steps, and compares the kernel's clocks meanwhile. What it gives is what
/// could not be put back.
fn measure(
    check: &mut ClockCheck,
    subject: &Subject<'_>,
    arguments: &CheckArguments,
    global: &Global,
) -> anyhow::Result<Vec<String>> {
    let (machine, cpus, until) = (subject.machine, subject.cpus, subject.until);
    let started = Instant::now();
    let line = ProgressLine::new(global.quiet);
    line.begin("clocks", left(until));
    let rate = TickRate::calibrate(CALIBRATION_NS)?;
    let double = injection::double(subject.counter, cpus, &arguments.inject, rate.hz)?;
    let injected: Vec<String> = arguments.inject.iter().map(ToString::to_string).collect();
    check.injected = (!injected.is_empty()).then(|| injected.join(", "));
    let wants_pstates = arguments.stress.contains(&StressName::Pstate);
    let held = wants_pstates.then(|| HeldFrequencies::begin(machine, cpus, left(until))).transpose();
    let mut held = held.unwrap_or_else(|reason| {
        check.without.push(format!("P-states were not varied: {reason}"));
        None
    });
    let with_rtc = arguments.budget.unwrap_or(BUDGET) >= WITH_RTC_FROM;
    let marks = ClockMarks::take(with_rtc);
    let second_look_s = if with_rtc { RTC_S / 2.0 } else { 0.0 };
    let shares = Shares::of(left(until).as_secs_f64() - second_look_s, true);
    let settings = Settings {
        cpus: cpus.to_vec(),
        stresses: arguments.stresses(held.is_some()),
        budget_s: shares.watch_s,
        limits: ExchangeLimits::default(),
    };
    let watched_until = Instant::now() + Duration::from_secs_f64(shares.watch_s);
    let mut nobody = NoFrequencies;
    let frequencies = held.as_mut().map_or(&mut nobody as &mut dyn Frequencies, |held| held as _);
    let seen = clock_pairs::run(&settings, &double, frequencies, &line);
    if matches!(seen, Err(ClockPairsError::OneCpu(_))) {
        // The kernel's clocks are held against each other on one CPU as well, and that takes its time.
        while !left(watched_until).is_zero() && live::pending_signal().is_none() {
            line.update(1.0 - left(watched_until).as_secs_f64() / shares.watch_s);
            std::thread::sleep(LOOK_FOR_SIGNAL.min(left(watched_until)));
        }
    }
    let put_back = held.map(HeldFrequencies::end).unwrap_or_default();
    let unsettled = put_back.iter().filter(|result| !result.is_settled());
    let left_changed = unsettled.map(|result| result.entry.target.to_string()).collect();
    check.system_clocks = marks.finish(with_rtc && left(until).as_secs_f64() >= second_look_s);
    let seen = seen.inspect_err(|_| line.end())?;
    verdict::fill(check, &seen, rate.hz);
    verdict::heed_firmware(check, &subject.counter, rate);
    if shares.backwards_s.is_none() {
        check.without.push(format!(
            "steps back between two threads were not looked for: that takes {:.0} s or more with --budget",
            Shares::least_s_with_backwards().ceil()
        ));
    } else if !seen.interrupted {
        line.begin("backwards", left(until));
        let source = double.read().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
        backwards::fill(check, cpus, &*source, rate.hz, until)?;
    }
    line.end();
    // What the kernel saw meanwhile; frequencies that were held are free again.
    verdict::heed_kernel(check, kernel_clocks_now(machine));
    check.elapsed_s = started.elapsed().as_secs_f64();
    Ok(left_changed)
}

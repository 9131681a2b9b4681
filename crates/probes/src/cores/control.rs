//! Control loops on each CPU in rounds: the core's frequency, and which share of the core a CPU has.
//!
//! The share compares additions per multiply step, not per nanosecond, so that it does not move with the frequency. The
//! best CPU of the same kind sets the scale: if all have a busy sibling all the time, all read 1.

use std::hint::black_box;

use kernels::{
    ADDS_PER_ROUND, Isa, MULTIPLIES_PER_ROUND, ROTATES_PER_ROUND, multiply, multiply_chain, port_loop, ports,
    rotate, rotate_chain,
};
use machine::{CoreKind, CpuId, Hertz};
use record::{Control, metric};
use stats::{median, modes, quantile};

use super::CoresError;
pub use super::rounds::CpuSettings as Settings;
use crate::answers::{Answer, Known};
use crate::control::{ControlLoops, PORT_LOOP, series_name};
use crate::probe::{CheckUpProbe, Planned, Section, Subject};
use crate::sampler::{Sampler, WINDOW_NS};
use crate::series::{PointVisit, Series};
use crate::session::Session;

/// Windows of each loop per visit.
const WINDOWS_PER_VISIT: usize = 4;
/// Low quantile of the windows: noise only adds time.
const QUANTILE: f64 = 0.1;
/// One visit at most: twelve windows, each stretched by a neighbour, and a move to the CPU.
const VISIT_WORST_S: f64 = 0.05;

/// The probe in the check-up.
pub(crate) const PROBE: CheckUpProbe = CheckUpProbe {
    seconds: [Some(0.4), Some(1.0), Some(2.0)],
    least_s: 0.2,
    epoch_least_s: Some(0.07),
    per_cpu_s: 0.015,
    rank: 10,
    // It keeps a core busy that its sibling shares.
    disturbs: "core",
    ..CheckUpProbe::new("control", Section::Cores, plan)
};

fn plan(subject: &Subject<'_>, seconds: f64) -> Planned {
    Settings::planned(subject, seconds, [24, 50, 100], VISIT_WORST_S, run)
}

/// The windows of one CPU by loop, in the order of [`LOOPS`], in nanoseconds per step.
type Loops = [Series; 3];

/// Measures the control loops of each CPU and adds them to the record.
///
/// # Errors
/// A CPU that may not be used; the others are in the record.
pub fn run(session: &mut Session<'_>, settings: &Settings) -> Result<(), CoresError> {
    let mut loops = vec![Loops::default(); settings.cpus.len()];
    let outcome = settings.visit_all(session, |sampler, index| visit(sampler, &mut loops[index]));
    push(session, settings, &loops);
    outcome
}

/// A control loop with what it must return.
struct ControlLoop {
    /// Its part of the name of a series.
    series: &'static str,
    kernel: &'static str,
    steps_per_round: u64,
    run: fn(u64) -> u64,
    answer: fn(u64) -> u64,
}

const LOOPS: [ControlLoop; 3] = [
    ControlLoop {
        series: "multiply",
        kernel: "multiply_chain",
        steps_per_round: MULTIPLIES_PER_ROUND,
        run: |rounds| u64::from(multiply_chain(rounds)),
        answer: |rounds| u64::from(multiply::answer(rounds)),
    },
    ControlLoop {
        series: "rotate",
        kernel: "rotate_chain",
        steps_per_round: ROTATES_PER_ROUND,
        run: rotate_chain,
        answer: rotate::answer,
    },
    ControlLoop {
        series: PORT_LOOP,
        kernel: "port_loop",
        steps_per_round: ADDS_PER_ROUND,
        run: port_loop,
        answer: ports::answer,
    },
];

impl ControlLoop {
    /// Takes a window of so many rounds, in nanoseconds per step, and checks what came out.
    fn window(&self, sampler: &mut Sampler, rounds: u64) -> Option<f64> {
        let (cpu, steps) = (sampler.cpu, rounds * self.steps_per_round);
        sampler.about(|| series_name(cpu, self.series));
        let mut found = 0;
        let ns = sampler.window(|| found = black_box((self.run)(rounds)));
        let answer = (self.answer)(rounds);
        let known = Known { kernel: self.kernel, isa: Isa::ScalarU64.name(), operations: steps, answer };
        let found = found ^ sampler.planted_bit(self.kernel);
        sampler.count(
            Answer::of(known, found),
            || format!("{steps} steps"),
            || black_box((self.run)(rounds)),
        );
        ns.map(|ns| ns / steps as f64)
    }
}

fn visit(sampler: &mut Sampler, loops: &mut Loops) {
    let rounds = LOOPS.map(|one| sampler.rounds_for(WINDOW_NS, |rounds| _ = black_box((one.run)(rounds))));
    let mut windows = [(); LOOPS.len()].map(|()| PointVisit::default());
    for number in 0..WINDOWS_PER_VISIT {
        if number > 0 && sampler.is_cut() {
            break;
        }
        for ((one, rounds), windows) in LOOPS.iter().zip(rounds).zip(&mut windows) {
            windows.add(one.window(sampler, rounds));
        }
    }
    loops.iter_mut().zip(windows).for_each(|(samples, windows)| samples.add(windows));
}

/// Additions per multiply step of the best windows of each CPU: what an undisturbed core of that CPU can do.
fn steps_ratio([multiply, _, port]: &Loops, port_quantile: f64) -> Option<f64> {
    let port_ns = quantile(&port.windows(), port_quantile)?;
    Some(quantile(&multiply.windows(), QUANTILE)? / port_ns)
}

/// Share of the core that each CPU has: its median against the best CPU of its kind.
fn core_shares(kinds: &[CoreKind], loops: &[Loops]) -> Vec<Option<f64>> {
    let best = |kind: CoreKind| {
        let of_kind = loops.iter().zip(kinds).filter(|(_, other)| **other == kind);
        of_kind.filter_map(|(loops, _)| steps_ratio(loops, QUANTILE)).fold(0.0, f64::max)
    };
    loops.iter().zip(kinds).map(|(own, &kind)| Some(steps_ratio(own, 0.5)? / best(kind))).collect()
}

fn push(session: &mut Session<'_>, settings: &Settings, loops: &[Loops]) {
    let control = ControlLoops::of(&session.record.machine.identity);
    let kind_of = |cpu: &CpuId| {
        session.record.machine.topology.cpu(*cpu).map_or(CoreKind::default(), |cpu| cpu.core_kind)
    };
    let kinds: Vec<CoreKind> = settings.cpus.iter().map(kind_of).collect();
    let shares = core_shares(&kinds, loops);
    for ((&cpu, own), share) in settings.cpus.iter().zip(loops).zip(shares) {
        let [multiply, rotate, port] = [0, 1, 2].map(|index| {
            own[index].measured(session, &metric::MULTIPLY, series_name(cpu, LOOPS[index].series))
        });
        let (Some(multiply), Some(rotate), Some(port), Some(core_share)) = (multiply, rotate, port, share)
        else {
            continue;
        };
        // The port loop's states stand beside the frequency's: a busy sibling moves only the former.
        session.record.guards.doubts.extend(two_states(cpu, own));
        session.result().cores.control.push(Control {
            cpu,
            core_hz: control.core_hz(multiply.value, rotate.value).map(Hertz),
            multiply_ns: multiply.value,
            rotate_ns: rotate.value,
            multiply_per_rotate: multiply.value / rotate.value,
            port_ns: port.value,
            core_share,
            spread: multiply.spread,
        });
    }
}

/// A line that says so when a CPU's share of its core has more than one state while its frequency has one.
fn two_states(cpu: CpuId, [multiply, _, port]: &Loops) -> Option<String> {
    let port = modes(&port.windows());
    if port.len() < 2 || modes(&multiply.windows()).len() > 1 {
        return None;
    }
    let fastest = median(&[port[0].value])?;
    let states: Vec<String> = port
        .iter()
        .map(|mode| format!("{:.2} in {:.0} % of windows", fastest / mode.value, mode.share * 100.0))
        .collect();
    Some(format!("CPU {cpu} has its execution ports to itself only at times: share {}", states.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(multiply_ns: f64, port_ns: &[f64]) -> Loops {
        let samples = |values: &[f64]| Series {
            visits: vec![PointVisit { windows: values.to_vec(), ..PointVisit::default() }],
        };
        let [multiply, rotate] = [multiply_ns, multiply_ns / 3.0].map(|ns| samples(&vec![ns; port_ns.len()]));
        [multiply, rotate, samples(port_ns)]
    }

    #[test]
    fn a_slow_clock_is_no_lost_share_and_a_busy_sibling_is() {
        let all = [loops(1.0, &[0.1; 8]), loops(2.0, &[0.2; 8]), loops(1.0, &[0.2; 8])];
        let shares = core_shares(&[CoreKind::Uniform; 3], &all);
        let rounded: Vec<f64> = shares.into_iter().map(|share| share.expect("measured")).collect();
        assert_eq!(rounded, [1.0, 1.0, 0.5]);
    }

    #[test]
    fn kinds_of_cores_are_not_compared_with_each_other() {
        let all = [loops(1.0, &[0.1; 8]), loops(1.0, &[0.2; 8])];
        let shares = core_shares(&[CoreKind::Performance, CoreKind::Efficiency], &all);
        assert_eq!(shares, [Some(1.0), Some(1.0)]);
    }

    #[test]
    fn a_sibling_that_comes_and_goes_is_named() {
        let mut ports = vec![0.1; 10];
        ports.extend([0.2; 10]);
        let line = two_states(CpuId(3), &loops(1.0, &ports)).expect("two states");
        assert!(line.contains("CPU 3") && line.contains("0.50 in 50 %"), "{line}");
        assert_eq!(two_states(CpuId(3), &loops(1.0, &[0.1; 20])), None);
    }
}

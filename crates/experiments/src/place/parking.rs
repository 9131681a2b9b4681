//! What sleeping CPUs cost a program: the check-up's wake-up curve, weighted by how long the program's threads rest.
//!
//! A thread that rested is woken on a CPU that may have gone to sleep meanwhile. What that wake-up takes more than one after the
//! shortest rest is the parking tax; its share of the time is what the threads could gain at most if CPUs never slept.

use record::{Cores, IdleGaps, ParkingTax, Sharing, WakePoint};
use stats::Interval;

/// Below this share of the time nothing is worth doing.
const WORTH_PERCENT: f64 = 0.5;

/// What is known beside curve and gaps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Surroundings {
    /// True if the kernel names idle states (`cpuidle`).
    pub has_idle_states: bool,
    /// Share of the time that was stolen while the curve was measured, in percent.
    pub steal_percent: Option<f64>,
}

/// The tax of a program; `None` without a wake-up curve or without any gap that was seen.
pub fn parking_tax(sharing: Option<&Sharing>, cores: &Cores, around: Surroundings) -> ParkingTax {
    let unsupported = !around.has_idle_states;
    let unknown = |advice: &str| ParkingTax {
        percent: None,
        interval: None,
        wakes_per_s: 0.0,
        unsupported,
        steal_percent: around.steal_percent,
        advice: advice.to_owned(),
    };
    let curve = Curve::of(&cores.wake);
    let Some(curve) = curve else {
        return unknown(
            "give --check-up RECORD of this machine, which holds the time that sleeping CPUs take to wake",
        );
    };
    let of_threads: Vec<&[IdleGaps]> = sharing
        .iter()
        .flat_map(|sharing| &sharing.threads)
        .filter_map(|thread| thread.idle_gaps.as_deref())
        .filter(|gaps| gaps.iter().any(|gap| gap.count > 0))
        .collect();
    let seconds = sharing.map_or(0.0, |sharing| sharing.seconds);
    if of_threads.is_empty() || seconds <= 0.0 {
        return unknown("how long its threads rest could not be seen");
    }
    let threads = of_threads.len() as f64;
    let sum = |of: fn(&Extra) -> f64| {
        let all = of_threads.iter().flat_map(|gaps| gaps.iter());
        all.map(|gap| gap.count as f64 * of(&curve.extra(middle_us(gap)))).sum::<f64>()
            / 1e9
            / seconds
            / threads
            * 100.0
    };
    let wakes: u64 = of_threads.iter().flat_map(|gaps| gaps.iter()).map(|gap| gap.count).sum();
    let percent = sum(|extra| extra.ns);
    ParkingTax {
        percent: Some(percent),
        interval: Some(Interval::between(sum(|extra| extra.low_ns), sum(|extra| extra.high_ns))),
        wakes_per_s: wakes as f64 / seconds,
        unsupported,
        steal_percent: around.steal_percent,
        advice: advice(percent, around.has_idle_states).to_owned(),
    }
}

fn advice(percent: f64, has_idle_states: bool) -> &'static str {
    match (percent >= WORTH_PERCENT, has_idle_states) {
        (false, _) => "nothing to do",
        (true, true) => {
            "try what it is worth: sidestep ab --toggle cpu-dma-latency -- COMMAND, or --toggle idle-states for all CPUs"
        }
        (true, false) => {
            "nothing here can keep CPUs awake; threads that wake each other on one CPU do not wait for another one"
        }
    }
}

/// The middle of a bin on a logarithmic scale.
pub(super) fn middle_us(gap: &IdleGaps) -> f64 {
    (gap.from_us.max(0.1) * gap.below_us.max(gap.from_us).max(0.1)).sqrt()
}

/// What a wake-up takes more than one after the shortest rest.
struct Extra {
    ns: f64,
    low_ns: f64,
    high_ns: f64,
}

/// Median wake-ups over all pairs of CPUs by idle time, rising.
struct Curve {
    points: Vec<(f64, f64, Interval)>,
}

impl Curve {
    fn of(wake: &[WakePoint]) -> Option<Self> {
        let mut idle: Vec<f64> = wake.iter().map(|point| point.idle_us).filter(|idle| *idle > 0.0).collect();
        idle.sort_by(f64::total_cmp);
        idle.dedup();
        let at = |idle_us: f64| {
            let of: Vec<&WakePoint> =
                wake.iter().filter(|point| (point.idle_us - idle_us).abs() < 1e-9).collect();
            let median = |of_point: fn(&WakePoint) -> f64| {
                stats::median(&of.iter().map(|point| of_point(point)).collect::<Vec<_>>()).unwrap_or(0.0)
            };
            let ends = Interval::between(
                median(|point| point.spread.interval.low),
                median(|point| point.spread.interval.high),
            );
            (idle_us, median(|point| point.ns), ends)
        };
        let points: Vec<_> = idle.into_iter().map(at).collect();
        (points.len() >= 2).then_some(Self { points })
    }

    /// Between two points a straight line over the logarithm of the rest; beyond the ends what stands there.
    fn extra(&self, idle_us: f64) -> Extra {
        let base = self.points[0];
        let above = self.points.iter().position(|point| point.0 >= idle_us);
        let (ns, ends) = match above {
            Some(0) => (base.1, base.2),
            None => self.points.last().map_or((base.1, base.2), |last| (last.1, last.2)),
            Some(index) => {
                let (near, far) = (&self.points[index - 1], &self.points[index]);
                let share = (idle_us / near.0).ln() / (far.0 / near.0).ln();
                let between = |a: f64, b: f64| a + share * (b - a);
                (
                    between(near.1, far.1),
                    Interval::between(between(near.2.low, far.2.low), between(near.2.high, far.2.high)),
                )
            }
        };
        Extra {
            ns: (ns - base.1).max(0.0),
            low_ns: (ends.low - base.2.high).max(0.0),
            high_ns: (ends.high - base.2.low).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use machine::CpuId;
    use record::{SharingThread, Spread};

    use super::*;

    fn cores(points: &[(f64, f64)]) -> Cores {
        let point = |(idle_us, ns): &(f64, f64)| WakePoint {
            waker: CpuId(0),
            sleeper: CpuId(1),
            idle_us: *idle_us,
            ns: *ns,
            p90_ns: *ns,
            spread: Spread { interval: Interval { low: ns - 500.0, high: ns + 500.0 }, ..Spread::default() },
        };
        Cores { wake: points.iter().map(point).collect(), ..Cores::default() }
    }

    fn sharing(gaps: &[(f64, f64, u64)]) -> Sharing {
        let gap = |(from_us, below_us, count): &(f64, f64, u64)| IdleGaps {
            from_us: *from_us,
            below_us: *below_us,
            count: *count,
        };
        let thread =
            SharingThread { idle_gaps: Some(gaps.iter().map(gap).collect()), ..SharingThread::default() };
        Sharing { seconds: 2.0, threads: vec![thread], ..Sharing::default() }
    }

    #[test]
    fn the_tax_is_what_waking_takes_more_after_a_long_rest() {
        let cores = cores(&[(10.0, 6_000.0), (1_000.0, 26_000.0)]);
        let around = Surroundings { has_idle_states: true, steal_percent: None };
        // 1,000 rests of a millisecond in two seconds: 20 us more each, 1 % of the time.
        let found = parking_tax(Some(&sharing(&[(1_000.0, 1_000.0, 1_000)])), &cores, around);
        assert!((found.percent.expect("a curve and gaps") - 1.0).abs() < 1e-9, "{found:?}");
        assert!(found.interval.is_some_and(|ends| ends.low < 1.0 && ends.high > 1.0));
        assert!((found.wakes_per_s - 500.0).abs() < 1e-9 && found.advice.contains("cpu-dma-latency"));
        let halfway = parking_tax(Some(&sharing(&[(100.0, 100.0, 1_000)])), &cores, around);
        assert!((halfway.percent.expect("a curve and gaps") - 0.5).abs() < 1e-9, "{halfway:?}");
        let short = parking_tax(Some(&sharing(&[(1.0, 2.0, 9_000)])), &cores, around);
        assert_eq!((short.percent, short.advice.as_str()), (Some(0.0), "nothing to do"));
    }

    #[test]
    fn each_toggle_of_the_advice_is_in_the_catalogue() {
        let mut named = 0;
        for (percent, has_idle_states) in [(0.0, true), (0.0, false), (9.0, true), (9.0, false)] {
            for after in advice(percent, has_idle_states).split("--toggle ").skip(1) {
                let name = after.split([' ', ',']).next().unwrap_or_default();
                assert!(toggles::find(name).is_ok(), "{name}");
                named += 1;
            }
        }
        assert_eq!(named, 2, "two toggles where CPUs can be kept awake");
    }

    #[test]
    fn without_idle_states_it_says_unsupported_and_without_a_curve_unknown() {
        let found = parking_tax(None, &Cores::default(), Surroundings::default());
        assert!(found.unsupported && found.percent.is_none() && found.advice.contains("--check-up"));
        let unseen = parking_tax(
            Some(&Sharing::default()),
            &cores(&[(1.0, 5e3), (9.0, 6e3)]),
            Surroundings::default(),
        );
        assert!(unseen.percent.is_none() && unseen.advice.contains("could not be seen"));
    }
}

//! Whether the CPUs are alike in their own memory: the windows of each round side by side.

use machine::CpuId;
use record::{SocketSubject, SocketVerdict, SubjectCore, SubjectEquality, SubjectRow};
use stats::{
    Interval, Likeness, SubjectVisit, Tolerance, equality, median, normal_quantile, quantile_interval, sorted,
};

use crate::control::ControlReading;
use crate::series::{PointVisit, Series};

/// A difference below this is of no matter.
pub(super) const MARGIN: f64 = 0.015;
/// Subjects within this are alike: as `stats::equality` has it.
pub(super) const ALIKE: f64 = 2.0 * MARGIN;
/// A visit is disturbed if a control loop beside it was slower than is usual for the CPU by this share.
const VISIT_SLOWER: f64 = 0.15;
/// CPUs whose frequencies differ by this share are not equals to begin with.
const FREQUENCIES_DIFFER: f64 = 0.03;
/// Nor are those of which one has so much less of its core. A few per cent, which a neighbour on the other thread of a core takes
/// on a cloud's machine, hardly slow what waits for memory.
const SHARES_DIFFER: f64 = 0.20;

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quantity {
    /// Nanoseconds per load.
    Latency,
    /// Bytes per second of STREAM's triad.
    Triad {
        /// Whether others may be on the machine.
        in_guest: bool,
    },
}

impl Quantity {
    const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Triad { .. } => "triad",
        }
    }

    /// A time: noise adds to it, as to nanoseconds per byte.
    fn time(self, value: f64) -> f64 {
        match self {
            Self::Latency => value,
            Self::Triad { .. } => 1e9 / value,
        }
    }

    const fn between_runs(self) -> f64 {
        match self {
            Self::Latency => stats::equal_latencies(),
            Self::Triad { in_guest } => stats::equal_rates(stats::Host::of(in_guest)),
        }
    }
}

/// What equal CPUs differ by from one run to the next in a quantity of this name, at 95 %.
pub(super) fn runs_differ_by(quantity: &str, in_guest: bool) -> f64 {
    let of = [Quantity::Latency, Quantity::Triad { in_guest }].into_iter().find(|of| of.name() == quantity);
    of.map_or(0.0, |of| normal_quantile(0.975) * of.between_runs())
}

/// What the windows of one quantity say, `by_subject` in the order of the subjects.
pub(super) fn judge(
    quantity: Quantity,
    subjects: &[SocketSubject],
    by_subject: &[&Series],
    seed: u64,
) -> Option<SubjectEquality> {
    let rounds = by_subject.iter().map(|series| series.visits.len()).min()?;
    let visit = |visit: &PointVisit| {
        let windows = visit.windows.iter().map(|&value| quantity.time(value));
        Some(SubjectVisit { windows: windows.collect(), control: core_taken(visit)? })
    };
    let round = |round: usize| by_subject.iter().map(|series| visit(&series.visits[round])).collect();
    let table: Vec<Vec<SubjectVisit>> = (0..rounds).map(round).collect::<Option<_>>()?;
    let counted = table.iter().filter(|round| round.iter().all(|visit| !visit.windows.is_empty())).count();
    let tolerance = Tolerance { margin: MARGIN, between_runs: quantity.between_runs() };
    let found = equality(&table, tolerance, seed)?;
    Some(SubjectEquality {
        quantity: quantity.name().to_owned(),
        verdict: match found.likeness {
            Likeness::Alike => SocketVerdict::Alike,
            Likeness::Asymmetric => SocketVerdict::Asymmetric,
            Likeness::Inconclusive => SocketVerdict::Inconclusive,
        },
        aa_half_width: found.aa_half_width,
        rounds: counted,
        rows: subjects
            .iter()
            .zip(found.subjects)
            .map(|(subject, row)| SubjectRow {
                cpu: subject.cpu,
                ratio: row.ratio,
                interval: row.interval,
                differs: row.differs,
            })
            .collect(),
    })
}

/// What a neighbour on the core takes beside a visit: cycles of the loop that saturates ports, before it or after, where that was more.
fn core_taken(visit: &PointVisit) -> Option<f64> {
    let readings = visit.control.iter().flat_map(|pair| pair.readings);
    readings.map(|reading| reading.port_ns / reading.multiply_ns).reduce(f64::max)
}

/// What a control loop tells of, by how much it may differ, and its time.
type ControlLoop = (&'static str, f64, fn(&ControlReading) -> f64);

/// The CPUs whose control loops say that they are not equals of the others, with the loop and by how much it is slower.
pub(super) fn unequal_cores(
    subjects: &[SocketSubject],
    by_subject: &[&Series],
) -> Vec<(CpuId, &'static str, f64)> {
    let loops: [ControlLoop; 2] = [
        ("frequency", FREQUENCIES_DIFFER, |reading| reading.multiply_ns),
        ("share of its core", SHARES_DIFFER, |reading| reading.port_ns),
    ];
    let mut unequal = Vec::new();
    for (name, differs, part) in loops {
        let typical: Vec<f64> = by_subject
            .iter()
            .map(|series| {
                let readings =
                    series.visits.iter().flat_map(|visit| &visit.control).flat_map(|pair| pair.readings);
                median(&readings.map(|reading| part(&reading)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
            })
            .collect();
        let best = typical.iter().copied().fold(f64::INFINITY, f64::min);
        for (subject, value) in subjects.iter().zip(typical) {
            if value > best * (1.0 + differs) {
                unequal.push((subject.cpu, name, value / best - 1.0));
            }
        }
    }
    unequal
}

/// How each CPU's core ran beside its visits.
pub(super) fn cores(subjects: &[SocketSubject], by_subject: &[&Series]) -> Vec<SubjectCore> {
    let of = |(subject, series): (&SocketSubject, &&Series)| {
        let usual = usual_control(series)?;
        let readings = series.visits.iter().flat_map(|visit| &visit.control).flat_map(|pair| pair.readings);
        let multiplies = sorted(&readings.map(|reading| reading.multiply_ns).collect::<Vec<_>>());
        let point = Interval { low: usual.multiply_ns, high: usual.multiply_ns };
        let disturbed = series.visits.iter().filter(|visit| is_slow(visit, usual)).count();
        Some(SubjectCore {
            cpu: subject.cpu,
            multiply_ns: usual.multiply_ns,
            multiply_interval: quantile_interval(&multiplies, 0.5).unwrap_or(point),
            port_ns: usual.port_ns,
            disturbed_share: disturbed as f64 / series.visits.len().max(1) as f64,
        })
    };
    subjects.iter().zip(by_subject).filter_map(of).collect()
}

/// The median of each control loop beside the visits of a CPU.
fn usual_control(series: &Series) -> Option<ControlReading> {
    let usual = |part: fn(&ControlReading) -> f64| {
        let readings = series.visits.iter().flat_map(|visit| &visit.control).flat_map(|pair| pair.readings);
        median(&readings.map(|reading| part(&reading)).collect::<Vec<_>>())
    };
    Some(ControlReading {
        multiply_ns: usual(|reading| reading.multiply_ns)?,
        port_ns: usual(|reading| reading.port_ns)?,
    })
}

fn is_slow(visit: &PointVisit, usual: ControlReading) -> bool {
    visit.control.iter().flat_map(|pair| pair.readings).any(|reading| {
        reading.multiply_ns > usual.multiply_ns * (1.0 + VISIT_SLOWER)
            || reading.port_ns > usual.port_ns * (1.0 + VISIT_SLOWER)
    })
}

#[cfg(test)]
mod tests {
    use machine::CpuSet;

    use super::*;
    use crate::series::ControlPair;

    fn subject(cpu: u32) -> SocketSubject {
        SocketSubject { cpu: CpuId(cpu), package: None, node: None, stands_for: CpuSet::new() }
    }

    /// Visits whose windows cost `ns`, beside control loops of a speed.
    fn series(cpu: u32, ns: f64, port_ns: f64) -> Series {
        let visit = |round: u32| PointVisit {
            mapping: 0,
            windows: (0..6).map(|window| ns * (1.0 + f64::from(window + round % 3) * 1e-3)).collect(),
            dropped: 0,
            control: vec![ControlPair {
                cpu: CpuId(cpu),
                readings: [ControlReading { multiply_ns: 1.0, port_ns }; 2],
            }],
        };
        Series { visits: (0..24).map(visit).collect() }
    }

    #[test]
    fn five_per_cent_are_found_and_equals_are_alike() {
        let subjects = [subject(0), subject(1)];
        let (equal, slow) = (series(0, 100.0, 0.1), series(1, 105.0, 0.1));
        let verdict = |a: &Series, b: &Series| {
            judge(Quantity::Latency, &subjects, &[a, b], 1)
                .map(|found| (found.verdict, found.rows[1].differs))
        };
        assert_eq!(verdict(&equal, &slow), Some((SocketVerdict::Asymmetric, true)));
        assert_eq!(verdict(&equal, &series(1, 100.0, 0.1)), Some((SocketVerdict::Alike, false)));
    }

    #[test]
    fn a_rate_falls_where_a_time_rises() {
        let subjects = [subject(0), subject(1)];
        let found = |rate: f64, in_guest: bool| {
            let rates = [&series(0, 2e10, 0.1), &series(1, rate, 0.1)];
            judge(Quantity::Triad { in_guest }, &subjects, &rates, 1).expect("enough rounds").rows[1].clone()
        };
        assert!((found(1.9e10, false).ratio - 20.0 / 19.0).abs() < 1e-3);
        // In a guest as much comes and goes by itself.
        let differs = |rate: f64, in_guest: bool| found(rate, in_guest).differs;
        assert_eq!(
            [differs(1.9e10, false), differs(1.9e10, true), differs(1.5e10, true)],
            [true, false, true]
        );
    }

    #[test]
    fn a_slow_core_is_named_and_what_its_neighbour_costs_in_some_visits_is_taken_off() {
        let subjects = [subject(0), subject(1)];
        let (a, mut b) = (series(0, 100.0, 0.1), series(1, 100.0, 0.1));
        for visit in b.visits.iter_mut().skip(2) {
            visit.windows.iter_mut().for_each(|window| *window *= 1.05);
            visit.control[0].readings[1].port_ns = 0.14;
        }
        let found = judge(Quantity::Latency, &subjects, &[&a, &b], 1).expect("enough rounds");
        assert_eq!((found.verdict, found.rounds), (SocketVerdict::Alike, 24));
        let unequal = unequal_cores(&subjects, &[&a, &series(1, 100.0, 0.13)]);
        assert_eq!(
            unequal.iter().map(|(cpu, name, _)| (cpu.0, *name)).collect::<Vec<_>>(),
            [(1, "share of its core")]
        );
    }
}

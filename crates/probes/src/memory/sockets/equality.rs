//! Whether the CPUs are alike in their own memory: the windows of each round side by side.

use machine::CpuId;
use record::{SocketSubject, SocketVerdict, SubjectCore, SubjectEquality, SubjectRow};
use stats::{Interval, Likeness, Tolerance, equality, median, quantile_interval, sorted};

use crate::control::ControlReading;
use crate::memory::series::{PointVisit, Series};

/// A difference below this is of no matter.
pub(super) const MARGIN: f64 = 0.015;
/// Standard deviation of the ratio of two equal vCPUs' latencies over 30 runs of eight seconds at load 3 to 10: 0.84 % about the mean, 1.0 %
/// about one, -3.0 to +1.1 %. Sockets of one's own may show less; that makes a claim rarer, not wrong.
const BETWEEN_RUNS: f64 = 0.009;
/// A visit beside which a control loop was slower than is usual for the CPU by this share does not count: a busy sibling costs more,
/// and the low decile bears with less.
const VISIT_SLOWER: f64 = 0.15;
/// CPUs whose frequencies differ by this share are not equals to begin with.
const FREQUENCIES_DIFFER: f64 = 0.03;
/// Nor are those of which one has so much less of its core. A few per cent, which a neighbour on the other thread of a core takes
/// on a cloud's machine, hardly slow what waits for memory.
const SHARES_DIFFER: f64 = 0.20;

/// By how much a CPU that has so much less of its core is slower at what waits for memory, of its logarithm: in 54 runs on equal vCPUs the
/// four that differed by 2.8 to 4.1 % had 10 to 21 % less of a core, 0.14 to 0.41 of it each, and were the four that did.
const SLOWER_BY_SHARE: f64 = 0.2;

/// What the windows of one quantity say, `by_subject` in the order of the subjects.
pub(super) fn judge(
    quantity: &str,
    subjects: &[SocketSubject],
    by_subject: &[&Series],
    is_rate: bool,
    seed: u64,
) -> Option<SubjectEquality> {
    let rounds = by_subject.iter().map(|series| series.visits.len()).min()?;
    let usual: Vec<ControlReading> =
        by_subject.iter().map(|series| usual_control(series)).collect::<Option<_>>()?;
    let windows = |subject: usize, visit: &PointVisit| -> Vec<f64> {
        if is_slow(visit, usual[subject]) {
            return Vec::new();
        }
        // Nanoseconds per byte are a time: noise adds to it.
        visit.windows.iter().map(|&value| if is_rate { 1e9 / value } else { value }).collect()
    };
    let table: Vec<Vec<Vec<f64>>> = (0..rounds)
        .map(|round| {
            let of = |(subject, series): (usize, &&Series)| windows(subject, &series.visits[round]);
            by_subject.iter().enumerate().map(of).collect()
        })
        .collect();
    let counted = table.iter().filter(|round| round.iter().all(|windows| !windows.is_empty())).count();
    // What a neighbour on the core takes is no matter of memory.
    let handicaps: Vec<f64> = usual.iter().map(|reading| SLOWER_BY_SHARE * reading.port_ns.ln()).collect();
    let tolerance = Tolerance { margin: MARGIN, between_runs: BETWEEN_RUNS, handicaps: &handicaps };
    let found = equality(&table, tolerance, seed)?;
    Some(SubjectEquality {
        quantity: quantity.to_owned(),
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
    use crate::memory::series::ControlPair;

    fn subject(cpu: u32) -> SocketSubject {
        SocketSubject { cpu: CpuId(cpu), package: None, node: None, stands_for: CpuSet::new() }
    }

    /// Twelve visits whose windows cost `ns`, beside control loops of a speed.
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
        Series { visits: (0..12).map(visit).collect() }
    }

    #[test]
    fn five_per_cent_are_found_and_equals_are_alike() {
        let subjects = [subject(0), subject(1)];
        let (equal, slow) = (series(0, 100.0, 0.1), series(1, 105.0, 0.1));
        let verdict = |a: &Series, b: &Series| {
            judge("latency", &subjects, &[a, b], false, 1).map(|found| (found.verdict, found.rows[1].differs))
        };
        assert_eq!(verdict(&equal, &slow), Some((SocketVerdict::Asymmetric, true)));
        assert_eq!(verdict(&equal, &series(1, 100.0, 0.1)), Some((SocketVerdict::Alike, false)));
    }

    #[test]
    fn a_difference_that_a_neighbour_on_the_core_accounts_for_is_no_claim() {
        let subjects = [subject(0), subject(1)];
        let verdict = |ns: f64, port_ns: f64| {
            let slow = series(1, ns, port_ns);
            judge("latency", &subjects, &[&series(0, 100.0, 0.1), &slow], false, 1).map(|found| found.verdict)
        };
        assert_eq!(verdict(104.0, 0.1), Some(SocketVerdict::Asymmetric));
        assert_eq!(verdict(104.0, 0.115), Some(SocketVerdict::Inconclusive));
        assert_eq!(verdict(107.0, 0.115), Some(SocketVerdict::Asymmetric));
        // The one with more of its core is the slower one: no excuse.
        assert_eq!(verdict(104.0, 0.09), Some(SocketVerdict::Asymmetric));
    }

    #[test]
    fn a_visit_beside_a_busy_sibling_does_not_count_and_a_slow_core_is_named() {
        let subjects = [subject(0), subject(1)];
        let (a, mut b) = (series(0, 100.0, 0.1), series(1, 100.0, 0.1));
        for visit in b.visits.iter_mut().take(3) {
            visit.windows.iter_mut().for_each(|window| *window *= 1.4);
            visit.control[0].readings[1].port_ns = 0.2;
        }
        let found = judge("latency", &subjects, &[&a, &b], false, 1).expect("enough rounds are left");
        assert_eq!((found.verdict, found.rounds), (SocketVerdict::Alike, 9));
        let unequal = unequal_cores(&subjects, &[&a, &series(1, 100.0, 0.13)]);
        assert_eq!(
            unequal.iter().map(|(cpu, name, _)| (cpu.0, *name)).collect::<Vec<_>>(),
            [(1, "share of its core")]
        );
    }
}

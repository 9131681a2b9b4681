//! What a prediction must say, of programs and kernels that are made up.

use machine::{CpuId, CpuSet, Topology};
use record::{IdleGaps, SharedAmount, SharingMatrix};

use probes::cores::handover::Handover;

use super::super::arrangement::tests::two_by_two;
use super::super::thread_table::Key;
use super::*;

fn busy(shares: &[f64]) -> Vec<Busy> {
    let one = |(nth, cpu_share): (usize, &f64)| Busy {
        key: Key { process: 0, name: "w".to_owned(), nth },
        order: nth,
        process: 7,
        thread: 100 + nth as u32,
        cpu_share: *cpu_share,
    };
    shares.iter().enumerate().map(one).collect()
}

fn two_cpus() -> CpuSlots {
    let set: CpuSet = (0..2).map(CpuId).collect();
    CpuSlots::of(&Topology::default(), &set)
}

/// Threads 0 and 1 wake each other so often per second, 2 and 3 too.
fn turns(threads: &[Busy], per_s: f64) -> Sharing {
    let amount = |value| SharedAmount { value, interval: Interval::between(value, value) };
    let thread =
        |busy: &Busy| SharingThread { tid: busy.thread, pid: busy.process, ..SharingThread::default() };
    let is_pair = |row: usize, column: usize| row / 2 == column / 2;
    Sharing {
        seconds: 1.0,
        threads: threads.iter().map(thread).collect(),
        wakes: Some(SharingMatrix::from_fn(threads.len(), |row, column| {
            Some(amount(if is_pair(row, column) { per_s } else { 0.0 }))
        })),
        ..Sharing::default()
    }
}

/// Of the order of what a guest of two CPUs takes: 2 us on one CPU, 6 between two, of which 4 are CPU time, 5 in a crowd.
fn handovers() -> Handovers {
    let of = |ns: f64, cpu_ns: f64| Handover {
        ns,
        interval: Interval { low: 0.95 * ns, high: 1.05 * ns },
        cpu_ns,
    };
    Handovers { together: of(2e3, 2e3), apart: of(6e3, 4e3), crowded: of(5e3, 5e3), stacked: of(5e3, 2.5e3) }
}

fn predict(shares: &[f64], sharing: Option<&Sharing>) -> Result<Prediction, String> {
    predict_by(shares, sharing, None)
}

fn predict_by(
    shares: &[f64],
    sharing: Option<&Sharing>,
    unwatched: Option<Unwatched>,
) -> Result<Prediction, String> {
    Prediction::of(&busy(shares), sharing, &two_cpus(), &Cores::default(), &Ok(handovers()), unwatched)
}

const PAIRS_ON_TWO: [[usize; 4]; 2] = [[0, 0, 1, 1], [0, 1, 0, 1]];

/// What a kernel does with two pairs on two CPUs.
#[derive(Debug, Clone, Copy)]
enum Kernel {
    Apart,
    Stacked,
    Grouped,
}

/// Two pairs whose turns are so much work beyond the handover, under a kernel: turns of a pair per second, CPU share of a thread, and
/// change of the time by placement in percent.
fn truth(kernel: Kernel, own_ns: f64) -> (f64, f64, [f64; 2]) {
    let (together_ns, crowded_ns) = (2e3 + own_ns, 5e3 + own_ns);
    let (turn_ns, cpu_ns) = match kernel {
        Kernel::Apart => (crowded_ns, crowded_ns),
        Kernel::Stacked => (5e3 + 2.0 * own_ns, 2.5e3 + own_ns),
        Kernel::Grouped => (together_ns, together_ns),
    };
    let change = |ns: f64| 100.0 * (ns / turn_ns - 1.0);
    (1e9 / turn_ns, cpu_ns / turn_ns / 2.0, [together_ns, crowded_ns].map(change))
}

/// Runs of so many seconds, the median 1.
fn unwatched(low_s: f64, high_s: f64) -> Unwatched {
    Unwatched {
        slower: 1.0,
        wall_s: 1.0,
        walls_s: Interval::between(low_s, high_s),
        others_share: Some(0.02),
    }
}

#[test]
fn whatever_the_kernel_does_its_pairs_gain_what_the_interval_says() {
    for kernel in [Kernel::Apart, Kernel::Stacked, Kernel::Grouped] {
        for own_ns in [0.0, 4e3] {
            let (per_s, share, changes) = truth(kernel, own_ns);
            let sharing = turns(&busy(&[share; 4]), per_s / 2.0);
            for runs in [Some(unwatched(0.95, 1.05)), None] {
                let found = predict_by(&[share; 4], Some(&sharing), runs).expect("two pairs");
                for (slots, change) in PAIRS_ON_TWO.iter().zip(changes) {
                    let foreseen = found.predicted(slots).expect("four slots");
                    let reached = foreseen.interval.low - 0.5..=foreseen.interval.high + 0.5;
                    assert!(reached.contains(&change), "{kernel:?} {own_ns} {change}: {foreseen:?}");
                    assert!(foreseen.interval.contains(foreseen.percent), "{foreseen:?}");
                }
                assert_eq!(found.predicted(&[0, 0, 1]), None, "a slot is missing");
                assert_eq!(found.predicted(&[0, 0, 1, 2]), None, "there is no third CPU");
            }
        }
    }
}

#[test]
fn runs_tell_a_kernel_that_stacks_pairs_from_one_that_gives_each_a_cpu() {
    let together = |kernel: Kernel, runs: Unwatched| {
        let (per_s, share, _) = truth(kernel, 0.0);
        let sharing = turns(&busy(&[share; 4]), per_s / 2.0);
        let found = predict_by(&[share; 4], Some(&sharing), Some(runs)).expect("two pairs");
        found.predicted(&PAIRS_ON_TWO[0]).expect("four slots").interval
    };
    let (stacked, grouped) = (truth(Kernel::Stacked, 0.0).2[0], truth(Kernel::Grouped, 0.0).2[0]);
    assert!(stacked < -50.0 && grouped.abs() < 0.5, "{stacked} {grouped}");
    let sure = together(Kernel::Stacked, unwatched(0.98, 1.02));
    assert!(sure.contains(stacked) && sure.high < -20.0, "{sure:?}");
    let sure = together(Kernel::Grouped, unwatched(0.98, 1.02));
    assert!(sure.contains(grouped) && sure.low > -25.0, "{sure:?}");
    let either = together(Kernel::Stacked, unwatched(0.4, 1.02));
    assert!(either.contains(stacked) && either.contains(grouped), "runs of both kinds: {either:?}");
}

#[test]
fn turns_that_no_placement_explains_are_not_predicted() {
    let (per_s, share, _) = truth(Kernel::Stacked, 0.0);
    let refusal = |per_s: f64, share: f64, runs: Unwatched| {
        let sharing = turns(&busy(&[share; 4]), per_s / 2.0);
        predict_by(&[share; 4], Some(&sharing), Some(runs)).expect_err("nothing agrees")
    };
    let slow = refusal(per_s / 10.0, share / 10.0, unwatched(0.95, 1.05));
    assert!(slow.contains("turns per second") && slow.contains("something else takes the time"), "{slow}");
    let torn = refusal(per_s, share, unwatched(0.95, 20.0));
    assert!(torn.contains("something else takes the time"), "some runs take far longer: {torn}");
    let crowd = refusal(per_s, share, Unwatched { others_share: Some(0.3), ..unwatched(0.95, 1.05) });
    assert!(crowd.contains("other programs had 30 %"), "{crowd}");
}

#[test]
fn turns_are_counted_where_nobody_need_be_woken_as_well() {
    let (per_s, share, changes) = truth(Kernel::Stacked, 0.0);
    let mut sharing = turns(&busy(&[share; 4]), per_s / 4.0);
    for thread in &mut sharing.threads {
        thread.arrivals = Some((per_s / 2.0) as u64);
    }
    let found = predict_by(&[share; 4], Some(&sharing), Some(unwatched(0.98, 1.02))).expect("two pairs");
    let together = found.predicted(&PAIRS_ON_TWO[0]).expect("four slots");
    assert!(together.interval.contains(changes[0]) && together.interval.high < -20.0, "{together:?}");
}

#[test]
fn pairs_beside_threads_that_work_on_their_own_are_not_predicted() {
    let (per_s, share, _) = truth(Kernel::Grouped, 0.0);
    let shares = [share, share, 0.5];
    let mut sharing = turns(&busy(&shares), 0.0);
    let amount = SharedAmount { value: per_s / 2.0, interval: Interval::between(per_s, per_s) };
    let is_pair = |row: usize, column: usize| row + column == 1;
    sharing.wakes = Some(SharingMatrix::from_fn(3, |row, column| is_pair(row, column).then_some(amount)));
    let refused = predict(&shares, Some(&sharing)).expect_err("a third one works");
    assert!(refused.contains("others work beside them"), "{refused}");
}

#[test]
fn free_threads_gain_nothing() {
    for shares in [vec![1.0, 1.0], vec![0.5; 4]] {
        let sharing = turns(&busy(&shares), 0.0);
        let found = predict(&shares, Some(&sharing)).expect("they only compute");
        let slots: Vec<usize> = (0..shares.len()).map(|thread| thread % 2).collect();
        let apart = found.predicted(&slots).expect("a slot for each");
        assert!(apart.percent.abs() < 0.5 && apart.interval.half_width() < 0.5, "{apart:?}");
    }
    let found = predict(&[1.0, 1.0], None).expect("they only compute");
    let stacked = found.predicted(&[0, 0]).expect("two slots");
    assert!((stacked.percent - 100.0).abs() < 1.0, "two on one CPU take twice as long: {stacked:?}");
    let free = turns(&busy(&[0.67; 3]), 0.0);
    let three = predict(&[0.67; 3], Some(&free)).expect("they only compute").predicted(&[0, 0, 1]);
    assert!(
        three.is_some_and(|three| (three.percent - 33.0).abs() < 2.0),
        "the kernel moves them: {three:?}"
    );
}

#[test]
fn threads_near_each_other_lose_what_the_check_up_measured_of_their_classes() {
    let slots = CpuSlots::of(&two_by_two(), &CpuSet::from_list("0-3").expect("a list"));
    let pair = record::PairSlowdown {
        a: CpuId(0),
        b: CpuId(2),
        resource: "integer".to_owned(),
        slowdown: 1.5,
        overlapped_windows: 9,
        spread: record::Spread::default(),
    };
    let cores = Cores { sharing: vec![pair], ..Cores::default() };
    let sharing = turns(&busy(&[1.0; 2]), 0.0);
    let found = Prediction::of(&busy(&[1.0; 2]), Some(&sharing), &slots, &cores, &Err(String::new()), None);
    let percent = |slots: &[usize]| found.as_ref().ok()?.predicted(slots).map(|found| found.percent.round());
    assert_eq!((percent(&[0, 2]), percent(&[0, 1])), (Some(0.0), Some(50.0)), "{found:?}");
}

#[test]
fn what_is_not_known_is_said() {
    let check = |found: Result<Prediction, String>, described: &str| {
        let error = found.expect_err(described);
        assert!(error.contains(described), "{error}");
    };
    check(predict(&[0.3, 0.3], None), "for what is not known (its threads could not be watched)");
    let without_wakes = Sharing {
        threads: turns(&busy(&[0.3, 0.3]), 0.0).threads,
        wakes_refused: Some("it is for root".to_owned()),
        ..Sharing::default()
    };
    let why = "for what is not known (who wakes whom was not seen: it is for root)";
    check(predict(&[0.3, 0.3], Some(&without_wakes)), why);
    check(predict(&[0.5; 4], None), "for what is not known");
    let sharing = turns(&busy(&[0.4; 4]), 90_000.0);
    let slots = two_cpus();
    check(
        Prediction::of(
            &busy(&[0.4; 4]),
            Some(&sharing),
            &slots,
            &Cores::default(),
            &Err("no thread".to_owned()),
            None,
        ),
        "could not be measured",
    );
    let mut pool = sharing.clone();
    let amount = SharedAmount { value: 5e3, interval: Interval::between(5e3, 5e3) };
    pool.wakes = Some(SharingMatrix::from_fn(4, |row, _| (row == 0).then_some(amount)));
    check(predict(&[0.4; 4], Some(&pool)), "another way than in turns");
    let frantic = turns(&busy(&[0.4; 4]), 2e6);
    check(predict(&[0.4; 4], Some(&frantic)), "something else takes the time");
}

#[test]
fn turns_that_wait_for_something_else_gain_less() {
    let mut sharing = turns(&busy(&[0.005; 2]), 1_000.0);
    for thread in &mut sharing.threads {
        thread.idle_gaps = Some(vec![IdleGaps { from_us: 512.0, below_us: 1024.0, count: 990 }]);
    }
    let found = predict(&[0.005; 2], Some(&sharing)).expect("one pair");
    let together = found.predicted(&[0, 0]).expect("two slots");
    assert!((-5.0..=0.0).contains(&together.percent), "a millisecond of waiting per round: {together:?}");
}

#[test]
fn without_wakes_threads_that_rest_often_are_not_predicted() {
    let threads = busy(&[0.4; 4]);
    let resting = |per_s: u64, seen: bool| {
        let mut sharing = turns(&threads, 0.0);
        sharing.wakes = sharing.wakes.filter(|_| seen);
        for thread in &mut sharing.threads {
            let mean_us = 0.6e6 / per_s as f64;
            thread.idle_gaps = Some(vec![IdleGaps { from_us: mean_us, below_us: mean_us, count: per_s }]);
        }
        predict(&[0.4; 4], Some(&sharing))
    };
    let refused = resting(90_000, false).expect_err("they may wake each other");
    assert!(refused.contains("who wakes whom was not seen"), "{refused}");
    assert!(resting(90_000, true).is_ok(), "they were seen to wake nobody");
    assert!(resting(20, false).is_ok(), "a rest now and then is for something else");
}

#[test]
fn threads_that_rest_meet_for_a_part_of_the_time() {
    let threads = busy(&[0.5, 0.5]);
    let mut sharing = turns(&threads, 0.0);
    for thread in &mut sharing.threads {
        thread.idle_gaps = Some(vec![IdleGaps { from_us: 512.0, below_us: 1024.0, count: 690 }]);
    }
    let found = predict(&[0.5, 0.5], Some(&sharing)).expect("bursts and rests");
    let apart = found.predicted(&[0, 1]).expect("two slots");
    let stacked = found.predicted(&[0, 0]).expect("two slots");
    assert!(apart.percent.abs() < 5.0 && stacked.percent > 10.0, "{apart:?} {stacked:?}");
    let ends = stacked.interval;
    assert!(ends.contains(stacked.percent) && ends.half_width() > 0.1, "lengths are by chance: {stacked:?}");
}

#[test]
fn threads_that_write_to_the_same_memory_are_not_predicted() {
    let threads = busy(&[1.0; 4]);
    let meeting = |share: f64, low: f64| {
        let amount = move |row: usize, column: usize| {
            let value = if row / 2 == column / 2 { share } else { 0.0 };
            Some(SharedAmount { value, interval: Interval { low: low.min(value), high: 1.0 } })
        };
        let sharing = turns(&threads, 0.0);
        let write_shared = SharingMatrix::from_fn(threads.len(), amount);
        predict(&[1.0; 4], Some(&Sharing { write_shared, ..sharing }))
    };
    let refused = meeting(0.3, 0.2).expect_err("lines move");
    assert!(refused.contains("30 % of their accesses meet there"), "{refused}");
    assert!(meeting(0.3, 0.0).is_ok(), "not told from nothing");
    assert!(meeting(0.01, 0.005).is_ok(), "below the margin");
}

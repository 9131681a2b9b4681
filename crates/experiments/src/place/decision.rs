//! The best placement by what was seen: an objective over pairs of threads, and the best of the placements that were tried.
//!
//! Values are in speeds of one undisturbed thread, as `placement` has them, and say which placement is the best, not what it
//! gains. A thread beside another on one CPU loses what both are busy at the same time, were they to run by chance.

use host::live::pending_signal;
use machine::{CpuId, CpuSet};
use placement::{CLASSES, Effort, LevelTerms, Objective, Problem, solve};
use probes::cores::handover::Handovers;
use record::{Cores, PlaceDecision, PlaceLevel, Sharing};
use sharing::{SharingWeights, demand, weights};
use stats::{Random, median};

use super::arrangement::{CpuSlots, SlotLevel};
use super::class_slowdowns::class_slowdowns;
use super::thread_table::Key;

/// Threads that are busy for less of the time are left free: they cost nothing wherever they are.
pub const CPU_SHARE_MIN: f64 = 0.02;
/// The busiest so many threads are placed; each further one makes the search slower and the answer no better founded.
pub const THREADS_MAX: usize = 256;
/// Of two threads on one CPU, while both want it, each gets half.
const TIME_SLICE_LOSS: f64 = 0.5;
/// Placements by chance over which their mean is taken.
const CHANCE_DRAWS: usize = 500;
/// Unless the check-up measured lines, nearness of each kind saves this share of what far apart costs. Assumed, not measured.
const BENEFITS_ASSUMED: [(&str, f64); 5] =
    [("CPU", 1.0), ("core", 0.9), ("L2", 0.8), ("last-level cache", 0.6), ("node", 0.3)];

/// A thread that is to be placed.
#[derive(Debug, Clone, PartialEq)]
pub struct Busy {
    /// What it is called in every run.
    pub key: Key,
    /// Its place among all threads of its process, by start.
    pub order: usize,
    /// Its numbers in the profiled run.
    pub process: u32,
    /// The same.
    pub thread: u32,
    /// CPU time over wall time.
    pub cpu_share: f64,
}

impl Busy {
    /// Where it stands in what was seen; `None` if it was not seen there.
    pub(super) fn place_in(&self, sharing: &Sharing) -> Option<usize> {
        sharing.threads.iter().position(|seen| seen.tid == self.thread && seen.pid == self.process)
    }
}

/// What was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The slot of each thread, in the order given.
    pub slot_of: Vec<usize>,
    /// How it was found.
    pub document: PlaceDecision,
}

/// A placement that is better than one by chance by less than this share of the busy time is none to speak of.
const WORTH_MIN: f64 = 0.01;

impl Decided {
    /// True if the placement is better than one by chance at all.
    pub fn tells_apart(&self) -> bool {
        self.document.value - self.document.chance_value > WORTH_MIN * self.document.busy
    }
}

/// Finds the best placement; `None` if nothing that is known distinguishes the threads.
///
/// `sharing` may be without any of these threads; `cores` is what the check-up measured, if anything, and `handovers` what it costs
/// here to wake another thread, if that was measured.
pub fn decide(
    threads: &[Busy],
    slots: &CpuSlots,
    sharing: Option<&Sharing>,
    cores: &Cores,
    handovers: Option<&Handovers>,
) -> Option<Decided> {
    if threads.len() < 2 || threads.len() > THREADS_MAX || slots.cpus.len() < 2 || pending_signal().is_some()
    {
        return None;
    }
    let (known, learnt_by) = of_threads(threads, sharing);
    let per_cpu = threads.len().div_ceil(slots.cpus.len()).max(2);
    let benefits = benefits(slots, cores);
    let mut below = 0.0;
    let mut levels = Vec::new();
    let mut terms = Vec::new();
    // From the largest units: what a smaller unit saves beyond the one around it.
    for (level, (benefit, source)) in slots.levels.iter().zip(&benefits).rev() {
        let capacity = per_cpu * (slots.cpus.len() / level.units.len());
        terms.push(LevelTerms { capacity, benefit: benefit - below, losses: losses(level, cores) });
        levels.push(PlaceLevel {
            name: level.name.to_owned(),
            units: level.units.len(),
            capacity,
            benefit: *benefit,
            source: source.clone(),
        });
        below = *benefit;
    }
    terms.reverse();
    levels.reverse();
    let worth = sharing_weights(handovers);
    let objective = Objective {
        sharing: weights(&known, worth),
        demand: demand(&known),
        levels: terms,
        units: slots.cpus.len(),
    };
    let problem = objective.problem().ok()?;
    let answer = solve(&problem, Effort::default());
    let document = PlaceDecision {
        learnt_by,
        levels,
        value: answer.value,
        tried: answer.tried,
        all_tried: answer.is_all,
        chance_value: chance_value(&problem, slots.cpus.len(), per_cpu),
        busy: threads.iter().map(|thread| thread.cpu_share).sum(),
        terms: terms_in_words(&known, worth, handovers.is_some()),
    };
    Some(Decided { slot_of: answer.unit_of, document })
}

/// What sharing is worth on this machine, as far as that was measured.
fn sharing_weights(handovers: Option<&Handovers>) -> SharingWeights {
    let assumed = SharingWeights::default();
    let saved_s = |found: &Handovers| (found.apart.ns - found.together.ns).max(0.0) * 1e-9;
    SharingWeights { wake_s: handovers.map_or(assumed.wake_s, saved_s), ..assumed }
}

/// Where the numbers of the objective are from.
fn terms_in_words(known: &Sharing, worth: SharingWeights, is_measured: bool) -> Vec<String> {
    let wakes = known.wakes.as_ref().map(|_| {
        let from = if is_measured {
            "measured just before, by handovers of two threads"
        } else {
            "a default from another machine, as handovers could not be measured here"
        };
        format!("a wake on the waker's own CPU saves {:.1} us: {from}", 1e6 * worth.wake_s)
    });
    let read = format!("data that is only read counts {} of what is written: assumed", worth.read_shared);
    wakes.into_iter().chain([read]).collect()
}

/// The sharing of these threads alone, in their order; what is not known counts as nothing.
fn of_threads(threads: &[Busy], sharing: Option<&Sharing>) -> (Sharing, String) {
    let index: Vec<Option<usize>> =
        threads.iter().map(|busy| sharing.and_then(|sharing| busy.place_in(sharing))).collect();
    let of_thread = |(busy, index): (&Busy, &Option<usize>)| {
        let known = sharing.zip(*index).map(|(sharing, index)| sharing.threads[index].clone());
        let mut thread = known.unwrap_or_default();
        thread.cpu_share = busy.cpu_share;
        let mix = &mut thread.demand;
        if mix.integer + mix.floating + mix.front_end + mix.memory <= 0.0 {
            mix.integer = 1.0;
        }
        thread
    };
    let of_matrix = |matrix: &record::SharingMatrix| {
        record::SharingMatrix::from_fn(threads.len(), |row, column| matrix.get(index[row]?, index[column]?))
    };
    let mut known =
        Sharing { threads: threads.iter().zip(&index).map(of_thread).collect(), ..Sharing::default() };
    let Some(all) = sharing.filter(|_| index.iter().flatten().count() >= 2) else {
        return (known, "CPU time only".to_owned());
    };
    known.write_shared = of_matrix(&all.write_shared);
    known.read_shared = of_matrix(&all.read_shared);
    known.wakes = all.wakes.as_ref().map(of_matrix);
    let what = if known.wakes.is_some() { "memory, wake-ups and CPU time" } else { "memory and CPU time" };
    (known, what.to_owned())
}

/// What sitting together in a unit of each level saves, as a share of what far apart costs, and where that is from.
fn benefits(slots: &CpuSlots, cores: &Cores) -> Vec<(f64, String)> {
    let unit_of = |level: &SlotLevel, cpu: CpuId| level.units.iter().position(|unit| unit.contains(cpu));
    let is_within = |level: &SlotLevel, a: CpuId, b: CpuId| {
        unit_of(level, a).is_some() && unit_of(level, a) == unit_of(level, b)
    };
    let lines = || cores.line_transfer.iter().filter(|line| line.ns.is_finite() && line.ns > 0.0);
    let outside = |line: &&record::LineTransfer| {
        slots.levels.last().is_none_or(|largest| {
            !is_within(largest, line.a, line.b) || largest.units.len() == slots.cpus.len()
        })
    };
    let far = median(&lines().filter(outside).map(|line| line.ns).collect::<Vec<_>>());
    let of_level = |(index, level): (usize, &SlotLevel)| {
        let assumed = BENEFITS_ASSUMED
            .iter()
            .find(|(name, _)| *name == level.name)
            .map_or(0.0, |(_, benefit)| *benefit);
        if index == 0 {
            // On one CPU there is no line to be moved.
            return (1.0, "no line moves".to_owned());
        }
        let below = &slots.levels[index - 1];
        let near: Vec<f64> = lines()
            .filter(|line| is_within(level, line.a, line.b) && !is_within(below, line.a, line.b))
            .map(|line| line.ns)
            .collect();
        match (far, median(&near)) {
            (Some(far), Some(near)) => {
                ((1.0 - near / far).clamp(0.0, 1.0), "line transfer, measured".to_owned())
            }
            _ => (assumed, "assumed".to_owned()),
        }
    };
    let mut found: Vec<(f64, String)> = slots.levels.iter().enumerate().map(of_level).collect();
    // Nearer is never worse: noise of one level must not make it so.
    for index in (0..found.len().saturating_sub(1)).rev() {
        found[index].0 = found[index].0.max(found[index + 1].0);
    }
    found
}

/// What a thread of one class loses beside one of another in a unit of the level.
fn losses(level: &SlotLevel, cores: &Cores) -> [[f64; CLASSES]; CLASSES] {
    if level.name == "CPU" {
        return [[TIME_SLICE_LOSS; CLASSES]; CLASSES];
    }
    let within =
        |a: CpuId, b: CpuId| level.units.iter().any(|unit: &CpuSet| unit.contains(a) && unit.contains(b));
    let alone = [[1.0; CLASSES]; CLASSES];
    let slowdowns = class_slowdowns(cores, within).unwrap_or(alone);
    slowdowns.map(|row| row.map(|slowdown| (1.0 - 1.0 / slowdown).clamp(0.0, 1.0)))
}

/// Mean value of placements by chance with as many threads on each CPU as there are on the others, or one less.
fn chance_value(problem: &Problem, cpus: usize, per_cpu: usize) -> f64 {
    let threads = problem.threads();
    let mut random = Random::new(1);
    let mut slots: Vec<usize> = (0..cpus).collect();
    let mut order: Vec<usize> = (0..threads).collect();
    let mut sum = 0.0;
    for _ in 0..CHANCE_DRAWS {
        random.shuffle(&mut slots);
        random.shuffle(&mut order);
        let mut unit_of = vec![0; threads];
        for (place, thread) in order.iter().enumerate() {
            unit_of[*thread] = slots[place % cpus];
        }
        debug_assert!(threads.div_ceil(cpus) <= per_cpu);
        sum += problem.value(&unit_of).unwrap_or(0.0);
    }
    sum / CHANCE_DRAWS as f64
}

#[cfg(test)]
mod tests {
    use machine::Topology;
    use probes::cores::handover::Handover;
    use record::{SharedAmount, SharingMatrix, SharingThread};
    use stats::Interval;

    use super::super::arrangement::is_same_grouping;
    use super::*;

    fn busy(count: usize, cpu_share: f64) -> Vec<Busy> {
        let one = |nth: usize| Busy {
            key: Key { process: 0, name: "w".to_owned(), nth },
            order: nth,
            process: 7,
            thread: 100 + nth as u32,
            cpu_share,
        };
        (0..count).map(one).collect()
    }

    fn slots(cpus: u32) -> CpuSlots {
        let set: CpuSet = (0..cpus).map(CpuId).collect();
        CpuSlots::of(&Topology::default(), &set)
    }

    /// Thread i wakes i + 2 and back, so often per second.
    fn waking(threads: &[Busy], per_s: f64) -> Sharing {
        let amount = |value| SharedAmount { value, interval: Interval::between(value, value) };
        let is_pair = |row: usize, column: usize| row.abs_diff(column) == 2;
        let thread =
            |busy: &Busy| SharingThread { tid: busy.thread, pid: busy.process, ..SharingThread::default() };
        Sharing {
            threads: threads.iter().map(thread).collect(),
            wakes: Some(SharingMatrix::from_fn(4, |row, column| is_pair(row, column).then(|| amount(per_s)))),
            ..Sharing::default()
        }
    }

    #[test]
    fn threads_that_wake_each_other_are_put_together() {
        let threads = busy(4, 0.5);
        let sharing = waking(&threads, 80_000.0);
        let found = decide(&threads, &slots(2), Some(&sharing), &Cores::default(), None)
            .expect("four threads, two CPUs");
        assert!(is_same_grouping(&found.slot_of, &[0, 1, 0, 1]), "{:?}", found.slot_of);
        assert!(found.document.all_tried && found.document.tried == 3, "{:?}", found.document);
        assert!(found.tells_apart());
    }

    #[test]
    fn a_wake_counts_what_a_handover_takes_longer_on_this_machine() {
        let threads = busy(4, 0.5);
        let sharing = waking(&threads, 1_000.0);
        let handover = |ns: f64| Handover { ns, interval: Interval::between(ns, ns), cpu_ns: ns };
        let measured = |apart_ns: f64| Handovers {
            together: handover(2e3),
            apart: handover(apart_ns),
            crowded: handover(apart_ns),
            stacked: handover(4e3),
        };
        let decided = |handovers: Option<Handovers>| {
            decide(&threads, &slots(2), Some(&sharing), &Cores::default(), handovers.as_ref())
                .expect("four threads, two CPUs")
                .document
        };
        // Two pairs with 2000 wakes a second each.
        let [near, far] = [22e3, 42e3].map(|apart_ns| decided(Some(measured(apart_ns))));
        assert!((far.value - near.value - 2.0 * 2e3 * 20e-6).abs() < 1e-9, "{near:?} {far:?}");
        assert!(far.terms[0].contains("saves 40.0 us: measured"), "{:?}", far.terms);
        let assumed = decided(None);
        assert!(assumed.terms[0].contains("saves 4.8 us: a default"), "{:?}", assumed.terms);
    }

    #[test]
    fn independent_threads_are_spread_and_not_distinguished() {
        let threads = busy(2, 1.0);
        let found = decide(&threads, &slots(2), None, &Cores::default(), None).expect("two threads");
        assert_ne!(found.slot_of[0], found.slot_of[1]);
        assert!(!found.tells_apart(), "by chance they are apart as well");
        assert_eq!(found.document.learnt_by, "CPU time only");
    }

    #[test]
    fn one_thread_or_one_cpu_leaves_nothing_to_decide() {
        assert!(decide(&busy(1, 1.0), &slots(2), None, &Cores::default(), None).is_none());
        assert!(decide(&busy(4, 1.0), &slots(1), None, &Cores::default(), None).is_none());
    }
}

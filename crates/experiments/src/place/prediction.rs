//! What a placement should gain, by arithmetic on what was seen of the threads and measured of the machine.
//!
//! Two kinds of programs are predicted. Of threads that take turns in twos, a turn is its own work and a handover, which was measured
//! just before on one CPU and on two, each alone and in a crowd; the turns that were seen where the kernel decided are what that is held
//! against. Of threads that mind nobody, those that meet on a CPU wait for each other. Programs that do anything else are not predicted,
//! nor turns that are slower or faster than any placement of them would be.

use machine::CpuId;
use probes::cores::handover::{Handover, Handovers};
use record::{Cores, IdleGaps, Sharing, SharingThread};
use stats::Interval;

use super::arrangement::spread;
use super::arrangement::{CpuSlots, SlotLevel};
use super::class_slowdowns::class_slowdowns;
use super::decision::Busy;

/// Wakes per second, given and got, below which a thread is taken to be on its own.
const WAKES_MIN_PER_S: f64 = 50.0;
/// Two threads take turns if so much of what each gives and gets is between the two.
const TURNS_SHARE: f64 = 0.8;
/// And if one wakes the other as often as the other it, within this factor: who is still awake when its turn comes is not woken.
const TURNS_FACTOR: f64 = 2.0;
/// Beside threads that take turns others may be busy for so much of the time: they usually wait for those. Assumed.
const BESIDE_TURNS_MAX: f64 = 0.1;
/// CPUs that are busy for so much of the time leave threads that wake nobody no rest: what they lack they waited for.
const CPUS_BUSY: f64 = 0.9;
/// Two that take turns and whose median rest is longer than a round by this factor wait for something else: rests are counted by powers of
/// two, and a partner may wait for its CPU.
const RESTS_FACTOR: f64 = 4.0;
/// Pairs that share a CPU take turns half as often as pairs that do not: turns that are slower or faster than any placement of them by
/// more than the root of that are something else.
const AGREEMENT_FACTOR: f64 = std::f64::consts::SQRT_2;
/// Where other programs have more of the CPUs, turns wait for them. Assumed: so much may hide in the intervals of handovers.
const OTHERS_MAX: f64 = 0.1;
/// Threads that meet in written memory for less of their accesses, which are seen by the time that they take, can gain or lose no
/// more by that than the margin of the experiment.
const WRITTEN_MIN: f64 = 0.02;

/// Change of the time in percent that an arm should bring against the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// By what was measured.
    pub percent: f64,
    /// Over all that is not known better: handovers within their intervals, how much of a turn is work, what runs of the kernel differ by,
    /// and how often threads meet.
    pub interval: Interval,
}

/// Runs that nobody watched, placed by the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unwatched {
    /// So many times longer was the run that was watched than the median one that was not.
    pub slower: f64,
    /// Wall time of the median run.
    pub wall_s: f64,
    /// Where the median of many such runs lies, by these.
    pub walls_s: Interval,
    /// Share of the CPUs that others had meanwhile; `None` where that was too short to be told.
    pub others_share: Option<f64>,
}

/// The program on the machine, ready to be placed in any way.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// What predicted.
    pub by: String,
    slots: CpuSlots,
    /// How many threads there are.
    threads: usize,
    program: ThreadModel,
}

/// What the threads do, as far as it was seen.
#[derive(Debug, Clone, PartialEq)]
enum ThreadModel {
    /// They take turns in twos.
    Turns(Box<Turns>),
    /// Each works on its own, with the slowdowns by class and class beside it in units of each level, where the check-up measured them.
    Own { works: Vec<OwnWork>, slowdowns: Vec<Option<[[f64; 4]; 4]>> },
}

/// Threads that take turns.
#[derive(Debug, Clone, PartialEq)]
struct Turns {
    pairs: Vec<Pair>,
    handovers: Handovers,
    unwatched: Option<Unwatched>,
    /// Placements between which that of the kernel is taken to lie: all on one CPU, each two on one, neighbours apart.
    extremes: [Vec<usize>; 3],
}

/// Two threads that take turns.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pair {
    threads: [usize; 2],
    /// Time of a turn where the kernel decided, and the CPU time of it, handover included.
    seen_ns: f64,
    cpu_ns: f64,
    /// The median rest, 0 where nobody saw.
    rest_ns: f64,
}

/// A thread on its own.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OwnWork {
    /// Share of the time that it would use of a CPU of its own.
    demand: f64,
    /// The class of work that it does most.
    class: usize,
}

/// One way to read what was measured of handovers.
#[derive(Debug, Clone, Copy)]
struct Reading {
    handovers: [f64; 4],
    /// CPU time of a handover where the kernel decided.
    seen_cpu_ns: f64,
}

impl Prediction {
    /// The threads of a profile on the CPUs at hand; `unwatched` as far as there were such runs.
    ///
    /// # Errors
    /// Why nothing can be predicted, in words.
    pub fn of(
        threads: &[Busy],
        sharing: Option<&Sharing>,
        slots: &CpuSlots,
        cores: &Cores,
        handovers: &Result<Handovers, String>,
        unwatched: Option<Unwatched>,
    ) -> Result<Self, String> {
        if let Some(why) = sharing.and_then(|sharing| writers(threads, sharing)) {
            return Err(why);
        }
        let of_thread =
            |busy: &Busy| sharing.and_then(|sharing| sharing.threads.get(busy.place_in(sharing)?));
        let seen = Seen {
            threads,
            known: threads.iter().map(of_thread).collect(),
            wakes: wakes(threads, sharing),
            sharing,
            slower: unwatched.map_or(1.0, |runs| runs.slower),
        };
        let pairs = seen.pairs()?;
        let (program, by) = if pairs.is_empty() {
            let slowdowns = (0..slots.levels.len())
                .map(|level| class_slowdowns(cores, |a, b| smallest_level(slots, a, b) == Some(level)));
            let slowdowns = slowdowns.collect();
            let works = seen.own_works(slots.cpus.len())?;
            (ThreadModel::Own { works, slowdowns }, "how often its threads meet on a CPU".to_owned())
        } else {
            let found = handovers.clone().map_err(|why| {
                format!("what a handover between threads costs could not be measured: {why}")
            })?;
            let by = words(&found);
            let mut in_pairs = vec![0; threads.len()];
            for (nth, pair) in pairs.iter().enumerate() {
                pair.threads.iter().for_each(|thread| in_pairs[*thread] = nth % slots.cpus.len());
            }
            let extremes = [vec![0; threads.len()], in_pairs, spread(threads.len(), slots)];
            let turns = Turns { pairs, handovers: found, unwatched, extremes };
            turns.ensure_plausible()?;
            (ThreadModel::Turns(Box::new(turns)), by)
        };
        Ok(Self { by, slots: slots.clone(), threads: threads.len(), program })
    }

    /// Change of the time for a slot per thread, in the order of the threads: a program takes as long as what loses most.
    pub fn predicted(&self, slot_of: &[usize]) -> Option<Predicted> {
        if slot_of.len() != self.threads || slot_of.iter().any(|slot| *slot >= self.slots.cpus.len()) {
            return None;
        }
        let [low, ratio, high] = match &self.program {
            ThreadModel::Own { works, slowdowns } => self.of_own(works, slowdowns, slot_of),
            ThreadModel::Turns(turns) => turns.ratios(slot_of),
        };
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        Some(Predicted { percent: percent(ratio), interval: Interval::between(percent(low), percent(high)) })
    }

    /// Time over the kernel's of threads on their own, from the least to the most; the kernel is taken to leave no CPU idle that one could use.
    fn of_own(&self, works: &[OwnWork], slowdowns: &[Option<[[f64; 4]; 4]>], slot_of: &[usize]) -> [f64; 3] {
        let kernel_like = spread(slot_of.len(), &self.slots);
        let all: f64 = works.iter().map(|work| work.demand).sum();
        let kernel = (all / self.slots.cpus.len() as f64).max(1.0);
        let mut most = [0.0_f64; 3];
        for (thread, work) in works.iter().enumerate() {
            let is_beside = |other: usize| other != thread && slot_of[other] == slot_of[thread];
            let others: f64 = works
                .iter()
                .enumerate()
                .filter(|(other, _)| is_beside(*other))
                .map(|(_, work)| work.demand)
                .sum();
            let slowed = |slots: &[usize]| self.slowed(works, slowdowns, slots, thread);
            let slower = slowed(slot_of) / slowed(&kernel_like);
            let fluid = (work.demand + others).max(1.0) / kernel;
            let ratios = [fluid, (1.0 + work.demand * others) / kernel, (1.0 + others) / kernel];
            for (most, ratio) in most.iter_mut().zip(ratios) {
                *most = most.max(ratio * slower);
            }
        }
        most
    }

    /// How much slower a thread is for those on other CPUs near it.
    fn slowed(
        &self,
        works: &[OwnWork],
        slowdowns: &[Option<[[f64; 4]; 4]>],
        slots: &[usize],
        thread: usize,
    ) -> f64 {
        let cpu = |thread: usize| self.slots.cpus[slots[thread]];
        let lost = |(other, work): (usize, &OwnWork)| {
            let level = smallest_level(&self.slots, cpu(thread), cpu(other))?;
            Some(work.demand * (slowdowns[level]?[works[thread].class][work.class] - 1.0).max(0.0))
        };
        1.0 + works.iter().enumerate().filter_map(lost).sum::<f64>()
    }
}

impl Turns {
    fn turns_ns(&self, reading: Reading, slot_of: &[usize]) -> Vec<f64> {
        self.pairs.iter().map(|pair| turn_ns(&self.pairs, pair, reading, slot_of)).collect()
    }

    /// Time over the kernel's, from the least to the most.
    fn ratios(&self, slot_of: &[usize]) -> [f64; 3] {
        let of_reading = |reading: Reading| {
            let placed = self.turns_ns(reading, slot_of);
            let extremes = self.extremes.each_ref().map(|slots| self.turns_ns(reading, slots));
            let slowest = |kernel_ns: &dyn Fn(usize) -> f64| {
                placed.iter().enumerate().map(|(pair, ns)| ns / kernel_ns(pair)).fold(0.0, f64::max)
            };
            let seen = slowest(&|pair| self.pairs[pair].seen_ns);
            if let Some(runs) = self.unwatched {
                return [seen * runs.wall_s / runs.walls_s.high, seen, seen * runs.wall_s / runs.walls_s.low];
            }
            // Being watched makes turns slower, by how much is not known: the other end is the fastest that the kernel can have been.
            let fastest = |pair: usize| extremes.iter().map(|ns| ns[pair]).fold(f64::INFINITY, f64::min);
            let unwatched = slowest(&|pair| fastest(pair).min(self.pairs[pair].seen_ns));
            [seen, (seen * unwatched).sqrt(), unwatched]
        };
        let ratios: Vec<[f64; 3]> = Reading::all(&self.handovers).into_iter().map(of_reading).collect();
        let low = ratios.iter().map(|ratios| ratios[0]).fold(f64::INFINITY, f64::min);
        [low, ratios[0][1], ratios.iter().map(|ratios| ratios[2]).fold(0.0, f64::max)]
    }

    /// Turns that no placement of them explains are something else.
    fn ensure_plausible(&self) -> Result<(), String> {
        let others = self.unwatched.and_then(|runs| runs.others_share);
        if let Some(share) = others.filter(|share| *share > OTHERS_MAX) {
            return Err(format!(
                "other programs had {:.0} % of the CPUs while it ran by itself, and turns that wait for them are not predicted",
                100.0 * share
            ));
        }
        let per_s = |turns_ns: &[f64]| turns_ns.iter().map(|ns| 1e9 / ns).sum::<f64>();
        let reading = Reading::all(&self.handovers)[0];
        let expected = self.extremes.each_ref().map(|slots| per_s(&self.turns_ns(reading, slots)));
        let slowest = expected.iter().copied().fold(f64::INFINITY, f64::min);
        let fastest = expected.iter().copied().fold(0.0, f64::max);
        let seen = per_s(&self.pairs.iter().map(|pair| pair.seen_ns).collect::<Vec<_>>());
        // Being watched makes turns seldom, never frequent.
        let [least, most] = self.unwatched.map_or([f64::INFINITY, 1.0], |runs| {
            [runs.walls_s.high, runs.walls_s.low].map(|wall_s| runs.wall_s / wall_s)
        });
        if seen * most <= fastest * AGREEMENT_FACTOR && seen * least >= slowest / AGREEMENT_FACTOR {
            return Ok(());
        }
        Err(format!(
            "its threads took {seen:.0} turns per second where the kernel placed them, and {slowest:.0} to {fastest:.0} are expected, whatever it does: something else takes the time"
        ))
    }
}

impl Reading {
    /// As measured, then with the ends of the intervals; each with the least, the most, or half of both as the CPU time of a handover.
    fn all(found: &Handovers) -> Vec<Self> {
        let each = [found.together, found.apart, found.crowded, found.stacked];
        let least = each.iter().map(|one| one.cpu_ns).fold(f64::INFINITY, f64::min);
        let most = each.iter().map(|one| one.cpu_ns).fold(0.0, f64::max);
        let ends: [fn(&Handover) -> f64; 3] = [|one| one.ns, |one| one.interval.low, |one| one.interval.high];
        let with = |end: fn(&Handover) -> f64| {
            [f64::midpoint(least, most), least, most]
                .map(|seen_cpu_ns| Self { handovers: each.each_ref().map(end), seen_cpu_ns })
        };
        ends.into_iter().flat_map(with).collect()
    }
}

/// The smallest level of which one unit holds both of two CPUs.
fn smallest_level(slots: &CpuSlots, a: CpuId, b: CpuId) -> Option<usize> {
    let holds_both = |level: &SlotLevel| level.units.iter().any(|unit| unit.contains(a) && unit.contains(b));
    slots.levels.iter().position(holds_both).filter(|_| a != b)
}

/// Time of a turn of a pair in a placement.
fn turn_ns(pairs: &[Pair], pair: &Pair, reading: Reading, slot_of: &[usize]) -> f64 {
    let [together, apart, crowded, stacked] = reading.handovers;
    let work = (pair.cpu_ns - reading.seen_cpu_ns).max(0.0);
    let on = |slot: usize| {
        pairs.iter().flat_map(|pair| pair.threads).filter(|thread| slot_of[*thread] == slot).count() as f64
    };
    let [one, other] = pair.threads.map(|thread| slot_of[thread]);
    let most_on = on(one).max(on(other));
    let ns = if one == other {
        // Two pairs on one CPU wait for a handover of the other as well.
        let handover = if most_on > 2.0 { together.max(stacked / 2.0) } else { together };
        (handover + work) * most_on / 2.0
    } else {
        let handover = if most_on > 1.0 { crowded } else { apart };
        // Each thread has every other turn of its pair; a CPU cannot give them more than it has.
        (handover + work).max((together + work) * most_on / 2.0)
    };
    let longest_round_ns = 2.0 * (together.max(stacked / 2.0) + work) * pairs.len() as f64;
    let waits = pair.rest_ns > RESTS_FACTOR * longest_round_ns;
    ns + if waits { (pair.seen_ns - together - work).max(0.0) } else { 0.0 }
}

fn words(found: &Handovers) -> String {
    format!(
        "the turns that its threads took, and what a handover takes, measured just before: {:.1} us on one CPU, {:.1} us between two, and {:.1} and {:.1} us if two other threads do so there as well",
        found.together.ns / 1e3,
        found.apart.ns / 1e3,
        found.stacked.ns / 1e3,
        found.crowded.ns / 1e3
    )
}

/// What is known of the threads.
struct Seen<'a> {
    threads: &'a [Busy],
    known: Vec<Option<&'a SharingThread>>,
    /// Per second, row wakes column; `None` where that was not seen.
    wakes: Option<Vec<Vec<f64>>>,
    sharing: Option<&'a Sharing>,
    /// How much longer the run took that was watched.
    slower: f64,
}

impl Seen<'_> {
    /// Those that take turns; none if nobody does.
    fn pairs(&self) -> Result<Vec<Pair>, String> {
        let Some(wakes) = &self.wakes else { return Ok(Vec::new()) };
        let partners =
            (0..self.threads.len()).map(|thread| partner(wakes, thread)).collect::<Result<Vec<_>, _>>()?;
        let of_thread = |(thread, partner): (usize, &Option<usize>)| {
            partner.filter(|partner| thread < *partner).map(|partner| self.pair([thread, partner], wakes))
        };
        let pairs: Vec<Pair> = partners.iter().enumerate().filter_map(of_thread).collect();
        let others = self.threads.iter().zip(&partners).filter(|(_, partner)| partner.is_none());
        if !pairs.is_empty() && others.into_iter().any(|(thread, _)| thread.cpu_share > BESIDE_TURNS_MAX) {
            return Err("some of its threads take turns and others work beside them".to_owned());
        }
        Ok(pairs)
    }

    fn pair(&self, [one, other]: [usize; 2], wakes: &[Vec<f64>]) -> Pair {
        // Who is preempted by the one it wakes need not be woken when its turn comes, but comes to a CPU all the same.
        let woken = 2.0 * wakes[one][other].max(wakes[other][one]);
        let seconds = self.sharing.map_or(f64::INFINITY, |sharing| sharing.seconds);
        let arrivals = |thread: usize| self.known[thread].and_then(|thread| thread.arrivals);
        let came =
            arrivals(one).zip(arrivals(other)).map_or(0.0, |(one, other)| (one + other) as f64 / seconds);
        let per_s = self.slower * woken.max(came);
        let rest_ns = |thread: usize| {
            self.known[thread].and_then(|thread| median_rest_ns(thread.idle_gaps.as_deref()?)).unwrap_or(0.0)
        };
        Pair {
            threads: [one, other],
            seen_ns: 1e9 / per_s,
            cpu_ns: (self.threads[one].cpu_share + self.threads[other].cpu_share) / per_s * 1e9,
            rest_ns: rest_ns(one).max(rest_ns(other)) / self.slower,
        }
    }

    /// What threads do that mind nobody.
    fn own_works(&self, cpus: usize) -> Result<Vec<OwnWork>, String> {
        let busy: f64 = self.threads.iter().map(|thread| thread.cpu_share).sum();
        let is_full = busy >= CPUS_BUSY * self.threads.len().min(cpus) as f64;
        let of_thread = |(thread, known): (&Busy, Option<&SharingThread>)| {
            let seconds = self.sharing.map_or(f64::INFINITY, |sharing| sharing.seconds);
            let gaps = known.and_then(|thread| thread.idle_gaps.as_deref());
            let per_s =
                gaps.map_or(0.0, |gaps| gaps.iter().map(|gap| gap.count).sum::<u64>() as f64 / seconds);
            // Who rests so often may take turns with another: rests are seen by everybody, wakes are not.
            let may_take_turns = self.wakes.is_none() && per_s * self.slower > WAKES_MIN_PER_S;
            let is_seen =
                gaps.is_some() || thread.cpu_share >= CPUS_BUSY || (is_full && self.wakes.is_some());
            if may_take_turns || !is_seen {
                return Err(nobody_saw(thread, self.sharing));
            }
            let rested_us =
                gaps.map_or(0.0, |gaps| gaps.iter().map(|gap| gap.count as f64 * middle_us(gap)).sum());
            let work = thread.cpu_share.clamp(f64::MIN_POSITIVE, 1.0);
            let rest = (rested_us * 1e-6 / seconds).min(1.0 - work);
            Ok(OwnWork { demand: work / (work + rest), class: class(known) })
        };
        self.threads.iter().zip(self.known.iter().copied()).map(of_thread).collect()
    }
}

fn wakes(threads: &[Busy], sharing: Option<&Sharing>) -> Option<Vec<Vec<f64>>> {
    let sharing = sharing?;
    let wakes = sharing.wakes.as_ref()?;
    let index: Vec<Option<usize>> = threads.iter().map(|busy| busy.place_in(sharing)).collect();
    let rate = |row: &Option<usize>, column: &Option<usize>| Some(wakes.get((*row)?, (*column)?)?.value);
    Some(
        index
            .iter()
            .map(|row| index.iter().map(|column| rate(row, column).unwrap_or(0.0)).collect())
            .collect(),
    )
}

/// The thread that this one takes turns with; `None` if it is on its own.
fn partner(wakes: &[Vec<f64>], thread: usize) -> Result<Option<usize>, String> {
    let others = 0..wakes.len();
    let given: f64 = wakes[thread].iter().sum();
    let got: f64 = wakes.iter().map(|row| row[thread]).sum();
    if given + got < WAKES_MIN_PER_S {
        return Ok(None);
    }
    let between = |other: usize| wakes[thread][other].min(wakes[other][thread]);
    let partner = others.max_by(|a, b| between(*a).total_cmp(&between(*b))).unwrap_or(thread);
    let (there, back) = (wakes[thread][partner], wakes[partner][thread]);
    let is_mutual = there >= TURNS_SHARE * given && back >= TURNS_SHARE * got;
    if is_mutual && there <= TURNS_FACTOR * back && back <= TURNS_FACTOR * there {
        return Ok(Some(partner));
    }
    Err("its threads wake each other in another way than in turns of two, which is all that is predicted"
        .to_owned())
}

fn nobody_saw(thread: &Busy, sharing: Option<&Sharing>) -> String {
    let why = match sharing {
        None => "its threads could not be watched".to_owned(),
        Some(Sharing { wakes_refused: Some(why), .. }) => format!("who wakes whom was not seen: {why}"),
        Some(sharing) if sharing.wakes.is_none() => "who wakes whom was not seen".to_owned(),
        Some(_) => "how long it rests was not seen".to_owned(),
    };
    format!(
        "thread {} rests for {:.0} % of the time, and for what is not known ({why})",
        thread.key.name,
        100.0 * (1.0 - thread.cpu_share).max(0.0)
    )
}

/// The middle of a bin on a logarithmic scale.
fn middle_us(gap: &IdleGaps) -> f64 {
    (gap.from_us.max(0.1) * gap.below_us.max(gap.from_us).max(0.1)).sqrt()
}

/// The middle of the bin that holds the median rest: a few that waited for a CPU, as other programs had it, do not move it.
fn median_rest_ns(gaps: &[IdleGaps]) -> Option<f64> {
    let half = gaps.iter().map(|gap| gap.count).sum::<u64>().div_ceil(2);
    let mut below = 0;
    let bin = gaps.iter().find(|gap| {
        below += gap.count;
        below >= half && half > 0
    })?;
    Some(middle_us(bin) * 1e3)
}

/// The class of work that a thread does most, in the order of `class_slowdowns`.
fn class(thread: Option<&SharingThread>) -> usize {
    let demand = thread.map(|thread| thread.demand).unwrap_or_default();
    let shares = [demand.integer, demand.floating, demand.front_end, demand.memory];
    (0..4).rev().max_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap_or(0)
}

/// Why nothing is predicted of threads that write to the same memory, of the pair that does so most: what a line costs that moves
/// between their CPUs depends on how often they touch it in turn, which samples do not tell.
fn writers(threads: &[Busy], sharing: &Sharing) -> Option<String> {
    let places: Vec<(&Busy, usize)> =
        threads.iter().filter_map(|busy| Some((busy, busy.place_in(sharing)?))).collect();
    let pairs =
        places.iter().enumerate().flat_map(|(at, one)| places[..at].iter().map(move |other| (*other, *one)));
    let amounts =
        pairs.filter_map(|(one, other)| Some((one.0, other.0, sharing.write_shared.get(one.1, other.1)?)));
    let described = amounts.filter(|(.., amount)| amount.value >= WRITTEN_MIN && amount.interval.low > 0.0);
    let (one, other, amount) = described.max_by(|one, other| one.2.value.total_cmp(&other.2.value))?;
    Some(format!(
        "threads {} and {} write to the same memory ({:.0} % of their accesses meet there), and what it costs to move that between \
         CPUs is not simulated",
        one.key.name,
        other.key.name,
        100.0 * amount.value
    ))
}

#[cfg(test)]
mod tests;

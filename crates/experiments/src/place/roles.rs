//! What each thread of a program does, as its profile shows: computes, computes and rests, or takes turns with another.

use record::{IdleGaps, Sharing, SharingThread};
use stats::Interval;

use super::decision::Busy;
use super::parking::middle_us;

/// Wakes per second, given and got, below which a thread is taken to be on its own.
const WAKES_MIN_PER_S: f64 = 50.0;
/// Two threads take turns if so much of what each gives and gets is between the two.
const TURNS_SHARE: f64 = 0.8;
/// And if one wakes the other as often as the other it, within this factor: who is still awake when its turn comes is not woken.
const TURNS_FACTOR: f64 = 2.0;
/// A thread that rests for less of the time computes without a pause.
const REST_MIN: f64 = 0.05;
/// CPUs that are busy for so much of the time leave threads that wake nobody no rest: what they lack they waited for.
const CPUS_BUSY: f64 = 0.9;

/// How far the CPU shares of threads are those of a program that is watched, which costs it time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Watched {
    /// They were seen while it was watched.
    AllTheTime,
    /// They are of a run that was not.
    Once(Unwatched),
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

impl Watched {
    fn slower(self) -> f64 {
        match self {
            Self::AllTheTime => 1.0,
            Self::Once(runs) => runs.slower,
        }
    }

    /// Wall times of the runs that were not watched.
    pub(super) fn walls_s(self) -> Option<Interval> {
        match self {
            Self::AllTheTime => None,
            Self::Once(runs) => Some(runs.walls_s),
        }
    }
}

/// What a thread does, as far as it was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// Computes without a pause.
    Computes,
    /// Computes so long, then rests so long, in nanoseconds.
    Bursts { work_ns: f64, rest_ns: f64 },
    /// Takes turns with another thread: CPU time of a turn, and how often per second there is one.
    Turns {
        partner: usize,
        cpu_ns: f64,
        per_s: f64,
        /// The median rest of the thread, in nanoseconds; 0 where nobody saw.
        rest_ns: f64,
    },
}

/// What each thread does.
///
/// # Errors
/// A thread that does something else, in words.
pub(super) fn roles(
    threads: &[Busy],
    all_known: &[Option<&SharingThread>],
    sharing: Option<&Sharing>,
    cpus: usize,
    watched: Watched,
) -> Result<Vec<Role>, String> {
    let busy: f64 = threads.iter().map(|thread| thread.cpu_share).sum();
    let is_full = busy >= CPUS_BUSY * threads.len().min(cpus) as f64;
    let wakes = Wakes::of(threads, sharing, watched);
    let mut roles = Vec::new();
    for (index, (thread, known)) in threads.iter().zip(all_known).enumerate() {
        let partner = wakes.as_ref().map_or(Ok(None), |wakes| wakes.partner(index))?;
        if let (Some(partner), Some(wakes)) = (partner, &wakes) {
            // Who is preempted by the one it wakes need not be woken when its turn comes, but comes to a CPU all the same.
            let woken = 2.0 * wakes.rate(index, partner).max(wakes.rate(partner, index));
            let arrivals = |thread: Option<&SharingThread>| thread?.arrivals;
            let came = arrivals(*known).zip(arrivals(all_known[partner])).map_or(0.0, |(one, other)| {
                (one + other) as f64 / sharing.map_or(f64::INFINITY, |sharing| sharing.seconds)
            });
            let per_s = woken.max(came * watched.slower());
            let cpu_ns = (thread.cpu_share + threads[partner].cpu_share) / per_s * 1e9;
            let rest_ns =
                known.and_then(|thread| median_rest_ns(thread.idle_gaps.as_deref()?)).unwrap_or(0.0);
            roles.push(Role::Turns { partner, cpu_ns, per_s, rest_ns: rest_ns / watched.slower() });
            continue;
        }
        let seconds = sharing.map_or(0.0, |sharing| sharing.seconds);
        let gaps = known.and_then(|thread| thread.idle_gaps.as_deref());
        let rest = gaps.and_then(|gaps| rests(gaps, seconds));
        // Who rests so often may take turns with another: rests are seen by everybody, wakes are not.
        let may_take_turns = wakes.is_none()
            && rest.as_ref().is_some_and(|rest| rest.per_s * watched.slower() > WAKES_MIN_PER_S);
        roles.push(match rest {
            _ if may_take_turns => return Err(nobody_saw(thread, sharing)),
            Some(rest) if rest.per_s * rest.mean_ns * 1e-9 >= REST_MIN => {
                Role::Bursts { work_ns: thread.cpu_share / rest.per_s * 1e9, rest_ns: rest.mean_ns }
            }
            Some(_) => Role::Computes,
            None if gaps.is_some() || thread.cpu_share >= CPUS_BUSY => Role::Computes,
            // Two that take turns keep a CPU as busy as one that computes does.
            None if is_full && wakes.is_some() => Role::Computes,
            None => return Err(nobody_saw(thread, sharing)),
        });
    }
    let computing = roles.iter().filter(|role| **role == Role::Computes).count();
    if computing > cpus && !computing.is_multiple_of(cpus) {
        return Err(format!(
            "{computing} threads compute on {cpus} CPUs without a pause: how the kernel moves them about is not simulated"
        ));
    }
    Ok(roles)
}

fn nobody_saw(thread: &Busy, sharing: Option<&Sharing>) -> String {
    let why = match sharing {
        None => "its threads could not be watched".to_owned(),
        Some(Sharing { wakes_refused: Some(why), .. }) => format!("who wakes whom was not seen: {why}"),
        Some(_) => "how long it rests was not seen".to_owned(),
    };
    format!(
        "thread {} rests for {:.0} % of the time, and for what is not known ({why})",
        thread.key.name,
        100.0 * (1.0 - thread.cpu_share).max(0.0)
    )
}

/// Rests of a thread.
struct Rests {
    per_s: f64,
    mean_ns: f64,
}

fn rests(gaps: &[IdleGaps], seconds: f64) -> Option<Rests> {
    let count: f64 = gaps.iter().map(|gap| gap.count as f64).sum();
    let sum_us: f64 = gaps.iter().map(|gap| gap.count as f64 * middle_us(gap)).sum();
    (count > 0.0 && seconds > 0.0).then(|| Rests { per_s: count / seconds, mean_ns: sum_us / count * 1e3 })
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

/// Wakes per second between the threads that are placed.
struct Wakes {
    rates: Vec<Vec<f64>>,
}

impl Wakes {
    fn of(threads: &[Busy], sharing: Option<&Sharing>, watched: Watched) -> Option<Self> {
        let sharing = sharing?;
        let wakes = sharing.wakes.as_ref()?;
        let index: Vec<Option<usize>> = threads.iter().map(|busy| busy.place_in(sharing)).collect();
        let rate = |row: &Option<usize>, column: &Option<usize>| {
            let (row, column) = ((*row)?, (*column)?);
            wakes.get(row, column).map(|amount| amount.value * watched.slower())
        };
        let row = |row| index.iter().map(|column| rate(row, column).unwrap_or(0.0)).collect();
        Some(Self { rates: index.iter().map(row).collect() })
    }

    fn rate(&self, waker: usize, woken: usize) -> f64 {
        self.rates[waker][woken]
    }

    /// The thread that this one takes turns with; `None` if it is on its own.
    fn partner(&self, thread: usize) -> Result<Option<usize>, String> {
        let others = 0..self.rates.len();
        let given: f64 = others.clone().map(|other| self.rate(thread, other)).sum();
        let got: f64 = others.clone().map(|other| self.rate(other, thread)).sum();
        if given + got < WAKES_MIN_PER_S {
            return Ok(None);
        }
        let between = |other: usize| self.rate(thread, other).min(self.rate(other, thread));
        let partner = others.max_by(|a, b| between(*a).total_cmp(&between(*b))).unwrap_or(thread);
        let (there, back) = (self.rate(thread, partner), self.rate(partner, thread));
        let is_mutual = there >= TURNS_SHARE * given && back >= TURNS_SHARE * got;
        if is_mutual && there <= TURNS_FACTOR * back && back <= TURNS_FACTOR * there {
            return Ok(Some(partner));
        }
        Err("its threads wake each other in another way than in turns of two, which is all that is simulated"
            .to_owned())
    }
}

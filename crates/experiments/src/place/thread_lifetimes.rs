//! How long the threads of a run lived, and how much of its CPU time was in those that came and went too fast to be placed.
//!
//! A look finds who is there at that moment. A thread that ends between two looks used more than they saw, and one that comes and goes
//! between them is not seen at all: what it used is in the CPU time of the whole run only. Doubt counts for long lifetimes: a thread is
//! taken to have begun at the look before the first that saw it, and to have gone on as before from the last that saw it to the next, and while
//! nobody looked for longer than a short lifetime (the looks come late on a busy machine) nothing is taken for short.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use host::live::thread_cpu_time_ns;
use toggles::ThreadId;

use super::thread_table::ThreadTable;

/// A thread that lives for less of the run is none to be placed by itself: it has no neighbours for most of the time. Assumed.
const LIFE_SHARE_MIN: f64 = 0.1;
/// Looking at lifetimes takes at most one part in so many of a CPU's time, however many threads there were.
const EFFORT: u32 = 20;

/// CPU time in threads that came and went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ShortLived {
    /// Threads that were seen, of all kinds.
    pub seen: usize,
    /// CPU time in seconds in those that lived for less than `limit_s`, and in those that nobody saw.
    pub busy_s: f64,
    /// That of the whole run.
    pub total_s: f64,
    /// Who lives for less is short-lived, in seconds.
    pub limit_s: f64,
}

impl ShortLived {
    /// The part of the CPU time that is in such threads; 0 of nothing.
    pub fn share(&self) -> f64 {
        if self.total_s > 0.0 { self.busy_s / self.total_s } else { 0.0 }
    }
}

/// The times between which one thread lived, since the start of the run.
#[derive(Debug)]
struct Lifetime {
    /// The last look without it.
    before: Duration,
    /// The last look that saw it.
    last: Duration,
    /// The first look that missed it.
    gone: Option<Duration>,
    busy_ns: u64,
}

/// The threads of a run.
#[derive(Debug)]
pub(super) struct Lifetimes {
    begun: Instant,
    last_look: Duration,
    /// The times between two looks.
    gaps: Vec<Duration>,
    last_effort: Duration,
    /// By start and number.
    of: BTreeMap<(u64, u32), Lifetime>,
}

impl Lifetimes {
    /// The run begins now.
    pub(super) fn begin() -> Self {
        Self {
            begun: Instant::now(),
            last_look: Duration::ZERO,
            gaps: Vec::new(),
            last_effort: Duration::ZERO,
            of: BTreeMap::new(),
        }
    }

    /// Enters who is there by the last look, unless that was done a moment ago.
    pub(super) fn look(&mut self, table: &ThreadTable) {
        let at = self.begun.elapsed();
        if at.saturating_sub(self.last_look) >= EFFORT * self.last_effort {
            self.enter_all(table, at);
        }
    }

    fn enter_all(&mut self, table: &ThreadTable, at: Duration) {
        // The time on the clock holds what other programs took of a busy CPU as well.
        let begun_ns = thread_cpu_time_ns();
        for (_, member) in table.keyed() {
            self.enter(member.id, member.is_there, member.busy_ns[1], at);
        }
        self.last_effort = Duration::from_nanos(thread_cpu_time_ns().saturating_sub(begun_ns));
        self.looked(at);
    }

    fn looked(&mut self, at: Duration) {
        self.gaps.push(at.saturating_sub(self.last_look));
        self.last_look = at;
    }

    /// Enters one thread of a look at `at`.
    fn enter(&mut self, id: ThreadId, is_there: bool, busy_ns: u64, at: Duration) {
        let before = self.last_look;
        let new = || Lifetime { before, last: before, gone: None, busy_ns };
        let lifetime = self.of.entry((id.start_ticks, id.thread)).or_insert_with(new);
        lifetime.busy_ns = busy_ns;
        if is_there {
            lifetime.last = at;
        } else if lifetime.gone.is_none() {
            lifetime.gone = Some(at);
        }
    }

    /// What it amounts to in a run that is over and used so much CPU time.
    pub(super) fn short_lived(mut self, table: &ThreadTable, total_s: f64) -> ShortLived {
        let end = self.begun.elapsed();
        self.enter_all(table, end);
        self.short_lived_until(end, total_s)
    }

    fn short_lived_until(&self, end: Duration, total_s: f64) -> ShortLived {
        let limit = end.mul_f64(LIFE_SHARE_MIN);
        // What the threads that stayed may have used at most.
        let blind: Duration = self.gaps.iter().filter(|gap| **gap >= limit).sum();
        let mut staying_s = total_s * blind.as_secs_f64() / end.as_secs_f64().max(f64::MIN_POSITIVE);
        for lifetime in self.of.values() {
            let gone = lifetime.gone.unwrap_or(end);
            if gone.saturating_sub(lifetime.before) >= limit {
                let busy_s = lifetime.busy_ns as f64 / 1e9;
                let seen_s = lifetime.last.saturating_sub(lifetime.before).as_secs_f64();
                let busy_share = if seen_s > 0.0 { (busy_s / seen_s).min(1.0) } else { 1.0 };
                staying_s += busy_s + busy_share * gone.saturating_sub(lifetime.last).as_secs_f64();
            }
        }
        ShortLived {
            seen: self.of.len(),
            busy_s: (total_s - staying_s).max(0.0),
            total_s,
            limit_s: limit.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks of a run at these milliseconds; each names who is there, and the CPU time used so far in milliseconds.
    fn short_lived(looks: &[(u64, &[(u32, u64)])], end_ms: u64, total_ms: u64) -> ShortLived {
        let mut lifetimes = Lifetimes::begin();
        let mut known = BTreeMap::new();
        for (at_ms, there) in looks {
            known.extend(there.iter().copied());
            for (thread, busy_ms) in &known {
                let id = ThreadId { process: 1, thread: *thread, start_ticks: 0 };
                let is_there = there.iter().any(|(one, _)| one == thread);
                lifetimes.enter(id, is_there, busy_ms * 1_000_000, Duration::from_millis(*at_ms));
            }
            lifetimes.looked(Duration::from_millis(*at_ms));
        }
        lifetimes.looked(Duration::from_millis(end_ms));
        lifetimes.short_lived_until(Duration::from_millis(end_ms), total_ms as f64 / 1e3)
    }

    #[test]
    fn what_short_lives_used_is_distinguished_from_what_long_ones_did_unseen() {
        let crowd: Vec<[(u32, u64); 2]> = (0..100).map(|n| [(2 * n, 10), (2 * n + 1, 10)]).collect();
        let crowd: Vec<(u64, &[(u32, u64)])> =
            crowd.iter().zip(0..).map(|(there, n)| (10 * n + 5, &there[..])).collect();
        let parent: Vec<[(u32, u64); 1]> = (1..=20).map(|n| [(1, 45 * n)]).collect();
        let parent: Vec<(u64, &[(u32, u64)])> =
            parent.iter().zip(1..).map(|(there, n)| (50 * n, &there[..])).collect();
        let idle: Vec<(u64, &[(u32, u64)])> = (1..=20).map(|n| (50 * n, &[(1, 9)][..])).collect();
        let rows: [(&str, ShortLived, f64, usize); 7] = [
            (
                "two that stay",
                short_lived(&[(2, &[(1, 2), (2, 2)]), (90, &[(1, 89), (2, 89)])], 100, 196),
                0.0,
                2,
            ),
            ("seen late and gone early", short_lived(&[(60, &[(1, 60), (2, 60)])], 130, 260), 0.0, 2),
            ("one at a time", short_lived(&crowd, 1000, 2000), 1.0, 200),
            ("nobody but an idle parent seen", short_lived(&idle, 1000, 2000), 0.995, 1),
            ("a parent as busy as its children", short_lived(&parent, 1000, 1800), 0.5, 1),
            ("nobody looked", short_lived(&[(2, &[(1, 1)])], 1000, 2000), 0.0, 1),
            ("nothing", short_lived(&[], 1000, 0), 0.0, 0),
        ];
        for (name, found, share, seen) in rows {
            assert!((found.share() - share).abs() < 0.01 && found.seen == seen, "{name}: {found:?}");
        }
    }
}

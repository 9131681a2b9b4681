//! Who shares what: the strongest pairs of threads in words, and the memory that several of them touch.

use record::{PlaceOutcome, RegionKind, RegionUser, SharedAmount, SharedRegion, Sharing, SharingThread};
use stats::{Interval, Order};

use super::thread_name;
use crate::number::{count, joined, short};
use crate::page::{Cell, Table};

/// Pairs listed; --json has all.
const PAIRS_SHOWN: usize = 5;
/// Regions named with a pair, those of most accesses.
const REGIONS_OF_PAIR: usize = 2;

/// Two threads, with all that is known to be more than nothing.
struct Pair {
    threads: [usize; 2],
    written: Option<SharedAmount>,
    read: Option<SharedAmount>,
    wakes: Option<SharedAmount>,
}

impl Pair {
    fn amounts(&self) -> [Option<SharedAmount>; 3] {
        [self.written, self.read, self.wakes]
    }
}

/// The strongest pairs, a sentence each; none where nothing is distinguishable from nothing.
pub(super) fn strongest_pairs(found: &PlaceOutcome) -> Vec<String> {
    let Some(sharing) = &found.sharing else { return Vec::new() };
    let count = sharing.threads.len();
    let places = (0..count).flat_map(|a| (a + 1..count).map(move |b| [a, b]));
    let mut pairs: Vec<Pair> = places.map(|threads| pair(sharing, threads)).collect();
    pairs.retain(|pair| pair.amounts().iter().any(Option::is_some));
    // Shares of accesses and wake-ups have no unit in common: each counts by the largest of its kind.
    let value = |pair: &Pair, kind: usize| pair.amounts()[kind].map_or(0.0, |amount| amount.value);
    let largest = [0, 1, 2].map(|kind| pairs.iter().map(|pair| value(pair, kind)).fold(0.0, f64::max));
    let strength = |pair: &Pair| {
        (0..3)
            .filter(|kind| largest[*kind] > 0.0)
            .map(|kind| value(pair, kind) / largest[kind])
            .fold(0.0, f64::max)
    };
    pairs.order_by(|a, b| strength(b).total_cmp(&strength(a)));
    let names = names(found, sharing);
    pairs.iter().take(PAIRS_SHOWN).map(|pair| words(pair, &names, &sharing.regions)).collect()
}

fn pair(sharing: &Sharing, [a, b]: [usize; 2]) -> Pair {
    let sure = |amount: &SharedAmount| amount.interval.low > 0.0;
    let wakes = sharing.wakes.as_ref().and_then(|wakes| {
        let ways = [wakes.get(a, b), wakes.get(b, a)];
        ways.into_iter().flatten().filter(sure).reduce(|one, other| SharedAmount {
            value: one.value + other.value,
            interval: Interval::between(
                one.interval.low + other.interval.low,
                one.interval.high + other.interval.high,
            ),
        })
    });
    Pair {
        threads: [a, b],
        written: sharing.write_shared.get(a, b).filter(sure),
        read: sharing.read_shared.get(a, b).filter(sure),
        wakes,
    }
}

fn words(pair: &Pair, names: &[String], regions: &[SharedRegion]) -> String {
    let share = |amount: SharedAmount, what: &str| {
        let [value, low, high] =
            [amount.value, amount.interval.low, amount.interval.high].map(|share| 100.0 * share);
        format!("{value:.0} % [{low:.0}, {high:.0}] of accesses are to memory that {what}")
    };
    let wakes = |amount: SharedAmount| {
        let [value, low, high] = [amount.value, amount.interval.low, amount.interval.high].map(short);
        format!("{value} wakes per second [{low}, {high}]")
    };
    let kinds = [
        pair.written.map(|amount| share(amount, "one of them writes")),
        pair.read.map(|amount| share(amount, "both only read")),
        pair.wakes.map(wakes),
    ];
    let uses = |region: &&SharedRegion| {
        pair.threads.iter().all(|thread| region.users.iter().any(|user| user.thread == *thread))
    };
    let shares_memory = pair.written.is_some() || pair.read.is_some();
    let places: Vec<String> =
        regions.iter().filter(uses).filter(|_| shares_memory).take(REGIONS_OF_PAIR).map(place).collect();
    let mut parts: Vec<String> = kinds.into_iter().flatten().collect();
    if !places.is_empty() {
        parts.push(format!("in {}", places.join(" and ")));
    }
    let [a, b] = pair.threads.map(|thread| names.get(thread).map_or("?", String::as_str));
    format!("{a} and {b}: {}", parts.join("; "))
}

/// A region by its name, with lines that are shared by their neighbourhood alone.
fn place(region: &SharedRegion) -> String {
    match region.false_shared_lines.len() {
        0 => region.name.clone(),
        lines => format!("{} ({} falsely shared)", region.name, count(lines, "line")),
    }
}

/// The threads that were watched, as the table of threads calls them; those that are not in it with their numbers.
pub(super) fn names(found: &PlaceOutcome, sharing: &Sharing) -> Vec<String> {
    let name = |watched: &SharingThread| {
        let placed = found.threads.iter().find(|thread| thread.tid == Some(watched.tid));
        placed.map_or_else(|| format!("{} ({})", watched.name, watched.tid), thread_name)
    };
    sharing.threads.iter().map(name).collect()
}

/// The memory that several threads touch, most shared first.
pub(super) fn regions(found: &PlaceOutcome, sharing: &Sharing) -> Table {
    let names = names(found, sharing);
    let user = |user: &RegionUser| {
        let name = names.get(user.thread).map_or("?", String::as_str);
        format!("{name} {} + {}", user.reads, user.writes)
    };
    Table::of("memory", &sharing.regions)
        .word("memory", |region| &region.name)
        .word(("kind", 1), |region| kind(region.kind))
        .number(("process", 3), |region| region.pid)
        .word(("from", 4), |region| format!("{:#x}", region.start))
        .number(("size", 2), |region| Cell::size(machine::Bytes(region.bytes)))
        .prose("threads: reads + writes", |region| joined(region.users.iter().map(user), ", "))
        .number("falsely shared lines", |region| region.false_shared_lines.len())
        .table()
}

fn kind(kind: RegionKind) -> &'static str {
    match kind {
        RegionKind::Anonymous => "anonymous",
        RegionKind::Heap => "heap",
        RegionKind::Stack => "stack",
        RegionKind::File => "file",
        RegionKind::SharedMemory => "shared between processes",
        RegionKind::ProgramData => "data of a program",
    }
}

#[cfg(test)]
mod tests {
    use record::SharingMatrix;

    use super::super::place_page;
    use super::super::tests::{example, html};
    use super::*;
    use crate::Terminal;

    fn amount(value: f64) -> SharedAmount {
        SharedAmount { value, interval: Interval::between(value - 0.1, value + 0.1) }
    }

    /// Threads 0 and 2 write together, 1 wakes 2; the rest is not distinguishable from nothing.
    fn found() -> PlaceOutcome {
        let mut found = example(3);
        for (thread, tid) in found.threads.iter_mut().zip([7, 9]) {
            (thread.process, thread.name, thread.tid) = (0, "wor\u{1b}ker".to_owned(), Some(tid));
        }
        let thread = |tid: u32| SharingThread {
            tid,
            pid: 7,
            name: "wor\u{1b}ker".to_owned(),
            ..SharingThread::default()
        };
        let user = |thread| RegionUser { thread, reads: 3, writes: 2 };
        let region = SharedRegion {
            name: "<b>heap</b>".to_owned(),
            kind: RegionKind::Heap,
            bytes: 4096,
            users: vec![user(0), user(2)],
            false_shared_lines: vec![64],
            ..SharedRegion::default()
        };
        let is_pair = |row: usize, column: usize| row + column == 2 && row != column;
        found.sharing = Some(Sharing {
            threads: (7..10).map(thread).collect(),
            write_shared: SharingMatrix::from_fn(3, |row, column| {
                Some(amount(if is_pair(row, column) { 0.3 } else { 0.01 }))
            }),
            wakes: Some(SharingMatrix::from_fn(3, |row, column| {
                (row == 1 && column == 2).then(|| amount(4000.0))
            })),
            regions: vec![region],
            ..Sharing::default()
        });
        found
    }

    #[test]
    fn the_strongest_pairs_are_named_with_what_and_where_and_nothing_where_nothing_is_known() {
        let pairs = strongest_pairs(&found());
        let expected = [
            "wor\u{1b}ker#0 and wor\u{1b}ker#1: 30 % [20, 40] of accesses are to memory that one of them writes; in <b>heap</b> (1 line falsely shared)",
            "wor\u{1b}ker (8) and wor\u{1b}ker#1: 4000 wakes per second [4000, 4000]",
        ];
        assert_eq!(pairs, expected);
        assert!(strongest_pairs(&example(3)).is_empty());
        let mut older = found();
        older.threads.iter_mut().for_each(|thread| thread.tid = None);
        assert!(strongest_pairs(&older)[0].starts_with("wor\u{1b}ker (7) and "));
    }

    #[test]
    fn pairs_keep_to_80_columns_and_regions_have_a_table() {
        let text = place_page(&found()).terminal(Terminal::default(), false);
        assert!(text.contains("Threads that share data\n- wor") && !text.contains('\u{1b}'), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = html(&found());
        assert!(page.contains("#0 3 + 2, wor") && page.contains(">4 KiB</td>"), "{page}");
        assert!(!page.contains("<b>"));
    }
}

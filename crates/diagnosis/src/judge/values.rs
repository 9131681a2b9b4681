//! Values that exceed what the neighbouring level allows, labels that jump a level, one number under two names.

use machine::Bytes;
use record::{Level, Levels, Record, TlbLevel};
use stats::Interval;

use super::{Doubtful, Ruling};
use crate::findings::{knee_is_unstable, surface_is_doubtful, unstable_blocks};
use crate::surface::Columns;
use crate::surface::{WIDEST_EDGE, rest};
use crate::translation::claimed;
use crate::wording::rounded;

/// A rule with its name.
pub(super) type Rule = (&'static str, fn(&Record, &Levels) -> Option<Ruling>);

/// All rules for values; later ones see what earlier ones left.
pub(super) const RULES: [Rule; 13] = [
    ("a cache answers within the cells that it names", within_own_cells),
    ("a farther level answers later", slower_than_nearer),
    ("no label jumps over a level that would hold all its blocks", no_jumped_label),
    ("a farther level holds more", larger_than_nearer),
    ("one edge ends one level", one_edge),
    ("a size rests on blocks with a single value", steady_edge),
    ("no block in several states stands between a size and its claim", steady_to_claim),
    ("each rate belongs to one level", own_rate),
    ("a farther level delivers no more", rate_below_nearer),
    ("a TLB miss costs something", costly_miss),
    ("a TLB level reaches beyond the nearer one", reach_beyond_nearer),
    ("no TLB label jumps to the claim of another level", tlb_claim),
    ("a walk costs something, behind the last TLB", costly_walk),
];

/// Widest bounds of a size on a surface that is doubtful: two blocks of the grid, an octave.
const OCTAVE: f64 = 2.0;

fn index_of(mut indices: std::ops::Range<usize>, fails: impl Fn(usize) -> bool) -> Option<usize> {
    indices.find(|index| fails(*index))
}

/// Memory is left out: it names one block, which may have been measured more than once.
fn within_own_cells(record: &Record, levels: &Levels) -> Option<Ruling> {
    let ruling = |(index, level): (usize, &Level)| {
        number(level)?;
        let named = level.conditions.as_ref()?;
        let [first, last] = named.block_bytes?;
        let columns = Columns::of_pages(&record.memory, |page| named.page_bytes.contains(&Bytes(page)))?;
        let cells = columns.line().iter().filter(|point| (first.0..=last.0).contains(&point.block_bytes));
        let span = cells.map(|point| point.interval).reduce(|all, one| all.hull(&one))?;
        (!span.contains(level.ns)).then(|| Ruling {
            doubtful: Doubtful::Level(index),
            because: format!(
                "the cells that it names, {first} to {last}, take {:.1} to {:.1} ns",
                span.low, span.high
            ),
        })
    };
    levels.caches.iter().enumerate().find_map(ruling)
}

fn slower_than_nearer(_: &Record, levels: &Levels) -> Option<Ruling> {
    let all = &levels.caches;
    let fails =
        |index: usize| all[index].ns.partial_cmp(&all[index - 1].ns).is_none_or(std::cmp::Ordering::is_le);
    let index = index_of(1..all.len(), fails)?;
    let because = format!("it answers no later than {}", all[index - 1].name);
    Some(Ruling::new(Doubtful::Level(index), because))
}

/// The number of `L2`; `None` for memory.
fn number(level: &Level) -> Option<u8> {
    level.name.strip_prefix('L')?.parse().ok()
}

fn no_jumped_label(record: &Record, levels: &Levels) -> Option<Ruling> {
    let columns = Columns::of(&record.memory)?;
    let ruling = |(index, level): (usize, &Level)| {
        let before = number(level)?.checked_sub(1).filter(|before| *before > 0)?;
        if levels.caches.iter().any(|other| number(other) == Some(before)) {
            return None;
        }
        let claim = record.machine.topology.data_cache(columns.cpu, before)?.size_bytes?;
        let [_, end] = rest(columns.line(), level.ns)?;
        (end <= claim.0 as f64).then(|| Ruling {
            doubtful: Doubtful::Level(index),
            because: format!(
                "only blocks up to {} rest at its latency, which L{before} of {claim} would hold",
                rounded(end)
            ),
        })
    };
    levels.caches.iter().enumerate().find_map(ruling)
}

fn larger_than_nearer(_: &Record, levels: &Levels) -> Option<Ruling> {
    let sized: Vec<(usize, u64)> = levels
        .caches
        .iter()
        .enumerate()
        .filter_map(|(index, level)| Some((index, level.size_bytes?.0)))
        .collect();
    let pair = sized.windows(2).find(|pair| pair[1].1 <= pair[0].1)?;
    let because = format!("{} would hold as much", levels.caches[pair[0].0].name);
    Some(Ruling::new(Doubtful::Size(pair[1].0), because))
}

fn one_edge(record: &Record, levels: &Levels) -> Option<Ruling> {
    let columns = Columns::of(&record.memory)?;
    let ruling = |(index, level): (usize, &Level)| {
        let (size, [_, end]) = (level.size_bytes?.0 as f64, rest(columns.line(), level.ns)?);
        (size > WIDEST_EDGE * end).then(|| Ruling {
            doubtful: Doubtful::Size(index),
            because: format!(
                "blocks rest at its latency up to {} only: another level may lie between",
                rounded(end)
            ),
        })
    };
    levels.caches.iter().enumerate().find_map(ruling)
}

fn steady_edge(record: &Record, levels: &Levels) -> Option<Ruling> {
    if !surface_is_doubtful(record) {
        return None;
    }
    let fails = |index: usize| {
        let level = &levels.caches[index];
        let is_wide = |bounds: Interval| bounds.high > OCTAVE * bounds.low;
        level.size_bytes.is_some()
            && (level.size_interval.is_none_or(is_wide) || !unstable_blocks(record, level).is_empty())
    };
    let index = index_of(0..levels.caches.len(), fails)?;
    Some(Ruling::new(Doubtful::Size(index), "blocks around it have no single latency".to_owned()))
}

fn steady_to_claim(record: &Record, levels: &Levels) -> Option<Ruling> {
    let index = index_of(0..levels.caches.len(), |index| knee_is_unstable(record, &levels.caches[index]))?;
    let level = &levels.caches[index];
    let bounds = level.size_interval?;
    let blocks: Vec<String> = unstable_blocks(record, level).iter().map(Bytes::to_string).collect();
    let because = format!(
        "it ends between {} and {}, and blocks of {} there are in several states",
        rounded(bounds.low),
        rounded(bounds.high),
        blocks.join(", ")
    );
    Some(Ruling::new(Doubtful::Size(index), because))
}

/// One point of the curve under two names: it belongs to neither for certain, least to the one without bounds.
fn own_rate(_: &Record, levels: &Levels) -> Option<Ruling> {
    let all = &levels.caches;
    let rate = |index: usize| all[index].read_bytes_per_s.map(f64::to_bits);
    let twin = |index: usize| (0..all.len()).find(|other| *other != index && rate(*other) == rate(index));
    let fails = |index: usize| rate(index).is_some() && twin(index).is_some();
    let is_open = |index: usize| all[index].size_bytes.is_none() && number(&all[index]).is_some();
    let index = (0..all.len()).rev().filter(|index| fails(*index)).min_by_key(|index| !is_open(*index))?;
    let because = format!("it is the number of {}, from the same block", all[twin(index)?].name);
    Some(Ruling::new(Doubtful::Rate(index), because))
}

/// How far an interval reaches, as a share of its middle.
fn relative(interval: Interval) -> f64 {
    interval.half_width() / f64::midpoint(interval.low, interval.high)
}

fn rate_below_nearer(_: &Record, levels: &Levels) -> Option<Ruling> {
    let known: Vec<(usize, Interval)> = levels
        .caches
        .iter()
        .enumerate()
        .filter_map(|(index, level)| Some((index, level.read_interval?)))
        .collect();
    let pair = known.windows(2).find(|pair| pair[1].1.low > pair[0].1.high)?;
    let [(near, near_rate), (far, far_rate)] = [pair[0], pair[1]];
    let wide = if relative(near_rate) > relative(far_rate) { near } else { far };
    let because = format!(
        "{} would deliver more than {}; of the two it is the less certain",
        levels.caches[far].name, levels.caches[near].name
    );
    Some(Ruling::new(Doubtful::Rate(wide), because))
}

fn costly_miss(_: &Record, levels: &Levels) -> Option<Ruling> {
    let fails = |index: usize| levels.tlbs[index].miss_interval.low <= 0.0;
    let index = index_of(0..levels.tlbs.len(), fails)?;
    Some(Ruling::new(Doubtful::Tlb(index), "the cost of its miss may be nothing".to_owned()))
}

fn reach_beyond_nearer(_: &Record, levels: &Levels) -> Option<Ruling> {
    let reach = |tlb: &TlbLevel| (tlb.entries as f64, tlb.entries_interval);
    let fails = |index: usize| {
        let ((_, near), (entries, _)) = (reach(&levels.tlbs[index - 1]), reach(&levels.tlbs[index]));
        entries <= near.high
    };
    let index = index_of(1..levels.tlbs.len(), fails)?;
    let because = format!("it reaches no farther than TLB L{}", levels.tlbs[index - 1].level);
    Some(Ruling::new(Doubtful::Tlb(index), because))
}

fn tlb_claim(record: &Record, levels: &Levels) -> Option<Ruling> {
    let distance = |tlb: &TlbLevel, level: u8| {
        Some((tlb.entries.max(1) as f64 / f64::from(claimed(record, level)?)).log2().abs())
    };
    let ruling = |(index, tlb): (usize, &TlbLevel)| {
        let own = distance(tlb, tlb.level)?;
        let other = (1..=2).filter(|level| *level != tlb.level).find(|level| {
            let taken = levels.tlbs.iter().any(|other| other.level == *level);
            !taken && distance(tlb, *level).is_some_and(|distance| distance < own)
        })?;
        Some(Ruling {
            doubtful: Doubtful::Tlb(index),
            because: format!("{} claimed for level {other} are nearer", claimed(record, other)?),
        })
    };
    levels.tlbs.iter().enumerate().find_map(ruling)
}

fn costly_walk(_: &Record, levels: &Levels) -> Option<Ruling> {
    levels.walk_ns?;
    if levels.tlbs.is_empty() {
        return Some(Ruling::new(Doubtful::Walk, "no TLB was found behind which all pages walk".to_owned()));
    }
    let may_be_none = levels.walk_interval.is_none_or(|interval| interval.low <= 0.0);
    may_be_none.then(|| Ruling { doubtful: Doubtful::Walk, because: "it may cost nothing".to_owned() })
}

//! Groups of CPUs or nodes that are nearer to each other than to the rest: threads of a core, cores of a cache, dies, sockets.
//!
//! Latencies are joined from the nearest pairs upwards, by their mean logarithms (UPGMA), which no single disturbed pair can mislead. A
//! level is where the next join costs clearly more, and where the latencies themselves part: nearly all pairs within groups are nearer
//! than nearly all pairs between. A mesh, whose latencies rise without a gap, shows no groups.
//!
//! Limits: a matrix says which CPUs are near, not what joins them; the names of levels are the likeliest. Where the cache lines of a
//! benchmark have their home in one socket, pairs in another can be as slow as pairs between sockets, and that socket then shows as its parts.

mod dendrogram;

use std::collections::BTreeMap;

use serde::Serialize;

use super::graph::pairs;
use super::matrix::{Matrix, Member, Unit};
use dendrogram::Dendrogram;

/// Fewer show no groups: of any three, two are nearest.
const MEMBERS_MIN: usize = 4;
/// Two levels are nearer than this share: repeated measurements of one machine differ by as much.
const STEP_MIN: f64 = 1.05;
/// A gap is clear if it is so many times the spread of the latencies on either side.
const SPREADS_CLEAR: f64 = 3.0;
/// Pairs that may lie on the wrong side of a gap: interrupts and neighbours disturb single pairs.
const STRAY_SHARE: f64 = 0.05;
/// A level has at least this share more pairs than the one inside it, else it is that one with a few disturbed pairs.
const FURTHER_PAIRS_MIN: f64 = 0.5;
/// The same of a level that joins none of the groups inside it: most such are groups whose pairs were disturbed.
const FURTHER_PAIRS_OF_SINGLES_MIN: f64 = 1.0;
/// Two near members are no socket.
const PAIR: usize = 2;
/// Threads of a core: at most so many (POWER has 8).
const THREADS_MAX: usize = 8;
/// Threads of a core exchange a line faster than this. Published core-to-core matrices: threads 4 to 12 ns, cores from 15 ns.
pub(super) const THREADS_NS_MAX: f64 = 13.0;
/// The same in cycles: 24 to 28 in MCTOP's machines, cores from 90.
const THREADS_CYCLES_MAX: f64 = 60.0;

/// What a level of groups most likely is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LevelName {
    /// Threads of a core.
    Smt,
    /// Cores that share a cache: a cluster, a CCX, a die, or all of a socket.
    SharedCache,
    /// Above a shared cache.
    DieOrSocket,
    /// Nodes that are near each other: those of a package, as a rule.
    NearNodes,
}

/// The groups of one size within a level: cores of one kind have two threads, those of another share a cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupsOfSize {
    /// What these groups most likely are.
    pub level: LevelName,
    /// Members of each, two or more.
    pub size: usize,
    /// How many there are.
    pub groups: usize,
    /// Median latency between members, without pairs of smaller groups inside, in the unit of the matrix.
    pub within: f64,
}

/// A level of groups, and how clearly it shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupLevel {
    /// What the groups most likely are.
    pub level: LevelName,
    /// The numbers of the CPUs or nodes of each group, those in no group alone.
    pub members: Vec<Vec<u32>>,
    /// Median latency between members of a group that share no group further inside; none unless the matrix is in nanoseconds.
    pub within_ns: Option<f64>,
    /// Median latency between groups, inside the next group outwards; none unless the matrix is in nanoseconds.
    pub between_ns: Option<f64>,
    /// Whether the gap is far larger than what the latencies on either side differ by.
    pub clear: bool,
    /// `within_ns` in the unit of the matrix.
    pub within: f64,
    /// `between_ns` in the unit of the matrix.
    pub between: f64,
    /// The groups by their size, smallest first: one entry where all are as large.
    pub sizes: Vec<GroupsOfSize>,
    /// Nearly all pairs between groups take at least so many times as long as nearly all within.
    pub gap_ratio: f64,
    /// Standard deviation on the wider side of the gap, within groups about the mean of their size, as a share of the latency.
    pub spread: f64,
}

/// The nested groups of a matrix.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Nested {
    /// For each level, outermost first, the group of each CPU or node, by their places.
    pub(super) groups: Vec<Vec<usize>>,
    /// The same for people.
    pub(super) levels: Vec<GroupLevel>,
}

/// The groups of a matrix, outermost level first; none if it shows none.
pub fn groups(matrix: &Matrix) -> Vec<GroupLevel> {
    nested(matrix).levels
}

/// The nested groups.
pub(super) fn nested(matrix: &Matrix) -> Nested {
    let known: Vec<Pair> = pairs(matrix.count())
        .filter_map(|(one, other)| Some(Pair { one, other, latency: matrix.between(one, other)? }))
        .collect();
    if matrix.count() < MEMBERS_MIN {
        return Nested::default();
    }
    let chosen = without_near_copies(candidates(matrix.count(), &known, matrix.members == Member::Cpus));
    let mut nested = Nested::default();
    let mut is_innermost_core = true;
    for (place, cut) in chosen.iter().enumerate() {
        let inner = place.checked_sub(1).map(|inner| chosen[inner].group.as_slice());
        let outer = chosen.get(place + 1).map(|outer| outer.group.as_slice());
        let Some(mut level) = Around { cut, inner, outer }.level(matrix, &known) else { continue };
        name(matrix, &mut level, inner.is_none(), &mut is_innermost_core);
        nested.groups.insert(0, cut.group.clone());
        nested.levels.insert(0, level);
    }
    nested
}

/// A pair whose latency is known.
struct Pair {
    one: usize,
    other: usize,
    latency: f64,
}

/// A way to part all into groups.
struct Cut {
    /// Of each place.
    group: Vec<usize>,
    /// Pairs within groups.
    pairs_within: usize,
    /// Nearly all between over nearly all within.
    gap_ratio: f64,
    /// By how much the next join of the tree is higher.
    step: f64,
}

/// Ways to part them, finest first, where the tree shows a step and the latencies themselves part.
fn candidates(count: usize, known: &[Pair], of_cpus: bool) -> Vec<Cut> {
    let tree = Dendrogram::of(count, known.iter().map(|pair| (pair.one, pair.other, pair.latency.ln())));
    let cuts = tree.steps(STEP_MIN.ln()).filter(|(_, group)| grouped_over_single(group).is_ge()).filter_map(
        |(step, group)| {
            let (within, between): (Vec<&Pair>, Vec<&Pair>) =
                known.iter().partition(|pair| group[pair.one] == group[pair.other]);
            let gap_ratio = gap(&within, &between)?;
            (gap_ratio >= STEP_MIN).then_some(Cut { pairs_within: within.len(), group, gap_ratio, step })
        },
    );
    let mut cuts: Vec<Cut> = cuts.collect();
    // Where lines have their home in one of two sockets, half of the CPUs show no group: a level if nothing else is one. A pair is none.
    let is_of_home = |cut: &Cut| of_cpus && sizes_of(&cut.group).iter().any(|size| *size > PAIR);
    let is_most = |cut: &Cut| grouped_over_single(&cut.group).is_gt();
    let has_most = cuts.iter().any(is_most);
    cuts.retain(|cut| is_most(cut) || (!has_most && is_of_home(cut)));
    cuts
}

/// How many are in a group with others, over those in none: a level of a machine holds more than half, and not a few near pairs.
fn grouped_over_single(group: &[usize]) -> std::cmp::Ordering {
    (sizes_of(group).into_iter().filter(|size| *size > 1).count() * 2).cmp(&group.len())
}

/// Of each place, how many its group holds.
fn sizes_of(group: &[usize]) -> Vec<usize> {
    let mut sizes = vec![0_usize; group.len()];
    for one in group {
        sizes[*one] += 1;
    }
    group.iter().map(|one| sizes[*one]).collect()
}

/// By how much nearly all `between` exceed nearly all `within`.
fn gap(within: &[&Pair], between: &[&Pair]) -> Option<f64> {
    let stray = (within.len().min(between.len()) as f64 * STRAY_SHARE) as usize;
    let nearest = nth(between, stray)?;
    let farthest = nth(within, within.len().checked_sub(stray + 1)?)?;
    Some(nearest / farthest)
}

/// The latency that so many others lie below.
fn nth(of: &[&Pair], place: usize) -> Option<f64> {
    let mut latencies: Vec<f64> = of.iter().map(|pair| pair.latency).collect();
    (place < latencies.len()).then(|| *latencies.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// Of two levels that differ by few pairs, the one above which the tree steps higher.
fn without_near_copies(mut cuts: Vec<Cut>) -> Vec<Cut> {
    let is_copy = |pair: &[Cut]| {
        let further = pair[1].pairs_within.saturating_sub(pair[0].pairs_within);
        let least = if joins_groups(&pair[0].group, &pair[1].group) {
            FURTHER_PAIRS_MIN
        } else {
            FURTHER_PAIRS_OF_SINGLES_MIN
        };
        (further as f64) < least * pair[0].pairs_within as f64
    };
    while let Some(place) = cuts.windows(2).position(is_copy) {
        let weaker = if cuts[place].step < cuts[place + 1].step { place } else { place + 1 };
        cuts.remove(weaker);
    }
    cuts
}

/// Whether a group of the coarser level holds more than a group of the finer one.
fn joins_groups(finer: &[usize], coarser: &[usize]) -> bool {
    let size = |group: &[usize], place: usize| group.iter().filter(|name| **name == group[place]).count();
    (0..finer.len()).any(|place| (2..size(coarser, place)).contains(&size(finer, place)))
}

/// A level between its neighbours.
struct Around<'a> {
    cut: &'a Cut,
    inner: Option<&'a [usize]>,
    outer: Option<&'a [usize]>,
}

impl Around<'_> {
    fn level(&self, matrix: &Matrix, known: &[Pair]) -> Option<GroupLevel> {
        let group = &self.cut.group;
        let share =
            |group: Option<&[usize]>, pair: &Pair| group.map(|group| group[pair.one] == group[pair.other]);
        let latencies = |belongs: &dyn Fn(&Pair) -> bool| -> Vec<f64> {
            known.iter().filter(|pair| belongs(pair)).map(|pair| pair.latency).collect()
        };
        let is_within =
            |pair: &Pair| share(Some(group), pair) == Some(true) && share(self.inner, pair) != Some(true);
        let within = latencies(&is_within);
        let between = latencies(&|pair| {
            share(Some(group), pair) == Some(false) && share(self.outer, pair) != Some(false)
        });
        let (sizes, inner_sizes) = (sizes_of(group), self.inner.map(sizes_of));
        // Groups that are no larger than inside are of their kind on this level too.
        let is_whole = |pair: &Pair| {
            share(Some(group), pair) == Some(true)
                && inner_sizes.as_ref().is_some_and(|inner| inner[pair.one] == sizes[pair.one])
        };
        let mut by_size: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut gather = |belongs: &dyn Fn(&Pair) -> bool| {
            for pair in known.iter().filter(|pair| belongs(pair)) {
                by_size.entry(sizes[pair.one]).or_default().push(pair.latency);
            }
            relative_spread(by_size.values())
        };
        let spread = gather(&is_within).max(relative_spread([&between]));
        gather(&|pair| !is_within(pair) && is_whole(pair));
        let gap_ratio = self.cut.gap_ratio;
        let (within, between) = (stats::median(&within)?, stats::median(&between)?);
        let in_ns = |value: f64| (matrix.unit == Unit::Nanoseconds).then_some(value);
        let members = members(matrix, group);
        let sizes = by_size.iter().filter_map(|(&size, of)| {
            let groups = members.iter().filter(|group| group.len() == size).count();
            Some(GroupsOfSize { level: LevelName::NearNodes, size, groups, within: stats::median(of)? })
        });
        Some(GroupLevel {
            level: LevelName::NearNodes,
            sizes: sizes.collect(),
            members,
            within_ns: in_ns(within),
            between_ns: in_ns(between),
            clear: gap_ratio.ln() >= SPREADS_CLEAR * spread,
            within,
            between,
            gap_ratio,
            spread,
        })
    }
}

/// Why one group of a level may be so much larger than the others, if one is.
pub(super) fn remark(levels: &[GroupLevel]) -> Option<String> {
    let (outermost, inside) = levels.split_first()?;
    let largest = outermost.members.iter().map(Vec::len).max()?;
    let is_inside = |group: &Vec<u32>| inside.first().is_some_and(|level| level.members.contains(group));
    let is_part = |group: &&Vec<u32>| group.len() < largest && (group.len() == 1 || is_inside(group));
    let parts = outermost.members.iter().filter(is_part).count();
    (outermost.members.len() == parts + 1 && parts > 1).then(|| {
        format!(
            "one group of {largest} and {parts} of its parts' size: where a benchmark's lines have their home in one socket or die, pairs \
             in another take as long as pairs between; those {parts} may be one group"
        )
    })
}

/// Standard deviation of logarithms about the mean of their kind, which is a share.
fn relative_spread<'a>(kinds: impl IntoIterator<Item = &'a Vec<f64>>) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for latencies in kinds {
        let logarithms: Vec<f64> = latencies.iter().map(|latency| latency.ln()).collect();
        let mean = stats::mean(&logarithms);
        squares += logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        freedom += logarithms.len() as f64 - 1.0;
    }
    if freedom > 0.0 { f64::sqrt(squares / freedom) } else { 0.0 }
}

fn members(matrix: &Matrix, group: &[usize]) -> Vec<Vec<u32>> {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); group.len()];
    for (place, group) in group.iter().enumerate() {
        members[*group].push(matrix.nodes[place]);
    }
    members.retain(|group| !group.is_empty());
    for group in &mut members {
        group.sort_unstable();
    }
    members.sort_unstable();
    members
}

/// Gives a level and its groups of each size their likeliest names; levels come from inside outwards.
fn name(matrix: &Matrix, level: &mut GroupLevel, is_innermost: bool, is_first_of_cores: &mut bool) {
    if matrix.members == Member::Nodes {
        return;
    }
    let is_of_threads = |of: &GroupsOfSize| {
        let is_near = match matrix.unit {
            Unit::Nanoseconds => of.within <= THREADS_NS_MAX,
            Unit::Cycles => of.within <= THREADS_CYCLES_MAX,
            Unit::Distance => false,
        };
        is_near && of.size <= THREADS_MAX
    };
    level.level = if is_innermost && level.sizes.iter().all(is_of_threads) {
        LevelName::Smt
    } else if std::mem::take(is_first_of_cores) {
        LevelName::SharedCache
    } else {
        LevelName::DieOrSocket
    };
    for of in &mut level.sizes {
        of.level = if is_of_threads(of) { LevelName::Smt } else { level.level };
    }
}

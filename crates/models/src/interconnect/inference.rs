//! Which links make a matrix of latencies: the most probable graph, the next, and whether the data tell at all.
//!
//! Thresholds on latencies find wrong links where snoops are broadcast, since the farthest node of the home shows in every
//! entry. Here each graph is asked what it predicts, at its best times, and graphs are compared by how likely that makes the
//! entries. Beside the graphs stand readings without links: all entries alike, memory that is either local or not, and groups. CPUs
//! are never joined by links: `between_groups` looks for links between the groups that they form.

mod between_groups;
mod hypothesis;
mod mesh;
mod reasons;
mod search;

use serde::Serialize;

use super::graph::{ENUMERATED_NODES_MAX, Graph, Hops, pairs};
use super::groups::{self, GroupLevel, Nested, nested};
use super::matrix::{Matrix, Member, NODES_MAX, Unit};
use hypothesis::{Entries, Reading, evidence};
pub use mesh::Mesh;
use reasons::{beyond_inference, beyond_resolution, why_flat, why_in_parts, why_not_two};
use search::{Found, rank};
use stats::Order;

/// A graph is identified from this probability on: its times are fitted, and fits follow noise a little.
const PROBABILITY_MIN: f64 = 0.99;
/// A graph is as good as the best if that is no more than so many times as probable.
const ALIKE_ODDS: f64 = 100.0;
/// And if it explains at least this share of the variance of the entries.
const EXPLAINED_MIN: f64 = 0.5;
/// Firmware rounds its distances to whole numbers; a graph that misses them by more is not theirs.
const DISTANCE_RMS_MAX: f64 = 1.0;
/// Where not all graphs were looked at, a better one may have been missed: then it is this share.
const EXPLAINED_MIN_OF_SEARCH: f64 = 0.9;
/// In a full mesh whose local reads wait for probes the longest way has two links, and remote ones three: the ratio of their
/// latencies is below this. Above it local reads show no probes, and equal remote ones tell nothing of links.
const PROBED_MESH_RATIO_MAX: f64 = 1.5;

/// Even the best reading misses the entries by so many times their known error: then it is the model that errs, by an unknown
/// amount, and a small error would make the least wrong graph certain.
const MISFIT: f64 = 2.0;

/// A graph rests on the difference between two latencies; that is so many times what the graph misses the entries by, or more.
const GAP_ERRORS: f64 = 2.0;
/// And it is this share of the latencies: entries of one kind differ by as much in published matrices of quiet machines (lpdquad, a
/// full mesh: 2 %), whose error is unknown.
const GAP_SHARE_MIN: f64 = 0.025;

machine::named! {
    /// Whether the data tell.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Verdict {
        /// One graph is far more probable than all others.
        #[serde(rename = "identified")]
        Identified = "identified",
        /// The data do not tell.
        #[serde(rename = "not identifiable")]
        NotIdentifiable = "not identifiable",
    }
}

/// How the entries come about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Explanation {
    /// Broadcast snoops: the slower of probes and data, in the unit of the matrix.
    Snoops {
        /// A read that waits for probes, without links; none if none does.
        probe: Option<f64>,
        /// A read that waits for data, without links; none if none does.
        dram: Option<f64>,
        /// One link, one way.
        hop: f64,
    },
    /// A latency for each number of links, from 0 if local entries are known.
    Levels {
        /// In rising order.
        levels: Vec<f64>,
    },
    /// Clusters of a package in rows and columns.
    Mesh(Mesh),
    /// Groups within groups, and a latency for each level.
    Groups {
        /// A node's own memory, if known.
        local: Option<f64>,
        /// Within the innermost groups first, between the outermost last.
        latencies: Vec<f64>,
        /// The group of each node on each level, innermost first.
        #[serde(skip)]
        groups: Vec<Vec<usize>>,
    },
    /// No links show.
    Flat {
        /// A node's own memory, if known.
        local: Option<f64>,
        /// Other memory, if known.
        remote: Option<f64>,
    },
}

/// The next best graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunnerUp {
    /// Its links.
    pub edges: Vec<[u32; 2]>,
    /// How probable it is.
    pub probability: f64,
    /// Root mean square of what it does not explain.
    pub rms: f64,
}

/// What a matrix tells of groups and links.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inference {
    /// What groups consist of.
    pub members_are: Member,
    /// Groups that are nearer to each other than to the rest, outermost level first; none if none show.
    pub groups: Vec<GroupLevel>,
    /// The nodes, by their numbers; of a matrix of CPUs the groups of its outermost level, from 0 and in their order.
    pub nodes: Vec<u32>,
    /// What latencies are given in.
    pub unit: Unit,
    /// Whether the data tell.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
    /// The links; the best guess if another graph is nearly as probable, none if no links show.
    pub edges: Vec<[u32; 2]>,
    /// How probable these are, among all that was looked at.
    pub probability: f64,
    /// Links to the farthest node of each; empty if they do not join all nodes.
    pub eccentricities: Vec<u32>,
    /// How the entries come about.
    pub explanation: Explanation,
    /// Root mean square of what is not explained, in the unit of the matrix.
    pub rms: f64,
    /// The largest error, in per cent of its entry.
    pub max_percent: f64,
    /// The standard error of an entry that was counted with, in the unit of the matrix; none if it was taken from what is not explained.
    pub standard_error: Option<f64>,
    /// The next best graph.
    pub runner_up: Option<RunnerUp>,
    /// Other graphs that are about as probable.
    pub alike: Vec<Vec<[u32; 2]>>,
    /// Graphs and arrangements that were looked at.
    pub examined: usize,
    /// What is strange about the matrix.
    pub remarks: Vec<String>,
}

impl Inference {
    /// Clusters inside packages, which show clearly although nothing shows what joins the packages.
    pub(super) fn clusters(&self) -> Option<&Explanation> {
        let is_clear = self.probability >= PROBABILITY_MIN;
        Some(&self.explanation).filter(|of| is_clear && matches!(of, Explanation::Mesh(_)))
    }
}

/// A hypothesis with its weight, before normalisation.
struct Weighed {
    graph: Option<Graph>,
    explanation: Explanation,
    squares: f64,
    log_weight: f64,
}

/// Infers the groups and links of a matrix.
pub fn infer(matrix: &Matrix) -> Inference {
    let nested = nested(matrix);
    let mut found = if matrix.members == Member::Cpus || matrix.count() > NODES_MAX {
        between_groups::infer(matrix, &nested)
    } else {
        infer_nodes(matrix, &nested)
    };
    found.remarks.extend(groups::remark(&nested.levels));
    found.groups = nested.levels;
    found
}

/// Links between nodes. A known error that no reading meets is not believed.
fn infer_nodes(matrix: &Matrix, nested: &Nested) -> Inference {
    let found = infer_by(matrix, nested);
    let known = matrix.standard_error.map(|error| error.max(matrix.unit.rounding()));
    let Some(known) = known.filter(|known| found.rms > MISFIT * known) else { return found };
    let unit = matrix.unit.name();
    let remark = format!(
        "the best reading misses the entries by {:.1} {unit} where they err by {known:.1}: their error is taken from what is not explained",
        found.rms
    );
    let mut found = infer_by(&matrix.with_error(None), nested);
    found.remarks.push(remark);
    found
}

fn infer_by(matrix: &Matrix, nested: &Nested) -> Inference {
    let entries = Entries::of(matrix);
    let mut flats = flats(matrix, &entries);
    if let Some(reason) = beyond_inference(matrix) {
        return inference_of(matrix, &[], likeliest(&flats), 0, Verdict::NotIdentifiable, reason);
    }
    let ranking = rank(matrix, &entries);
    let mut examined = ranking.examined;
    let mut weighed: Vec<Weighed> = ranking
        .best
        .into_iter()
        .filter(|found| !shows_no_links(matrix, &found.graph))
        .map(|found| weigh(found, ranking.log_graphs))
        .collect();
    flats.extend(grouped(&entries, nested));
    if let Some(found) = mesh::find(matrix, &entries) {
        examined += found.tried;
        // Two clusters in each package are the same groups, and neighbours besides.
        if found.mesh.columns * found.mesh.rows == 2 {
            flats.retain(|flat| !matches!(flat.explanation, Explanation::Groups { .. }));
        }
        weighed.push(Weighed {
            graph: Some(found.mesh.graph()),
            explanation: Explanation::Mesh(found.mesh),
            squares: found.squares,
            log_weight: found.evidence - (found.tried as f64).ln(),
        });
    }
    weighed.extend(flats);
    let mut weighed = merged(weighed);
    normalise(&mut weighed);
    judge(matrix, &entries, weighed, examined)
}

/// Readings without links: everything alike; local and remote, where both are known and no full mesh predicts them.
fn flats(matrix: &Matrix, entries: &Entries) -> Vec<Weighed> {
    let mean = |local: Option<bool>| {
        let belongs =
            |(row, column, _): &(usize, usize, f64)| local.is_none_or(|local| local == (row == column));
        let values: Vec<f64> = matrix.known().filter(belongs).map(|(_, _, value)| value).collect();
        (!values.is_empty()).then(|| stats::mean(&values))
    };
    let all = mean(None);
    let alike = entries.squares_about_mean(|_, _| true);
    let flat = |local, remote, squares, parameters| Weighed {
        graph: None,
        explanation: Explanation::Flat { local, remote },
        squares,
        log_weight: evidence(entries, squares, parameters),
    };
    let mut flats = vec![flat(all, all, alike, 1)];
    let is_parted = mean(Some(true)).is_some() && mean(Some(false)).is_some();
    if is_parted && (matrix.count() == 2 || shows_no_links(matrix, &Graph::complete(matrix.count()))) {
        let parted = entries.squares_about_mean(|row, column| row == column)
            + entries.squares_about_mean(|row, column| row != column);
        flats.push(flat(mean(Some(true)), mean(Some(false)), parted, 2));
    }
    flats
}

/// The reading that there are groups, and a latency for each level; none without groups.
fn grouped(entries: &Entries, nested: &Nested) -> Option<Weighed> {
    let groups: Vec<Vec<usize>> = nested.groups.iter().rev().cloned().collect();
    let count = groups.first()?.len();
    let level = |row: usize, column: usize| level_of(&groups, row, column);
    let mean = |belongs: &dyn Fn(usize, usize) -> bool| {
        let of = entries.values.iter().filter(|(row, column, _)| belongs(*row, *column));
        let values: Vec<f64> = of.map(|(_, _, value)| *value).collect();
        (!values.is_empty()).then(|| stats::mean(&values))
    };
    let local = mean(&|row, column| row == column);
    let latencies: Vec<f64> = (0..=groups.len())
        .map(|depth| mean(&|row, column| row != column && level(row, column) == depth))
        .collect::<Option<_>>()?;
    let mut squares = entries.squares_about_mean(|row, column| row == column);
    for depth in 0..=groups.len() {
        squares += entries.squares_about_mean(|row, column| row != column && level(row, column) == depth);
    }
    let parameters = latencies.len() + usize::from(local.is_some());
    // Each member might be in any group of its level.
    let sizes = nested.levels.iter().map(|level| level.members.len() as f64);
    let log_choices: f64 = sizes.map(|groups| count as f64 * groups.ln()).sum();
    Some(Weighed {
        graph: None,
        log_weight: evidence(entries, squares, parameters) - log_choices,
        explanation: Explanation::Groups { local, latencies, groups },
        squares,
    })
}

/// The innermost level, counted from 0, whose group two share; as many as there are levels if they share none.
fn level_of(groups: &[Vec<usize>], row: usize, column: usize) -> usize {
    groups.iter().position(|group| group[row] == group[column]).unwrap_or(groups.len())
}

/// A full mesh predicts what any machine shows whose remote memory is all as far. It is distinguishable from that only where local
/// reads wait for probes.
fn shows_no_links(matrix: &Matrix, graph: &Graph) -> bool {
    let count = matrix.count();
    if count <= 2 || graph.links().len() < pairs(count).count() {
        return false;
    }
    let mean = |is_local: bool| {
        let values: Vec<f64> = matrix
            .known()
            .filter(|(row, column, _)| (row == column) == is_local)
            .map(|(_, _, value)| value)
            .collect();
        stats::mean(&values)
    };
    let ratio = mean(false) / mean(true);
    !(matrix.unit.is_measured() && ratio < PROBED_MESH_RATIO_MAX)
}

fn weigh(found: Found, log_graphs: f64) -> Weighed {
    let explanation = match found.explained.reading {
        Reading::Snoops { probe, dram, hop } => Explanation::Snoops { probe, dram, hop },
        Reading::Levels(levels) => Explanation::Levels { levels },
    };
    Weighed {
        graph: Some(found.graph),
        explanation,
        squares: found.explained.squares,
        log_weight: found.explained.evidence - log_graphs,
    }
}

/// Each graph once, with the weight of all its explanations together and the best of them: a square of nodes is a mesh of two by two.
fn merged(mut weighed: Vec<Weighed>) -> Vec<Weighed> {
    weighed.order_by(|a, b| b.log_weight.total_cmp(&a.log_weight));
    let mut each: Vec<Weighed> = Vec::with_capacity(weighed.len());
    for one in weighed {
        match each.iter_mut().find(|have| have.graph.is_some() && have.graph == one.graph) {
            Some(have) => have.log_weight += (one.log_weight - have.log_weight).exp().ln_1p(),
            None => each.push(one),
        }
    }
    each
}

/// Best first; weights become logarithms of probabilities.
fn normalise(weighed: &mut [Weighed]) {
    weighed.order_by(|a, b| b.log_weight.total_cmp(&a.log_weight));
    let best = weighed.first().map_or(0.0, |best| best.log_weight);
    let sum: f64 = weighed.iter().map(|one| (one.log_weight - best).exp()).sum();
    for one in weighed {
        one.log_weight -= best + sum.ln();
    }
}

fn judge(matrix: &Matrix, entries: &Entries, weighed: Vec<Weighed>, examined: usize) -> Inference {
    let (graphs, flats): (Vec<Weighed>, Vec<Weighed>) =
        weighed.into_iter().partition(|one| one.graph.is_some());
    let flat = flats.into_iter().next().expect("there is always the reading that all is alike");
    let best = match graphs.first() {
        Some(best) if best.log_weight > flat.log_weight => best,
        _ => {
            let reason = why_flat(matrix, &flat);
            return inference_of(matrix, &graphs, Some(&flat), examined, Verdict::NotIdentifiable, reason);
        }
    };
    let explained = 1.0 - best.squares / entries.squares_about_mean(|_, _| true).max(f64::MIN_POSITIVE);
    let probability = best.log_weight.exp();
    let least = if matrix.count() > ENUMERATED_NODES_MAX { EXPLAINED_MIN_OF_SEARCH } else { EXPLAINED_MIN };
    let alike = graphs.iter().filter(|one| is_alike(best, one)).count();
    let rms = (best.squares / entries.values.len() as f64).sqrt();
    let (verdict, reason) = if !matrix.unit.is_measured() && rms > DISTANCE_RMS_MAX {
        let reason = format!("distances carry no noise, and the best graph still misses them by {rms:.1}");
        (Verdict::NotIdentifiable, reason)
    } else if explained < least {
        let reason = format!("the best graph explains {:.0} % of the differences only", explained * 100.0);
        (Verdict::NotIdentifiable, reason)
    } else if let Some(reason) = beyond_resolution(matrix, &best.explanation, rms) {
        (Verdict::NotIdentifiable, reason)
    } else if let Explanation::Mesh(mesh) = &best.explanation
        && mesh.packages > 1
    {
        (Verdict::NotIdentifiable, why_in_parts(mesh))
    } else if probability < PROBABILITY_MIN {
        let reason = format!(
            "{alike} graphs explain the entries about as well, the best has a probability of {:.0} %; where reads wait for probes, links between far nodes do not show",
            probability * 100.0
        );
        (Verdict::NotIdentifiable, reason)
    } else {
        (Verdict::Identified, format!("it explains {:.1} % of the differences", explained * 100.0))
    };
    inference_of(matrix, &graphs, None, examined, verdict, reason)
}

/// Whether the data do not speak clearly for one graph against the other.
fn is_alike(best: &Weighed, other: &Weighed) -> bool {
    best.log_weight - other.log_weight < ALIKE_ODDS.ln()
}

/// The result: the first of `graphs`, or the flat reading.
fn inference_of(
    matrix: &Matrix,
    graphs: &[Weighed],
    flat: Option<&Weighed>,
    examined: usize,
    verdict: Verdict,
    reason: String,
) -> Inference {
    let named = |graph: &Graph| graph.numbered_links(&matrix.nodes);
    let count = matrix.known().count().max(1) as f64;
    let alike = match graphs {
        [best, rest @ ..] if flat.is_none() => rest
            .iter()
            .filter(|one| is_alike(best, one))
            .filter_map(|one| Some(named(one.graph.as_ref()?)))
            .collect(),
        _ => Vec::new(),
    };
    let runner_up = graphs.get(usize::from(flat.is_none())).map(|next| RunnerUp {
        edges: next.graph.as_ref().map(named).unwrap_or_default(),
        probability: next.log_weight.exp(),
        rms: (next.squares / count).sqrt(),
    });
    let nothing = Weighed {
        graph: None,
        explanation: Explanation::Flat { local: None, remote: None },
        squares: 0.0,
        log_weight: 0.0,
    };
    let best = flat.or_else(|| graphs.first()).unwrap_or(&nothing);
    let hops = best.graph.as_ref().and_then(Graph::hops);
    Inference {
        members_are: matrix.members,
        groups: Vec::new(),
        nodes: matrix.nodes.clone(),
        unit: matrix.unit,
        verdict,
        reason,
        edges: best.graph.as_ref().map(named).unwrap_or_default(),
        probability: best.log_weight.exp().min(1.0),
        eccentricities: hops.as_ref().map(Hops::eccentricities).unwrap_or_default(),
        rms: (best.squares / count).sqrt(),
        max_percent: Misses::of(matrix, |row, column| best.explanation.predicted(hops.as_ref(), row, column))
            .max_percent,
        explanation: best.explanation.clone(),
        standard_error: matrix.standard_error,
        runner_up,
        alike,
        examined,
        remarks: matrix.remarks(),
    }
}

/// By how much a reading misses the entries that it predicts.
struct Misses {
    /// Root mean square, in the unit of the matrix.
    rms: f64,
    /// The largest, in per cent of its entry.
    max_percent: f64,
}

impl Misses {
    fn of(matrix: &Matrix, predicted: impl Fn(usize, usize) -> Option<f64>) -> Self {
        let (mut squares, mut count, mut max_percent) = (0.0, 0_usize, 0.0_f64);
        for (row, column, value) in matrix.known() {
            let Some(predicted) = predicted(row, column) else { continue };
            squares += (predicted - value).powi(2);
            count += 1;
            max_percent = max_percent.max((predicted / value - 1.0).abs() * 100.0);
        }
        Self { rms: (squares / count.max(1) as f64).sqrt(), max_percent }
    }
}

impl Explanation {
    /// The least difference that shows links, and the latency that it is a difference of; none if no links show.
    fn rests_on(&self) -> Option<(f64, f64)> {
        match self {
            Self::Flat { .. } | Self::Groups { .. } => None,
            Self::Snoops { probe, dram, hop } => {
                Some((*hop, probe.iter().chain(dram).copied().reduce(f64::max)?))
            }
            Self::Mesh(mesh) => Some((mesh.row_step.unwrap_or(f64::MAX).min(mesh.column_step), mesh.base)),
            Self::Levels { levels } => {
                // Local memory is near whatever the links.
                let remote = if levels.len() > 2 { &levels[1..] } else { levels };
                let steps = remote.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
                steps.min_by(|a, b| a.0.total_cmp(&b.0))
            }
        }
    }

    /// What it says of a read by one node (row) of another's memory (column), over the links of its graph.
    pub fn predicted(&self, hops: Option<&Hops>, row: usize, column: usize) -> Option<f64> {
        match self {
            Self::Flat { local, remote } => {
                if row == column {
                    *local
                } else {
                    *remote
                }
            }
            Self::Groups { local, latencies, groups } => {
                if row == column {
                    *local
                } else {
                    latencies.get(level_of(groups, row, column)).copied()
                }
            }
            Self::Mesh(mesh) => Some(mesh.predicted(row, column)),
            Self::Levels { levels } => {
                let hops = hops?;
                let first = (hops.diameter() as usize + 1).checked_sub(levels.len())?;
                levels.get((hops.between(row, column) as usize).checked_sub(first)?).copied()
            }
            Self::Snoops { probe, dram, hop } => {
                let hops = hops?;
                let of = |start: &Option<f64>, links: u32| start.map(|start| start + hop * f64::from(links));
                let (probe, data) =
                    (of(probe, hops.probe_path(row, column)), of(dram, 2 * hops.between(row, column)));
                probe.into_iter().chain(data).reduce(f64::max)
            }
        }
    }
}

/// How a graph that is known from elsewhere explains a matrix; none if its links show no better than no links at all.
pub(super) fn over_known_links(matrix: &Matrix, graph: &Graph) -> Option<Explanation> {
    let entries = Entries::of(matrix);
    let hops = graph.hops().filter(|hops| hops.nodes() == matrix.count())?;
    let found = Found { graph: graph.clone(), explained: hypothesis::explain(&entries, &hops)? };
    let weighed = weigh(found, 0.0);
    let mut flats = flats(matrix, &entries);
    // Of two nodes local and remote are the two levels of the link that is known: only all alike speaks against it.
    if matrix.count() == 2 {
        flats.truncate(1);
    }
    let flat = flats.into_iter().map(|flat| flat.log_weight).fold(f64::MIN, f64::max);
    (weighed.log_weight - flat > ALIKE_ODDS.ln()).then_some(weighed.explanation)
}

/// The best reading without links.
pub(super) fn without_links(matrix: &Matrix) -> Option<Explanation> {
    likeliest(&flats(matrix, &Entries::of(matrix))).map(|best| best.explanation.clone())
}

fn likeliest(readings: &[Weighed]) -> Option<&Weighed> {
    readings.iter().max_by(|a, b| a.log_weight.total_cmp(&b.log_weight))
}

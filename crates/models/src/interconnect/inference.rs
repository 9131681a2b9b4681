//! Which links make a matrix of latencies: the most probable graph, the next, and whether the data tell at all.
//!
//! Thresholds on latencies find wrong links where snoops are broadcast, since the farthest node of the home shows in every
//! entry. Here each graph is asked what it predicts, at its best times, and graphs are compared by how likely that makes the
//! entries. Beside the graphs stand readings without links: all entries alike, and memory that is either local or not.

mod hypothesis;
mod mesh;
mod search;

use serde::Serialize;

use super::graph::{ENUMERATED_NODES_MAX, Graph, Hops, pairs};
use super::matrix::{Matrix, Unit};
use hypothesis::{Entries, Reading, evidence};
pub use mesh::Mesh;
use search::{Found, rank};

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

/// Even the best reading misses the entries by so many times their known error: then it is the model that errs, by nobody knows how
/// much, and a small error would make the least wrong graph certain.
const MISFIT: f64 = 2.0;

/// Whether the data tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// One graph is far more probable than all others.
    #[serde(rename = "identified")]
    Identified,
    /// The data do not tell.
    #[serde(rename = "not identifiable")]
    NotIdentifiable,
}

impl Verdict {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identified => "identified",
            Self::NotIdentifiable => "not identifiable",
        }
    }
}

/// How the entries come about.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
pub struct RunnerUp {
    /// Its links.
    pub edges: Vec<[u32; 2]>,
    /// How probable it is.
    pub probability: f64,
    /// Root mean square of what it does not explain.
    pub rms: f64,
}

/// What a matrix tells of links.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inference {
    /// The nodes, by their numbers.
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

/// A hypothesis with its weight, before normalisation.
struct Weighed {
    graph: Option<Graph>,
    explanation: Explanation,
    squares: f64,
    log_weight: f64,
}

/// Infers the links of a matrix. A known error that no reading meets is not believed.
pub fn infer(matrix: &Matrix) -> Inference {
    let found = infer_by(matrix);
    let known = matrix.standard_error.map(|error| error.max(matrix.unit.rounding()));
    let Some(known) = known.filter(|known| found.rms > MISFIT * known) else { return found };
    let unit = matrix.unit.name();
    let remark = format!(
        "the best reading misses the entries by {:.1} {unit} where they err by {known:.1}: their error is taken from what is not explained",
        found.rms
    );
    let mut found = infer_by(&matrix.with_error(None));
    found.remarks.push(remark);
    found
}

fn infer_by(matrix: &Matrix) -> Inference {
    let entries = Entries::of(matrix);
    let flats = flats(matrix, &entries);
    if let Some(reason) = beyond_inference(matrix) {
        return told(matrix, &[], flats.first(), 0, Verdict::NotIdentifiable, reason);
    }
    let ranking = rank(matrix, &entries);
    let mut examined = ranking.examined;
    let mut weighed: Vec<Weighed> = ranking
        .best
        .into_iter()
        .filter(|found| !shows_no_links(matrix, &found.graph))
        .map(|found| weigh(found, ranking.log_graphs))
        .collect();
    if let Some(found) = mesh::find(matrix, &entries) {
        examined += found.tried;
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

/// What speaks against looking at graphs at all.
fn beyond_inference(matrix: &Matrix) -> Option<String> {
    let count = matrix.count();
    if count == 1 {
        return Some("one node has no links".to_owned());
    }
    let mut known = Graph::new(count);
    for (one, other) in pairs(count) {
        known.set(one, other, matrix.between(one, other).is_some());
    }
    if known.hops().is_none() {
        return Some(
            "some nodes have no entry towards the others: nothing says how they are joined".to_owned(),
        );
    }
    None
}

/// Readings without links: everything alike; local and remote.
fn flats(matrix: &Matrix, entries: &Entries) -> Vec<Weighed> {
    let mean = |local: Option<bool>| {
        let belongs =
            |(row, column, _): &(usize, usize, f64)| local.is_none_or(|local| local == (row == column));
        let values: Vec<f64> = matrix.known().filter(belongs).map(|(_, _, value)| value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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
    if shows_no_links(matrix, &Graph::complete(matrix.count())) {
        let parted = entries.squares_about_mean(|row, column| row == column)
            + entries.squares_about_mean(|row, column| row != column);
        flats.push(flat(mean(Some(true)), mean(Some(false)), parted, 2));
    }
    flats
}

/// A full mesh predicts what any machine shows whose remote memory is all as far. It can be told from that only where local
/// reads wait for probes, or where two nodes leave no choice.
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
        values.iter().sum::<f64>() / values.len() as f64
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
    weighed.sort_by(|a, b| b.log_weight.total_cmp(&a.log_weight));
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
    weighed.sort_by(|a, b| b.log_weight.total_cmp(&a.log_weight));
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
        _ => return told(matrix, &graphs, Some(&flat), examined, Verdict::NotIdentifiable, why_flat(&flat)),
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
    } else if probability < PROBABILITY_MIN {
        let reason = format!(
            "{alike} graphs explain the entries about as well, the best has a probability of {:.0} %; where reads wait for probes, links between far nodes do not show",
            probability * 100.0
        );
        (Verdict::NotIdentifiable, reason)
    } else {
        (Verdict::Identified, format!("it explains {:.1} % of the differences", explained * 100.0))
    };
    told(matrix, &graphs, None, examined, verdict, reason)
}

fn why_flat(flat: &Weighed) -> String {
    let why = match &flat.explanation {
        Explanation::Flat { local: Some(local), remote: Some(remote) }
            if (remote - local).abs() > f64::EPSILON =>
        {
            "remote memory is equally far everywhere, and local reads do not wait for probes: any machine whose nodes are all as far looks so, whatever joins them"
        }
        _ => "the entries differ no more than by chance: they show no links",
    };
    why.to_owned()
}

/// Whether the data do not speak clearly for one graph against the other.
fn is_alike(best: &Weighed, other: &Weighed) -> bool {
    best.log_weight - other.log_weight < ALIKE_ODDS.ln()
}

/// The result: the first of `graphs`, or the flat reading.
fn told(
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
        nodes: matrix.nodes.clone(),
        unit: matrix.unit,
        verdict,
        reason,
        edges: best.graph.as_ref().map(named).unwrap_or_default(),
        probability: best.log_weight.exp().min(1.0),
        eccentricities: hops.as_ref().map(Hops::eccentricities).unwrap_or_default(),
        rms: (best.squares / count).sqrt(),
        max_percent: max_percent(matrix, best),
        explanation: best.explanation.clone(),
        standard_error: matrix.standard_error,
        runner_up,
        alike,
        examined,
        remarks: matrix.remarks(),
    }
}

/// The largest error of a reading, in per cent of its entry.
fn max_percent(matrix: &Matrix, weighed: &Weighed) -> f64 {
    let hops = weighed.graph.as_ref().and_then(Graph::hops);
    let error = |(row, column, value): (usize, usize, f64)| {
        let predicted = weighed.explanation.predicted(hops.as_ref(), row, column)?;
        Some((predicted / value - 1.0).abs() * 100.0)
    };
    matrix.known().filter_map(error).fold(0.0, f64::max)
}

impl Explanation {
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
    let flat = flats(matrix, &entries).into_iter().map(|flat| flat.log_weight).fold(f64::MIN, f64::max);
    (weighed.log_weight - flat > ALIKE_ODDS.ln()).then_some(weighed.explanation)
}

/// The best reading without links.
pub(super) fn without_links(matrix: &Matrix) -> Option<Explanation> {
    let entries = Entries::of(matrix);
    let best = flats(matrix, &entries).into_iter().max_by(|a, b| a.log_weight.total_cmp(&b.log_weight));
    best.map(|best| best.explanation)
}

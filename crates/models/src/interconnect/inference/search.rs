//! The graphs that are looked at: all of a few nodes, and by local search those of more.

use stats::{Order, Random};

use super::super::graph::{ENUMERATED_NODES_MAX, Graph, Hops, connected_graphs, pairs};
use super::super::matrix::Matrix;
use super::hypothesis::{Entries, Explained, explain};

/// Graphs that are kept for the posterior and the runner-up.
const KEPT: usize = 64;
/// Steps of a search in all, each as long as the cube of the nodes: seconds on one core.
const WORK_MAX: usize = 200_000_000;
/// Gaps between sorted entries from which a search begins.
const GAPS: usize = 12;
/// Searches that begin anywhere: gaps say little where all reads wait for probes.
const ANYWHERE: usize = 150;
/// Searches that begin from a disturbed best graph.
const DISTURBED: usize = 100;
/// Links that are changed then.
const DISTURBED_LINKS: usize = 3;
/// Of the search's random choices; the result must not depend on the run.
const SEED: u64 = 6440;

/// A graph and how it explains the matrix.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) graph: Graph,
    pub(super) explained: Explained,
}

/// The best graphs, best first.
pub(super) struct Ranking {
    pub(super) best: Vec<Found>,
    /// How many were looked at.
    pub(super) examined: usize,
    /// Logarithm of the number of graphs there are.
    pub(super) log_graphs: f64,
}

/// Looks at graphs.
pub(super) fn rank(matrix: &Matrix, entries: &Entries) -> Ranking {
    let mut ranking = Ranking { best: Vec::new(), examined: 0, log_graphs: 0.0 };
    if matrix.count() <= ENUMERATED_NODES_MAX {
        for (graph, hops) in connected_graphs(matrix.count()) {
            ranking.offer(entries, &graph, &hops);
        }
        ranking.log_graphs = (ranking.examined as f64).ln();
    } else {
        // Almost all graphs of that many nodes are connected.
        ranking.log_graphs = pairs(matrix.count()).count() as f64 * 2_f64.ln();
        Search { entries, ranking: &mut ranking, left: WORK_MAX / matrix.count().pow(3) }.run(matrix);
    }
    ranking
}

impl Ranking {
    /// Looks at one graph, and says how good it is.
    fn offer(&mut self, entries: &Entries, graph: &Graph, hops: &Hops) -> f64 {
        self.examined += 1;
        let Some(explained) = explain(entries, hops) else { return f64::NEG_INFINITY };
        let evidence = explained.evidence;
        let place = self.best.partition_point(|found| found.explained.evidence >= evidence);
        let is_known = self.best[..place]
            .iter()
            .rev()
            .take_while(|found| found.explained.evidence <= evidence)
            .any(|found| found.graph == *graph);
        if place < KEPT && !is_known {
            self.best.insert(place, Found { graph: graph.clone(), explained });
            self.best.truncate(KEPT);
        }
        evidence
    }
}

struct Search<'a> {
    entries: &'a Entries,
    ranking: &'a mut Ranking,
    /// Graphs that may still be looked at.
    left: usize,
}

impl Search<'_> {
    fn run(&mut self, matrix: &Matrix) {
        for start in starts(matrix) {
            self.climb(start);
        }
        let mut random = Random::new(SEED);
        for turn in 0..ANYWHERE {
            // From trees to graphs of twice as many links.
            let further = turn % (matrix.count() + 1);
            self.climb(anywhere(matrix.count(), further, &mut random));
        }
        for _ in 0..DISTURBED {
            let Some(best) = self.ranking.best.first() else { return };
            let mut graph = best.graph.clone();
            for _ in 0..DISTURBED_LINKS {
                let (from, to) = (random.below(graph.nodes()), random.below(graph.nodes()));
                if from != to {
                    graph.set(from, to, !graph.is_linked(from, to));
                }
            }
            self.climb(graph);
        }
    }

    /// The graph's evidence, or nothing if it is in parts or the work is done.
    fn value(&mut self, graph: &Graph) -> Option<f64> {
        self.left = self.left.checked_sub(1)?;
        let hops = graph.hops()?;
        Some(self.ranking.offer(self.entries, graph, &hops))
    }

    /// Changes one link as long as that helps; where none does, one link for another.
    fn climb(&mut self, mut graph: Graph) {
        let Some(mut value) = self.value(&graph) else { return };
        let pairs: Vec<(usize, usize)> = pairs(graph.nodes()).collect();
        loop {
            let mut better = self.best_toggle(&mut graph, &pairs, value);
            if better.is_none() {
                better = self.first_swap(&mut graph, &pairs, value);
            }
            let Some((next, found)) = better else { return };
            (graph, value) = (next, found);
        }
    }

    fn best_toggle(
        &mut self,
        graph: &mut Graph,
        pairs: &[(usize, usize)],
        value: f64,
    ) -> Option<(Graph, f64)> {
        let mut best: Option<((usize, usize), f64)> = None;
        for &(from, to) in pairs {
            graph.set(from, to, !graph.is_linked(from, to));
            if let Some(found) = self.value(graph)
                && found > best.map_or(value, |(_, best)| best)
            {
                best = Some(((from, to), found));
            }
            graph.set(from, to, !graph.is_linked(from, to));
        }
        let ((from, to), found) = best?;
        graph.set(from, to, !graph.is_linked(from, to));
        Some((graph.clone(), found))
    }

    fn first_swap(
        &mut self,
        graph: &mut Graph,
        pairs: &[(usize, usize)],
        value: f64,
    ) -> Option<(Graph, f64)> {
        let (links, gaps): (Vec<_>, Vec<_>) =
            pairs.iter().copied().partition(|&(from, to)| graph.is_linked(from, to));
        for &(from, to) in &links {
            graph.set(from, to, false);
            for &(start, end) in &gaps {
                graph.set(start, end, true);
                let found = self.value(graph);
                if let Some(found) = found.filter(|found| *found > value) {
                    return Some((graph.clone(), found));
                }
                graph.set(start, end, false);
            }
            graph.set(from, to, true);
        }
        None
    }
}

/// A tree drawn at random, and so many links more.
fn anywhere(nodes: usize, further: usize, random: &mut Random) -> Graph {
    let mut order: Vec<usize> = (0..nodes).collect();
    random.shuffle(&mut order);
    let mut graph = Graph::new(nodes);
    for place in 1..nodes {
        graph.set(order[place], order[random.below(place)], true);
    }
    for _ in 0..further {
        let (from, to) = (random.below(nodes), random.below(nodes));
        if from != to {
            graph.set(from, to, true);
        }
    }
    graph
}

/// Where to begin: links between nodes that are nearer than the larger gaps among the entries, and all links.
fn starts(matrix: &Matrix) -> Vec<Graph> {
    let mut sorted: Vec<f64> =
        pairs(matrix.count()).filter_map(|(from, to)| matrix.between(from, to)).collect();
    sorted.sort_by(f64::total_cmp);
    let mut gaps: Vec<(f64, f64)> = sorted
        .windows(2)
        .map(|pair| (pair[1] - pair[0], f64::midpoint(pair[0], pair[1])))
        .filter(|(gap, _)| *gap > 0.0)
        .collect();
    gaps.order_by(|a, b| b.0.total_cmp(&a.0));
    gaps.truncate(GAPS);
    let below = |limit: f64| {
        let mut graph = Graph::new(matrix.count());
        for (from, to) in pairs(matrix.count()) {
            if matrix.between(from, to).is_some_and(|value| value < limit) {
                graph.set(from, to, true);
            }
        }
        join(matrix, &mut graph);
        graph
    };
    let mut starts: Vec<Graph> = gaps.into_iter().map(|(_, limit)| below(limit)).collect();
    starts.push(Graph::complete(matrix.count()));
    starts
}

/// Adds the nearest links between parts until there is one part.
fn join(matrix: &Matrix, graph: &mut Graph) {
    loop {
        let mut part: Vec<usize> = (0..graph.nodes()).collect();
        for (from, to) in graph.links().into_iter().map(|[from, to]| (from, to)) {
            let (keep, drop) = (part[from], part[to]);
            part.iter_mut().filter(|name| **name == drop).for_each(|name| *name = keep);
        }
        let apart = pairs(graph.nodes()).filter(|&(from, to)| part[from] != part[to]);
        let far = |&(from, to): &(usize, usize)| matrix.between(from, to).unwrap_or(f64::MAX);
        let Some((from, to)) = apart.min_by(|a, b| far(a).total_cmp(&far(b))) else { return };
        graph.set(from, to, true);
    }
}

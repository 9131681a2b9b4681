//! The graph of links between nodes: who is linked to whom, how many links lie between two, who is farthest.

use std::collections::VecDeque;

/// An undirected graph without loops; nodes count from 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Graph {
    nodes: usize,
    /// Row by row; symmetric, nothing on the diagonal: `link` alone changes it.
    linked: Vec<bool>,
}

/// Why a link cannot be in a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// There is no such node.
    #[error("the link {from}-{to} names a node that is not there; nodes are 0 to {last}")]
    NoSuchNode {
        /// One end.
        from: usize,
        /// The other end.
        to: usize,
        /// The last node.
        last: usize,
    },
    /// Both ends are one node.
    #[error("the link {node}-{node} joins a node to itself; name two nodes")]
    Loop {
        /// The node.
        node: usize,
    },
}

/// Links between any two nodes of a connected graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hops {
    nodes: usize,
    hops: Vec<u32>,
}

impl Graph {
    /// Nodes without a link.
    pub fn new(nodes: usize) -> Self {
        Self { nodes, linked: vec![false; nodes * nodes] }
    }

    /// Nodes of which each is linked to each other one.
    pub fn complete(nodes: usize) -> Self {
        let mut graph = Self::new(nodes);
        for (from, to) in pairs(nodes) {
            graph.set(from, to, true);
        }
        graph
    }

    /// Nodes with these links; one that is named twice is there once.
    ///
    /// # Errors
    /// A link to nowhere or to itself.
    pub fn of_links(nodes: usize, links: &[[usize; 2]]) -> Result<Self, LinkError> {
        let mut graph = Self::new(nodes);
        for &[from, to] in links {
            graph.check(from, to)?;
            graph.set(from, to, true);
        }
        Ok(graph)
    }

    /// Nodes of these numbers with links that name them; none if a link names a node that is not there, or one twice.
    pub fn of_numbered(nodes: &[u32], edges: &[[u32; 2]]) -> Option<Self> {
        let place = |node: u32| nodes.iter().position(|other| *other == node);
        let links: Option<Vec<[usize; 2]>> =
            edges.iter().map(|[from, to]| Some([place(*from)?, place(*to)?])).collect();
        Self::of_links(nodes.len(), &links?).ok()
    }

    /// How many nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Whether two nodes are linked; no node is linked to itself or to one that is not there.
    pub fn is_linked(&self, from: usize, to: usize) -> bool {
        from < self.nodes && to < self.nodes && self.linked[from * self.nodes + to]
    }

    /// Whether a link can be between two nodes.
    ///
    /// # Errors
    /// If a node is not there, or both are one.
    pub fn check(&self, from: usize, to: usize) -> Result<(), LinkError> {
        if from >= self.nodes || to >= self.nodes {
            return Err(LinkError::NoSuchNode { from, to, last: self.nodes.saturating_sub(1) });
        }
        if from == to { Err(LinkError::Loop { node: from }) } else { Ok(()) }
    }

    /// Makes or cuts a link of two nodes that are there and not one.
    pub fn set(&mut self, from: usize, to: usize, is_linked: bool) {
        assert!(self.check(from, to).is_ok(), "callers check the links that others name");
        self.linked[from * self.nodes + to] = is_linked;
        self.linked[to * self.nodes + from] = is_linked;
    }

    /// Each link once, the smaller node first, in order.
    pub fn links(&self) -> Vec<[usize; 2]> {
        pairs(self.nodes)
            .filter(|&(from, to)| self.is_linked(from, to))
            .map(|(from, to)| [from, to])
            .collect()
    }

    /// The same by the numbers of the nodes.
    pub fn numbered_links(&self, nodes: &[u32]) -> Vec<[u32; 2]> {
        self.links().into_iter().map(|[from, to]| [nodes[from], nodes[to]]).collect()
    }

    /// Nodes that one is linked to.
    pub fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let row = node * self.nodes;
        (0..self.nodes).filter(move |other| self.linked[row + other])
    }

    /// Links between any two nodes, if there is a way from each to each.
    pub fn hops(&self) -> Option<Hops> {
        const FAR: u32 = u32::MAX;
        let mut hops = vec![FAR; self.nodes * self.nodes];
        let mut waiting = VecDeque::with_capacity(self.nodes);
        for (from, row) in hops.chunks_mut(self.nodes.max(1)).enumerate() {
            row[from] = 0;
            waiting.push_back(from);
            while let Some(node) = waiting.pop_front() {
                for next in self.neighbours(node) {
                    if row[next] == FAR {
                        row[next] = row[node] + 1;
                        waiting.push_back(next);
                    }
                }
            }
            if row.contains(&FAR) {
                return None;
            }
        }
        Some(Hops { nodes: self.nodes, hops })
    }
}

impl Hops {
    /// How many nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Links between two nodes.
    pub fn between(&self, from: usize, to: usize) -> u32 {
        self.hops[from * self.nodes + to]
    }

    /// Links to the farthest node.
    pub fn eccentricity(&self, node: usize) -> u32 {
        (0..self.nodes).map(|other| self.between(node, other)).max().unwrap_or(0)
    }

    /// The eccentricity of each node.
    pub fn eccentricities(&self) -> Vec<u32> {
        (0..self.nodes).map(|node| self.eccentricity(node)).collect()
    }

    /// The nodes that are as far as any.
    pub fn farthest(&self, node: usize) -> Vec<usize> {
        let most = self.eccentricity(node);
        (0..self.nodes).filter(|&other| other != node && self.between(node, other) == most).collect()
    }

    /// The eccentricity of the node that lies best for none.
    pub fn diameter(&self) -> u32 {
        self.hops.iter().copied().max().unwrap_or(0)
    }

    /// Links on the longest way that a read of memory at `home` waits for: the request to the home, from there a probe
    /// to each node, from that the answer to the node that reads.
    pub fn probe_path(&self, reader: usize, home: usize) -> u32 {
        let way = |node| self.between(home, node) + self.between(node, reader);
        self.between(reader, home) + (0..self.nodes).map(way).max().unwrap_or(0)
    }
}

/// Each pair of nodes once, the smaller first.
pub(super) fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..nodes).flat_map(move |from| (from + 1..nodes).map(move |to| (from, to)))
}

/// The most nodes of which all graphs can be walked through.
pub const ENUMERATED_NODES_MAX: usize = 6;

/// All connected graphs of so many labelled nodes, at most `ENUMERATED_NODES_MAX`.
pub fn connected_graphs(nodes: usize) -> impl Iterator<Item = (Graph, Hops)> {
    assert!(nodes <= ENUMERATED_NODES_MAX, "there are too many graphs of {nodes} nodes");
    let pairs: Vec<(usize, usize)> = pairs(nodes).collect();
    (0..1_u32 << pairs.len()).filter_map(move |mask| {
        let mut graph = Graph::new(nodes);
        for (bit, &(from, to)) in pairs.iter().enumerate() {
            if mask >> bit & 1 == 1 {
                graph.set(from, to, true);
            }
        }
        graph.hops().map(|hops| (graph, hops))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    pub(crate) const DIAMOND: [[usize; 2]; 5] = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]];

    #[test]
    fn the_diamond_has_the_eccentricities_of_the_blade() {
        let hops = Graph::of_links(4, &DIAMOND).expect("a graph").hops().expect("connected");
        assert_eq!(hops.eccentricities(), [2, 1, 1, 2]);
        assert_eq!((hops.diameter(), hops.farthest(0), hops.farthest(1)), (2, vec![3], vec![0, 2, 3]));
        // A read by 1 of memory at 2 waits for no more than the round to 0 or 3; one by 0 of memory at 3 for four links.
        assert_eq!((hops.probe_path(1, 2), hops.probe_path(0, 3), hops.probe_path(0, 0)), (3, 4, 4));
    }

    #[test]
    fn four_nodes_have_38_connected_graphs_and_one_with_the_pattern_of_the_blade() {
        let mut patterns: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        for (_, hops) in connected_graphs(4) {
            *patterns.entry(hops.eccentricities()).or_default() += 1;
        }
        assert_eq!(patterns.values().sum::<usize>(), 38);
        assert_eq!((patterns[&vec![2, 1, 1, 2]], patterns[&vec![2; 4]], patterns[&vec![1; 4]]), (1, 3, 1));
        // Connected labelled graphs: OEIS A001187.
        let counts: Vec<usize> = (1..=5).map(|nodes| connected_graphs(nodes).count()).collect();
        assert_eq!(counts, [1, 1, 4, 38, 728]);
    }

    #[test]
    fn links_to_nowhere_and_to_oneself_are_refused() {
        assert!(Graph::of_links(4, &[[0, 4]]).is_err_and(|error| error.to_string().contains("0 to 3")));
        assert_eq!(Graph::of_links(4, &[[2, 2]]), Err(LinkError::Loop { node: 2 }));
        assert_eq!(Graph::of_links(4, &[[0, 1], [2, 3]]).expect("two parts").hops(), None);
    }

    proptest! {
        #[test]
        fn hops_are_a_metric(nodes in 1_usize..70, drawn in proptest::collection::vec((0_usize..70, 0_usize..70), 0..200)) {
            let mut graph = Graph::new(nodes);
            for node in 1..nodes {
                graph.set(node - 1, node, true);
            }
            for (from, to) in drawn {
                if graph.check(from, to).is_ok() {
                    graph.set(from, to, true);
                }
            }
            let hops = graph.hops().expect("a chain joins all");
            for (from, to) in pairs(nodes) {
                prop_assert_eq!(hops.between(from, to), hops.between(to, from));
                prop_assert_eq!(hops.between(from, to) == 1, graph.is_linked(from, to));
                for via in 0..nodes {
                    prop_assert!(hops.between(from, to) <= hops.between(from, via) + hops.between(via, to));
                }
            }
        }
    }
}

//! Maximum-weight perfect matching of a graph in which most pairs may be matched, with the proof that it is one.
//!
//! Edmonds' blossom algorithm with dual variables: trees grow from all free vertices along edges without slack; an edge
//! between two trees augments, one inside of a tree shrinks an odd circle to a blossom; if there is none, the duals change
//! until there is. O(n^3) with a table of the best edge between any two (shrunk) vertices. Weights are whole numbers, so
//! that an edge without slack is one for certain. Vertices count from 1 here, 0 is none.
//!
//! The duals are the proof: no matching weighs more than they add up to (`Duals`), whoever computed them.

use std::collections::VecDeque;

/// Weights of all pairs; a pair of weight 0 or less cannot be matched.
pub(crate) struct Graph {
    vertices: usize,
    weights: Vec<i64>,
}

impl Graph {
    /// Vertices count from 0 here.
    pub(crate) fn from_fn(vertices: usize, weight: impl Fn(usize, usize) -> i64) -> Self {
        let mut weights = vec![0; vertices * vertices];
        for first in 0..vertices {
            for second in first + 1..vertices {
                let weight = weight(first, second).max(0);
                weights[first * vertices + second] = weight;
                weights[second * vertices + first] = weight;
            }
        }
        Self { vertices, weights }
    }
}

/// Half-weights of vertices and of odd sets: for every pair, the sum over its vertices and over the sets that hold both is at
/// least twice its weight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Duals {
    /// By vertex, from 0.
    pub(crate) vertex: Vec<i64>,
    /// Sets of an odd number of vertices, each with its dual, which is not negative.
    pub(crate) sets: Vec<(Vec<usize>, i64)>,
}

/// A perfect matching and its proof; none where there is no perfect matching.
pub(crate) fn matching(graph: &Graph) -> Option<(Vec<usize>, Duals)> {
    let mut search = Search::new(graph);
    while search.augment_once() {}
    let partner: Vec<usize> = search.partner[1..=search.vertices].to_vec();
    if partner.contains(&0) {
        return None;
    }
    Some((partner.iter().map(|partner| partner - 1).collect(), search.duals()))
}

/// Where a vertex stands in the forest of alternating trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Outside,
    /// At an even distance from the root: it may take another partner.
    Even,
    Odd,
}

/// The best edge between two (shrunk) vertices, by the vertices that it really joins.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    from: usize,
    to: usize,
    weight: i64,
}

struct Search {
    vertices: usize,
    /// Vertices and blossoms in use are numbered up to this.
    last: usize,
    width: usize,
    edges: Vec<Edge>,
    dual: Vec<i64>,
    partner: Vec<usize>,
    /// The even vertex with the edge of least slack to this one.
    nearest: Vec<usize>,
    /// The outermost blossom that holds it; 0 for a number that is free.
    outermost: Vec<usize>,
    parent: Vec<usize>,
    side: Vec<Side>,
    seen: Vec<u64>,
    rounds: u64,
    /// The circle of a blossom, from its base.
    circle: Vec<Vec<usize>>,
    /// Which part of a blossom's circle holds a vertex.
    part: Vec<usize>,
    queue: VecDeque<usize>,
}

impl Search {
    fn new(graph: &Graph) -> Self {
        let vertices = graph.vertices;
        // At most n/2 blossoms exist at a time, and one is being made.
        let width = vertices + vertices / 2 + 2;
        let mut search = Self {
            vertices,
            last: vertices,
            width,
            edges: vec![Edge::default(); width * width],
            dual: vec![0; width],
            partner: vec![0; width],
            nearest: vec![0; width],
            outermost: vec![0; width],
            parent: vec![0; width],
            side: vec![Side::Outside; width],
            seen: vec![0; width],
            rounds: 0,
            circle: vec![Vec::new(); width],
            part: vec![0; width * width],
            queue: VecDeque::new(),
        };
        let heaviest = graph.weights.iter().copied().max().unwrap_or(0);
        for from in 1..=vertices {
            search.outermost[from] = from;
            search.dual[from] = heaviest;
            search.part[from * width + from] = from;
            for to in 1..=vertices {
                let weight = graph.weights[(from - 1) * vertices + to - 1];
                search.edges[from * width + to] = Edge { from, to, weight };
            }
        }
        search
    }

    fn edge(&self, from: usize, to: usize) -> Edge {
        self.edges[from * self.width + to]
    }

    /// Twice the slack of an edge between vertices of different blossoms.
    fn slack(&self, edge: Edge) -> i64 {
        self.dual[edge.from] + self.dual[edge.to] - 2 * self.edge(edge.from, edge.to).weight
    }

    fn offer_nearest(&mut self, from: usize, to: usize) {
        let have = self.nearest[to];
        if have == 0 || self.slack(self.edge(from, to)) < self.slack(self.edge(have, to)) {
            self.nearest[to] = from;
        }
    }

    fn find_nearest(&mut self, to: usize) {
        self.nearest[to] = 0;
        for from in 1..=self.vertices {
            let outermost = self.outermost[from];
            if self.edge(from, to).weight > 0 && outermost != to && self.side[outermost] == Side::Even {
                self.offer_nearest(from, to);
            }
        }
    }

    /// Queues the vertices inside.
    fn enqueue(&mut self, what: usize) {
        if what <= self.vertices {
            self.queue.push_back(what);
        } else {
            for index in 0..self.circle[what].len() {
                self.enqueue(self.circle[what][index]);
            }
        }
    }

    fn set_outermost(&mut self, what: usize, blossom: usize) {
        self.outermost[what] = blossom;
        if what > self.vertices {
            for index in 0..self.circle[what].len() {
                self.set_outermost(self.circle[what][index], blossom);
            }
        }
    }

    /// The even way along the circle from its base to a part: its length, the circle being turned round if need be.
    fn way_to(&mut self, blossom: usize, part: usize) -> usize {
        let circle = &mut self.circle[blossom];
        let place = circle.iter().position(|one| *one == part).expect("a part lies on its circle");
        if place % 2 == 1 {
            circle[1..].reverse();
            circle.len() - place
        } else {
            place
        }
    }

    fn set_partner(&mut self, what: usize, other: usize) {
        let edge = self.edge(what, other);
        self.partner[what] = edge.to;
        if what <= self.vertices {
            return;
        }
        let part = self.part[what * self.width + edge.from];
        let way = self.way_to(what, part);
        for index in 0..way {
            self.set_partner(self.circle[what][index], self.circle[what][index ^ 1]);
        }
        self.set_partner(part, other);
        self.circle[what].rotate_left(way);
    }

    /// Turns matched and unmatched edges over from an edge back to the root.
    fn flip(&mut self, mut even: usize, mut other: usize) {
        loop {
            let before = self.outermost[self.partner[even]];
            self.set_partner(even, other);
            if before == 0 {
                return;
            }
            let next = self.outermost[self.parent[before]];
            self.set_partner(before, next);
            (even, other) = (next, before);
        }
    }

    /// Where the ways of two even vertices to their roots meet; 0 if they end at different roots.
    fn meeting(&mut self, mut one: usize, mut other: usize) -> usize {
        self.rounds += 1;
        while one != 0 || other != 0 {
            if one != 0 {
                if self.seen[one] == self.rounds {
                    return one;
                }
                self.seen[one] = self.rounds;
                one = self.outermost[self.partner[one]];
                if one != 0 {
                    one = self.outermost[self.parent[one]];
                }
            }
            std::mem::swap(&mut one, &mut other);
        }
        0
    }

    fn shrink(&mut self, one: usize, base: usize, other: usize) {
        let free = (self.vertices + 1..=self.last).find(|number| self.outermost[*number] == 0);
        let blossom = free.unwrap_or(self.last + 1);
        self.last = self.last.max(blossom);
        self.dual[blossom] = 0;
        self.side[blossom] = Side::Even;
        self.partner[blossom] = self.partner[base];
        let mut circle = vec![base];
        for (turned, end) in [(true, one), (false, other)] {
            let mut at = end;
            while at != base {
                let odd = self.outermost[self.partner[at]];
                circle.extend([at, odd]);
                self.enqueue(odd);
                at = self.outermost[self.parent[odd]];
            }
            if turned {
                circle[1..].reverse();
            }
        }
        self.circle[blossom] = circle;
        self.set_outermost(blossom, blossom);
        self.inherit_edges(blossom);
        self.find_nearest(blossom);
    }

    /// The best edges of a blossom are those of its parts.
    fn inherit_edges(&mut self, blossom: usize) {
        let width = self.width;
        for other in 1..=self.last {
            self.edges[blossom * width + other].weight = 0;
            self.edges[other * width + blossom].weight = 0;
        }
        self.part[blossom * width..(blossom + 1) * width].fill(0);
        for index in 0..self.circle[blossom].len() {
            let part = self.circle[blossom][index];
            for other in 1..=self.last {
                let (have, offered) = (self.edge(blossom, other), self.edge(part, other));
                let is_better =
                    offered.weight > 0 && (have.weight == 0 || self.slack(offered) < self.slack(have));
                if is_better {
                    self.edges[blossom * width + other] = offered;
                    self.edges[other * width + blossom] = self.edge(other, part);
                }
            }
            for vertex in 1..=self.vertices {
                if self.part[part * width + vertex] != 0 {
                    self.part[blossom * width + vertex] = part;
                }
            }
        }
    }

    /// Opens an odd blossom whose dual is used up: the even way from its base stays in the tree.
    fn expand(&mut self, blossom: usize) {
        for index in 0..self.circle[blossom].len() {
            let part = self.circle[blossom][index];
            self.set_outermost(part, part);
        }
        let entered_at = self.edge(blossom, self.parent[blossom]).from;
        let entry = self.part[blossom * self.width + entered_at];
        let way = self.way_to(blossom, entry);
        for index in (0..way).step_by(2) {
            let (odd, even) = (self.circle[blossom][index], self.circle[blossom][index + 1]);
            self.parent[odd] = self.edge(even, odd).from;
            self.side[odd] = Side::Odd;
            self.side[even] = Side::Even;
            self.nearest[odd] = 0;
            self.find_nearest(even);
            self.enqueue(even);
        }
        self.side[entry] = Side::Odd;
        self.parent[entry] = self.parent[blossom];
        for index in way + 1..self.circle[blossom].len() {
            let part = self.circle[blossom][index];
            self.side[part] = Side::Outside;
            self.find_nearest(part);
        }
        self.outermost[blossom] = 0;
    }

    /// An edge without slack from an even vertex: grows a tree, shrinks a circle or augments, which the result says.
    fn take(&mut self, edge: Edge) -> bool {
        let (even, other) = (self.outermost[edge.from], self.outermost[edge.to]);
        match self.side[other] {
            Side::Outside => {
                self.parent[other] = edge.from;
                self.side[other] = Side::Odd;
                let next = self.outermost[self.partner[other]];
                self.nearest[other] = 0;
                self.nearest[next] = 0;
                self.side[next] = Side::Even;
                self.enqueue(next);
            }
            Side::Even => {
                let base = self.meeting(even, other);
                if base == 0 {
                    self.flip(even, other);
                    self.flip(other, even);
                    return true;
                }
                self.shrink(even, base, other);
            }
            Side::Odd => {}
        }
        false
    }

    fn outer(&self) -> impl Iterator<Item = usize> + use<'_> {
        (1..=self.last).filter(|what| self.outermost[*what] == *what)
    }

    /// Grows trees from all free vertices until one augmentation; false if all are matched or no more can be.
    fn augment_once(&mut self) -> bool {
        self.side.fill(Side::Outside);
        self.nearest.fill(0);
        self.queue.clear();
        let free: Vec<usize> = self.outer().filter(|what| self.partner[*what] == 0).collect();
        for root in &free {
            self.parent[*root] = 0;
            self.side[*root] = Side::Even;
            self.enqueue(*root);
        }
        if free.is_empty() {
            return false;
        }
        loop {
            if self.grow() {
                return true;
            }
            if !self.change_duals() {
                return false;
            }
            self.queue.clear();
            let near: Vec<usize> = self.outer().filter(|what| self.nearest[*what] != 0).collect();
            for what in near {
                let from = self.nearest[what];
                // A circle that was shrunk just now may hold both.
                if self.outermost[what] == what && from != 0 && self.outermost[from] != what {
                    let edge = self.edge(from, what);
                    if self.slack(edge) == 0 && self.take(edge) {
                        return true;
                    }
                }
            }
            let used_up = |search: &Self, what: &usize| {
                *what > search.vertices && search.side[*what] == Side::Odd && search.dual[*what] == 0
            };
            let blossoms: Vec<usize> = self.outer().filter(|what| used_up(self, what)).collect();
            for blossom in blossoms {
                self.expand(blossom);
            }
        }
    }

    fn grow(&mut self) -> bool {
        while let Some(from) = self.queue.pop_front() {
            if self.side[self.outermost[from]] == Side::Odd {
                continue;
            }
            for to in 1..=self.vertices {
                if self.edge(from, to).weight > 0 && self.outermost[from] != self.outermost[to] {
                    let edge = self.edge(from, to);
                    if self.slack(edge) == 0 {
                        if self.take(edge) {
                            return true;
                        }
                    } else {
                        self.offer_nearest(from, self.outermost[to]);
                    }
                }
            }
        }
        false
    }

    /// Moves duals by as much as keeps all slacks from turning negative; false if nothing ever ends the move.
    fn change_duals(&mut self) -> bool {
        let step = self.outer().filter_map(|what| {
            let blossom = (what > self.vertices && self.side[what] == Side::Odd).then(|| self.dual[what] / 2);
            let nearest = self.nearest[what];
            let edge = (nearest != 0).then(|| self.slack(self.edge(nearest, what)));
            let edge = match self.side[what] {
                Side::Outside => edge,
                Side::Even => edge.map(|slack| slack / 2),
                Side::Odd => None,
            };
            blossom.into_iter().chain(edge).min()
        });
        let Some(step) = step.min() else { return false };
        for vertex in 1..=self.vertices {
            match self.side[self.outermost[vertex]] {
                Side::Even => self.dual[vertex] -= step,
                Side::Odd => self.dual[vertex] += step,
                Side::Outside => {}
            }
        }
        for blossom in self.vertices + 1..=self.last {
            if self.outermost[blossom] == blossom {
                match self.side[blossom] {
                    Side::Even => self.dual[blossom] += 2 * step,
                    Side::Odd => self.dual[blossom] -= 2 * step,
                    Side::Outside => {}
                }
            }
        }
        true
    }

    fn duals(&self) -> Duals {
        let mut sets = Vec::new();
        for outer in self.outer().filter(|what| *what > self.vertices) {
            self.collect(outer, &mut sets);
        }
        Duals { vertex: self.dual[1..=self.vertices].to_vec(), sets }
    }

    /// Vertices of a blossom; it and the blossoms in it are added with their duals.
    fn collect(&self, what: usize, sets: &mut Vec<(Vec<usize>, i64)>) -> Vec<usize> {
        if what <= self.vertices {
            return vec![what - 1];
        }
        let inside: Vec<usize> =
            self.circle[what].iter().flat_map(|part| self.collect(*part, sets)).collect();
        if self.dual[what] > 0 {
            sets.push((inside.clone(), self.dual[what]));
        }
        inside
    }
}

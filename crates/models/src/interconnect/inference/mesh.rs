//! Clusters on a die: packages of nodes in rows and columns, where each step costs its own, and packages are all as far.
//!
//! Sub-NUMA clusters of one package share a mesh, whose steps along a row and along a column cost differently; which of
//! them the links to other packages leave from does not show in latencies.

use serde::Serialize;

use super::super::graph::{Graph, pairs};
use super::super::matrix::Matrix;
use super::hypothesis::{Entries, evidence};
use crate::least_squares::on_lines;

/// Columns and rows of packages that are tried.
const SHAPES: [(usize, usize); 4] = [(2, 1), (3, 1), (2, 2), (3, 2)];

/// Clusters in packages.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mesh {
    /// Packages.
    pub packages: usize,
    /// Clusters in a row of a package.
    pub columns: usize,
    /// Clusters in a column.
    pub rows: usize,
    /// Place of each node: package, column, row.
    pub places: Vec<[usize; 3]>,
    /// A read of a node's own memory.
    pub base: f64,
    /// One column further.
    pub column_step: f64,
    /// One row further; none if there is one row.
    pub row_step: Option<f64>,
    /// A read of another package's memory; none if there is one package.
    pub remote: Option<f64>,
}

/// A mesh and how well it explains a matrix.
pub(super) struct MeshFound {
    pub(super) mesh: Mesh,
    pub(super) squares: f64,
    pub(super) evidence: f64,
    /// Arrangements that were tried.
    pub(super) tried: usize,
}

impl Mesh {
    /// What it predicts of one entry.
    pub fn predicted(&self, row: usize, column: usize) -> f64 {
        let ([package, x, y], [other, to_x, to_y]) = (self.places[row], self.places[column]);
        if package != other {
            return self.remote.unwrap_or(f64::NAN);
        }
        let steps = |from: usize, to: usize| from.abs_diff(to) as f64;
        self.base + self.column_step * steps(x, to_x) + self.row_step.unwrap_or(0.0) * steps(y, to_y)
    }

    /// Neighbours within packages.
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::new(self.places.len());
        for (one, other) in pairs(self.places.len()) {
            let (a, b) = (self.places[one], self.places[other]);
            graph.set(one, other, a[0] == b[0] && a[1].abs_diff(b[1]) + a[2].abs_diff(b[2]) == 1);
        }
        graph
    }
}

/// The best arrangement, if any can be.
pub(super) fn find(matrix: &Matrix, entries: &Entries) -> Option<MeshFound> {
    let mut best: Option<MeshFound> = None;
    let mut tried = 0;
    for packages in packagings(matrix) {
        for (columns, rows) in
            SHAPES.into_iter().filter(|(columns, rows)| columns * rows == packages[0].len())
        {
            // One row of a whole machine is a chain of links, which is a graph.
            if packages.len() == 1 && rows == 1 {
                continue;
            }
            for order in orders(columns * rows) {
                tried += 1;
                let found = fit(matrix, entries, &packages, (columns, rows), &order);
                if let Some(found) = found
                    && best.as_ref().is_none_or(|best| found.evidence > best.evidence + 1e-9)
                {
                    best = Some(found);
                }
            }
        }
    }
    best.map(|best| MeshFound { tried, ..best })
}

/// Ways to part the nodes into packages of one size: parts that are joined below some limit.
fn packagings(matrix: &Matrix) -> Vec<Vec<Vec<usize>>> {
    let count = matrix.count();
    let mut limits: Vec<f64> = pairs(count).filter_map(|(one, other)| matrix.between(one, other)).collect();
    limits.sort_by(f64::total_cmp);
    limits.dedup();
    let mut found: Vec<Vec<Vec<usize>>> = Vec::new();
    for limit in limits {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for node in 0..count {
            let near = |part: &Vec<usize>| {
                part.iter().any(|&other| matrix.between(other, node).is_some_and(|value| value <= limit))
            };
            let (mut joined, apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(near);
            parts = apart;
            joined.push(vec![node]);
            parts.push(joined.concat());
        }
        for part in &mut parts {
            part.sort_unstable();
        }
        parts.sort();
        let is_even = parts.iter().all(|part| part.len() == parts[0].len());
        if is_even && !found.contains(&parts) {
            found.push(parts);
        }
    }
    found
}

/// All orders of so many clusters of which none is the mirror of another by its first cluster.
fn orders(clusters: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..clusters {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                let next = (0..clusters).filter(|place| !order.contains(place)).collect::<Vec<_>>();
                next.into_iter().map(move |place| [order.clone(), vec![place]].concat())
            })
            .collect();
    }
    orders
}

/// The costs of one arrangement: `order` gives the place of each cluster of a package, the same in all.
fn fit(
    matrix: &Matrix,
    entries: &Entries,
    packages: &[Vec<usize>],
    (columns, rows): (usize, usize),
    order: &[usize],
) -> Option<MeshFound> {
    let mut places = vec![[0; 3]; matrix.count()];
    for (package, nodes) in packages.iter().enumerate() {
        for (node, place) in nodes.iter().zip(order) {
            places[*node] = [package, place % columns, place / columns];
        }
    }
    let steps = |from: usize, to: usize, axis: usize| places[from][axis].abs_diff(places[to][axis]) as f64;
    let within = entries.values.iter().filter(|(row, column, _)| places[*row][0] == places[*column][0]);
    let line = |&(row, column, _): &(usize, usize, f64)| {
        let mut line = vec![1.0, steps(row, column, 1)];
        if rows > 1 {
            line.push(steps(row, column, 2));
        }
        line
    };
    let lines: Vec<Vec<f64>> = within.clone().map(line).collect();
    let values: Vec<f64> = within.map(|(_, _, value)| *value).collect();
    let found = on_lines(&lines, &values)?;
    let across: Vec<f64> = entries
        .values
        .iter()
        .filter(|(row, column, _)| places[*row][0] != places[*column][0])
        .map(|(_, _, value)| *value)
        .collect();
    let remote = (!across.is_empty()).then(|| stats::mean(&across));
    let [base, column_step] = [found[0], found[1]];
    let row_step = found.get(2).copied();
    let farthest = base + column_step * (columns - 1) as f64 + row_step.unwrap_or(0.0) * (rows - 1) as f64;
    let rises = column_step > 0.0 && row_step.is_none_or(|step| step > 0.0);
    if base <= 0.0 || !rises || remote.is_some_and(|remote| remote <= farthest) {
        return None;
    }
    let mesh = Mesh { packages: packages.len(), columns, rows, places, base, column_step, row_step, remote };
    let residual =
        |&(row, column, value): &(usize, usize, f64)| (value - mesh.predicted(row, column)).powi(2);
    let squares = entries.values.iter().map(residual).sum();
    let parameters = found.len() + usize::from(remote.is_some());
    Some(MeshFound { squares, evidence: evidence(entries, squares, parameters), mesh, tried: 0 })
}

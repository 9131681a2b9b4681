//! Links between the groups that CPUs form: each group becomes a node, and an entry the median of its pairs.
//!
//! Which groups have memory a matrix of CPUs does not tell; threads of a core have none. The outermost groups are taken, and their links
//! named only where single pairs show them, not medians alone.

use super::super::groups::{GroupLevel, LevelName, Nested};
use super::super::matrix::{Matrix, NODES_MAX};
use super::{
    Entries, Graph, Inference, Misses, Verdict, beyond_resolution, flats, grouped, infer_by, inference_of,
    why_not_two,
};

/// The outermost groups, and the links between them if they show.
pub(super) fn infer(matrix: &Matrix, nested: &Nested) -> Inference {
    let entries = Entries::of(matrix);
    let flat = grouped(&entries, nested).or_else(|| flats(matrix, &entries).into_iter().last());
    let said = |reason: String| inference_of(matrix, &[], flat.as_ref(), 0, Verdict::NotIdentifiable, reason);
    let outermost = nested.levels.iter().zip(&nested.groups).next();
    let (level, group) = match outermost {
        None => return Inference { nodes: Vec::new(), ..said(why_no_groups(matrix)) },
        Some((level, group)) => (level, places(level, group, matrix)),
    };
    let nodes: Vec<u32> = (0..level.members.len() as u32).collect();
    if let Some(reason) = beyond_links(level) {
        return Inference { nodes, ..said(reason) };
    }
    let blocks = blocks(matrix, &group, nodes.len());
    let found = infer_by(&blocks, &super::nested(&blocks));
    let is_identified = found.verdict == Verdict::Identified;
    let hops = Graph::of_numbered(&found.nodes, &found.edges).and_then(|graph| graph.hops());
    // Links are between groups: what single pairs of two groups miss the prediction by, not the medians alone.
    let Misses { rms, max_percent } = Misses::of(matrix, |row, column| {
        let (from, to) = (group[row], group[column]);
        found.explanation.predicted(hops.as_ref(), from, to).filter(|_| from != to)
    });
    match beyond_resolution(matrix, &found.explanation, rms).filter(|_| is_identified) {
        None if is_identified => {
            Inference { members_are: matrix.members, rms, max_percent, remarks: matrix.remarks(), ..found }
        }
        reason => Inference {
            nodes,
            examined: found.examined,
            runner_up: found.runner_up,
            ..said(reason.unwrap_or(format!("{} groups: {}", blocks.count(), found.reason)))
        },
    }
}

fn why_no_groups(matrix: &Matrix) -> String {
    if matrix.known().next().is_none() {
        return "nothing is known of any pair".to_owned();
    }
    format!("latencies show no groups of {}s: they differ without a clear gap", matrix.members.name())
}

/// What speaks against looking for links between these groups.
fn beyond_links(level: &GroupLevel) -> Option<String> {
    let count = level.members.len();
    if level.level == LevelName::Smt {
        return Some("the only groups are threads of a core, which have no memory of their own".to_owned());
    }
    if !level.clear {
        return Some("the outermost groups are not clear enough to look for links between them".to_owned());
    }
    let alone: Vec<u32> = level.members.iter().filter(|group| group.len() == 1).flatten().copied().collect();
    if count == alone.len() + 1 {
        let alone: Vec<String> = alone.iter().map(u32::to_string).collect();
        return Some(format!(
            "there is one group, and nothing but single CPUs outside of it: {}",
            alone.join(", ")
        ));
    }
    if count == 2 {
        return Some(why_not_two("groups"));
    }
    (count > NODES_MAX).then(|| format!("{count} groups are more than the {NODES_MAX} that are searched"))
}

/// The place of each CPU's group among the groups as they are listed.
fn places(level: &GroupLevel, group: &[usize], matrix: &Matrix) -> Vec<usize> {
    let mut listed = vec![0; group.len()];
    for (place, members) in level.members.iter().enumerate() {
        let first = matrix.nodes.iter().position(|number| members.first() == Some(number));
        let Some(name) = first.map(|first| group[first]) else { continue };
        (0..group.len()).filter(|member| group[*member] == name).for_each(|member| listed[member] = place);
    }
    listed
}

/// The median of the pairs of each two groups.
fn blocks(matrix: &Matrix, group: &[usize], count: usize) -> Matrix {
    let mut gathered: Vec<Vec<f64>> = vec![Vec::new(); count * count];
    for (row, column, value) in matrix.known().filter(|(row, column, _)| group[*row] != group[*column]) {
        gathered[group[row] * count + group[column]].push(value);
    }
    let medians: Vec<Option<f64>> = gathered.iter().map(|values| stats::median(values)).collect();
    let rows: Vec<Vec<Option<f64>>> = medians.chunks(count).map(<[_]>::to_vec).collect();
    Matrix::of_rows(matrix.unit, &rows).expect("medians of entries of a matrix, for each two groups")
}

//! Why a matrix identifies no links, in words: before graphs are looked at, and of the best of them.

use super::super::graph::{Graph, pairs};
use super::super::matrix::Matrix;
use super::{Explanation, GAP_ERRORS, GAP_SHARE_MIN, MISFIT, Mesh, Weighed};

/// What speaks against looking at graphs at all.
pub(super) fn beyond_inference(matrix: &Matrix) -> Option<String> {
    let count = matrix.count();
    if count == 1 {
        return Some("one node has no links".to_owned());
    }
    if count == 2 && matrix.between(0, 1).is_some() {
        return Some(why_not_two("nodes"));
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

/// Why two ends identify nothing, be they nodes or groups of CPUs.
pub(super) fn why_not_two(ends: &str) -> String {
    format!("two {ends}: one link, several, or a chip between them would show the same latencies")
}

/// Why the difference that a graph rests on may be an error of the entries; none if it is far larger.
pub(super) fn beyond_resolution(matrix: &Matrix, explanation: &Explanation, rms: f64) -> Option<String> {
    if !matrix.unit.is_measured() {
        return None;
    }
    let (gap, of) = explanation.rests_on()?;
    let error = matrix.standard_error.map_or(of * GAP_SHARE_MIN, |error| error * GAP_ERRORS);
    let unit = matrix.unit.name();
    if gap < rms * GAP_ERRORS {
        Some(format!(
            "the best graph rests on a difference of {gap:.1} {unit}, and its fit error is {rms:.1} {unit}: too large to identify links"
        ))
    } else if gap < error {
        Some(format!(
            "the best graph rests on latencies that differ by {gap:.1} {unit}, {:.1} %: within the run-to-run variation of such matrices",
            gap / of * 100.0
        ))
    } else {
        None
    }
}

/// Clusters show inside packages that nothing joins: no graph of the machine.
pub(super) fn why_in_parts(mesh: &Mesh) -> String {
    format!(
        "clusters show inside {} packages that are all as far from each other; whatever joins the packages would show the same latencies",
        mesh.packages
    )
}

pub(super) fn why_flat(matrix: &Matrix, flat: &Weighed) -> String {
    let why = match &flat.explanation {
        Explanation::Groups { .. } => {
            let entries = if matrix.unit.is_measured() { "latencies" } else { "distances" };
            return format!("nodes form groups; what joins the groups does not show in these {entries}");
        }
        Explanation::Flat { local: Some(local), remote: Some(remote) }
            if (remote - local).abs() > f64::EPSILON && beyond_chance(matrix, flat).is_none() =>
        {
            "remote memory is equally far everywhere, and local reads do not wait for probes: any machine whose nodes are all as far looks so, whatever joins them"
        }
        _ => {
            match beyond_chance(matrix, flat) {
                Some([least, most]) => {
                    let unit = matrix.unit.name();
                    return format!("neither links nor groups explain the entries, which are {least:.1} to {most:.1} {unit}").trim_end().to_owned();
                }
                None if (0..matrix.count()).all(|node| matrix.at(node, node).is_none()) => {
                    "latencies between them differ no more than by chance: whatever joins them, any machine whose parts are all as far looks so"
                }
                None => "the entries differ no more than by chance: they show no links",
            }
        }
    };
    why.to_owned()
}

/// The least and the greatest entry, if they differ by more than chance: by what is known of their error, else by what the directions
/// of pairs differ by.
fn beyond_chance(matrix: &Matrix, flat: &Weighed) -> Option<[f64; 2]> {
    let both = |(one, other)| Some((matrix.at(one, other)? - matrix.at(other, one)?).powi(2) / 2.0);
    let squares: Vec<f64> = pairs(matrix.count()).filter_map(both).collect();
    let directions = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
    let chance = matrix.standard_error.unwrap_or(directions).max(matrix.unit.rounding());
    let values = || matrix.known().map(|(_, _, value)| value);
    let rms = (flat.squares / values().count().max(1) as f64).sqrt();
    (rms > MISFIT * chance).then(|| [values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max)])
}

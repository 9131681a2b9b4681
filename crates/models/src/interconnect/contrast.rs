//! What firmware says of distances beside what was measured: "SLIT says all 20; measured two classes".

use stats::Order;

use super::graph::Graph;
use super::inference::{Inference, Verdict};
use super::matrix::Matrix;

/// Measured classes that differ by less than this share are one.
const ALIKE_SHARE: f64 = 0.05;

/// Where the distances of firmware hide or invent a difference that was measured; none if both tell the same, or nothing.
///
/// Only where the measured links are identified, or the measurement shows none: noise contradicts nobody.
pub fn contrast(firmware: &Matrix, measured: &Matrix, inference: &Inference) -> Option<String> {
    if firmware.nodes != measured.nodes || firmware.count() < 2 {
        return None;
    }
    let (remote, spread) = remote_range(firmware)?;
    if inference.verdict == Verdict::Identified {
        let hops = Graph::of_numbered(&measured.nodes, &inference.edges)?.hops()?;
        let seen = classes(measured, |row, column| hops.between(row, column));
        let remote_classes = seen.iter().filter(|(links, _)| *links > 0).count();
        let differ = seen.last()?.1 / seen.iter().find(|(links, _)| *links > 0)?.1;
        if spread > 0.0 || remote_classes < 2 || differ < 1.0 + ALIKE_SHARE {
            return None;
        }
        let words: Vec<String> = seen
            .iter()
            .map(|(links, mean)| match links {
                0 => format!("own memory {mean:.0} {}", measured.unit.name()),
                1 => format!("one link {mean:.0}"),
                more => format!("{more} links {mean:.0}"),
            })
            .collect();
        return Some(format!(
            "SLIT says all {remote:.0}; measured {remote_classes} classes of other nodes: {}",
            words.join(", ")
        ));
    }
    let is_flat = inference.edges.is_empty();
    let (mean, range) = remote_range(measured)?;
    (is_flat && spread > 0.0 && range / mean < ALIKE_SHARE).then(|| {
        format!(
            "SLIT tells {} distances of other nodes; measured all are {mean:.0} {}: what it tells does not show, as in a guest or with memory interleaved over nodes",
            distance_count(firmware),
            measured.unit.name()
        )
    })
}

/// Mean of the entries between different nodes, and what the largest is above the smallest.
fn remote_range(matrix: &Matrix) -> Option<(f64, f64)> {
    let remote: Vec<f64> =
        matrix.known().filter(|(row, column, _)| row != column).map(|(_, _, value)| value).collect();
    let (least, most) =
        remote.iter().fold((f64::MAX, 0.0_f64), |(least, most), one| (least.min(*one), most.max(*one)));
    (!remote.is_empty()).then(|| (stats::mean(&remote), most - least))
}

/// How many distances of other nodes there are.
fn distance_count(matrix: &Matrix) -> usize {
    let mut remote: Vec<f64> =
        matrix.known().filter(|(row, column, _)| row != column).map(|(_, _, value)| value).collect();
    remote.sort_by(f64::total_cmp);
    remote.dedup();
    remote.len()
}

/// Mean of each class of entries, by rising class.
fn classes(matrix: &Matrix, class: impl Fn(usize, usize) -> u32) -> Vec<(u32, f64)> {
    let mut sums: Vec<(u32, f64, f64)> = Vec::new();
    for (row, column, value) in matrix.known() {
        let of = class(row, column);
        match sums.iter_mut().find(|(other, ..)| *other == of) {
            Some((_, sum, count)) => (*sum, *count) = (*sum + value, *count + 1.0),
            None => sums.push((of, value, 1.0)),
        }
    }
    sums.order_by_key(|(of, ..)| *of);
    sums.into_iter().map(|(of, sum, count)| (of, sum / count)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::inference::infer;
    use super::super::latency::{Coherence, ReadTimes};
    use super::super::matrix::Unit;
    use super::*;

    fn slit(rows: &[[u32; 4]; 4]) -> Matrix {
        let rows: Vec<Vec<u32>> = rows.iter().map(|row| row.to_vec()).collect();
        Matrix::of_distances((0..4).collect(), &rows).expect("distances")
    }

    fn measured(times: ReadTimes) -> Matrix {
        let links = [[0, 1], [0, 2], [1, 3], [2, 3]];
        let hops = Graph::of_links(4, &links).expect("a square").hops().expect("connected");
        let rows = times.matrix_ns(&hops, Coherence::ProbeFilter);
        let rows: Vec<Vec<Option<f64>>> =
            rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
        Matrix::of_rows(Unit::Nanoseconds, &rows).expect("a matrix")
    }

    const FLAT: [[u32; 4]; 4] = [[10, 20, 20, 20], [20, 10, 20, 20], [20, 20, 10, 20], [20, 20, 20, 10]];
    const SQUARE: [[u32; 4]; 4] = [[10, 16, 16, 22], [16, 10, 22, 16], [16, 22, 10, 16], [22, 16, 16, 10]];

    #[test]
    fn distances_that_hide_two_classes_are_named_with_them() {
        let matrix = measured(ReadTimes { probe_ns: 0.0, dram_ns: 99.0, hop_ns: 11.5 });
        let found = contrast(&slit(&FLAT), &matrix, &infer(&matrix)).expect("they differ");
        assert_eq!(
            found,
            "SLIT says all 20; measured 2 classes of other nodes: own memory 99 ns, one link 122, 2 links 145"
        );
        assert_eq!(contrast(&slit(&SQUARE), &matrix, &infer(&matrix)), None);
    }

    #[test]
    fn distances_that_do_not_show_are_named_and_noise_contradicts_nobody() {
        let flat = measured(ReadTimes { probe_ns: 0.0, dram_ns: 99.0, hop_ns: 0.0 });
        let found = contrast(&slit(&SQUARE), &flat, &infer(&flat)).expect("they differ");
        assert!(
            found.starts_with("SLIT tells 2 distances of other nodes; measured all are 99 ns"),
            "{found}"
        );
        assert_eq!(contrast(&slit(&FLAT), &flat, &infer(&flat)), None);
        let one = Matrix::of_rows(Unit::Nanoseconds, &[vec![Some(90.0)]]).expect("a matrix");
        assert_eq!(contrast(&slit(&FLAT), &one, &infer(&one)), None);
    }
}

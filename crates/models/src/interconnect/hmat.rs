//! The latencies that ACPI HMAT tells of every pair, as a matrix: what the kernel shows of them is the best initiator only.

use machine::acpi::{Access, LocalityKind, LocalityMatrix};

use super::matrix::{Matrix, Unit};

/// The matrix of read latencies, else of any access, between the domains that have both processors and memory; none if the table has
/// fewer than two, or is empty.
pub fn hmat_latencies(matrices: &[LocalityMatrix]) -> Option<Matrix> {
    /// HMAT counts picoseconds.
    const PS_PER_NS: f64 = 1e3;
    let kinds = [Access::Read, Access::Any].map(LocalityKind::Latency);
    let of = kinds.iter().find_map(|kind| matrices.iter().find(|of| of.is_memory && of.kind == *kind))?;
    let mut domains: Vec<u32> =
        of.initiators.iter().copied().filter(|domain| of.targets.contains(domain)).collect();
    domains.sort_unstable();
    domains.dedup();
    let place = |list: &[u32], domain: u32| list.iter().position(|other| *other == domain);
    let entry = |from: u32, to: u32| {
        let place = place(&of.initiators, from)? * of.targets.len() + place(&of.targets, to)?;
        of.entries.get(place).copied().flatten().map(|picoseconds| picoseconds as f64 / PS_PER_NS)
    };
    let row = |from: &u32| domains.iter().map(|to| entry(*from, *to)).collect::<Vec<_>>();
    let rows: Vec<Vec<Option<f64>>> = domains.iter().map(row).collect();
    let has_any = rows.iter().flatten().any(Option::is_some);
    let mut matrix =
        Matrix::of_rows(Unit::Nanoseconds, &rows).ok().filter(|_| domains.len() > 1 && has_any)?;
    matrix.nodes = domains;
    Some(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: [u64; 6]) -> LocalityMatrix {
        LocalityMatrix {
            kind: LocalityKind::Latency(Access::Read),
            is_memory: true,
            initiators: vec![1, 0],
            targets: vec![0, 1, 2],
            entries: entries.map(|entry| Some(entry).filter(|entry| *entry > 0)).to_vec(),
        }
    }

    #[test]
    fn rows_and_columns_are_put_in_the_order_of_the_nodes_and_memory_alone_is_left_out() {
        let matrix = hmat_latencies(&[table([130_000, 80_000, 300_000, 79_000, 131_000, 310_000])]);
        let matrix = matrix.expect("two nodes");
        assert_eq!((matrix.nodes.as_slice(), matrix.at(0, 0)), ([0, 1].as_slice(), Some(79.0)));
        assert_eq!(
            (matrix.at(0, 1), matrix.at(1, 0), matrix.at(1, 1)),
            (Some(131.0), Some(130.0), Some(80.0))
        );
        assert_eq!(hmat_latencies(&[table([0; 6])]), None);
        assert_eq!(hmat_latencies(&[]), None);
    }
}

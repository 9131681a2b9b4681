//! A matrix of latencies in any format, and the links that are inferred from a small one; and a machine of linked sockets.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;

/// Larger ones are searched for longer than an input may take.
const NODES_MAX: usize = 5;
/// Of CPUs only groups are linked.
const CPUS_MAX: usize = 10;

fuzz_target!(|text: &str| {
    if let Ok(read) = models::interconnect::read_matrix(text) {
        let matrix = read.matrix;
        assert_eq!(matrix.nodes.len(), matrix.count());
        let is_of_cpus = matrix.members == models::interconnect::Member::Cpus;
        if matrix.count() <= NODES_MAX || is_of_cpus && matrix.count() <= CPUS_MAX {
            let found = models::interconnect::infer(&matrix);
            assert!((0.0..=1.0).contains(&found.probability));
            assert!(found.groups.iter().all(|level| level.members.concat().len() == matrix.count()));
        }
    }
    if let Ok(machine) = models::parse::<models::interconnect::SocketMachine>(text, "machine.toml") {
        let _ = models::interconnect::simulate(&machine, &models::interconnect::Variant::default());
    }
});

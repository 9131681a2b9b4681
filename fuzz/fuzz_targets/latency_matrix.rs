//! A matrix of latencies in any format, and the links that are inferred from a small one; and a machine of linked sockets.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Larger ones are searched for longer than an input may take.
const NODES_MAX: usize = 5;

fuzz_target!(|text: &str| {
    if let Ok(read) = models::interconnect::read_matrix(text) {
        let matrix = read.matrix;
        assert_eq!(matrix.nodes.len(), matrix.count());
        if matrix.count() <= NODES_MAX {
            let found = models::interconnect::infer(&matrix);
            assert!((0.0..=1.0).contains(&found.probability));
        }
    }
    if let Ok(machine) = models::interconnect::parse(text, "machine.toml") {
        let _ = models::interconnect::simulate(&machine, &models::interconnect::Variant::default(), Some(&[]));
    }
});

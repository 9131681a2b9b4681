//! Tables of ACPI, as they are and with a head that fits, and the links that are read from them.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use machine::acpi::{affinity_domains, locality_matrices};

fn read(bytes: &[u8]) {
    let _ = affinity_domains(bytes);
    if let Ok(matrices) = locality_matrices(bytes) {
        let _ = models::interconnect::hmat_latencies(&matrices);
    }
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // A fuzzer does not find checksums: the same structures below a head that is right.
    for name in ["SRAT", "HMAT"] {
        let mut table = vec![0_u8; 40 + 8 * usize::from(name == "SRAT")];
        table[..4].copy_from_slice(name.as_bytes());
        table.extend_from_slice(bytes);
        let length = table.len() as u32;
        table[4..8].copy_from_slice(&length.to_le_bytes());
        let sum = table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        table[9] = 0_u8.wrapping_sub(sum);
        read(&table);
    }
});

//! Measured sockets from a file: what a model makes of them, and what they are gated on.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;

/// Larger machines are searched for longer than an input may take.
const NODES_MAX: usize = 5;

fuzz_target!(|bytes: &[u8]| {
    let Ok(measured) = record::decode_sockets(bytes) else { return };
    let mut nodes: Vec<u32> = measured.sockets.latency.iter().map(|one| one.node.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.len() <= NODES_MAX {
        let account = diagnosis::socket_account(&measured.sockets, None);
        assert_eq!(account.rows.len(), measured.sockets.subjects.len());
        let good = diagnosis::GoodMachine { name: "itself", sockets: &measured.sockets };
        for good in [None, Some(good)] {
            let _ = diagnosis::socket_gate(&measured.sockets, &account, good);
        }
    }
});

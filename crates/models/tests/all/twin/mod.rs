//! The simulator counts what a plain machine of lists counts, on random machines and random programs.

mod naive;

use models::memory::{CacheGeometry, Fill, Geometry, PageTableReads, Simulator, TlbGeometry};
use naive::Naive;
use proptest::prelude::*;

fn fill() -> impl Strategy<Value = Fill> {
    prop_oneof![Just(Fill::OnMiss), Just(Fill::OnEviction)]
}

fn reads() -> impl Strategy<Value = PageTableReads> {
    prop_oneof![
        Just(PageTableReads::Cached),
        Just(PageTableReads::LastUncached),
        Just(PageTableReads::AllUncached)
    ]
}

prop_compose! {
    fn cache(sets: usize)(sets in 1..=sets, ways in 1_usize..20, fill in fill()) -> CacheGeometry {
        CacheGeometry { sets, ways, fill }
    }
}

prop_compose! {
    fn tlb()(sets in 1_usize..9, ways in 1_usize..13) -> TlbGeometry {
        TlbGeometry { sets, ways }
    }
}

prop_compose! {
    fn machine()(
        caches in prop::collection::vec(cache(24), 1..=4),
        first_tlb in tlb(),
        second_tlb in tlb(),
        walk_cache_entries in 0_usize..6,
        walker_reads_from in 0_usize..4,
        page_table_levels in 1_u32..=5,
        page_table_reads in reads(),
        stop_shift in 0_u32..7,
    ) -> Geometry {
        Geometry {
            line_bytes: 64,
            page_bytes: 4096,
            walker_reads_from: walker_reads_from.min(caches.len() - 1),
            caches,
            first_tlb,
            second_tlb,
            walk_cache_entries,
            page_table_levels,
            page_table_reads,
            stream_stop_lines: 1 << stop_shift,
        }
    }
}

/// Pieces of a program: walks of a few steps by some stride from some place.
fn program() -> impl Strategy<Value = Vec<u64>> {
    let stride = prop_oneof![Just(64_i64), Just(-64), Just(16), Just(4096), -9000_i64..9000];
    // Most starts are near each other, so that lines come again; some are a page-table level away.
    let start = prop_oneof![4 => 1_u64 << 20..(1 << 20) + (1 << 16), 2 => 1_u64 << 20..1 << 24, 1 => 1_u64 << 20..1 << 36];
    let piece = (start, stride, 1_i64..40);
    prop::collection::vec(piece, 1..60).prop_map(|pieces| {
        let walk = |(start, stride, steps): (u64, i64, i64)| {
            (0..steps).map(move |step| start.saturating_add_signed(step * stride))
        };
        pieces.into_iter().flat_map(walk).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_counter_is_that_of_the_plain_machine(geometry in machine(), program in program()) {
        let mut simulator = Simulator::new(&geometry);
        let mut naive = Naive::new(&geometry);
        for address in program {
            simulator.access(address);
            naive.access(address);
        }
        prop_assert_eq!(simulator.take_counters(), naive.counters);
    }
}

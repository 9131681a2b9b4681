//! Which numbers of a fitted model may be shown: those that it was held against a measurement for, and met it.
//!
//! The surface of the check-up ends at 32 MiB. Where a last cache holds that, nothing in it tells what memory takes, and a fit
//! puts anything there: two fits of one minute then differ by three times in all that rests on memory. So a chain through a
//! block beyond must have been measured, and the model must meet it.

use machine::Bytes;

use super::description::Unit;
use super::measured::{Measured, MeasuredChain, memory_read};
use super::measured_result::{BEYOND_CACHES, ChainResidual, MeasuredFit, SPREAD_BLOCK};
use super::simulation::{Row, Simulation};
use crate::published::missed_percent;

/// A fit that misses a measurement by more than this predicts nothing there.
pub const MISSED_PERCENT: f64 = 25.0;
/// A chain through this part of the block that is all over memory, or more, is evidence of it.
const EVIDENCE_SHARE: u64 = 4;
/// What a row may change without that counts as resting on what is added: rounding.
const MOVED_PERCENT: f64 = 0.05;

/// Sets what was measured beside the predictions without the workaround.
pub(super) fn join(simulation: &mut Simulation, measured: &Measured) {
    for row in &mut simulation.rows {
        let chain = measured.chains.iter().find(|chain| {
            row.unit == Unit::Nanoseconds
                && (chain.block_bytes, chain.stride_bytes) == (row.block_bytes, row.stride_bytes)
        });
        let read = memory_read(measured).filter(|_| row.unit == Unit::MegabytesPerSecond);
        row.measured = chain.map(|chain| chain.ns).or(read.map(|read| read.mb_per_s));
        row.error_off_percent = missed_percent(Some(row.off), row.measured);
    }
}

/// Takes back the numbers that nothing stands behind: they become NaN, with the reason beside them.
pub(super) fn withhold(simulation: &mut Simulation, fit: &mut MeasuredFit, line: Bytes) {
    fit.memory_withheld = memory_doubt(fit, line);
    for row in &mut simulation.rows {
        let own = own_doubt(row, fit.memory_withheld.as_deref());
        let rests_on_memory = moves(row.off, row.on);
        if own.is_some() {
            row.off = f64::NAN;
        }
        row.withheld = own.or_else(|| fit.memory_withheld.clone().filter(|_| rests_on_memory));
        if row.withheld.is_some() {
            row.on = f64::NAN;
            row.parts_on.clear();
            row.parts_off.clear();
        }
    }
    if fit.memory_withheld.is_some() {
        let is_in_caches = |block: Bytes, off: f64, on: f64| block <= fit.last_cache_bytes && !moves(off, on);
        simulation.bandwidth.retain(|one| is_in_caches(one.block_bytes, one.off_mb_per_s, one.on_mb_per_s));
        simulation.surface.retain(|one| is_in_caches(one.block_bytes, one.off_ns, one.on_ns));
        fit.scenarios.clear();
        fit.fitted.retain(|one| one.parameter != BEYOND_CACHES);
        simulation.strides.clear();
        (simulation.parameters.dram_ns, simulation.parameters.uncached_read_ns) = (f64::NAN, f64::NAN);
    }
}

/// True if the workaround changes the number: it rests on what a read of memory takes.
fn moves(off: f64, on: f64) -> bool {
    (on / off - 1.0).abs() * 100.0 > MOVED_PERCENT
}

/// Why what rests on the latency of memory is withheld; `None` if it is not.
fn memory_doubt(fit: &MeasuredFit, line: Bytes) -> Option<String> {
    let is_evidence = |chain: &&ChainResidual| {
        chain.stride_bytes == line && chain.block_bytes.0 >= SPREAD_BLOCK.0 / EVIDENCE_SHARE
    };
    let Some(evidence) = fit.chains.iter().filter(is_evidence).max_by_key(|chain| chain.block_bytes) else {
        return Some(format!(
            "no random chain in base pages through {} or more was measured; sidestep run --only memory measures one",
            Bytes(SPREAD_BLOCK.0 / EVIDENCE_SHARE)
        ));
    };
    let is_missed = evidence.error_percent.abs() > MISSED_PERCENT;
    is_missed.then(|| {
        format!(
            "the fit misses the chain measured through {} by {:+.0} %",
            evidence.block_bytes, evidence.error_percent
        )
    })
}

/// Why the number without the workaround is withheld.
fn own_doubt(row: &Row, memory: Option<&str>) -> Option<String> {
    match row.error_off_percent {
        Some(error) if error.abs() > MISSED_PERCENT => {
            Some(format!("the fit misses what was measured by {error:+.0} %"))
        }
        Some(_) => None,
        None if row.block_bytes == SPREAD_BLOCK => memory.map(str::to_owned),
        None => Some("nothing was measured to hold it against".to_owned()),
    }
}

/// The largest block of a surface: chains beyond it are evidence of memory.
pub(super) fn largest_of_stride(measured: &Measured, stride: Bytes) -> Bytes {
    let of_stride = |chain: &&MeasuredChain| chain.stride_bytes == stride;
    measured.chains.iter().filter(of_stride).map(|chain| chain.block_bytes).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::costs::Parameters;
    use super::super::fit::Identified;
    use super::super::geometry::PagePlacement;
    use super::super::simulation::{Part, StrideDifference, SurfaceCell};
    use super::*;
    use crate::published::error_percent;

    const LINE: Bytes = Bytes(64);

    fn row(name: &str, block_bytes: Bytes, [off, on]: [f64; 2], measured: Option<f64>) -> Row {
        Row {
            name: name.to_owned(),
            title: String::new(),
            unit: Unit::Nanoseconds,
            block_bytes,
            stride_bytes: LINE,
            board_off: String::new(),
            board_on: String::new(),
            off,
            on,
            withheld: None,
            measured,
            published_off: None,
            published_on: None,
            error_off_percent: measured.map(|measured| error_percent(off, measured)),
            error_on_percent: None,
            published_source: None,
            parts_off: Vec::new(),
            parts_on: Vec::new(),
        }
    }

    fn simulation() -> Simulation {
        let stride = StrideDifference { stride_bytes: LINE, off_ns: 1.0, on_ns: 2.0 };
        Simulation {
            schema: 1,
            machine: String::new(),
            title: String::new(),
            workaround: String::new(),
            boards: Vec::new(),
            places: Vec::new(),
            rows: vec![
                row("l1_ns", Bytes(16 << 10), [1.2, 1.2], Some(1.25)),
                row("l3_ns", Bytes(8 << 20), [20.0, 90.0], Some(22.0)),
                row("random_200mb_ns", SPREAD_BLOCK, [150.0, 600.0], None),
            ],
            strides: vec![stride],
            parameters: Parameters {
                dram_ns: 80.0,
                uncached_read_ns: 100.0,
                walk_core_cycles: 20.0,
                startup_lines: 1.0,
                outstanding_lines: 8.0,
            },
            bandwidth: Vec::new(),
            surface: Vec::new(),
            fit: None,
            measured: None,
        }
    }

    fn fit(evidence: Option<f64>) -> MeasuredFit {
        let chain = |error_percent: f64| ChainResidual {
            block_bytes: Bytes(64 << 20),
            stride_bytes: LINE,
            place: "memory".to_owned(),
            measured_ns: 150.0,
            fitted_ns: 150.0,
            error_percent,
            tolerance_percent: 5.0,
        };
        MeasuredFit {
            fitted: ["L3 ns", BEYOND_CACHES].map(identified).to_vec(),
            last_cache_bytes: Bytes(32 << 20),
            last_cache_claimed_bytes: Bytes(32 << 20),
            claimed_worse: 1.0,
            page_placement: PagePlacement::Scattered,
            other_placement_worse: 1.0,
            chains: evidence.map(chain).into_iter().collect(),
            regions: Vec::new(),
            median_error_percent: 1.0,
            scenarios: Vec::new(),
            phenom_reads_in_loads: 1.57,
            is_guest: false,
            memory_withheld: None,
        }
    }

    fn identified(parameter: &str) -> Identified {
        Identified { parameter: parameter.to_owned(), value: 33.3, uncertainty_percent: Some(15.0) }
    }

    #[test]
    fn what_is_withheld_stands_nowhere_else_either() {
        for (evidence, names) in [(None, vec!["L3 ns"]), (Some(1.0), vec!["L3 ns", BEYOND_CACHES])] {
            let (mut simulation, mut fit) = (simulation(), fit(evidence));
            let memory = Part { name: "memory".to_owned(), ns: 21.0 };
            for row in &mut simulation.rows {
                (row.parts_off, row.parts_on) = (vec![memory.clone()], vec![memory.clone()]);
            }
            let cell = |block_bytes: Bytes, on_ns: f64| SurfaceCell {
                block_bytes,
                stride_bytes: LINE,
                off_ns: 20.0,
                on_ns,
                level: String::new(),
            };
            simulation.surface =
                vec![cell(Bytes(1 << 20), 20.0), cell(Bytes(8 << 20), 90.0), cell(SPREAD_BLOCK, 20.0)];
            withhold(&mut simulation, &mut fit, LINE);
            let kept: Vec<&str> = fit.fitted.iter().map(|one| one.parameter.as_str()).collect();
            assert_eq!(kept, names);
            let is_told = evidence.is_some();
            assert_eq!(simulation.parameters.dram_ns.is_finite(), is_told);
            assert_eq!(simulation.surface.len(), if is_told { 3 } else { 1 });
            let parts: Vec<usize> = simulation.rows.iter().map(|row| row.parts_off.len()).collect();
            assert_eq!(parts, if is_told { [1, 1, 1] } else { [1, 0, 0] });
        }
    }

    /// Which numbers, off and on, are shown of each row.
    fn shown(simulation: &mut Simulation, evidence: Option<f64>) -> Vec<[bool; 2]> {
        withhold(simulation, &mut fit(evidence), LINE);
        simulation.rows.iter().map(|row| [row.off.is_finite(), row.on.is_finite()]).collect()
    }

    #[test]
    fn what_rests_on_memory_is_told_only_beside_a_chain_through_memory_that_the_fit_meets() {
        let (all, without) = ([[true, true]; 3], [[true, true], [true, false], [false, false]]);
        assert_eq!(shown(&mut simulation(), Some(-8.0)), all);
        let mut unsupported = simulation();
        assert_eq!(shown(&mut unsupported, None), without);
        assert!(unsupported.strides.is_empty(), "what the workaround adds by stride rests on memory");
        let why = unsupported.rows[2].withheld.as_deref().unwrap_or_default();
        assert!(why.starts_with("no random chain in base pages through 50 MiB"), "{why}");
        let mut missed = simulation();
        assert_eq!(shown(&mut missed, Some(-60.0)), without);
        let why = missed.rows[1].withheld.as_deref().unwrap_or_default();
        assert_eq!(why, "the fit misses the chain measured through 64 MiB by -60 %");
    }

    #[test]
    fn a_row_that_the_fit_misses_or_that_nothing_was_measured_of_has_no_number() {
        let mut poor = simulation();
        poor.rows[0] = row("l1_ns", Bytes(16 << 10), [1.2, 1.2], Some(1.9));
        poor.rows[1].error_off_percent = None;
        assert_eq!(shown(&mut poor, Some(1.0)), [[false, false], [false, false], [true, true]]);
        let why: Vec<&str> = poor.rows.iter().filter_map(|row| row.withheld.as_deref()).collect();
        let nothing = "nothing was measured to hold it against";
        assert_eq!(why, ["the fit misses what was measured by -37 %", nothing]);
    }
}

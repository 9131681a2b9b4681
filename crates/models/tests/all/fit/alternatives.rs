//! The choices that no document makes, each fitted: what would speak for another one.

use machine::Bytes;

use super::memory::{Datum, Residual, Traces, fit, without};
use models::memory::{MemoryMachine, PageTableReads};

/// Strides that a published latency test may have used: powers of two from two lines to a page.
const STRIDES: [Bytes; 6] = [Bytes(128), Bytes(256), Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)];
/// Levels of page tables on x86: two of 32-bit paging, three and four of larger address spaces.
const LEVELS: [u32; 3] = [2, 3, 4];

/// One set of choices and its fit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alternative {
    /// How page tables are read with the workaround on.
    pub(crate) page_table_reads: PageTableReads,
    /// Levels of the page table on boards where the file has fitted them.
    pub(crate) page_table_levels: Option<u32>,
    /// The stride of tests where the file has fitted it.
    pub(crate) stride_bytes: Option<Bytes>,
    /// Sum of squared errors in units of tolerance.
    pub(crate) squares: f64,
    /// The largest error in units of its tolerance.
    pub(crate) worst: f64,
    /// The fit's parameter for one read past all caches.
    pub(crate) uncached_read_ns: f64,
    /// Sum of squares of the fit without the number that is held out, where the file names one.
    pub(crate) squares_without: Option<f64>,
    /// That number by that fit.
    pub(crate) held_out: Option<Residual>,
}

/// Every combination of what the file labels as fitted and is not a number on a scale, best first.
pub(crate) fn alternatives(machine: &MemoryMachine, data: &[Datum], traces: &mut Traces) -> Vec<Alternative> {
    let reads = if machine.workaround.page_table_reads.is_fitted() {
        vec![PageTableReads::AllUncached, PageTableReads::LastUncached]
    } else {
        vec![machine.workaround.page_table_reads.value]
    };
    let any_level = machine.board.iter().any(|board| board.page_table_levels.is_fitted());
    let levels = if any_level { LEVELS.map(Some).to_vec() } else { vec![None] };
    let any_stride = data.iter().any(|datum| datum.test.stride_bytes.is_fitted());
    let strides = if any_stride { STRIDES.map(Some).to_vec() } else { vec![None] };
    let mut found = Vec::new();
    for reads in reads {
        // With one uncached read per walk, the number of levels changes nothing.
        let levels =
            if reads == PageTableReads::LastUncached { &levels[levels.len() - 1..] } else { &levels };
        for levels in levels {
            for stride in &strides {
                found.extend(one(machine, data, traces, (reads, *levels, *stride)));
            }
        }
    }
    found.sort_by(|a, b| a.squares.total_cmp(&b.squares));
    found
}

fn one(
    machine: &MemoryMachine,
    data: &[Datum],
    traces: &mut Traces,
    (reads, levels, stride): (PageTableReads, Option<u32>, Option<Bytes>),
) -> Option<Alternative> {
    let mut machine = machine.clone();
    machine.workaround.page_table_reads.value = reads;
    if let Some(levels) = levels {
        let fitted = machine.board.iter_mut().filter(|board| board.page_table_levels.is_fitted());
        fitted.for_each(|board| board.page_table_levels.value = levels);
    }
    let mut data = data.to_vec();
    if let Some(stride) = stride {
        let fitted = data.iter_mut().filter(|datum| datum.test.stride_bytes.is_fitted());
        fitted.for_each(|datum| datum.test.stride_bytes.value = stride);
    }
    let whole = fit(&machine, &data, traces)?;
    let left_out = data.iter().position(|datum| datum.hold_out);
    let shown = left_out.and_then(|index| without(&machine, &data, index, traces));
    Some(Alternative {
        page_table_reads: reads,
        page_table_levels: levels.filter(|_| reads == PageTableReads::AllUncached),
        stride_bytes: stride,
        squares: whole.squares,
        worst: whole.worst(),
        uncached_read_ns: whole.parameters.uncached_read_ns,
        squares_without: shown.as_ref().map(|(fit, _)| fit.squares),
        held_out: shown.map(|(_, shown)| shown),
    })
}

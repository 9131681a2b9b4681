//! Probes of cores: control loops, line transfer, sharing, compute, waking.
//!
//! | what | module |
//! |---|---|
//! | frequency and share of each core | [`control`] |
//! | one cache line bounced between two CPUs | [`transfer`] |
//! | what two CPUs share: slowdown of one loop by another | [`sharing`], its loops in `load` |
//! | compute that memory cannot touch | [`compute`] |
//! | one atomic addition by each kind of instructions, where there is a choice | [`atomics`] |
//! | wake-up latency of an idle CPU | [`wake`] |
//! | handing a turn to another thread, on one CPU and on two | [`handover`] |
//! | visits in shuffled rounds, from windows to numbers | `rounds` |

pub mod atomics;
pub mod compute;
pub mod control;
pub mod handover;
mod load;
mod rounds;
pub mod sharing;
pub mod transfer;
pub mod wake;

use host::live::{AffinityError, MappingError};

/// Why a probe of cores ended early; what it had measured until then is in the record.
#[derive(Debug, thiserror::Error)]
pub enum CoresError {
    /// A CPU may not be used.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// No memory for the loops.
    #[error(transparent)]
    Mapping(#[from] MappingError),
}

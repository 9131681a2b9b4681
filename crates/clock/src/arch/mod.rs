//! What differs between architectures: the counter, the CPU it was read on, and what is known of both. Each file has the same names.
//!
//! | | x86-64 | arm64 | others |
//! |---|---|---|---|
//! | counter | time-stamp counter | virtual count of the generic timer | none: the kernel's raw clock |
//! | ordered by | LFENCE, MFENCE | ISB, or by itself (FEAT_ECV) | |
//! | rate as stated | | CNTFRQ_EL0 | |
//! | CPU and counter as one | RDTSCP, rseq, RDPID, segment | rseq | |

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use other::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

use std::sync::OnceLock;

use crate::stamp::Features;

impl Features {
    /// Those of this machine; found once.
    #[inline]
    pub(crate) fn of_this_machine() -> Self {
        static FEATURES: OnceLock<Features> = OnceLock::new();
        *FEATURES.get_or_init(features)
    }
}

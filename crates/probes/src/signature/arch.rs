//! Loops of signatures, by architecture.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::measure;

#[cfg(not(target_arch = "x86_64"))]
use super::{SignatureProbe, SignatureSetup};
#[cfg(not(target_arch = "x86_64"))]
use record::{Reading, SignatureReading};

/// There are none.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn measure(
    _: SignatureProbe,
    _: &SignatureSetup<'_>,
) -> Result<Reading<SignatureReading>, String> {
    Err(format!("no signature loops for {}", std::env::consts::ARCH))
}

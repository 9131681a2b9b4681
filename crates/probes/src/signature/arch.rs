//! Loops of signatures, by architecture.

#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{measure, refuse};

#[cfg(not(target_arch = "x86_64"))]
use super::{SignatureProbe, SignatureSetup};
#[cfg(not(target_arch = "x86_64"))]
use record::{Reading, SignatureReading};

/// Nothing is known here that only an emulator does.
#[cfg(not(target_arch = "x86_64"))]
#[expect(clippy::unnecessary_wraps, reason = "of the shape that x86-64 has")]
pub(super) fn refuse(_: &SignatureSetup<'_>) -> Result<(), String> {
    Ok(())
}

/// There are none.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn measure(
    _: SignatureProbe,
    _: &SignatureSetup<'_>,
) -> Result<Reading<SignatureReading>, String> {
    Err(format!("no signature loops for {}", std::env::consts::ARCH))
}

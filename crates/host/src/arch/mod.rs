//! What this crate has to know of the architecture that it is built for: the same names in a file for each.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as here;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use other as here;
#[cfg(target_arch = "x86_64")]
use x86_64 as here;

pub(crate) use here::{HAS_CPUID, SAMPLED_REGISTERS, cpuid};

/// What this architecture is called in texts: `x86`, `arm64`.
pub const NAME: &str = here::NAME;

/// Why samples of registers cannot be decoded here; `None` where they can.
pub fn no_decoder() -> Option<String> {
    SAMPLED_REGISTERS
        .is_none()
        .then(|| format!("sidestep decodes instructions of x86 only, and this is {NAME}"))
}

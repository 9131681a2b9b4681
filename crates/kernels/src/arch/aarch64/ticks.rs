//! Reads of the virtual count, with and without order.

use core::ffi::c_ulong;

use crate::arch::With;

named! {
    /// A way to read the virtual count of the generic timer. Arm ARM (DDI 0487), D12: a read may be done early; ISB keeps it in program order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TickRead {
        /// `mrs cntvct_el0`: may execute before earlier loads are done.
        Cntvct = "cntvct",
        /// `isb; mrs cntvct_el0`: in program order, as Linux reads it.
        IsbCntvct = "isb_cntvct",
        /// `mrs cntvctss_el0`: ordered by itself (FEAT_ECV).
        Cntvctss = "cntvctss",
    }
}

impl TickRead {
    /// The bare counter.
    pub const BARE: Self = Self::Cntvct;
    /// The counter behind a fence.
    pub const FENCED: Self = Self::IsbCntvct;
    /// The ordered read that stands for the counter beside other clocks.
    pub const USUAL: Self = Self::IsbCntvct;
    /// A read that is ordered without a fence.
    pub const UNFENCED: Self = Self::Cntvctss;

    /// Whether the read waits for earlier loads, so that time cannot go back between threads in step.
    pub const fn is_ordered(self) -> bool {
        !matches!(self, Self::Cntvct)
    }

    /// Whether this CPU has the register.
    pub(crate) fn is_here(self) -> bool {
        self != Self::Cntvctss || orders_itself()
    }

    /// What `with` makes of the read, which is compiled for each on its own; the CPU has the register.
    #[inline(always)]
    pub(crate) fn with<R>(self, with: impl With<R>) -> R {
        match self {
            Self::Cntvct => with.read(cntvct),
            Self::IsbCntvct => with.read(isb_cntvct),
            Self::Cntvctss => with.read(cntvctss),
        }
    }
}

/// The second word of features. Linux, include/uapi/linux/auxvec.h.
const AT_HWCAP2: c_ulong = 26;
/// FEAT_ECV. Linux, arch/arm64/include/uapi/asm/hwcap.h, HWCAP2_ECV.
const HWCAP2_ECV: c_ulong = 1 << 19;

unsafe extern "C" {
    /// What the kernel gave the process of this kind.
    safe fn getauxval(kind: c_ulong) -> c_ulong;
}

fn orders_itself() -> bool {
    getauxval(AT_HWCAP2) & HWCAP2_ECV != 0
}

/// Reads by these instructions, as one block that the compiler moves no memory access across.
macro_rules! read_ticks {
    ($($instruction:literal),+) => {{
        let ticks: u64;
        // SAFETY: a register is written; Linux lets user mode read the virtual count, or answers for it, and `is_here` has
        // found FEAT_ECV for the register of that.
        unsafe { core::arch::asm!($($instruction,)+ out(reg) ticks, options(nostack, preserves_flags)) };
        ticks
    }};
}

#[inline(always)]
fn cntvct() -> u64 {
    read_ticks!("mrs {}, cntvct_el0")
}

#[inline(always)]
fn isb_cntvct() -> u64 {
    read_ticks!("isb", "mrs {}, cntvct_el0")
}

/// By its number: CNTVCTSS_EL0, which not every assembler knows.
#[inline(always)]
fn cntvctss() -> u64 {
    read_ticks!("mrs {}, S3_3_C14_C0_6")
}

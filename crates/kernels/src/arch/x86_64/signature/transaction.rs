//! Empty hardware transactions: XBEGIN and XEND.
//!
//! ```text
//! repeat rounds:  4 x  status = -1;  begin, to the next step on abort (xbegin);  end (xend);
//!                      committed = committed + (status = -1)
//! ```
//! Per round 4 transactions, no load, no store. An aborted one leaves its reason in EAX, a committed one leaves EAX alone
//! (Intel SDM vol. 1, chapter "Programming with Intel TSX"). Where TSX is switched off by microcode each aborts at once
//! (`RTM_ALWAYS_ABORT`).

use core::arch::x86_64::{__cpuid, __cpuid_count};

/// Transactions of one round.
pub const TRANSACTIONS_PER_ROUND: u64 = 4;

/// The CPUID leaf of structured extended features. Intel SDM vol. 2A, "CPUID".
const CPUID_STRUCTURED_FEATURES: u32 = 7;
/// RTM is present: CPUID leaf 7, EBX bit 11. Intel SDM vol. 2A, "CPUID".
const EBX_RTM: u32 = 1 << 11;

/// Proof that this CPU has restricted transactional memory.
#[derive(Debug, Clone, Copy)]
pub struct Transactions(());

impl Transactions {
    /// `Some` if this CPU has XBEGIN.
    pub fn new() -> Option<Self> {
        let has_leaf = __cpuid(0).eax >= CPUID_STRUCTURED_FEATURES;
        let is_present = has_leaf && __cpuid_count(CPUID_STRUCTURED_FEATURES, 0).ebx & EBX_RTM != 0;
        is_present.then_some(Self(()))
    }

    /// Begins `rounds * TRANSACTIONS_PER_ROUND` transactions and returns how many were committed.
    #[inline(never)]
    pub fn run(self, rounds: u64) -> u64 {
        let mut committed = 0u64;
        if rounds == 0 {
            return committed;
        }
        // SAFETY: `new` has found the instructions; an abort jumps to label 3 with EAX written; registers only, all named.
        unsafe {
            core::arch::asm!(
                rounds!(
                    4,
                    "mov eax, -1",
                    "xbegin 3f",
                    "xend",
                    "3:",
                    "cmp eax, -1",
                    "sete {is_committed}",
                    "movzx eax, {is_committed}",
                    "add {committed}, rax",
                ),
                is_committed = out(reg_byte) _,
                committed = inout(reg) committed,
                out("rax") _,
                rounds = inout(reg) rounds => _,
                options(nomem, nostack)
            );
        }
        committed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_transactions_are_committed_than_begun() {
        let Some(transactions) = Transactions::new() else {
            println!("skipped: no RTM on this CPU");
            return;
        };
        assert_eq!(transactions.run(0), 0);
        assert!(transactions.run(50) <= 50 * TRANSACTIONS_PER_ROUND);
    }
}

//! The loops in the assembly of x86-64.

/// Repeats instructions so many times a round, and rounds as often as the operand `rounds` says, which ends as 0. The loop begins at
/// a multiple of 64 bytes, where its place in a line costs nothing.
macro_rules! rounds {
    ($times:literal, $($line:expr),+ $(,)?) => {
        concat!(".p2align 6\n2:\n.rept ", $times, "\n", $($line, "\n",)+ ".endr\ndec {rounds}\njnz 2b")
    };
}

mod mandelbrot;
pub mod signature;
pub(crate) mod stream;
pub(crate) mod ticks;

pub(crate) use mandelbrot::picture_of;

use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::AtomicAdds;
use crate::arch::{ParallelWalk, Vectors};
use crate::cursor::{Cursor, Link};
use crate::loop_interface::{Turn, repeat};
use crate::operation::Isa;

/// The number of rounds of [`front_end_loop`](crate::front_end_loop).
pub(crate) const FRONT_END: Option<fn(u64) -> u64> = Some(front_end_rounds);

/// One instruction whatever the CPU: there is nothing to compare.
pub(crate) const ATOMIC_ADDS: &[AtomicAdds] = &[];

/// Whether this CPU has the instructions and the operating system saves their registers.
pub(crate) fn has(isa: Isa) -> bool {
    match isa {
        Isa::ScalarU64 | Isa::ScalarF64 | Isa::Sse2 => true,
        Isa::Avx2 => is_x86_feature_detected!("avx2"),
        Isa::Avx512 => is_x86_feature_detected!("avx512f"),
        Isa::Neon => false,
    }
}

/// Asks for the line of a link; never faults.
pub(crate) fn prefetch(link: *const Link) {
    // SAFETY: a prefetch is a hint and may have any address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(link.cast());
    }
}

/// Takes the word over by compare-and-swap, so many times or until `abort` is set.
#[inline(always)]
pub(crate) fn swaps(word: &AtomicU32, turn: Turn, rounds: u64, abort: &AtomicBool) -> u64 {
    repeat(rounds, abort, || {
        word.compare_exchange(turn.take, turn.leave, Ordering::AcqRel, Ordering::Acquire).is_ok()
    })
}

/// Defines the loop over the given chases, each an index and its register.
macro_rules! define_loop {
    ($name:ident: $($index:literal $register:tt),+) => {
        /// # Safety
        /// There are as many cursors as the loop has registers; `rounds` is not zero.
        unsafe fn $name(cursors: &mut [Cursor<'_>], rounds: u64) {
            // SAFETY: every cursor stands on a node of a closed ring, so each load reads a valid word.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 16",
                    $(concat!("mov ", $register, ", [", $register, "]"),)+
                    ".endr",
                    "dec r15",
                    "jnz 2b",
                    $(inout($register) cursors[$index].node,)+
                    inout("r15") rounds => _,
                    options(nostack, readonly)
                );
            }
        }
    };
}

define_loop!(walk_1: 0 "rax");
define_loop!(walk_2: 0 "rax", 1 "rcx");
define_loop!(walk_3: 0 "rax", 1 "rcx", 2 "rdx");
define_loop!(walk_4: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi");
define_loop!(walk_5: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi");
define_loop!(walk_6: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8");
define_loop!(walk_7: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9");
define_loop!(walk_8: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10");
define_loop!(walk_9: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11");
define_loop!(walk_10: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12");
define_loop!(walk_11: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13");
define_loop!(walk_12: 0 "rax", 1 "rcx", 2 "rdx", 3 "rsi", 4 "rdi", 5 "r8", 6 "r9", 7 "r10", 8 "r11", 9 "r12", 10 "r13", 11 "r14");

/// One for each register that can hold a chase: all but the stack pointer, rbx and rbp, which the compiler keeps for itself, and
/// r15, which counts the rounds.
pub(crate) const PARALLEL_WALKS: &[ParallelWalk] =
    &[walk_1, walk_2, walk_3, walk_4, walk_5, walk_6, walk_7, walk_8, walk_9, walk_10, walk_11, walk_12];

core_loops! {
    multiply: ["imul {product:e}, {factor:e}"],
    rotate: ["ror {value}, {bits}"],
    ports: [
        "add {s0}, {one}", "add {s1}, {one}", "add {s2}, {one}", "add {s3}, {one}",
        "add {s4}, {one}", "add {s5}, {one}", "add {s6}, {one}", "add {s7}, {one}"
    ],
    forward: ["add {value}, {one}", "mov qword ptr [{word}], {value}", "movzx {value:e}, word ptr [{word}]"],
    divide in xmm_reg: ["andpd {quotient}, {zero}", "orpd {quotient}, {dividend}", "divsd {quotient}, {divisor}"],
    bypass: [
        "mov {late:e}, {node:e}",
        ".rept 5",
        "imul {late:e}, {factor:e}",
        ".endr",
        "shr {late:e}, {shift}",
        "mov [{targets} + {late} * 8], {rounds}",
        "mov {node}, [{nodes} + {node} * 8]"
    ],
    walk: ["mov {node}, [{node}]"],
    walk_offsets: ["mov {offset}, [{block} + {offset}]", "and {offset}, {mask}"],
}

/// The number of rounds made, of which there is at least one.
fn front_end_rounds(rounds: u64) -> u64 {
    let mut done = 0u64;
    // SAFETY: registers only, all named.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            ".rept 1024",
            "xor eax, eax",
            "mov ecx, edx",
            "pxor xmm0, xmm0",
            "movaps xmm1, xmm2",
            "mov esi, 0x12345678",
            "mov r8d, r9d",
            "xor edi, edi",
            "pxor xmm3, xmm3",
            ".endr",
            "inc {done}",
            "cmp {done}, {rounds}",
            "jne 2b",
            done = inout(reg) done,
            rounds = in(reg) rounds,
            out("eax") _, out("ecx") _, out("edx") _, out("esi") _, out("edi") _, out("r8d") _, out("r9d") _,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            options(nomem, nostack)
        );
    }
    done
}

/// Narrowest first.
pub(crate) const VECTORS: &[Vectors] = &[
    Vectors { isa: Isa::Sse2, is_present: || true, rounds_of: sse2 },
    Vectors {
        isa: Isa::Avx2,
        is_present: || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        rounds_of: avx2,
    },
];

/// Defines one loop: the instructions that fill registers 0 to 13, those of the loop, and those that sum into
/// xmm0.
macro_rules! vector_loop {
    ($name:ident, $features:literal, $fill:expr, $body:expr, $finish:expr) => {
        /// # Safety
        /// The CPU has the instructions; `rounds` is not zero.
        #[target_feature(enable = $features)]
        unsafe fn $name(rounds: u64) -> f64 {
            let sum: f64;
            // SAFETY: registers only, all named.
            unsafe {
                asm!(
                    $fill,
                    rounds!(8, $body),
                    $finish,
                    ".irp k,1,2,3,4,5,6,7,8,9,10,11\naddsd xmm0, xmm\\k\n.endr",
                    rounds = inout(reg) rounds => _,
                    inout("xmm12") 1.0f64 => _,
                    out("xmm0") sum, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _,
                    out("xmm5") _, out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _,
                    out("xmm10") _, out("xmm11") _, out("xmm13") _,
                    // vzeroupper clears the upper halves of these as well.
                    out("xmm14") _, out("xmm15") _,
                    options(nomem, nostack)
                );
            }
            sum
        }
    };
}

vector_loop!(
    sse2,
    "sse2",
    "unpcklpd xmm12, xmm12\nxorpd xmm13, xmm13\n.irp k,0,1,2,3,4,5,6,7,8,9,10,11\nmovapd xmm\\k, xmm12\n.endr",
    ".irp k,0,1,2,3,4,5\nmulpd xmm\\k, xmm12\n.endr\n.irp k,6,7,8,9,10,11\naddpd xmm\\k, xmm13\n.endr",
    ""
);
vector_loop!(
    avx2,
    "avx2,fma",
    "vbroadcastsd ymm12, xmm12\nvxorpd ymm13, ymm13, ymm13\n\
     .irp k,0,1,2,3,4,5,6,7,8,9,10,11\nvmovapd ymm\\k, ymm12\n.endr",
    ".irp k,0,1,2,3,4,5,6,7\nvfmadd213pd ymm\\k, ymm12, ymm13\n.endr\n\
     .irp k,8,9,10,11\nvaddpd ymm\\k, ymm\\k, ymm13\n.endr",
    "vzeroupper"
);

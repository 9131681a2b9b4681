//! The operations that store: what each does for one `\k`, in the frame of `sweep!`.
//!
//! An operation is three texts for the assembler: of integers; of SSE2 and scalar doubles; of AVX2 and AVX-512. In them
//! `\s` is the storing instruction, plain or non-temporal, `\l` the loading one, `\x` the suffix of arithmetic, `\w` the bytes of a
//! register, `\v` its name without a number, `\c` the register that holds the constant.

/// Defines all loops of an operation, and the table of them. Large blocks get `paced` AVX2 and AVX-512 loops, or those
/// that are as `fast` as the others.
macro_rules! storing_sweeps {
    ($arrays:tt, paced, $integer:expr, $legacy:expr, $vex:expr) => {
        sweep!(avx2_paced, "avx2", $arrays, 256; "vbroadcastsd ymm15, [r8]";
            eight_times!(["v" = "ymm", "c" = "ymm15", "w" = 32, "s" = "vmovapd"], $vex, ".rept 8\nnop\n.endr");
            ""; "vzeroupper");
        sweep!(avx512_paced, "avx512f", $arrays, 512; "vbroadcastsd zmm15, [r8]";
            eight_times!(["v" = "zmm", "c" = "zmm15", "w" = 64, "s" = "vmovapd"], $vex, ".rept 16\nnop\n.endr");
            ""; "vzeroupper");
        storing_sweeps!($arrays, [avx2_paced, avx512_paced], $integer, $legacy, $vex);
    };
    ($arrays:tt, fast, $integer:expr, $legacy:expr, $vex:expr) => {
        storing_sweeps!($arrays, [avx2, avx512], $integer, $legacy, $vex);
    };
    ($arrays:tt, [$avx2_large:ident, $avx512_large:ident], $integer:expr, $legacy:expr, $vex:expr) => {
        use crate::operation::Isa;
        use crate::operation::Store;
        use crate::loop_interface::Variant;

        sweep!(scalar_u64, "sse2", $arrays, 64; "mov r8d, 3"; eight_times!(["s" = "mov"], $integer);
            ""; "xor eax, eax");
        sweep!(scalar_u64_non_temporal, "sse2", $arrays, 64; "mov r8d, 3"; eight_times!(["s" = "movnti"], $integer);
            "sfence"; "xor eax, eax");
        sweep!(scalar_f64, "sse2", $arrays, 64; "movsd xmm15, [r8]";
            eight_times!(["l" = "movsd", "x" = "sd", "w" = 8, "s" = "movsd"], $legacy); ""; "");
        sweep!(sse2, "sse2", $arrays, 128; "movsd xmm15, [r8]\nunpcklpd xmm15, xmm15";
            eight_times!(["l" = "movapd", "x" = "pd", "w" = 16, "s" = "movapd"], $legacy); ""; "");
        sweep!(sse2_non_temporal, "sse2", $arrays, 128; "movsd xmm15, [r8]\nunpcklpd xmm15, xmm15";
            eight_times!(["l" = "movapd", "x" = "pd", "w" = 16, "s" = "movntpd"], $legacy); "sfence"; "");
        sweep!(avx2, "avx2", $arrays, 256; "vbroadcastsd ymm15, [r8]";
            eight_times!(["v" = "ymm", "c" = "ymm15", "w" = 32, "s" = "vmovapd"], $vex); ""; "vzeroupper");
        sweep!(avx2_non_temporal, "avx2", $arrays, 256; "vbroadcastsd ymm15, [r8]";
            eight_times!(["v" = "ymm", "c" = "ymm15", "w" = 32, "s" = "vmovntpd"], $vex); "sfence"; "vzeroupper");
        sweep!(avx512, "avx512f", $arrays, 512; "vbroadcastsd zmm15, [r8]";
            eight_times!(["v" = "zmm", "c" = "zmm15", "w" = 64, "s" = "vmovapd"], $vex); ""; "vzeroupper");
        sweep!(avx512_non_temporal, "avx512f", $arrays, 512; "vbroadcastsd zmm15, [r8]";
            eight_times!(["v" = "zmm", "c" = "zmm15", "w" = 64, "s" = "vmovntpd"], $vex); "sfence"; "vzeroupper");

        pub(crate) const VARIANTS: [Variant; 9] = [
            Variant::new(Isa::ScalarU64, Store::Plain, scalar_u64),
            Variant::new(Isa::ScalarU64, Store::NonTemporal, scalar_u64_non_temporal),
            Variant::new(Isa::ScalarF64, Store::Plain, scalar_f64),
            Variant::new(Isa::Sse2, Store::Plain, sse2),
            Variant::new(Isa::Sse2, Store::NonTemporal, sse2_non_temporal),
            Variant { sweep_large: $avx2_large, ..Variant::new(Isa::Avx2, Store::Plain, avx2) },
            Variant::new(Isa::Avx2, Store::NonTemporal, avx2_non_temporal),
            Variant { sweep_large: $avx512_large, ..Variant::new(Isa::Avx512, Store::Plain, avx512) },
            Variant::new(Isa::Avx512, Store::NonTemporal, avx512_non_temporal),
        ];
    };
}

/// Write: `a[i] = s`, 1 store and 8 bytes per element; non-temporal, this is the fill past the caches.
pub(crate) mod write {
    storing_sweeps!(1, fast, r"\s [rdi+\k*8], r8", r"\s [rdi+\k*\w], xmm15", r"\s [rdi+\k*\w], \c");
}

/// Copy: `a[i] = b[i]`, 1 load, 1 store and 16 bytes per element.
///
/// A compiler turns this loop into a call of `memcpy`, which above a size of its own choice writes past the caches;
/// assembly stays what it says.
pub(crate) mod copy {
    storing_sweeps!(
        2,
        paced,
        "mov rax, [rsi+\\k*8]\n\\s [rdi+\\k*8], rax",
        "\\l xmm\\k, [rsi+\\k*\\w]\n\\s [rdi+\\k*\\w], xmm\\k",
        "vmovapd \\v\\k, [rsi+\\k*\\w]\n\\s [rdi+\\k*\\w], \\v\\k"
    );
}

/// Scale: `a[i] = s * b[i]`, 1 load, 1 store, 1 multiplication and 16 bytes per element.
pub(crate) mod scale {
    storing_sweeps!(
        2,
        paced,
        "imul rax, [rsi+\\k*8], 3\n\\s [rdi+\\k*8], rax",
        "\\l xmm\\k, [rsi+\\k*\\w]\nmul\\x xmm\\k, xmm15\n\\s [rdi+\\k*\\w], xmm\\k",
        "vmulpd \\v\\k, \\c, [rsi+\\k*\\w]\n\\s [rdi+\\k*\\w], \\v\\k"
    );
}

/// Add: `a[i] = b[i] + c[i]`, 2 loads, 1 store, 1 addition and 24 bytes per element.
pub(crate) mod add {
    storing_sweeps!(
        3,
        paced,
        "mov rax, [rsi+\\k*8]\nadd rax, [rdx+\\k*8]\n\\s [rdi+\\k*8], rax",
        "\\l xmm\\k, [rsi+\\k*\\w]\nadd\\x xmm\\k, [rdx+\\k*\\w]\n\\s [rdi+\\k*\\w], xmm\\k",
        "vmovapd \\v\\k, [rsi+\\k*\\w]\nvaddpd \\v\\k, \\v\\k, [rdx+\\k*\\w]\n\\s [rdi+\\k*\\w], \\v\\k"
    );
}

/// Triad: `a[i] = b[i] + s * c[i]`, 2 loads, 1 store, 2 operations and 24 bytes per element.
///
/// Multiplication and addition are two instructions, each with its operand in memory. With one fused multiply-add
/// the same loop reached 207 GB/s in the L1 of a Zen 3 at 3.2 GHz, without it 305 of the 310 that two loads and a
/// store per cycle allow, under every alignment and offset of the arrays that was tried: the longer way from load to
/// store keeps stores from meeting loads in the same bank. In L2 and DRAM there is no difference. It also rounds as
/// STREAM's source does.
pub(crate) mod triad {
    storing_sweeps!(
        3,
        paced,
        "imul rax, [rdx+\\k*8], 3\nadd rax, [rsi+\\k*8]\n\\s [rdi+\\k*8], rax",
        "\\l xmm\\k, [rdx+\\k*\\w]\nmul\\x xmm\\k, xmm15\nadd\\x xmm\\k, [rsi+\\k*\\w]\n\\s [rdi+\\k*\\w], xmm\\k",
        "vmulpd \\v\\k, \\c, [rdx+\\k*\\w]\nvaddpd \\v\\k, \\v\\k, [rsi+\\k*\\w]\n\\s [rdi+\\k*\\w], \\v\\k"
    );
}

//! Copy: `a[i] = b[i]`, 1 load, 1 store and 16 bytes per element.
//!
//! A compiler turns this loop into a call of `memcpy`, which above a size of its own choice writes past the caches;
//! assembly stays what it says.

use super::sweep::storing_sweeps;

macro_rules! integer {
    ($store:literal) => {
        concat!("mov rax, [rsi+\\k*8]\n", $store, " [rdi+\\k*8], rax")
    };
}

macro_rules! legacy {
    ($load:literal, $suffix:literal, $bytes:literal, $store:literal) => {
        concat!($load, " xmm\\k, [rsi+\\k*", $bytes, "]\n", $store, " [rdi+\\k*", $bytes, "], xmm\\k")
    };
}

macro_rules! vex {
    ($register:literal, $bytes:literal, $store:literal) => {
        concat!(
            "vmovapd ",
            $register,
            "\\k, [rsi+\\k*",
            $bytes,
            "]\n",
            $store,
            " [rdi+\\k*",
            $bytes,
            "], ",
            $register,
            "\\k"
        )
    };
}

storing_sweeps!(2, integer, legacy, vex, paced);

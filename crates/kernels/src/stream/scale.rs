//! Scale: `a[i] = s * b[i]`, 1 load, 1 store, 1 multiplication and 16 bytes per element.

use super::sweep::storing_sweeps;

macro_rules! integer {
    ($store:literal) => {
        concat!("imul rax, [rsi+\\k*8], 3\n", $store, " [rdi+\\k*8], rax")
    };
}

macro_rules! legacy {
    ($load:literal, $suffix:literal, $bytes:literal, $store:literal) => {
        concat!(
            $load,
            " xmm\\k, [rsi+\\k*",
            $bytes,
            "]\n",
            "mul",
            $suffix,
            " xmm\\k, xmm15\n",
            $store,
            " [rdi+\\k*",
            $bytes,
            "], xmm\\k"
        )
    };
}

macro_rules! vex {
    ($register:literal, $bytes:literal, $store:literal) => {
        concat!(
            "vmulpd ",
            $register,
            "\\k, ",
            $register,
            "15, [rsi+\\k*",
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

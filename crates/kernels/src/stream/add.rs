//! Add: `a[i] = b[i] + c[i]`, 2 loads, 1 store, 1 addition and 24 bytes per element.

use super::sweep::storing_sweeps;

macro_rules! integer {
    ($store:literal) => {
        concat!("mov rax, [rsi+\\k*8]\nadd rax, [rdx+\\k*8]\n", $store, " [rdi+\\k*8], rax")
    };
}

macro_rules! legacy {
    ($load:literal, $suffix:literal, $bytes:literal, $store:literal) => {
        concat!(
            $load,
            " xmm\\k, [rsi+\\k*",
            $bytes,
            "]\n",
            "add",
            $suffix,
            " xmm\\k, [rdx+\\k*",
            $bytes,
            "]\n",
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
            "vmovapd ",
            $register,
            "\\k, [rsi+\\k*",
            $bytes,
            "]\n",
            "vaddpd ",
            $register,
            "\\k, ",
            $register,
            "\\k, [rdx+\\k*",
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

storing_sweeps!(3, integer, legacy, vex, paced);

//! Write: `a[i] = s`, 1 store and 8 bytes per element; non-temporal, this is the fill past the caches.

use super::sweep::storing_sweeps;

macro_rules! integer {
    ($store:literal) => {
        concat!($store, " [rdi+\\k*8], r8")
    };
}

macro_rules! legacy {
    ($load:literal, $suffix:literal, $bytes:literal, $store:literal) => {
        concat!($store, " [rdi+\\k*", $bytes, "], xmm15")
    };
}

macro_rules! vex {
    ($register:literal, $bytes:literal, $store:literal) => {
        concat!($store, " [rdi+\\k*", $bytes, "], ", $register, "15")
    };
}

storing_sweeps!(1, integer, legacy, vex, fast);

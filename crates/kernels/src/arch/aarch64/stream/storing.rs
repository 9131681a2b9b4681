//! The operations that store: what each does for a pair of registers, in the frame of `sweep!`.
//!
//! An operation is a macro of the kind of registers and of the instructions that load and store a pair: it loads into registers 4 and
//! 5, and 6 and 7, finds the constant in 16, and leaves what is stored in 4 and 5. Non-temporal loops load past the caches as well.

/// Loads registers of a kind from an array: `load, kind, registers, array`.
macro_rules! loads {
    ($load:literal, x, $at:literal) => { loads!(@of $load, "x4, x5", $at, "16") };
    ($load:literal, d, $at:literal) => { loads!(@of $load, "d4, d5", $at, "16") };
    ($load:literal, q, $at:literal) => { loads!(@of $load, "q4, q5", $at, "32") };
    ($load:literal, x, $at:literal, more) => { loads!(@of $load, "x6, x7", $at, "16") };
    ($load:literal, d, $at:literal, more) => { loads!(@of $load, "d6, d7", $at, "16") };
    ($load:literal, q, $at:literal, more) => { loads!(@of $load, "q6, q7", $at, "32") };
    (@of $load:literal, $registers:literal, $at:literal, $pair:literal) => {
        concat!($load, " ", $registers, ", [", $at, ", #\\k*", $pair, "]")
    };
}

/// Multiplies 4 and 5 by the constant.
macro_rules! scales {
    (x) => {
        on_pair!("x", "", "mul", "16", "16")
    };
    (d) => {
        on_pair!("d", "", "fmul", "16", "16")
    };
    (q) => {
        on_pair!("v", ".2d", "fmul", "16", "16")
    };
}

/// Adds 6 and 7 to 4 and 5.
macro_rules! adds {
    (x) => {
        on_pair!("x", "", "add", "6", "7")
    };
    (d) => {
        on_pair!("d", "", "fadd", "6", "7")
    };
    (q) => {
        on_pair!("v", ".2d", "fadd", "6", "7")
    };
}

/// Stores 4 and 5, or the constant twice.
macro_rules! stores {
    ($store:literal, x) => {
        concat!($store, " x4, x5, [x0, #\\k*16]")
    };
    ($store:literal, d) => {
        concat!($store, " d4, d5, [x0, #\\k*16]")
    };
    ($store:literal, q) => {
        concat!($store, " q4, q5, [x0, #\\k*32]")
    };
}

/// Defines all loops of an operation, and the table of them.
macro_rules! storing_sweeps {
    ($arrays:tt, $operation:ident) => {
        use crate::operation::Isa;
        use crate::operation::Store;
        use crate::loop_interface::Variant;

        sweep!(scalar_u64, $arrays, 64; "mov x16, #3"; $operation!("ldp", "stp", x); ""; "mov x8, #0");
        sweep!(scalar_u64_non_temporal, $arrays, 64; "mov x16, #3"; $operation!("ldnp", "stnp", x); "dmb ishst";
            "mov x8, #0");
        sweep!(scalar_f64, $arrays, 64; "fmov d16, #3.0"; $operation!("ldp", "stp", d); ""; "mov x8, #0");
        sweep!(neon, $arrays, 128; "fmov v16.2d, #3.0"; $operation!("ldp", "stp", q); ""; "mov x8, #0");
        sweep!(neon_non_temporal, $arrays, 128; "fmov v16.2d, #3.0"; $operation!("ldnp", "stnp", q); "dmb ishst";
            "mov x8, #0");

        pub(crate) const VARIANTS: [Variant; 5] = [
            Variant::new(Isa::ScalarU64, Store::Plain, scalar_u64),
            Variant::new(Isa::ScalarU64, Store::NonTemporal, scalar_u64_non_temporal),
            Variant::new(Isa::ScalarF64, Store::Plain, scalar_f64),
            Variant::new(Isa::Neon, Store::Plain, neon),
            Variant::new(Isa::Neon, Store::NonTemporal, neon_non_temporal),
        ];
    };
}

/// Write: `a[i] = s`, 1 store and 8 bytes per element.
pub(crate) mod write {
    macro_rules! operation {
        ($load:literal, $store:literal, x) => {
            four_times!(concat!($store, " x16, x16, [x0, #\\k*16]"))
        };
        ($load:literal, $store:literal, d) => {
            four_times!(concat!($store, " d16, d16, [x0, #\\k*16]"))
        };
        ($load:literal, $store:literal, q) => {
            four_times!(concat!($store, " q16, q16, [x0, #\\k*32]"))
        };
    }
    storing_sweeps!(1, operation);
}

/// Copy: `a[i] = b[i]`, 1 load, 1 store and 16 bytes per element.
pub(crate) mod copy {
    macro_rules! operation {
        ($load:literal, $store:literal, $kind:tt) => {
            four_times!(loads!($load, $kind, "x1"), stores!($store, $kind))
        };
    }
    storing_sweeps!(2, operation);
}

/// Scale: `a[i] = s * b[i]`, 1 load, 1 store, 1 multiplication and 16 bytes per element.
pub(crate) mod scale {
    macro_rules! operation {
        ($load:literal, $store:literal, $kind:tt) => {
            four_times!(loads!($load, $kind, "x1"), scales!($kind), stores!($store, $kind))
        };
    }
    storing_sweeps!(2, operation);
}

/// Add: `a[i] = b[i] + c[i]`, 2 loads, 1 store, 1 addition and 24 bytes per element.
pub(crate) mod add {
    macro_rules! operation {
        ($load:literal, $store:literal, $kind:tt) => {
            four_times!(
                loads!($load, $kind, "x1"),
                loads!($load, $kind, "x2", more),
                adds!($kind),
                stores!($store, $kind)
            )
        };
    }
    storing_sweeps!(3, operation);
}

/// Triad: `a[i] = b[i] + s * c[i]`, 2 loads, 1 store, 2 operations and 24 bytes per element. Multiplication and addition are two
/// instructions, as on x86-64, and round as STREAM's source does.
pub(crate) mod triad {
    macro_rules! operation {
        ($load:literal, $store:literal, $kind:tt) => {
            four_times!(
                loads!($load, $kind, "x2"),
                loads!($load, $kind, "x1", more),
                scales!($kind),
                adds!($kind),
                stores!($store, $kind)
            )
        };
    }
    storing_sweeps!(3, operation);
}

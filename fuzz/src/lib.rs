//! What a fuzz target is: under libFuzzer its entry, elsewhere a program that only has to compile.
//!
//! libFuzzer is C++ and is built only by `cargo fuzz`, which says so by `cfg(fuzzing)`. So the targets are checked with everything else,
//! and no one who only runs the tests needs a C++ compiler.
#![forbid(unsafe_code)]

#[cfg(fuzzing)]
pub use libfuzzer_sys::fuzz_target;

/// A target that takes bytes or text and panics if what it holds is wrong.
#[cfg(not(fuzzing))]
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        fn target($input: $kind) $body

        fn main() {
            let _: fn($kind) = target;
        }
    };
}

//! The slot: its arithmetic, and its protocol under every order of loads and stores that a CPU may choose.

mod arithmetic;
mod model;
mod threads;

/// A kernel, or a program without the standard library, can take these files as they are.
#[test]
fn the_arithmetic_of_the_clock_needs_nothing_but_core() {
    for (name, text) in [
        ("slot.rs", include_str!("../../src/slot.rs")),
        ("discipline.rs", include_str!("../../src/discipline.rs")),
    ] {
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((text, ""));
        for word in ["std::", "alloc::", "Vec<", "String", "Box<", "libc"] {
            assert!(!code.contains(word), "{name} uses {word}");
        }
    }
}

//! The slot: its arithmetic, and its protocol under every order of loads and stores that a CPU may choose.

mod arithmetic;
mod model;

use std::sync::atomic::{AtomicBool, Ordering};

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

// The slot in threads of the operating system, as Miri can run it: it finds races and weak orders on the types that ship.

use clock::{RATE_SHIFT, Segment, Slot};

/// Under an interpreter each publication takes milliseconds.
const PUBLICATIONS: u64 = if cfg!(miri) { 30 } else { 30_000 };
/// A tick at which every segment holds.
const TICK: u64 = 2 * PUBLICATIONS;

/// A segment in which every field tells which one it is: a mixture of two shows another number.
/// Every other one has ticks of half a nanosecond, the rest of a whole one: a slot keeps their rates in different forms.
fn segment(number: u64) -> Segment {
    Segment { tick0: number, ns0: number << 32, rate: 1 << (RATE_SHIFT - half_of(number)), span: u32::MAX }
}

/// How often the rate is halved.
fn half_of(number: u64) -> u32 {
    (number % 2) as u32
}

/// Which segment a reading at [`TICK`] came from, if from one.
fn number_of(read_ns: u64) -> Option<u64> {
    let number = read_ns >> 32;
    (read_ns == (number << 32) + ((TICK - number) >> half_of(number))).then_some(number)
}

#[test]
fn readers_in_threads_see_whole_segments_in_the_order_of_their_publication() {
    let (slot, is_over) = (Slot::new(), AtomicBool::new(false));
    slot.publish(&segment(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 0;
                while !is_over.load(Ordering::Acquire) {
                    let read = slot.read(TICK).expect("every segment holds at this tick");
                    let number = number_of(read).expect("no mixture of two segments");
                    assert!(number >= last, "{number} after {last}");
                    last = number;
                }
                assert_eq!(slot.read(TICK).and_then(number_of), Some(PUBLICATIONS));
            });
        }
        (1..=PUBLICATIONS).for_each(|number| slot.publish(&segment(number)));
        is_over.store(true, Ordering::Release);
    });
}

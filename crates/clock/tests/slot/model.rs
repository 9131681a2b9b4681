//! The slot's own source with the model checker's atomics: it tries every order that the memory model allows.

use loom::sync::Arc;
use loom::thread;

/// The atomics that `slot.rs` takes from its parent.
mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}

#[path = "../../src/slot.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the model reads, publishes and closes; the rest is the crate's"
)]
mod slot;

use slot::{RATE_SHIFT, Segment, Slot};

/// A segment in which every field tells which one it is: at its tick 0 it shows `number`, and a mixture of two shows
/// something else.
fn segment(number: u64) -> Segment {
    Segment { tick0: number * 100, ns0: number * 1_000, rate: number << RATE_SHIFT, span: 1 }
}

/// What `segment(number)` gives at tick 500.
fn expected(number: u64) -> u64 {
    number * 1_000 + (500 - number * 100) * number
}

#[test]
fn a_reader_never_mixes_two_segments() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        slot.publish(&segment(1));
        let writer = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                slot.publish(&segment(2));
                slot.publish(&segment(3));
            })
        };
        let read = slot.read(500).expect("all three hold at this tick");
        assert!([1, 2, 3].map(expected).contains(&read), "{read}");
        writer.join().expect("the writer does not panic");
        assert_eq!(slot.read(500), Some(expected(3)));
    });
}

#[test]
fn a_reader_that_learns_of_a_closed_slot_finds_it_closed() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        slot.publish(&segment(1));
        let told = Arc::new(loom::sync::atomic::AtomicU32::new(0));
        let writer = {
            let (slot, told) = (Arc::clone(&slot), Arc::clone(&told));
            thread::spawn(move || {
                slot.close();
                told.store(1, loom::sync::atomic::Ordering::Release);
            })
        };
        let is_told = told.load(loom::sync::atomic::Ordering::Acquire) == 1;
        let read = slot.read(500);
        assert!(read.is_none() || !is_told && read == Some(expected(1)), "{read:?}");
        writer.join().expect("the writer does not panic");
    });
}

#[test]
fn readers_that_hear_of_each_other_see_segments_in_order() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        slot.publish(&segment(1));
        let told = Arc::new(loom::sync::atomic::AtomicU64::new(0));
        let writer = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.publish(&segment(2)))
        };
        let reader = {
            let (slot, told) = (Arc::clone(&slot), Arc::clone(&told));
            thread::spawn(move || {
                let read = slot.read(500).expect("both hold");
                told.store(read, loom::sync::atomic::Ordering::Release);
            })
        };
        let heard = told.load(loom::sync::atomic::Ordering::Acquire);
        let read = slot.read(500).expect("both hold");
        assert!(read >= heard, "{read} after {heard}");
        reader.join().expect("the reader does not panic");
        writer.join().expect("the writer does not panic");
    });
}

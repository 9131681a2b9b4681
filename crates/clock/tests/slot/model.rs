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
/// something else. A tick lasts a quarter of a nanosecond for each number: shorter than one, longer from the fourth on.
fn segment(number: u64) -> Segment {
    Segment { tick0: number * 100, ns0: number * 1_000, rate: number << (RATE_SHIFT - 2), span: 1 }
}

/// What `segment(number)` gives at tick 700.
fn expected(number: u64) -> u64 {
    number * 1_000 + (700 - number * 100) * number / 4
}

/// Two publications while another thread reads, in every order or in those with so many preemptions.
fn a_reader_meets_two_publications(numbers: [u64; 3], preemptions: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(move || {
        let slot = Arc::new(Slot::new());
        slot.publish(&segment(numbers[0]));
        let writer = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                slot.publish(&segment(numbers[1]));
                slot.publish(&segment(numbers[2]));
            })
        };
        let read = slot.read(700).expect("all three hold at this tick");
        assert!(numbers.map(expected).contains(&read), "{read}");
        writer.join().expect("the writer does not panic");
        assert_eq!(slot.read(700), Some(expected(numbers[2])));
    });
}

#[test]
fn a_reader_never_mixes_two_segments() {
    a_reader_meets_two_publications([1, 2, 3], None);
}

#[test]
fn a_reader_never_mixes_segments_with_short_ticks_and_with_long_ones() {
    /// A reading by whole segments loads twice as often: all orders take more than two minutes.
    const PREEMPTIONS: Option<usize> = Some(2);
    a_reader_meets_two_publications([3, 4, 2], PREEMPTIONS);
    a_reader_meets_two_publications([5, 3, 6], PREEMPTIONS);
}

#[test]
fn a_reader_that_learns_of_a_closed_slot_finds_it_closed() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        slot.publish(&segment(1));
        let reported = Arc::new(loom::sync::atomic::AtomicU32::new(0));
        let writer = {
            let (slot, reported) = (Arc::clone(&slot), Arc::clone(&reported));
            thread::spawn(move || {
                slot.close();
                reported.store(1, loom::sync::atomic::Ordering::Release);
            })
        };
        let is_reported = reported.load(loom::sync::atomic::Ordering::Acquire) == 1;
        let read = slot.read(700);
        assert!(read.is_none() || !is_reported && read == Some(expected(1)), "{read:?}");
        writer.join().expect("the writer does not panic");
    });
}

#[test]
fn readers_that_hear_of_each_other_see_segments_in_order() {
    loom::model(|| {
        let slot = Arc::new(Slot::new());
        slot.publish(&segment(1));
        let reported = Arc::new(loom::sync::atomic::AtomicU64::new(0));
        let writer = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || slot.publish(&segment(2)))
        };
        let reader = {
            let (slot, reported) = (Arc::clone(&slot), Arc::clone(&reported));
            thread::spawn(move || {
                let read = slot.read(700).expect("both hold");
                reported.store(read, loom::sync::atomic::Ordering::Release);
            })
        };
        let seen = reported.load(loom::sync::atomic::Ordering::Acquire);
        let read = slot.read(700).expect("both hold");
        assert!(read >= seen, "{read} after {seen}");
        reader.join().expect("the reader does not panic");
        writer.join().expect("the writer does not panic");
    });
}

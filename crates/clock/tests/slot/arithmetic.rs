//! Ticks to nanoseconds through a slot.

use clock::{Place, RATE_SHIFT, SPAN_MAX, SPAN_SHIFT, Segment, Slot};
use proptest::prelude::*;

const ONE_NS: u64 = 1 << RATE_SHIFT;

fn segment(tick0: u64, ns0: u64, rate: u64, span: u32) -> Segment {
    Segment { tick0, ns0, rate, span }
}

#[test]
fn a_slot_fills_one_cache_line() {
    assert_eq!((size_of::<Slot>(), align_of::<Slot>()), (64, 64));
}

#[test]
fn a_new_slot_knows_nothing() {
    assert_eq!(Slot::new().read(12), None);
    assert_eq!(Slot::new().place(12), Place::Closed);
}

#[test]
fn a_tick_is_looked_up_in_the_segment_that_holds_for_it() {
    let slot = Slot::new();
    slot.publish(&segment(1_000, 50, ONE_NS, 100));
    slot.publish(&segment(2_000, 1_050, 2 * ONE_NS, 10));
    for (tick, place) in [
        (2_000, Place::Inside(1_050)),
        (2_010, Place::Inside(1_070)),
        (1_999, Place::Inside(1_049)),
        (1_000, Place::Inside(50)),
        (999, Place::Before),
        (2_000 + 10 * 1_024, Place::After { end_ns: 1_050 + 20 * 1_024 }),
        (u64::MAX, Place::Before),
    ] {
        assert_eq!(slot.place(tick), place, "{tick}");
    }
    assert_eq!((slot.read(2_010), slot.read(1_999)), (Some(1_070), None));
    slot.close();
    assert_eq!((slot.place(2_010), slot.read(2_010)), (Place::Closed, None));
}

#[test]
fn a_tick_may_be_shorter_or_longer_than_a_nanosecond_from_one_segment_to_the_next() {
    let slot = Slot::new();
    for (tick0, rate, at_eight_ticks) in
        [(100, ONE_NS / 2, 4), (200, ONE_NS, 8), (300, ONE_NS - 1, 7), (400, 255 * ONE_NS, 2_040)]
    {
        let piece = segment(tick0, 1_000, rate, 1);
        slot.publish(&piece);
        assert_eq!((slot.newest(), slot.end_ns() >= piece.end_ns()), (piece, true));
        assert_eq!(slot.read(tick0 + 8), Some(1_000 + at_eight_ticks));
        assert_eq!((slot.read(tick0 - 1), slot.read(tick0 + 1_024)), (None, None));
    }
    slot.close();
    assert_eq!((slot.read(408), slot.newest()), (None, segment(400, 1_000, 255 * ONE_NS, 0)));
}

#[test]
fn a_counter_that_wraps_is_read_across_the_wrap() {
    let slot = Slot::new();
    slot.publish(&segment(u64::MAX - 9, 0, ONE_NS, 1));
    assert_eq!((slot.read(u64::MAX), slot.read(5)), (Some(9), Some(15)));
    // The lower half alone wraps every other second.
    slot.publish(&segment((7 << 32) - 10, 0, ONE_NS / 2, SPAN_MAX));
    assert_eq!((slot.read((7 << 32) - 2), slot.read((7 << 32) + 4)), (Some(4), Some(7)));
    assert_eq!((slot.read((6 << 32) - 2), slot.read((8 << 32) - 2)), (None, None));
}

/// Rates of ticks that are shorter than a nanosecond, and of those that are not.
fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![1..ONE_NS, ONE_NS..1 << 62]
}

proptest! {
    #[test]
    fn a_reading_is_what_its_segment_says_wherever_that_holds(
        tick0: u64, ns0 in 0_u64..1 << 62, rate in rate(), span: u32, ticks in 0_u64..1 << 33, far: u64,
    ) {
        let (slot, piece) = (Slot::new(), segment(tick0, ns0, rate, span));
        slot.publish(&piece);
        let kept = slot.newest();
        prop_assert_eq!(kept, Segment { span: span.min(SPAN_MAX), ..piece });
        for ticks in [ticks, far, u64::from(kept.span) << SPAN_SHIFT, 0] {
            let tick = tick0.wrapping_add(ticks);
            let holds = ticks < u64::from(kept.span) << SPAN_SHIFT;
            prop_assert_eq!(slot.read(tick), holds.then(|| piece.at(tick)), "{}", ticks);
        }
    }

    #[test]
    fn a_segment_never_falls_and_is_exact_to_a_nanosecond(
        tick0: u64, ns0 in 0_u64..1 << 62, rate in rate(), a in 0_u64..1 << 42, b in 0_u64..1 << 42,
    ) {
        let piece = segment(tick0, ns0, rate, u32::MAX);
        let at = |ticks: u64| piece.at(tick0.wrapping_add(ticks));
        prop_assert!(a > b || at(a) <= at(b));
        let exact = a as f64 * (rate as f64 / (ONE_NS as f64));
        prop_assert!(((at(a) - ns0) as f64 - exact).abs() <= 1.0 + exact * 1e-15);
    }
}

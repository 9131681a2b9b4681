//! Slots that a watched program may have scribbled into.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use sample_ring::{Entry, Event, SLOT_WORDS};

fuzz_target!(|bytes: &[u8]| {
    let mut words = [0_u64; SLOT_WORDS];
    for (word, eight) in words.iter_mut().zip(bytes.chunks(8)) {
        *word = eight.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    }
    let Some(entry) = Entry::from_words(&words) else { return };
    // What means nothing may be lost on the way; what means something may not.
    assert_eq!(Entry::from_words(&entry.to_words()), Some(entry));
    if let Event::Sample(sample) = entry.event {
        let (before, after) = sample.code_parts();
        assert!(before.len() + after.len() <= sample.code.len());
    }
});

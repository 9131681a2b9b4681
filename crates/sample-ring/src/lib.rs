//! Memory that a watched program and its watcher share: samples go in from signal handlers and come out in one place.
//!
//! Any number of threads of any number of processes write, one process reads. Nobody ever waits: a slot is free, being filled or
//! ready; who writes takes a free one near a rolling place, and who finds none counts the sample as lost. A thread that is killed
//! while it writes costs its slot and nothing else. The reader looks at all slots and takes what is ready, in no order.
//!
//! All of it is atomic words: what the watched program scribbles there may make a wrong sample, and nothing worse.

#![forbid(unsafe_code)]

mod entry;
mod ring;

pub use entry::{CODE_BEFORE_BYTES, CODE_BYTES, Entry, Event, NAME_BYTES, Sample, StopReason};
pub use ring::{SLOT_WORDS, SLOTS, SampleRing};

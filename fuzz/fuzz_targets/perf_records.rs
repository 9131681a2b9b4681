//! Bytes of a ring of performance events.
#![cfg_attr(fuzzing, no_main)]

use std::time::Duration;

use fuzz::fuzz_target;
use host::live::{Observation, PerfWatch, parse_records};

fuzz_target!(|bytes: &[u8]| {
    for watch in [PerfWatch::Registers(Duration::from_millis(4)), PerfWatch::Switches] {
        let mut samples = 0;
        let unread = parse_records(bytes, watch, |observation| {
            samples += usize::from(matches!(observation, Observation::Sample(_)));
        });
        assert!(unread <= bytes.len());
        assert!(watch != PerfWatch::Switches || samples == 0);
    }
});

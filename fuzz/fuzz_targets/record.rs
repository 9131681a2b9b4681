//! A record: JSON, or JSON compressed with Zstandard.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = record::decode(bytes);
});

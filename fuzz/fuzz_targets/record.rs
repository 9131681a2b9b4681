//! A record: JSON, or JSON compressed with Zstandard.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = record::decode(bytes);
});

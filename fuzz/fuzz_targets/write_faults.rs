//! Messages of a userfaultfd.
#![no_main]

use host::live::{MESSAGE_BYTES, PAGE_BYTES, parse_write_faults};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut count = 0;
    parse_write_faults(bytes, |fault| {
        assert_eq!(fault.page % PAGE_BYTES, 0);
        count += 1;
    });
    assert!(count <= bytes.len() / MESSAGE_BYTES);
});

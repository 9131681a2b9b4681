//! The first bytes of a file that is to be started.
#![no_main]

use host::live::ProgramKind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let ProgramKind::Dynamic(path) | ProgramKind::Script(path) = ProgramKind::of(bytes) {
        assert!(path.as_os_str().len() <= bytes.len());
    }
});

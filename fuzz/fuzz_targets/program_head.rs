//! The first bytes of a file that is to be started.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use host::live::ProgramKind;

fuzz_target!(|bytes: &[u8]| {
    if let ProgramKind::Dynamic(path) | ProgramKind::Script(path) = ProgramKind::of(bytes) {
        assert!(path.as_os_str().len() <= bytes.len());
    }
});

//! Logs of OpenDCDiag.
#![cfg_attr(fuzzing, no_main)]

use fleet::opendcdiag::screening;
use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = screening(text);
});

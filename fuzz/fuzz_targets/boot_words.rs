//! Words of boot options that tell the arms of an experiment apart.
#![cfg_attr(fuzzing, no_main)]

use experiments::ab::across_reboot::condition::Conditions;
use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    let (a, b) = text.split_once('\n').unwrap_or((text, ""));
    let _ = Conditions::parse([a, b]);
});

//! Words of boot options that tell the arms of an experiment apart.
#![cfg_attr(fuzzing, no_main)]

use experiments::ab::across_reboot::condition::Conditions;
use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    let parts: Vec<&str> = text.splitn(4, '\n').collect();
    let part = |index: usize| parts.get(index).copied();
    let words = [part(0).unwrap_or_default(), part(1).unwrap_or_default()];
    let _ = Conditions::parse(words, [part(2), part(3)]);
});

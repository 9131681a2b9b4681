//! Words of boot options: the arms of an experiment, attack vectors, and what may be shown to others.
#![cfg_attr(fuzzing, no_main)]

use experiments::ab::across_reboot::condition::Conditions;
use fuzz::fuzz_target;

fuzz_target!(|text: &str| {
    let (a, b) = text.split_once('\n').unwrap_or((text, ""));
    let _ = Conditions::parse([a, b]);
    for has_vectors in [false, true] {
        let _ = flaws::Choice::parse(text, has_vectors);
    }
    // What was made shareable stays as it is.
    let shared = machine::shareable_command_line(text);
    assert_eq!(machine::shareable_command_line(&shared), shared);
});

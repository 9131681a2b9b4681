//! Lists and masks of CPUs: what is read says the same when it is written and read again.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use machine::CpuSet;

fuzz_target!(|text: &str| {
    for set in [CpuSet::from_list(text), CpuSet::from_mask(text)].into_iter().flatten() {
        assert_eq!(CpuSet::from_list(&set.to_string()), Ok(set));
    }
});

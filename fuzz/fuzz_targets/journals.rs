//! The journals of toggles and of experiments across reboots: sealed bytes, and the text inside the seal.
#![cfg_attr(fuzzing, no_main)]

use experiments::ab::across_reboot::journal::Journal as BootJournal;
use fuzz::fuzz_target;
use toggles::Journal;

fuzz_target!(|bytes: &[u8]| {
    let _ = toggles::decode(bytes);
    let _ = BootJournal::of_bytes(bytes);
    if let Ok(journal) = serde_json::from_slice::<Journal>(bytes) {
        assert_eq!(toggles::decode(&toggles::encode(&journal)), Ok(journal));
    }
    let _ = serde_json::from_slice::<BootJournal>(bytes);
});

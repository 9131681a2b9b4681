//! What a kernel may say in a file of vulnerabilities, by the general rule and by every entry's own wordings.
#![cfg_attr(fuzzing, no_main)]

use std::sync::OnceLock;

use flaws::{Catalogue, sysfs_status};
use fuzz::fuzz_target;

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

fuzz_target!(|text: &str| {
    let catalogue = CATALOGUE.get_or_init(flaws::catalogue);
    for flaw in &catalogue.flaws {
        let _ = sysfs_status(text, &flaw.wording);
    }
});

//! What people paste of machines, in any form, alone and counted.
#![cfg_attr(fuzzing, no_main)]

use std::sync::OnceLock;

use flaws::{Catalogue, Census};
use fuzz::fuzz_target;

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let catalogue = CATALOGUE.get_or_init(flaws::catalogue);
    let mut census = Census::new(catalogue, catalogue);
    census.take("report", Ok(String::from_utf8_lossy(bytes).into_owned()));
    let _ = census.finish();
});

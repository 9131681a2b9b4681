//! Reports of lscpu in any version and language, alone and counted.
#![cfg_attr(fuzzing, no_main)]

use std::sync::OnceLock;

use flaws::{Catalogue, Census};
use fuzz::fuzz_target;

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let mut census = Census::new(CATALOGUE.get_or_init(flaws::catalogue));
    census.take("report", Ok(String::from_utf8_lossy(bytes).into_owned()));
    let _ = census.finish();
});

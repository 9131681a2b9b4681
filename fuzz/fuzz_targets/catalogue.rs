//! A flaw of the catalogue: what is accepted is judged, too.
#![cfg_attr(fuzzing, no_main)]

use flaws::Catalogue;
use fuzz::fuzz_target;
use record::FlawEvidence;

fuzz_target!(|text: &str| {
    if let Ok(catalogue) = Catalogue::parse(&[("flaw.toml", text)]) {
        let _ = flaws::judge(&catalogue, &FlawEvidence::default());
    }
});

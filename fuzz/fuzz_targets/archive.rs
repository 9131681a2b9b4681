//! A tarball of a machine, of CPUID answers or of reports, in any of its compressions, cut and damaged.
#![cfg_attr(fuzzing, no_main)]

use std::io::Write;

use fuzz::fuzz_target;
use host::{Cpuid, Root, each_text};

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    if let Ok(root) = Root::open(file.path()) {
        let _ = host::describe(&root, None);
    }
    if let Ok(cpuid) = Cpuid::open(file.path()) {
        let _ = cpuid.describe();
    }
    let _ = each_text(file.path(), &mut |_, _| {});
});

//! The library that takes samples in programs, as cargo builds it for tests: not beside the program, where sidestep looks.

use std::path::PathBuf;

/// What tells sidestep of it.
pub(crate) const VARIABLE: &str = "SIDESTEP_SAMPLER_LIBRARY";

/// Where it is.
pub(crate) fn path() -> PathBuf {
    let name = "libsidestep_sampler_preload.so";
    let program = PathBuf::from(env!("CARGO_BIN_EXE_sidestep"));
    let folder = program.parent().expect("it lies in a folder");
    let found = [folder.join("deps").join(name), folder.join(name)].into_iter().find(|path| path.exists());
    found.expect("cargo builds the library before the tests")
}

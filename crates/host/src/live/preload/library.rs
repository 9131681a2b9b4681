//! The library's file, and how it comes into a command.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{PreloadError, ProgramKind};

/// The library's file.
pub(super) const LIBRARY: &str = "libsidestep_sampler_preload.so";
/// Names another file for it.
pub(super) const LIBRARY_VARIABLE: &str = "SIDESTEP_SAMPLER_LIBRARY";
/// Names libraries to the loader; ld.so(8).
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// The library that goes into programs.
#[derive(Debug, Clone)]
pub(crate) struct PreloadLibrary(PathBuf);

impl PreloadLibrary {
    /// Where the environment says, beside this program, or where a package puts it.
    pub(crate) fn find() -> Result<Self, PreloadError> {
        let path = found().ok_or(PreloadError::NoLibrary)?;
        match ProgramKind::of_file(&path) {
            Some(ProgramKind::OtherMachine(machine)) => Err(PreloadError::OtherMachine { path, machine }),
            _ => Self::at(path),
        }
    }

    pub(crate) fn at(path: PathBuf) -> Result<Self, PreloadError> {
        let is_cut = path.to_string_lossy().contains([' ', ':']);
        if is_cut { Err(PreloadError::BadPath(path)) } else { Ok(Self(path)) }
    }

    /// Lets a command begin with it, and all that it starts; saying so twice is once.
    pub(crate) fn load_into(&self, command: &mut Command) {
        let mut libraries = OsString::from(&self.0);
        if let Some(others) = env::var_os(PRELOAD_VARIABLE).filter(|others| !others.is_empty()) {
            libraries.push(":");
            libraries.push(others);
        }
        command.env(PRELOAD_VARIABLE, libraries);
    }
}

fn found() -> Option<PathBuf> {
    if let Some(named) = env::var_os(LIBRARY_VARIABLE) {
        return std::path::absolute(named).ok().filter(|path| path.is_file());
    }
    let own = env::current_exe().ok()?;
    let folder = own.parent()?;
    let places = [Some(folder.join(LIBRARY)), folder.parent().map(|above| above.join("lib").join(LIBRARY))];
    places.into_iter().flatten().find(|path: &PathBuf| Path::is_file(path))
}

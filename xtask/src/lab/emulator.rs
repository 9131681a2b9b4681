//! A QEMU: how it is started, which version it is, and how its options are written.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use crate::cargo;

/// A program that emulates, and what it needs before the machine's own arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emulator {
    /// QEMU itself, or the loader that starts it.
    pub program: PathBuf,
    /// First arguments, a plugin with its configuration included.
    pub arguments: Vec<String>,
}

/// Major and minor of what an emulator says it is.
///
/// # Errors
/// It does not start, or says none.
pub(super) fn version_of(emulator: &Emulator) -> anyhow::Result<(u32, u32)> {
    let mut command = Command::new(&emulator.program);
    let printed = cargo::output(command.args(&emulator.arguments).arg("--version"))?;
    version(&printed).with_context(|| format!("{} --version shows no version", emulator.program.display()))
}

/// Major and minor of `QEMU emulator version 7.2.22 (...)`.
pub(super) fn version(printed: &str) -> Option<(u32, u32)> {
    let mut parts = printed.split_once("version ")?.1.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()?;
    Some((major, minor))
}

/// Text as a value within an option: QEMU parts options by commas, and two are one that is meant.
pub(super) fn option_text(value: &str) -> String {
    value.replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_that_is_too_old_is_known_by_its_version() {
        for (printed, expected) in [
            ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\n", Some((7, 2))),
            ("QEMU emulator version 11.0-rc1", Some((11, 0))),
            ("QEMU emulator version 5.2.0", Some((5, 2))),
            ("nonsense", None),
        ] {
            assert_eq!(version(printed), expected);
        }
    }
}

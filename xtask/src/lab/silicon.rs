//! The emulator of tiers 2 and 3: a QEMU with the plugin that gives each CPU counters, registers and modelled cycles.

use std::path::{Path, PathBuf};

use super::definition::Machine;

/// A QEMU that loads the plugin.
#[derive(Debug, Clone)]
pub struct SiliconQemu {
    /// QEMU itself, or the loader that starts it.
    pub program: PathBuf,
    /// What comes before the machine's own arguments, the plugin with its configuration included.
    pub arguments: Vec<String>,
    /// The plugin.
    pub plugin: PathBuf,
}

/// Builds the plugin, makes QEMU's folder below `cache`, and writes the configuration of `machine`.
///
/// # Errors
/// What is missing, in one line.
pub fn prepare(machine: &Machine, _cache: &Path) -> anyhow::Result<SiliconQemu> {
    anyhow::bail!("tier {} is not there yet", machine.tier)
}

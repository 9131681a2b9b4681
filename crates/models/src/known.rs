//! All machines that come with sidestep, whatever is simulated of them.

use crate::{interconnect, memory, scheduling, tsc};

/// A machine that comes with sidestep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownMachine {
    /// What the command line calls it.
    pub name: &'static str,
    /// Its file in the repository.
    pub file: String,
    /// The text of that file.
    pub text: &'static str,
}

/// Every machine file, by what is simulated.
pub fn known_machines() -> impl Iterator<Item = KnownMachine> {
    let by_name = [memory::KNOWN, interconnect::KNOWN, interconnect::KNOWN_CLUSTERS].into_iter().flatten();
    let by_file = [tsc::KNOWN, scheduling::KNOWN].into_iter().flatten();
    let by_name =
        by_name.map(|(name, text)| KnownMachine { name, file: format!("machines/{name}.toml"), text });
    by_name.chain(by_file.map(|(name, file, text)| KnownMachine { name, file: (*file).to_owned(), text }))
}

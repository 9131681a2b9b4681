//! All machines that come with sidestep, whatever is simulated of them.

use crate::machine_file::{MachineFile, MachineKind, parse};

/// A machine that comes with sidestep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownMachine {
    /// What the command line calls it.
    pub name: &'static str,
    /// Its file in the repository.
    pub file: &'static str,
    /// The text of that file.
    pub text: &'static str,
}

macro_rules! machines {
    ($($name:literal in $file:literal,)+) => {
        [$(KnownMachine {
            name: $name,
            file: concat!("machines/", $file),
            text: include_str!(concat!("../../../machines/", $file)),
        }),+]
    };
}

/// Every machine file, by what is simulated.
pub const KNOWN_MACHINES: [KnownMachine; 10] = machines! {
    "phenom-9600" in "phenom-9600.toml",
    "x6440-8380" in "x6440-8380.toml",
    "x6440-8384" in "x6440-8384.toml",
    "ranger-x6420" in "ranger-x6420.toml",
    "shanghai-2s" in "shanghai-2s.toml",
    "istanbul-4s-probe-filter" in "istanbul-4s-probe-filter.toml",
    "k8-opteron" in "k8-2p-opteron.toml",
    "fx-8150" in "fx-8150.toml",
    "jacobsville" in "jacobsville-6x4.toml",
    "ryzen-1800x" in "ryzen-1800x.toml",
};

/// The machines of one kind.
pub fn known_machines_of(kind: MachineKind) -> impl Iterator<Item = KnownMachine> {
    KNOWN_MACHINES.into_iter().filter(move |known| MachineKind::of(known.text) == kind)
}

/// The file of the machine of this name.
pub fn known_machine(name: &str) -> Option<KnownMachine> {
    KNOWN_MACHINES.into_iter().find(|known| known.name == name)
}

/// The machine of this name that comes with sidestep; none if there is none of this kind.
pub fn known<M: MachineFile>(name: &str) -> Option<M> {
    let known = known_machine(name)?;
    parse(known.text, known.file).ok()
}

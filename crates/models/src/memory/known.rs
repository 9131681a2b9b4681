//! The machines that come with sidestep.

/// Name and text of each machine file.
pub const KNOWN: &[(&str, &str)] = &[("phenom-9600", include_str!("../../../../machines/phenom-9600.toml"))];

//! The machines that come with sidestep.

/// Name of the machine, name of its file, and the file's text.
pub const KNOWN: &[(&str, &str, &str)] =
    &[("k8-opteron", "machines/k8-2p-opteron.toml", include_str!("../../../../machines/k8-2p-opteron.toml"))];

//! The machines that come with sidestep.

/// Name and text of each machine file.
pub const KNOWN: &[(&str, &str)] = &[
    ("x6440-8380", include_str!("../../../../machines/x6440-8380.toml")),
    ("x6440-8384", include_str!("../../../../machines/x6440-8384.toml")),
    ("ranger-x6420", include_str!("../../../../machines/ranger-x6420.toml")),
    ("shanghai-2s", include_str!("../../../../machines/shanghai-2s.toml")),
    ("istanbul-4s-probe-filter", include_str!("../../../../machines/istanbul-4s-probe-filter.toml")),
];

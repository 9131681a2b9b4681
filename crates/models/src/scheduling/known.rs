//! The machines that come with sidestep.

/// Name of the machine, name of its file, and the file's text.
pub const KNOWN: &[(&str, &str, &str)] = &[
    ("fx-8150", "machines/fx-8150.toml", include_str!("../../../../machines/fx-8150.toml")),
    (
        "jacobsville",
        "machines/jacobsville-6x4.toml",
        include_str!("../../../../machines/jacobsville-6x4.toml"),
    ),
    ("ryzen-1800x", "machines/ryzen-1800x.toml", include_str!("../../../../machines/ryzen-1800x.toml")),
];

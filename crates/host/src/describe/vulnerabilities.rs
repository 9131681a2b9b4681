//! What the kernel says of vulnerabilities: one file each, in words.

use std::collections::BTreeMap;

use record::Reading;

use super::source::Source;
use crate::ReadError;

/// Where the kernel tells of them.
const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";

/// The most that a file of sysfs shows: a page of memory. Linux, Documentation/filesystems/sysfs.rst.
const TEXT_BYTES_MAX: usize = 4096;

/// Texts by file, or why one cannot be read.
pub(crate) type Vulnerabilities = BTreeMap<String, Reading<String>>;

/// All files; `None` where there is no such folder.
pub(crate) fn read(source: &Source<'_>) -> Option<Vulnerabilities> {
    let names = source.root().list(FOLDER);
    let told = |name: String| {
        let reading = match source.root().read(&format!("{FOLDER}/{name}")) {
            Ok(text) if text.len() <= TEXT_BYTES_MAX => Reading::Is(text),
            Ok(text) => Reading::Missing(format!("{} bytes are no text of the kernel's", text.len())),
            Err(ReadError::Absent(_)) => Reading::Missing("absent".to_owned()),
            Err(error) => {
                source.note(error.to_string());
                Reading::Missing(error.to_string())
            }
        };
        (name, reading)
    };
    (!names.is_empty()).then(|| names.into_iter().map(told).collect())
}

/// Those that say anything.
pub(super) fn words(vulnerabilities: &Vulnerabilities) -> BTreeMap<String, String> {
    let word = |(name, reading): (&String, &Reading<String>)| {
        let text = reading.value().filter(|text| !text.is_empty())?;
        Some((name.clone(), text.clone()))
    };
    vulnerabilities.iter().filter_map(word).collect()
}

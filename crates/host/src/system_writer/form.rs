//! The canonical text of a value: the word in brackets, one word of a list, one line of a table.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No file that is switched is longer; a sysfs file is at most one page of 4 KiB, `schemata` a few.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The text of a file of sysfs or procfs.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(TEXT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The word in brackets if there is one (`always [madvise] never`), else the text without blanks around it.
pub(super) fn chosen(text: &str) -> String {
    let bracketed = |word: &str| word.strip_prefix('[')?.strip_suffix(']').map(str::to_owned);
    text.split_whitespace().find_map(bracketed).unwrap_or_else(|| text.trim().to_owned())
}

/// `WORD` or `NO_WORD`, whichever the list holds.
pub(super) fn word(text: &str, word: &str) -> io::Result<String> {
    let found = text.split_whitespace().find(|have| have.strip_prefix("NO_").unwrap_or(have) == word);
    found.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// What stands after `KEY:`.
pub(super) fn line(text: &str, key: &str) -> io::Result<String> {
    let value_of = |line: &str| {
        let (have, value) = line.split_once(':')?;
        (have.trim() == key).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value_of).ok_or_else(|| io::ErrorKind::NotFound.into())
}

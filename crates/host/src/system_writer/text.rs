//! The text of a value: as the kernel shows it, as it is compared, and what a file of a recorded tree becomes by a write, whole or
//! not at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::root::register::{self, Registers};
use crate::root::value_of;

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
    value_of(text, key).map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Writes what the kernel would show after `value` was written to the file that shows its text now.
pub(super) fn write_as_kernel(path: &Path, value: &str) -> io::Result<()> {
    let before = read_text(path)?;
    let after = after_write(&before, value).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    replace(path, &after)
}

fn after_write(before: &str, value: &str) -> Option<String> {
    let value = value.trim();
    let words: Vec<&str> = before.split_whitespace().collect();
    let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
    if words.iter().any(|word| word.starts_with('[') && word.ends_with(']')) {
        let offered = words.iter().any(|word| plain(word) == value);
        let chosen = |word: &&str| {
            let word = plain(word);
            if word == value { format!("[{word}]") } else { word }
        };
        return offered.then(|| words.iter().map(chosen).collect::<Vec<_>>().join(" ") + "\n");
    }
    if let Some((key, _)) = value.split_once(':').filter(|(key, _)| line(before, key).is_ok()) {
        let line = |line: &str| {
            let indent = &line[..line.len() - line.trim_start().len()];
            let same = line.split_once(':').is_some_and(|(have, _)| have.trim() == key);
            if same { format!("{indent}{value}\n") } else { format!("{line}\n") }
        };
        return Some(before.lines().map(line).collect());
    }
    let name = value.strip_prefix("NO_").unwrap_or(value);
    let is_listed = |word: &&str| word.strip_prefix("NO_").unwrap_or(word) == name;
    if words.len() > 1 && words.iter().any(is_listed) {
        let word = |word: &&str| if is_listed(word) { value.to_owned() } else { (*word).to_owned() };
        return Some(words.iter().map(word).collect::<Vec<_>>().join(" ") + "\n");
    }
    Some(format!("{value}\n"))
}

/// Replaces a file whole: a process that is killed leaves the old text or the new one, as with sysfs.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    fs::write(&name, text)?;
    fs::rename(&name, path)
}

/// The registers of a recorded tree: lines `INDEX = VALUE` in `msr/N`.
#[derive(Debug)]
pub(super) struct RecordedMap(pub(super) PathBuf);

impl RecordedMap {
    fn file(&self, cpu: u32) -> PathBuf {
        self.0.join(format!("msr/{cpu}"))
    }
}

impl Registers for RecordedMap {
    fn read(&self, cpu: u32, register: u32) -> io::Result<u64> {
        let value = register::in_recording(&read_text(&self.file(cpu))?, register);
        value.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, cpu: u32, register: u32, value: u64) -> io::Result<()> {
        let path = self.file(cpu);
        let text = read_text(&path)?;
        let with_new = register::recorded(&text)
            .map(|(index, old)| (index, if index == register { value } else { old }));
        let lines: Vec<String> = with_new.map(|(index, value)| format!("{index:x} = {value:x}\n")).collect();
        replace(&path, &lines.concat())
    }
}

/// Reads an aligned word of configuration space, which is little-endian on every machine.
pub(super) fn read_pci(file: &Path, offset: u32) -> io::Result<u32> {
    let mut bytes = [0; 4];
    File::open(file)?.read_exact_at(&mut bytes, offset.into())?;
    Ok(u32::from_le_bytes(bytes))
}

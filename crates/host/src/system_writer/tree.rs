//! Files of a recorded tree that take a write as the kernel's would: whole, or not at all.

use std::fs;
use std::io;
use std::path::Path;

use super::form;

/// Writes what the kernel would show after `value` was written to the file that shows its text now.
pub(super) fn write_as_kernel(path: &Path, value: &str) -> io::Result<()> {
    let before = form::read_text(path)?;
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
    if let Some((key, _)) = value.split_once(':').filter(|(key, _)| form::line(before, key).is_ok()) {
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

//! Putting back: in reverse, and only what still is as the experiment left it.

use host::SystemWriter;

use crate::journal::Entry;

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The old value was written and read back.
    Restored,
    /// The old value was there already.
    Untouched,
    /// Somebody else wrote this value; it was left alone.
    Foreign(String),
    /// It could not be read, written, or read back; this is why.
    Failed(String),
}

/// One entry and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The entry.
    pub entry: Entry,
    /// What became of it.
    pub fate: Fate,
}

impl Restored {
    /// True if the machine is as it was before.
    pub fn is_settled(&self) -> bool {
        matches!(self.fate, Fate::Restored | Fate::Untouched)
    }
}

/// Puts entries back in reverse order. With `force`, what somebody else wrote is overwritten too.
///
/// One of several may undo another, or forbid it for a time: SMT that goes on brings every CPU, and while it is off no
/// second thread can be brought. So all are looked at once more.
pub fn restore(writer: &mut impl SystemWriter, entries: &[Entry], force: bool) -> Vec<Restored> {
    let mut results: Vec<Restored> = entries
        .iter()
        .rev()
        .map(|entry| Restored { entry: entry.clone(), fate: restore_one(writer, entry, force) })
        .collect();
    results.reverse();
    if results.len() > 1 {
        for result in &mut results {
            result.fate = match (&result.fate, restore_one(writer, &result.entry, force)) {
                (Fate::Restored | Fate::Failed(_), Fate::Untouched) => Fate::Restored,
                (_, now) => now,
            };
        }
    }
    results
}

pub(crate) fn restore_one(writer: &mut impl SystemWriter, entry: &Entry, force: bool) -> Fate {
    let now = match writer.read(&entry.target) {
        Ok(now) => now,
        Err(error) => return Fate::Failed(error.to_string()),
    };
    if now == entry.old {
        return Fate::Untouched;
    }
    if !force && !entry.ours.contains(&now) {
        return Fate::Foreign(now);
    }
    if let Err(error) = writer.write(&entry.target, &entry.old) {
        return Fate::Failed(error.to_string());
    }
    match writer.read(&entry.target) {
        Ok(after) if after == entry.old => Fate::Restored,
        Ok(after) => Fate::Failed(format!("{} was written and {after} read back", entry.old)),
        Err(error) => Fate::Failed(error.to_string()),
    }
}

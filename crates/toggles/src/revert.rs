//! What an earlier experiment left, and mending it.

use std::io;
use std::path::PathBuf;

use host::live::{effective_root, process_start_ticks};
use host::state_folder::advice;
use host::{Disk, LockError, RootError, SystemWriter};

use crate::affinity::put_back;
use crate::experiment::settle;
use crate::hold::Place;
use crate::journal::{self, Journal, Unreadable};
use crate::restore::{Fate, Restored};

/// What lies in the state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing: the machine is as it was.
    Nothing,
    /// An experiment that runs now.
    Running(Journal),
    /// A change that the user asked to keep.
    Kept(Journal),
    /// An experiment whose process is gone.
    Left(Journal),
    /// One of another boot: the kernel has forgotten what was switched.
    Void(Journal),
    /// Something that is no journal, or none that this sidestep can read.
    Unreadable(Unreadable),
    /// Nothing of this user, and what root has switched cannot be read: in this folder.
    Unseen(PathBuf),
}

/// Why nothing could be looked at or mended.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    /// An experiment runs, or the folder cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The tree is no machine.
    #[error(transparent)]
    Tree(#[from] RootError),
    /// The journal cannot be read or written.
    #[error("cannot use the journal in {place}: {source}; {}", advice(.source, effective_root()))]
    Journal {
        /// The state folder.
        place: String,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What lies in the state folder of a place.
///
/// # Errors
/// A journal that cannot be read.
pub fn find_state(place: &Place) -> Result<Found, RevertError> {
    let found = journal::load(&mut place.folder()).map_err(|source| unusable(place, source))?;
    Ok(judge(found, &place.boot_id()?))
}

/// The same for a user: his own journal, and if that holds nothing, the machine's.
///
/// # Errors
/// A journal of his own that cannot be read.
pub fn find_state_of_user(own: &Place, machine: &Place) -> Result<Found, RevertError> {
    let found = find_state(own)?;
    if found != Found::Nothing || own == machine {
        return Ok(found);
    }
    match find_state(machine) {
        Err(RevertError::Journal { .. }) => Ok(Found::Unseen(machine.state.clone())),
        found => found,
    }
}

fn unusable(place: &Place, source: io::Error) -> RevertError {
    RevertError::Journal { place: place.state.display().to_string(), source }
}

fn judge(found: Option<Result<Journal, Unreadable>>, boot_id: &str) -> Found {
    match found {
        None => Found::Nothing,
        Some(Err(why)) => Found::Unreadable(why),
        Some(Ok(journal)) if journal.owner.boot_id != boot_id => Found::Void(journal),
        Some(Ok(journal)) if journal.kept => Found::Kept(journal),
        Some(Ok(journal)) if process_start_ticks(journal.owner.pid) == Some(journal.owner.start_ticks) => {
            Found::Running(journal)
        }
        Some(Ok(journal)) => Found::Left(journal),
    }
}

/// How to mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Revert {
    /// Overwrite what somebody else wrote meanwhile.
    pub force: bool,
    /// Leave what somebody else wrote, and forget the journal, also a damaged one.
    pub forget: bool,
}

/// What mending did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reverted {
    /// There was nothing to mend.
    Nothing,
    /// The journal was of another boot and was taken away.
    Void(Journal),
    /// What was no journal is kept under this name.
    SetAside(String, Unreadable),
    /// The journal is damaged or of another format, and was left where it is.
    Refused(Unreadable),
    /// Each value and what became of it.
    Done(Journal, Vec<Restored>),
}

impl Reverted {
    /// True if the machine may still differ from what it was.
    pub fn is_left_changed(&self) -> bool {
        match self {
            Self::Nothing | Self::Void(_) => false,
            Self::SetAside(..) | Self::Refused(_) => true,
            Self::Done(_, results) => results.iter().any(|result| !result.is_settled()),
        }
    }
}

/// Mends what an earlier experiment left at a place.
///
/// # Errors
/// An experiment that runs, or a journal that cannot be read or written.
pub fn revert(place: &Place, how: Revert) -> Result<Reverted, RevertError> {
    if find_state(place)? == Found::Nothing {
        return Ok(Reverted::Nothing);
    }
    let _lock = place.folder().try_lock()?;
    let boot_id = place.boot_id()?;
    revert_on(&mut place.writer(), &mut place.folder(), &boot_id, how)
        .map_err(|source| unusable(place, source))
}

/// The same on any writer and disk; the caller holds the lock.
///
/// # Errors
/// What the disk said.
pub fn revert_on(
    writer: &mut impl SystemWriter,
    disk: &mut impl Disk,
    boot_id: &str,
    how: Revert,
) -> io::Result<Reverted> {
    journal::clear_unfinished(disk)?;
    let journal = match journal::load(disk)? {
        None => return Ok(Reverted::Nothing),
        Some(Err(damaged @ Unreadable::Damaged(_))) if how.forget => {
            return Ok(Reverted::SetAside(journal::set_aside(disk)?, damaged));
        }
        // As long as it lies there, nobody takes the machine for one on which nothing is switched.
        Some(Err(unreadable)) => return Ok(Reverted::Refused(unreadable)),
        Some(Ok(journal)) => journal,
    };
    if journal.owner.boot_id != boot_id {
        journal::clear(disk)?;
        return Ok(Reverted::Void(journal));
    }
    let results = put_back(writer, &journal, how.force);
    let only_foreign_left =
        results.iter().all(|result| result.is_settled() || matches!(result.fate, Fate::Foreign(_)));
    if how.forget && only_foreign_left {
        journal::clear(disk)?;
    } else {
        settle(disk, &journal, &results)?;
    }
    Ok(Reverted::Done(journal, results))
}

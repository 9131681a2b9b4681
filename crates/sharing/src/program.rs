//! The programs that are watched: what is mapped where, and the runs that samples name.

use std::collections::HashMap;

use host::live::{ProgramFile, RegisterSample, read_process_memory};
use host::{AddressSpace, MappedRange, Root};

use crate::instruction::{Code, Run};
use crate::symbols::Symbols;
use crate::touch::{Extent, Object};

/// One process.
#[derive(Debug, Default)]
struct Program {
    space: AddressSpace,
    /// The space was read as a whole at least once.
    is_known: bool,
    /// The look in which it was read last.
    read_in: Option<u64>,
    runs: HashMap<u64, Known>,
    files: HashMap<String, Option<ProgramFile>>,
    symbols: HashMap<String, Symbols>,
}

/// A place in the file that a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePlace {
    /// The file.
    pub(super) path: String,
    /// From its beginning; behind its end for memory that begins as zeros.
    pub(super) offset: u64,
}

/// Code that was looked at.
#[derive(Debug)]
struct Known {
    run: Result<Run, Unread>,
    /// Until when it holds: code that a program makes while it runs may change.
    look: Option<u64>,
}

/// Why there is no instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// Its bytes cannot be read: the process has ended, or is another's.
    NoCode,
    /// They are none.
    NoInstruction,
}

impl Unread {
    /// In words.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::NoCode => "code that could not be read",
            Self::NoInstruction => "bytes that are no instruction",
        }
    }
}

/// All processes that were seen.
#[derive(Debug)]
pub(super) struct Programs {
    root: Root,
    by_pid: HashMap<u32, Program>,
    look: u64,
}

impl Programs {
    /// None yet.
    pub(super) fn new() -> Self {
        Self { root: Root::live(), by_pid: HashMap::new(), look: 0 }
    }

    /// A new look begins: what changes by itself is read anew.
    pub(super) fn begin_look(&mut self) {
        self.look += 1;
    }

    /// The process is another program from now on.
    pub(super) fn forget(&mut self, pid: u32) {
        self.by_pid.remove(&pid);
    }

    /// A child has what its parent has mapped.
    pub(super) fn started(&mut self, pid: u32, parent: u32) {
        if pid != parent
            && let Some(program) = self.by_pid.get(&parent)
        {
            let space = program.space.clone();
            self.by_pid.entry(pid).or_default().space = space;
        }
    }

    /// Code was mapped.
    pub(super) fn mapped(&mut self, pid: u32, start: u64, bytes: u64, file_offset: u64, path: String) {
        let range = MappedRange {
            start,
            end: start.saturating_add(bytes),
            is_executable: true,
            file_offset,
            path,
            ..MappedRange::default()
        };
        let program = self.by_pid.entry(pid).or_default();
        program.runs.retain(|address, _| !range.contains(*address));
        program.space.map(range);
    }

    /// The instructions that a sample names.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn run(&mut self, sample: &RegisterSample) -> Result<&Run, Unread> {
        let look = self.look;
        let known = |known: &Known| known.look.is_none_or(|of| of == look);
        let program = self.by_pid.entry(sample.pid).or_default();
        if !program.runs.get(&sample.ip).is_some_and(known) {
            program.refresh(&self.root, sample.pid, sample.ip, look);
            let is_32_bit = sample.registers.is_some_and(|registers| registers.is_32_bit);
            let code = program.code(sample).ok_or(Unread::NoCode);
            let run =
                code.and_then(|code| Run::around(&code, sample.ip, is_32_bit).ok_or(Unread::NoInstruction));
            let is_of_file =
                program.space.find(sample.ip).is_some_and(|range| range.inode != 0 && !range.is_writable);
            let known = Known { run, look: (!is_of_file).then_some(look) };
            program.runs.insert(sample.ip, known);
        }
        program.runs[&sample.ip].run.as_ref().map_err(|unread| *unread)
    }

    /// The file behind an address: mapped there, or in front of it, as memory of a program that begins as zeros is.
    pub(super) fn file_place(&self, pid: u32, address: u64) -> Option<FilePlace> {
        let space = &self.by_pid.get(&pid)?.space;
        let range = space.find(address)?;
        let range = if range.path.is_empty() { space.find(range.start.checked_sub(1)?)? } else { range };
        let offset = range.file_offset.checked_add(address - range.start)?;
        range.path.starts_with('/').then(|| FilePlace { path: range.path.clone(), offset })
    }

    /// The symbol there, if the file has one.
    pub(super) fn symbol(&mut self, pid: u32, place: &FilePlace) -> Option<String> {
        let program = self.by_pid.get_mut(&pid)?;
        let read = || {
            let bytes = ProgramFile::open(pid, &place.path, None).and_then(|file| file.whole());
            Symbols::read(&bytes.unwrap_or_default())
        };
        let symbols = program.symbols.entry(place.path.clone()).or_insert_with(read);
        symbols.at(place.offset).map(str::to_owned)
    }

    /// What an address of a process is: an object, the extent it lies in, and the place in the object; `None` if the process
    /// has nothing there.
    pub(super) fn place(&mut self, pid: u32, address: u64) -> Option<(Object, Extent, u64)> {
        let program = self.by_pid.entry(pid).or_default();
        program.refresh(&self.root, pid, address, self.look);
        let Some(range) = program.space.find(address) else {
            if program.is_known {
                return None;
            }
            // Of a process that has ended before anybody looked: all that is known is whose it is.
            let extent =
                Extent { end: u64::MAX, pid, is_writable: true, is_private: true, ..Extent::default() };
            return Some((Object::Process(pid), extent, address));
        };
        let extent = Extent {
            object: 0,
            start: range.start,
            end: range.end,
            pid,
            address: range.start,
            path: range.path.clone(),
            is_writable: range.is_writable,
            is_private: !range.is_shared,
        };
        // A private copy is made at the first write: what cannot be written is one for all, unless it is seen to be written
        // all the same (`Touches::part_copies`).
        if range.inode != 0 && (range.is_shared || !range.is_writable) {
            let start = range.file_offset;
            let object = Object::File { device: range.device.clone(), inode: range.inode };
            let extent = Extent { start, end: start.saturating_add(range.end - range.start), ..extent };
            return Some((object, extent, start.saturating_add(address - range.start)));
        }
        Some((Object::Process(pid), extent, address))
    }
}

impl Default for Programs {
    fn default() -> Self {
        Self::new()
    }
}

impl Program {
    /// Reads the space anew if it does not know the address, once per look.
    fn refresh(&mut self, root: &Root, pid: u32, address: u64, look: u64) {
        let is_whole = self
            .space
            .find(address)
            .is_some_and(|range| range.inode != 0 || range.path.is_empty() || range.path.starts_with('['));
        if is_whole || self.read_in == Some(look) {
            return;
        }
        self.read_in = Some(look);
        if let Some(space) = AddressSpace::of_process(root, pid) {
            self.space = space;
            self.is_known = true;
        }
    }

    /// The bytes at the sample: as they are in the process, or as they are in its file.
    fn code(&mut self, sample: &RegisterSample) -> Option<Code> {
        let read = |address: u64, into: &mut [u8]| read_process_memory(sample.pid, address, into).ok();
        if let Some(code) = Code::read(sample.ip, read) {
            return Some(code);
        }
        let range = self.space.find(sample.ip)?;
        let inode = (range.inode != 0).then_some(range.inode);
        let open = || ProgramFile::open(sample.pid, &range.path, inode).ok();
        let file = self.files.entry(range.path.clone()).or_insert_with(open).as_ref()?;
        Code::read(sample.ip, |address, into| {
            let offset = range.file_offset + address.checked_sub(range.start)?;
            file.read_at(offset, into).ok()
        })
    }
}

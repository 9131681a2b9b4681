//! Why the loader would not load a library into a program, told by the program's file before it is started.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::arch::{self, ELF_MACHINE, GNU_LOADER, elf_machine_name};
use crate::live::ProgramFile;

/// Enough for the first line of a script and the headers of any program.
const HEAD_BYTES: usize = 4096;
/// A script's interpreter may be a script, and so on; the kernel follows five, fs/exec.c.
const SCRIPTS_MAX: usize = 5;

/// What keeps the library out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreloadObstacle {
    /// There is no loader that could load it.
    Static(PathBuf),
    /// The loader is of another C library.
    OtherLibrary(PathBuf),
    /// It is no program of 64 bits for any known kind of CPU.
    NoProgram(PathBuf),
    /// It is for another kind of CPU, which is named.
    OtherMachine(PathBuf, String),
    /// The loader ignores what users ask of programs that run with another's rights.
    GainsPrivileges(PathBuf),
}

impl fmt::Display for PreloadObstacle {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |words: &str| words.to_owned();
        let (path, why) = match self {
            Self::Static(path) => (path, named("is a static program, which loads no library")),
            Self::OtherLibrary(path) => (path, named("uses another C library than GNU's")),
            Self::NoProgram(path) => (path, format!("is no 64-bit program for {}", arch::NAME)),
            Self::OtherMachine(path, machine) => {
                (path, format!("is for {machine}, the library for {}", arch::NAME))
            }
            Self::GainsPrivileges(path) => {
                (path, named("gains privileges, so the loader ignores what users ask of it"))
            }
        };
        write!(text, "{} {why}; nothing can be done", path.display())
    }
}

/// What a file is to who starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramKind {
    /// Run by this interpreter.
    Script(PathBuf),
    /// Loaded by this loader.
    Dynamic(PathBuf),
    /// 64 bits, and without a loader.
    Static,
    /// For another kind of CPU, which is named.
    OtherMachine(String),
    /// Anything else.
    Other,
}

impl ProgramKind {
    /// By the first bytes of a file.
    pub fn of(head: &[u8]) -> Self {
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
            let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            return Self::Script(PathBuf::from(OsStr::from_bytes(&line[..end])));
        }
        Self::of_elf(head).unwrap_or(Self::Other)
    }

    /// By the file's first bytes; `None` if it cannot be read.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        let file = ProgramFile::open(std::process::id(), path.to_str()?, None).ok()?;
        Self::of_open(&file)
    }

    fn of_open(file: &ProgramFile) -> Option<Self> {
        let mut head = vec![0; HEAD_BYTES];
        let length = file.read_at(0, &mut head).ok()?;
        Some(Self::of(&head[..length]))
    }

    /// System V gABI, chapters 4 and 5.
    fn of_elf(head: &[u8]) -> Option<Self> {
        /// "Program interpreter" segment.
        const PT_INTERP: u64 = 3;
        let number = |at: usize, bytes: usize| {
            let part = head.get(at..at.checked_add(bytes)?)?;
            Some(part.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
        };
        let place = |at: usize| usize::try_from(number(at, 8)?).ok();
        // Of Elf64_Ehdr: e_machine 18, e_phoff 32, e_phentsize 54, e_phnum 56.
        if !head.starts_with(b"\x7fELF") {
            return None;
        }
        let machine = number(18, 2)?;
        if machine != ELF_MACHINE {
            return elf_machine_name(machine).map(|name| Self::OtherMachine(name.to_owned()));
        }
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (start, bytes, count) = (place(32)?, number(54, 2)? as usize, number(56, 2)? as usize);
        for index in 0..count {
            let header = start.checked_add(index * bytes)?;
            if number(header, 4)? == PT_INTERP {
                // Of Elf64_Phdr: p_offset 8, p_filesz 32.
                let (from, length) = (place(header.checked_add(8)?)?, place(header.checked_add(32)?)?);
                let name = head.get(from..from.checked_add(length)?)?;
                let name = name.strip_suffix(b"\0").unwrap_or(name);
                return Some(Self::Dynamic(PathBuf::from(OsStr::from_bytes(name))));
            }
        }
        Some(Self::Static)
    }
}

/// What keeps the library out of a command; `None` if nothing is known to, or there is no such command.
pub fn preload_obstacle(command: &OsStr) -> Option<PreloadObstacle> {
    let mut path = in_search_path(command)?;
    for _ in 0..=SCRIPTS_MAX {
        let file = ProgramFile::open(std::process::id(), path.to_str()?, None).ok()?;
        let kind = ProgramKind::of_open(&file)?;
        if let ProgramKind::Script(interpreter) = kind {
            path = interpreter;
            continue;
        }
        return match kind {
            _ if file.gains_privileges() => Some(PreloadObstacle::GainsPrivileges(path)),
            ProgramKind::Dynamic(loader) if loader.as_os_str().as_bytes().ends_with(GNU_LOADER) => None,
            ProgramKind::Dynamic(_) => Some(PreloadObstacle::OtherLibrary(path)),
            ProgramKind::Static => Some(PreloadObstacle::Static(path)),
            ProgramKind::OtherMachine(machine) => Some(PreloadObstacle::OtherMachine(path, machine)),
            ProgramKind::Other | ProgramKind::Script(_) => Some(PreloadObstacle::NoProgram(path)),
        };
    }
    None
}

/// As execvp(3) finds it.
fn in_search_path(command: &OsStr) -> Option<PathBuf> {
    if command.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(command));
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(command)).find(|path| Path::is_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a program with one program header of this kind, which names the bytes behind it.
    fn elf(class: u8, machine: u8, kind: u8, name: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 64 + 56];
        head[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1]);
        (head[18], head[32], head[54], head[56]) = (machine, 64, 56, 1);
        (head[64], head[64 + 8], head[64 + 32]) = (kind, 64 + 56, name.len() as u8);
        head.extend_from_slice(name);
        head
    }

    /// The name of the loader as a program has it, and its path.
    fn loader() -> (Vec<u8>, PathBuf) {
        let path = [b"/lib64/", GNU_LOADER].concat();
        (path.iter().copied().chain([0]).collect(), PathBuf::from(OsStr::from_bytes(&path)))
    }

    #[test]
    fn a_program_for_another_cpu_is_named_with_both() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("program");
        let (number, name) = if ELF_MACHINE == 183 { (62, "x86") } else { (183, "arm64") };
        std::fs::write(&path, elf(2, number, 3, &loader().0)).expect("room");
        let said = preload_obstacle(path.as_os_str()).expect("it cannot be loaded").to_string();
        assert!(said.contains(&format!("is for {name}, the library for {}", arch::NAME)), "{said}");
        std::fs::write(&path, "MZ").expect("room");
        let said = preload_obstacle(path.as_os_str()).expect("it is no program").to_string();
        assert!(said.contains(&format!("is no 64-bit program for {}", arch::NAME)), "{said}");
    }

    #[test]
    fn programs_are_told_apart_by_their_heads() {
        let (loader, path) = loader();
        let loader = &loader[..];
        let own = ELF_MACHINE as u8;
        assert_eq!(ProgramKind::of(&elf(2, own, 3, loader)), ProgramKind::Dynamic(path));
        assert_eq!(ProgramKind::of(&elf(2, own, 1, b"")), ProgramKind::Static);
        for (number, name) in [(3, "32-bit x86"), (40, "32-bit Arm"), (62, "x86"), (183, "arm64")] {
            let expected = ProgramKind::OtherMachine(name.to_owned());
            let kind = ProgramKind::of(&elf(2, number, 3, loader));
            assert_eq!(kind == expected, number != own, "{name}: {kind:?}");
        }
        assert_eq!(ProgramKind::of(&elf(2, 0xee, 3, loader)), ProgramKind::Other, "an unknown CPU");
        assert_eq!(ProgramKind::of(&elf(1, own, 3, loader)), ProgramKind::Other, "32 bits");
        assert_eq!(ProgramKind::of(&elf(2, own, 3, loader)[..130]), ProgramKind::Other, "cut short");
        let script = |line: &[u8]| ProgramKind::of(line);
        assert_eq!(script(b"#! /bin/sh -e\nx"), ProgramKind::Script("/bin/sh".into()));
        assert_eq!(script(b"#!/usr/bin/env python3"), ProgramKind::Script("/usr/bin/env".into()));
        assert_eq!(script(b""), ProgramKind::Other);
    }

    #[test]
    fn a_program_that_gains_privileges_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("program");
        std::fs::write(&path, elf(2, ELF_MACHINE as u8, 3, &loader().0)).expect("room");
        assert_eq!(preload_obstacle(path.as_os_str()), None);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).expect("it is ours");
        let found = preload_obstacle(path.as_os_str());
        assert_eq!(found, Some(PreloadObstacle::GainsPrivileges(path.clone())));
        let script = folder.path().join("script");
        std::fs::write(&script, format!("#!{}\n", path.display())).expect("room");
        assert_eq!(preload_obstacle(script.as_os_str()), found, "a script is its interpreter");
    }

    #[test]
    fn a_shell_and_what_is_not_there_meet_no_obstacle() {
        assert_eq!(preload_obstacle(OsStr::new("/no/such/program")), None);
        assert_eq!(preload_obstacle(OsStr::new("no-such-program")), None);
        // This program is built like those that it watches, for whatever machine it is.
        let own = env::current_exe().expect("it has one");
        assert_eq!(preload_obstacle(own.as_os_str()), None);
    }
}

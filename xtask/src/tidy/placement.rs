//! Rules of place: which crate may hold `unsafe`, open files, print, allocate, or touch a clock.

use super::scan::has_word;
use super::{Source, Violation};

/// Crates that hold `unsafe`. Source: ARCHITECTURE.md, "Invariants".
const UNSAFE_CRATES: &[&str] = &["kernels", "host", "clock", "clock-c", "clock-preload"];
/// Test-only fakes of hardware, which need what safe code cannot ask for.
const UNSAFE_FAKES: &[&str] = &[
    "crates/toggles/tests/all/micro_guest/guest.rs",
    "crates/cli/tests/all/other_cpu/tracer.rs",
    "crates/cli/tests/all/no_perf/filter.rs",
];
/// Crates that nobody runs on a machine of others.
const WORKSHOP: &[&str] = &["evidence", "xtask"];
/// The crate that lists, looks at and removes what lies at a path, and opens nothing itself: whoever prepared the path is judged by the
/// door of `host` (`read_plain`, `open_plain`, `NewFile`, `write_atomically`, `make_folders`, `TrustedFolder`, `ScratchFolder`).
const GUEST: &str = "cli";
/// What opens, makes or changes a file without a judge.
const UNJUDGED: &[&str] = &[
    "read",
    "read_to_string",
    "write",
    "copy",
    "rename",
    "hard_link",
    "create_dir",
    "create_dir_all",
    "set_permissions",
    "File::open",
    "File::create",
    "File::create_new",
    "File::options",
    "OpenOptions",
    "DirBuilder",
];
/// The sources of `host`.
const HOST: &str = "crates/host/src/";
/// Where `host` touches files itself, in its sources: a file, or a folder with all below it. What reads a machine is `root`, what
/// writes to one is `system_writer`; the others hold what is ours, or ask for one thing that has no text.
const SYSTEM_ACCESS_IN_HOST: &[&str] = &[
    "root/",
    "system_writer.rs",
    "system_writer/",
    // The door: what is read, written whole, trusted, and made to go away again.
    "plain_file.rs",
    "live/atomic_file.rs",
    "generated_folder.rs",
    "trusted_folder.rs",
    // The lock of a folder that the door opened.
    "state_folder.rs",
    // Standard output past the runtime's handle.
    "live/standard_output.rs",
    // The code and the symbols of a program that is watched.
    "live/watched_process.rs",
    // Files of memory that a helper inherits: no path names them.
    "live/handover.rs",
    // A device that is held open, and the permissions of a file.
    "live/wake_latency.rs",
    "live/process.rs",
];
/// Crates that print.
const PRINTING_CRATES: &[&str] = &["cli", "evidence", "xtask"];
/// Crates that compute from plain data only.
const PURE_CRATES: &[&str] =
    &["machine", "stats", "models", "placement", "flaws", "workloads", "diagnosis", "fleet", "report"];
/// The one file of the stand-alone clock crate that may open (named) files.
const CLOCK_PLATFORM: &str = "crates/clock/src/platform.rs";
/// That, and of the preload library the one that asks for the clock source.
const LIBRARY_SYSTEM_ACCESS: &[&str] = &[CLOCK_PLATFORM, "crates/clock-preload/src/kernel.rs"];

pub(super) fn unsafe_code(source: &Source) -> Vec<Violation> {
    if UNSAFE_CRATES.contains(&source.crate_name()) || UNSAFE_FAKES.contains(&source.path.as_str()) {
        return vec![];
    }
    let mut found =
        each(source, source.numbered(), &["unsafe"], "unsafe stands only in kernels, host and clock");
    let is_root = ["/src/lib.rs", "/src/main.rs"].iter().any(|end| source.path.ends_with(end));
    if is_root && !source.code.iter().any(|line| line.contains("#![forbid(unsafe_code)]")) {
        found.push(source.breach(0, "a crate root says #![forbid(unsafe_code)]".to_owned()));
    }
    found
}

pub(super) fn files(source: &Source) -> Vec<Violation> {
    let may_open = match source.crate_name() {
        "host" => {
            let of_host = source.path.strip_prefix(HOST);
            of_host.is_some_and(|path| SYSTEM_ACCESS_IN_HOST.iter().any(|folder| path.starts_with(folder)))
        }
        name => WORKSHOP.contains(&name) || source.path == CLOCK_PLATFORM,
    };
    if may_open {
        return vec![];
    }
    if source.crate_name() == GUEST {
        return unjudged(source);
    }
    let rule = match source.crate_name() {
        "host" => {
            "host reads a machine through Root and writes to one through SystemWriter; see SYSTEM_ACCESS_IN_HOST"
        }
        _ => "files are opened only in host, xtask and clock/src/platform.rs",
    };
    each(source, source.production(), &["std::fs", "fs::", "File::", "OpenOptions"], rule)
}

/// Whatever opens a path by the standard library, by its own name or behind `fs::`.
fn unjudged(source: &Source) -> Vec<Violation> {
    let opens = |line: &str| {
        let is_import = line.trim_start().starts_with("use ");
        UNJUDGED.iter().copied().find(|word| {
            let is_name_of_its_own = word.contains(':') || word.contains(char::is_uppercase);
            (is_name_of_its_own || (is_import && line.contains("fs::{"))) && has_word(line, word)
                || has_word(line, &format!("fs::{word}"))
        })
    };
    let found = source.production().filter_map(|(number, line)| Some((number, opens(line)?)));
    let rule = "paths that others may prepare are opened only through the door of host; see GUEST";
    found.map(|(number, word)| source.breach(number, format!("{word}: {rule}"))).collect()
}

pub(super) fn system_paths(source: &Source) -> Vec<Violation> {
    if ["host", "xtask"].contains(&source.crate_name())
        || LIBRARY_SYSTEM_ACCESS.contains(&source.path.as_str())
    {
        return vec![];
    }
    let starts = ["/sys/", "/proc/", "/dev/"];
    let is_path = |text: &str| starts.iter().any(|start| text.starts_with(start)) && !text.contains(' ');
    // A path handed to a `host::Root` may be of a recorded machine: that is the way to read one.
    let through_root =
        |line: usize| ["root.", "Root::"].iter().any(|word| source.code[line - 1].contains(word));
    let paths = source.literals.iter().filter(|(line, text)| !source.is_test[line - 1] && is_path(text));
    let paths = paths.filter(|(line, _)| !through_root(*line));
    paths.map(|(line, text)| source.breach(*line, format!("{text}: reach it through host::Root"))).collect()
}

pub(super) fn purity(source: &Source) -> Vec<Violation> {
    let words = [
        "Instant",
        "SystemTime",
        "std::thread",
        "std::env",
        "std::process",
        "std::net",
        "std::arch",
        "core::arch",
        "asm!",
        "libc::",
    ];
    let rule = "this crate touches no file, clock, thread, process or CPU";
    where_it_holds(source, PURE_CRATES.contains(&source.crate_name()), &words, rule)
}

pub(super) fn allocation(source: &Source) -> Vec<Violation> {
    let words =
        ["Vec<", "Vec::", "vec!", "Box<", "Box::", "String::", "format!", "to_vec", "to_owned", "std::io"];
    let rule = "kernels never allocates, prints or opens";
    where_it_holds(source, source.crate_name() == "kernels", &words, rule)
}

pub(super) fn threads(source: &Source) -> Vec<Violation> {
    let holds = !is_program(source) && source.crate_name() != "xtask";
    let rule = "it panics at a limit on tasks; see host::live::start_thread";
    where_it_holds(source, holds, &["scope.spawn", "thread::spawn"], rule)
}

pub(super) fn printing(source: &Source) -> Vec<Violation> {
    let holds = !is_program(source) && !PRINTING_CRATES.contains(&source.crate_name());
    let words = ["println!", "print!", "eprintln!", "eprint!"];
    where_it_holds(source, holds, &words, "printing stands only in cli and xtask")
}

/// Benchmarks and examples are programs of their own.
/// What differs between architectures stands in a folder or file `arch`, behind names that all of them have; a test of one of them says so
/// in its first lines, for the whole file.
pub(super) fn architectures(source: &Source) -> Vec<Violation> {
    let is_arch = source.path.contains("/arch/") || source.path.ends_with("/arch.rs");
    let rule = "code of one architecture stands in a folder or file `arch`";
    let breaches = each(source, source.numbered(), &["target_arch"], rule);
    let is_head = |violation: &Violation| {
        source.is_test[violation.line - 1] && source.code[violation.line - 1].starts_with("#![cfg")
    };
    breaches.into_iter().filter(|violation| !is_arch && !is_head(violation)).collect()
}

fn is_program(source: &Source) -> bool {
    ["/benches/", "/examples/"].iter().any(|folder| source.path.contains(folder))
}

fn where_it_holds(source: &Source, holds: bool, words: &[&str], rule: &str) -> Vec<Violation> {
    if holds { each(source, source.production(), words, rule) } else { vec![] }
}

fn each<'a>(
    source: &Source,
    lines: impl Iterator<Item = (usize, &'a str)>,
    words: &[&str],
    rule: &str,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for (number, line) in lines {
        if let Some(word) = words.iter().find(|word| has_word(line, word)) {
            found.push(source.breach(number, format!("{word}: {rule}")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&Source) -> Vec<Violation>, path: &str, line: &str) -> usize {
        rule(&Source::new(path, &format!("//! A.\n{line}\n"))).len()
    }

    #[test]
    fn unsafe_is_named_outside_its_three_crates_even_in_tests() {
        assert_eq!(check(unsafe_code, "crates/stats/src/a.rs", "fn a() { unsafe { b() } }"), 1);
        assert_eq!(check(unsafe_code, "crates/stats/tests/a.rs", "fn a() { unsafe { b() } }"), 1);
        assert_eq!(check(unsafe_code, "crates/host/src/a.rs", "fn a() { unsafe { b() } }"), 0);
        assert_eq!(check(unsafe_code, "crates/stats/src/a.rs", "// unsafe\nfn a() { b(\"unsafe\") }"), 0);
        assert_eq!(check(unsafe_code, UNSAFE_FAKES[0], "fn a() { unsafe { b() } }"), 0);
        assert_eq!(check(unsafe_code, "crates/toggles/tests/all/micro_guest/mod.rs", "unsafe { b() }"), 1);
    }

    #[test]
    fn an_architecture_is_named_outside_of_its_folder() {
        let line = "#[cfg(target_arch = \"x86_64\")]";
        for (path, breaches) in [
            ("crates/host/src/cpuid.rs", 1),
            ("crates/host/src/arch/x86_64.rs", 0),
            ("crates/clock-preload/src/arch.rs", 0),
        ] {
            assert_eq!(check(architectures, path, line), breaches, "{path}");
        }
        let whole = "#![cfg(target_arch = \"x86_64\")]";
        assert_eq!(check(architectures, "crates/cli/tests/all/other_cpu/mod.rs", whole), 0);
        assert_eq!(check(architectures, "crates/cli/src/main.rs", whole), 1);
    }

    #[test]
    fn a_crate_root_without_forbid_is_named() {
        assert_eq!(check(unsafe_code, "crates/stats/src/lib.rs", "mod a;"), 1);
        assert_eq!(check(unsafe_code, "crates/stats/src/lib.rs", "#![forbid(unsafe_code)]"), 0);
        assert_eq!(check(unsafe_code, "crates/kernels/src/lib.rs", "mod a;"), 0);
    }

    #[test]
    fn a_thread_that_cannot_be_refused_is_named_outside_of_tests() {
        for line in ["let a = scope.spawn(|| 1);", "std::thread::spawn(|| 1);", "thread::spawn(|| 1);"] {
            assert_eq!(check(threads, "crates/probes/src/a.rs", line), 1, "{line}");
            assert_eq!(check(threads, "crates/probes/tests/a.rs", line), 0, "{line}");
            assert_eq!(check(threads, "crates/clock/benches/a.rs", line), 0, "{line}");
        }
        assert_eq!(check(threads, "crates/host/src/a.rs", "Builder::new().spawn_scoped(scope, a)?"), 0);
    }

    #[test]
    fn opening_a_file_is_named_outside_host_xtask_and_tests() {
        for line in ["use std::fs;", "fs::read(p)", "File::open(p)", "OpenOptions::new()"] {
            assert_eq!(check(files, "crates/record/src/a.rs", line), 1, "{line}");
            assert_eq!(check(files, "crates/host/src/live/a.rs", line), 1, "{line}");
            assert_eq!(check(files, "crates/host/tests/a.rs", line), 0, "{line}");
            assert_eq!(check(files, &format!("{HOST}root/archive.rs"), line), 0, "{line}");
            assert_eq!(check(files, "crates/record/tests/a.rs", line), 0, "{line}");
            assert_eq!(check(files, "crates/record/build.rs", line), 0, "{line}");
        }
        for (line, breaches) in [
            ("use std::fs;", 0),
            ("use std::fs::{self, File};", 0),
            ("fs::read_dir(p)", 0),
            ("fs::remove_file(p)", 0),
            ("fs::read(p)", 1),
            ("std::fs::write(p, b)", 1),
            ("fs::create_dir_all(p)", 1),
            ("use std::fs::{self, read_to_string};", 1),
            ("File::open(p)", 1),
            ("OpenOptions::new()", 1),
        ] {
            assert_eq!(check(files, "crates/cli/src/a.rs", line), breaches, "{line}");
            assert_eq!(check(files, "crates/cli/tests/all/a.rs", line), 0, "{line}");
            assert_eq!(check(files, "xtask/src/a.rs", line), 0, "{line}");
        }
        assert_eq!(check(files, CLOCK_PLATFORM, "File::open(p)"), 0);
        assert_eq!(check(files, "crates/clock/src/lib.rs", "File::open(p)"), 1);
    }

    #[test]
    fn system_paths_are_named_but_sentences_about_them_are_not() {
        assert_eq!(check(system_paths, "crates/cli/src/a.rs", "read(\"/proc/self/smaps\")"), 1);
        assert_eq!(check(system_paths, "crates/cli/src/a.rs", "say(\"/proc/self/smaps cannot be read\")"), 0);
        assert_eq!(check(system_paths, "crates/cli/src/a.rs", "root.read(\"/proc/self/smaps\")"), 0);
        assert_eq!(check(system_paths, "crates/host/src/a.rs", "read(\"/proc/self/smaps\")"), 0);
    }

    #[test]
    fn clocks_and_threads_are_named_in_pure_crates() {
        for line in ["Instant::now()", "std::thread::spawn(f)", "use std::env;", "core::arch::asm!(x)"] {
            assert_eq!(check(purity, "crates/stats/src/a.rs", line), 1, "{line}");
            assert_eq!(check(purity, "crates/probes/src/a.rs", line), 0, "{line}");
        }
    }

    #[test]
    fn allocation_is_named_in_kernels_but_not_in_their_tests() {
        for line in ["let a = vec![1];", "let a: Vec<u8> = b;", "Box::new(1)", "format!(a)"] {
            assert_eq!(check(allocation, "crates/kernels/src/a.rs", line), 1, "{line}");
            assert_eq!(check(allocation, "crates/kernels/tests/a.rs", line), 0, "{line}");
        }
    }

    #[test]
    fn printing_is_named_outside_cli_and_xtask() {
        for line in ["println!(a)", "eprint!(a)"] {
            assert_eq!(check(printing, "crates/probes/src/a.rs", line), 1, "{line}");
            assert_eq!(check(printing, "crates/cli/src/a.rs", line), 0, "{line}");
            assert_eq!(check(printing, "crates/clock/benches/a.rs", line), 0, "{line}");
        }
    }
}

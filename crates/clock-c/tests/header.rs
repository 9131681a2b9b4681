//! The header says what the library exports, and a C program that uses it runs.

use std::env;
use std::ffi::CString;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("../src/functions.rs");

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// C's name of a type that the functions use.
fn c_type(rust: &str) -> &'static str {
    match rust {
        "" => "void",
        "bool" => "bool",
        "u64" => "uint64_t",
        "i32" => "int32_t",
        other => panic!("{other}: the header knows no such type"),
    }
}

/// A declaration, with its comment, of each exported function of the source.
fn header() -> String {
    let mut text = String::from(
        "/* The clock of sidestep-clock for C. Made from the library's source: see the test `header`. */\n\n\
         #ifndef SIDESTEP_CLOCK_H\n#define SIDESTEP_CLOCK_H\n\n#include <stdbool.h>\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n",
    );
    let mut comment: Vec<&str> = Vec::new();
    for line in SOURCE.lines() {
        if let Some(words) = line.strip_prefix("///") {
            comment.push(words.trim());
        } else if let Some(signature) = line.strip_prefix("pub extern \"C\" fn ") {
            let (name, rest) = signature.split_once('(').expect("a function has parameters");
            let (parameters, rest) = rest.split_once(')').expect("they end");
            let returned = c_type(rest.trim_matches([' ', '{', '-', '>']));
            let parameters: Vec<String> = parameters
                .split(", ")
                .filter_map(|parameter| parameter.split_once(": "))
                .map(|(name, kind)| format!("{} {name}", c_type(kind)))
                .collect();
            let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
            let comment = std::mem::take(&mut comment).join("\n * ");
            writeln!(text, "\n/*\n * {comment}\n */\n{returned} {name}({parameters});")
                .expect("a string takes any text");
        } else if !line.starts_with("#[") {
            comment.clear();
        }
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* SIDESTEP_CLOCK_H */\n");
    text
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let path = folder().join("include/sidestep_clock.h");
    let expected = header();
    if env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &expected).expect("the header can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the header is there");
    assert_eq!(found, expected, "UPDATE_EXPECT=1 writes it anew");
    assert_eq!(expected.matches("sidestep_clock_").count(), SOURCE.matches("extern \"C\" fn").count());
}

/// A library of this crate, where cargo has put it.
fn library(name: &str) -> PathBuf {
    let program = env::current_exe().expect("a program knows itself");
    let folders = program.ancestors().skip(1).take(2);
    let mut paths = folders.map(|folder| folder.join(name));
    paths.find(|path| path.exists()).expect("cargo builds the library before its tests")
}

/// Header, libraries and their description as they are installed, until dropped.
struct Prefix(PathBuf);

impl Prefix {
    fn new() -> Self {
        let prefix = Self(env::temp_dir().join(format!("sidestep-clock-c-{}", std::process::id())));
        prefix.install(&folder().join("include/sidestep_clock.h"), "include");
        prefix.install(&folder().join("sidestep-clock.pc"), "lib/pkgconfig");
        for name in ["libsidestep_clock.so", "libsidestep_clock.a"] {
            prefix.install(&library(name), "lib");
        }
        // What a machine has on which programs run that were linked elsewhere; ldconfig makes the link there.
        let version = concat!("run/libsidestep_clock.so.", env!("CARGO_PKG_VERSION_MAJOR"));
        prefix.install_as(&library("libsidestep_clock.so"), version);
        prefix
    }

    fn install(&self, file: &Path, place: &str) {
        let name = file.file_name().expect("a file has a name").to_str().expect("plain words");
        self.install_as(file, &format!("{place}/{name}"));
    }

    fn install_as(&self, file: &Path, place: &str) {
        let place = self.0.join(place);
        std::fs::create_dir_all(place.parent().expect("it is in a folder")).expect("a folder of ours");
        std::os::unix::fs::symlink(file, place).expect("a link of ours");
    }

    /// What pkg-config says of the library; `None` where there is no pkg-config.
    fn described(&self, options: &[&str]) -> Option<Vec<String>> {
        let mut command = Command::new("pkg-config");
        command.args(options).arg("sidestep-clock").env("PKG_CONFIG_PATH", self.0.join("lib/pkgconfig"));
        let output = command.output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("plain words");
        Some(text.split_whitespace().map(str::to_owned).collect())
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        // What is left in a folder for temporary files is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn compiler() -> String {
    env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

/// Whether the C library is there to be linked so.
fn can_link(kind: &[&str], place: &Path) -> bool {
    let source = place.with_extension("c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file of ours");
    let output = Command::new(compiler()).args(kind).arg(&source).arg("-o").arg(place).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn a_c_program_that_links_as_pkg_config_says_reads_times_in_order() {
    let prefix = Prefix::new();
    let program = prefix.0.join("elapsed");
    for (kind, options) in
        [(&[][..], &["--cflags", "--libs"][..]), (&["-static"][..], &["--static", "--cflags", "--libs"][..])]
    {
        if !can_link(kind, &program) {
            println!("skipped: no C compiler, or none that links {kind:?}");
            continue;
        }
        let Some(flags) = prefix.described(options) else {
            println!("skipped: no pkg-config");
            return;
        };
        let built = Command::new(compiler())
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror"])
            .args(kind)
            .arg(folder().join("examples/elapsed.c"))
            .args(flags)
            .arg("-o")
            .arg(&program)
            .output()
            .expect("the compiler starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let run = Command::new(&program).env("LD_LIBRARY_PATH", prefix.0.join("run")).output();
        let run = run.expect("the program starts");
        let text = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && text.contains("0 backwards"), "{kind:?}: {text}");
    }
}

#[test]
fn a_library_that_its_program_closes_stays_as_long_as_its_thread_runs_in_it() {
    let path = library("libsidestep_clock.so");
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path holds no zero");
    // SAFETY: the path is a C string; the library does nothing when it is loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!handle.is_null(), "{path:?} can be loaded");
    // SAFETY: the handle is open and the name a C string.
    let start = unsafe { libc::dlsym(handle, c"sidestep_clock_start".as_ptr()) };
    assert!(!start.is_null(), "the header declares it");
    // SAFETY: the function has this type, as the header says.
    let start = unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> bool>(start) };
    assert!(start());
    // SAFETY: the handle is open, and nothing of the library is used below.
    let status = unsafe { libc::dlclose(handle) };
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    assert!(status == 0 && maps.contains("libsidestep_clock.so"), "{maps}");
}

#[test]
fn the_description_for_pkg_config_has_the_version_of_the_library() {
    let text = include_str!("../sidestep-clock.pc");
    assert!(text.lines().any(|line| line == concat!("Version: ", env!("CARGO_PKG_VERSION"))), "{text}");
}

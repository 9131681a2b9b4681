//! The header says what the library exports, and a C program that uses it runs.

use std::env;
use std::fmt::Write;
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

fn library() -> PathBuf {
    let program = env::current_exe().expect("a program knows itself");
    let folders = program.ancestors().skip(1).take(2);
    let mut paths = folders.map(|folder| folder.join("libsidestep_clock.so"));
    paths.find(|path| path.exists()).expect("cargo builds the library before its tests")
}

#[test]
fn a_c_program_reads_times_in_order() {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("skipped: no C compiler");
        return;
    }
    let (library, place) =
        (library(), env::temp_dir().join(format!("sidestep-clock-c-{}", std::process::id())));
    let built = Command::new(&compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(folder().join("include"))
        .arg(folder().join("examples/elapsed.c"))
        .arg(&library)
        .arg("-o")
        .arg(&place)
        .output()
        .expect("the compiler starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let folder = library.parent().expect("a file is in a folder");
    let run = Command::new(&place).env("LD_LIBRARY_PATH", folder).output().expect("the program starts");
    std::fs::remove_file(&place).expect("it was built here");
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && text.contains("0 backwards"), "{text}");
}

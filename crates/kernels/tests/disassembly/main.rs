//! The machine code of the loops is what their module documentation says, with optimisation and on any CPU.
//!
//! The crate is compiled on its own with `rustc -O`, for each architecture that has loops in assembly, so that the profile of the test
//! and the machine do not matter, and disassembled by objdump. Instructions are compared in a normal form, without register numbers
//! and addresses, by loop body. Without the target of an architecture its tests are skipped, and say so.
#![cfg(target_os = "linux")]

mod aarch64;
mod ticks;
mod x86_64;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// One instruction: where it stands, as text, and where it jumps to.
#[derive(Debug, Clone)]
struct Instruction {
    address: u64,
    text: String,
    target: Option<u64>,
}

type Functions = HashMap<String, Vec<Instruction>>;

/// An architecture to compile for.
struct Target {
    triple: &'static str,
    /// Programs that may know it, best first.
    objdumps: &'static [&'static str],
    /// What a comment of theirs begins with.
    comment: &'static str,
    functions: OnceLock<Result<Functions, String>>,
}

/// What to do where no objdump is found.
const NO_OBJDUMP: &str = "no objdump for it; install Debian package binutils, or binutils-aarch64-linux-gnu, to check the machine code";

impl Target {
    const fn new(triple: &'static str, objdumps: &'static [&'static str], comment: &'static str) -> Self {
        Self { triple, objdumps, comment, functions: OnceLock::new() }
    }

    /// Functions of the optimised crate by path, without the crate's name; `None`, loudly in every test that asks, where the target or
    /// objdump is missing.
    fn functions(&self) -> Option<&Functions> {
        let functions = self.functions.get_or_init(|| self.compile());
        if let Err(reason) = functions {
            println!("SKIPPED: {}: {reason}", self.triple);
        }
        functions.as_ref().ok()
    }

    fn compile(&self) -> Result<Functions, String> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let library =
            Command::new(&rustc).args(["--print", "target-libdir", "--target", self.triple]).output();
        let library =
            String::from_utf8_lossy(&library.expect("rustc has compiled this test").stdout).into_owned();
        if !Path::new(library.trim()).is_dir() {
            return Err(format!("no standard library; rustup target add {}", self.triple));
        }
        let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels-{}.o", self.triple));
        let status = Command::new(rustc)
            .args([
                "--crate-name",
                "kernels",
                "--crate-type",
                "lib",
                "--edition",
                "2024",
                "--cap-lints",
                "allow",
            ])
            .args([
                "-C",
                "opt-level=3",
                "-C",
                "codegen-units=1",
                "--target",
                self.triple,
                "--emit",
                "obj",
                "-o",
            ])
            .arg(&object)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"))
            .status();
        assert!(status.expect("rustc has compiled this test").success(), "rustc -O of the crate");
        let dumps = self.objdumps.iter().filter_map(|program| disassemble(program, &object, self.comment));
        dumps.into_iter().next().ok_or_else(|| NO_OBJDUMP.to_owned())
    }
}

/// Functions of an object or executable; `None` where this program is missing or does not know its instructions.
fn disassemble(program: &str, binary: &Path, comment: &str) -> Option<Functions> {
    let arguments = ["--disassemble", "--demangle", "--no-show-raw-insn"];
    // Said of x86 alone: other architectures refuse it.
    let syntax = (comment == "#").then_some("--disassembler-options=intel");
    // LLVM names no instruction of an extension that is not enabled.
    let extensions = program.starts_with("llvm").then_some("--mattr=+lse");
    let output =
        Command::new(program).args(arguments).args(syntax).args(extensions).arg(binary).output().ok()?;
    let mut functions = Functions::new();
    let mut current = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((_, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            let path = name.strip_prefix("kernels::").unwrap_or(name);
            let hash = path.rfind("::h").filter(|at| path.len() - at == "::h0123456789abcdef".len());
            // LLVM leaves these of a name as they are.
            let escapes = [("_$LT$", "<"), ("$u20$", " "), ("$GT$", ">"), ("..", "::")];
            current =
                escapes.iter().fold(path[..hash.unwrap_or(path.len())].to_owned(), |path, (from, to)| {
                    path.replace(from, to)
                });
        } else if let Some(instruction) = parse(line, comment) {
            functions.entry(current.clone()).or_default().push(instruction);
        }
    }
    (output.status.success() && !functions.is_empty()).then_some(functions)
}

/// An instruction from a line such as `  1f:  jne    10 <kernels::f+0x10>`.
fn parse(line: &str, comment: &str) -> Option<Instruction> {
    let (address, text) = line.split_once(':')?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let text = text.split('<').next()?.split(comment).next()?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
    let hexadecimal = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
    let target = operands.rsplit(',').next().filter(|_| is_jump(mnemonic)).and_then(hexadecimal);
    Some(Instruction { address, text, target })
}

/// Conditional or not, of x86 or of arm64.
fn is_jump(mnemonic: &str) -> bool {
    mnemonic.starts_with('j') || mnemonic.starts_with("b.") || matches!(mnemonic, "b" | "cbz" | "cbnz")
}

/// Instruction ranges that a jump backwards repeats, in the order of their jumps: inner before outer.
fn loops(function: &[Instruction]) -> Vec<&[Instruction]> {
    let body = |(last, jump): (usize, &Instruction)| {
        let target = jump.target.filter(|target| *target <= jump.address)?;
        let first = function.iter().position(|instruction| instruction.address == target)?;
        Some(&function[first..=last])
    };
    function.iter().enumerate().filter_map(body).collect()
}

/// `vmulpd ymm3,ymm15,YMMWORD PTR [rdx+0x60]` becomes `vmulpd ymm,ymm,[m]`, and `ldp q4, q5, [x1, #32]` `ldp q,q,[m]`.
fn normal(text: &str) -> String {
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((text, ""));
    if is_jump(mnemonic) || operands.is_empty() {
        return mnemonic.to_owned();
    }
    let mut is_inside = false;
    let outside = |letter: char| {
        is_inside = letter == '[' || is_inside && letter != ']';
        letter == ',' && !is_inside
    };
    let operands: Vec<&str> = operands.split(outside).map(|operand| form(operand.trim())).collect();
    format!("{mnemonic} {}", operands.join(","))
}

/// One operand without its number.
fn form(operand: &str) -> &str {
    let rest = operand.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = &operand[..operand.len() - rest.len()];
    match letters {
        _ if operand.contains('[') => "[m]",
        _ if operand.starts_with(|c: char| c.is_ascii_digit() || c == '#') => "i",
        "xmm" | "ymm" | "zmm" | "x" | "w" | "d" | "q" => letters,
        "v" if rest.contains(".2d") => "v.2d",
        "v" if rest.contains(".8b") => "v.8b",
        _ => "r",
    }
}

/// Counts of instructions in normal form, by first appearance: `8 vmulpd ymm,ymm,[m]; ...; 1 jne`.
fn summary(body: &[Instruction]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for form in body.iter().map(|instruction| normal(&instruction.text)) {
        match counts.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => counts.push((form, 1)),
        }
    }
    counts.iter().map(|(form, count)| format!("{count} {form}")).collect::<Vec<_>>().join("; ")
}

fn function<'f>(functions: &'f Functions, path: &str) -> &'f [Instruction] {
    functions.get(path).unwrap_or_else(|| panic!("no function {path} in the compiled crate"))
}

/// The innermost loop of `path` is `expected`, in normal form.
fn check(functions: &Functions, path: &str, expected: &str) {
    let body =
        loops(function(functions, path)).first().copied().unwrap_or_else(|| panic!("no loop in {path}"));
    assert_eq!(summary(body), expected, "{path}");
}

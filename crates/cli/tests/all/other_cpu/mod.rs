//! The whole program as another CPU: what it says of itself equals what it says of the dump it is answered from.
//!
//! With CPUID faulting every CPUID of the process is answered, where this CPU has it; with breakpoints those of the
//! program alone, everywhere. Neither needs privilege. What cannot be had here is skipped by name.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod disguise;
mod tracer;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use disguise::{Catch, Refusal, cpuids, fill, is_of_machine, run};
use host::Cpuid;
use machine::CpuId;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sidestep");

/// Recorded CPUs of the zoo that the program runs as.
const ZOO: [&str; 5] = [
    "AMD-K8-SledgeHammer-2xOpteron-250",
    "AMD-K10-Istanbul-8xOpteron-8439SE",
    "AMD-K10-MagnyCours-2xOpteron-6164HE",
    "AMD-15h-Bulldozer-4xOpteron-6272",
    "Intel-Nehalem-2xXeon-X5550",
];

/// A CPU for where the zoo is absent, with signature and name of a Phenom 9600; the rest is made up. Leaf, EAX, EBX, ECX,
/// EDX.
const PHENOM: [(u32, [u32; 4]); 12] = [
    (0, [5, 0x6874_7541, 0x444d_4163, 0x6974_6e65]),
    (1, [0x0010_0f22, 0x0004_0800, 0x0080_2009, 0x178b_fbff]),
    (5, [0x40, 0x40, 3, 0]),
    (0x8000_0000, [0x8000_001a, 0x6874_7541, 0x444d_4163, 0x6974_6e65]),
    (0x8000_0001, [0x0010_0f22, 0x1000_0000, 0x0000_07ff, 0xefd3_fbff]),
    (0x8000_0002, [0x2044_4d41, 0x6e65_6850, 0x7428_6d6f, 0x3920_296d]),
    (0x8000_0003, [0x2030_3036, 0x6461_7551, 0x726f_432d, 0x7250_2065]),
    (0x8000_0004, [0x7365_636f, 0x0072_6f73, 0, 0]),
    (0x8000_0005, [0xff30_ff10, 0xff30_ff20, 0x4002_0140, 0x4002_0140]),
    (0x8000_0006, [0x2080_0000, 0x4200_4200, 0x0200_8140, 0x0010_a140]),
    (0x8000_0007, [0, 0, 0, 0x0000_01f9]),
    (0x8000_0008, [0x0000_3030, 0, 0x0000_2003, 0]),
];

/// The Phenom as a dump of one CPU in a folder.
fn phenom() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = String::new();
    for (leaf, [eax, ebx, ecx, edx]) in PHENOM {
        writeln!(text, "1 {leaf:x} 0 0 0 => {eax:x} {ebx:x} {ecx:x} {edx:x}").expect("text grows");
    }
    std::fs::write(folder.path().join("pu0"), text).expect("a file");
    folder
}

/// The dumps of the zoo; none, and a line, where it is absent.
fn zoo() -> Vec<PathBuf> {
    let zoo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/zoo/cpuid");
    if !zoo.is_dir() {
        println!("skipped: zoo absent: the program ran as no recorded CPU");
        return Vec::new();
    }
    ZOO.iter().map(|name| zoo.join(format!("{name}.tar.bz2"))).collect()
}

/// What the program says as the CPU of a dump; `None`, with a line, where it cannot run as one.
fn disguised(dump: &Path, arguments: &[&str], catch: Catch) -> Option<Value> {
    let answers = Cpuid::open(dump).expect("a dump");
    let ran = match run(Path::new(PROGRAM), arguments, &answers, catch) {
        Ok(ran) => ran,
        Err(Refusal::NoFault(error)) => {
            println!("skipped: no CPUID faulting on this CPU: the process ran as no other CPU ({error})");
            return None;
        }
        Err(Refusal::Trace(error)) => {
            println!("skipped: no ptrace here: the program ran as no other CPU ({error})");
            return None;
        }
    };
    assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    assert!(ran.answered > 0, "nobody asked for CPUID");
    Some(serde_json::from_str(&ran.stdout).expect("JSON"))
}

/// What the program says of a dump.
fn of_dump(dump: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(PROGRAM).args(arguments).arg("--cpuid").arg(dump).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Flaws that one CPU can have, whatever machine it is in.
fn flaws_of_one_cpu() -> Vec<String> {
    let asks_for_more = |need: &flaws::Need| {
        let flag_alone = flaws::Need {
            flag: need.flag.clone(),
            without_flag: need.without_flag.clone(),
            ..Default::default()
        };
        *need != flag_alone
    };
    let flaws = flaws::catalogue().flaws.into_iter();
    flaws.filter(|flaw| !flaw.need.iter().any(asks_for_more)).map(|flaw| flaw.id).collect()
}

/// Compares all that CPUID tells; how many CPUs there are it tells of a whole dump only. False if nothing could run.
fn agree(dump: &Path, catch: Catch) -> bool {
    let Some(machine) = disguised(dump, &["machine", "--json"], catch) else { return false };
    let expected = of_dump(dump, &["machine", "--json"]);
    for part in ["identity", "tlbs", "disagreements"] {
        assert_eq!(machine[part], expected[part], "{}: {part}", dump.display());
    }
    let flaws = ["flaws", "--no-timing", "--json"];
    let Some(judged) = disguised(dump, &flaws, catch) else { return false };
    let expected = of_dump(dump, &flaws);
    assert_eq!(judged["machine"], expected["machine"], "{}", dump.display());
    for part in ["cpus", "cpuid", "flags", "hypervisor"] {
        assert_eq!(judged["evidence"][part], expected["evidence"][part], "{}: {part}", dump.display());
    }
    let of_cpu = flaws_of_one_cpu();
    let reported = |document: &Value| -> Vec<String> {
        let verdicts = document["flaws"].as_array().expect("verdicts").iter();
        verdicts
            .filter(|verdict| of_cpu.iter().any(|id| verdict["id"] == id.as_str()))
            .map(|verdict| format!("{} {} {}", verdict["id"], verdict["affected"], verdict["because"]))
            .collect()
    };
    assert_eq!(reported(&judged), reported(&expected), "{}", dump.display());
    assert!(reported(&judged).len() > 40, "most flaws are of the CPU alone");
    true
}

#[test]
fn with_breakpoints_the_program_says_what_it_says_of_the_dump() {
    let phenom = phenom();
    let mut dumps = zoo();
    dumps.push(phenom.path().to_owned());
    let _ = dumps.iter().all(|dump| agree(dump, Catch::Breakpoint));
}

#[test]
fn with_faults_the_process_says_what_it_says_of_the_dump() {
    let phenom = phenom();
    let mut dumps = zoo();
    dumps.push(phenom.path().to_owned());
    // One that cannot run says so; the others could not either.
    let _ = dumps.iter().all(|dump| agree(dump, Catch::Fault));
}

#[test]
fn an_answer_fills_the_registers_as_the_instruction_does() {
    let folder = phenom();
    let dump = Cpuid::open(folder.path()).expect("a dump");
    let mut registers = tracer::cleared();
    for (leaf, answer) in [(1_u32, PHENOM[1].1), (0x8000_0001, PHENOM[4].1), (0x77, [0; 4])] {
        // Only the lower halves are asked with, and the upper halves are cleared.
        (registers.rax, registers.rcx) = (0xdead_0000_0000 + u64::from(leaf), 0xbeef_0000_0000);
        registers.rbx = u64::MAX;
        fill(&mut registers, 0x1000, &dump);
        let filled = [registers.rax, registers.rbx, registers.rcx, registers.rdx];
        assert_eq!(filled, answer.map(u64::from), "{leaf:x}");
        assert_eq!(registers.rip, 0x1002);
    }
    assert_eq!(dump.known(CpuId(0), 1, 0), Some(PHENOM[1].1));
}

#[test]
fn breakpoints_are_put_only_where_the_compiler_put_cpuid() {
    let around = [0x49, 0x89, 0xd9, 0x0f, 0xa2, 0x4c, 0x87, 0xcb];
    let moved = [&[0x90, 0x90][..], &around, &[0x48, 0x89, 0xde, 0x0f, 0xa2, 0x48, 0x87, 0xf3]].concat();
    assert_eq!(cpuids(&moved), [5, 13]);
    // The two bytes inside a call's distance, and at the end of the code.
    assert!(cpuids(&[0xe8, 0x0f, 0xa2, 0x00, 0x00, 0x48, 0x89, 0xde, 0x0f, 0xa2]).is_empty());
}

#[test]
fn files_of_the_machine_are_hidden_and_the_programs_own_are_not() {
    for (path, expected) in [
        ("/sys/devices/system/cpu/online", true),
        ("/proc/cpuinfo", true),
        ("/dev/cpu/0/msr", true),
        ("/proc/self/status", false),
        ("/etc/ld.so.cache", false),
        ("/usr/lib/libc.so.6", false),
    ] {
        assert_eq!(is_of_machine(path.as_bytes()), expected, "{path}");
    }
}

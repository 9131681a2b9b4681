//! A guest: its first file system, QEMU's arguments, and the boot within a time limit.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::archive::Archive;
use super::definition::{Board, Machine, Numa};
use super::emulator::{Emulator, option_text, version_of};
use super::packages::{self, Unpacked};
use super::{silicon, transcript};
use crate::cargo;

/// What depends on the architecture: a new one is a new row.
#[derive(Debug)]
pub struct Architecture {
    /// As QEMU and Rust call it.
    name: &'static str,
    /// As Debian calls it.
    pub debian: &'static str,
    /// Debian's package with the emulator.
    package: &'static str,
    console: &'static str,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture { name: "x86_64", debian: "amd64", package: "qemu-system-x86", console: "ttyS0" },
    Architecture { name: "aarch64", debian: "arm64", package: "qemu-system-arm", console: "ttyAMA0" },
];

/// The oldest QEMU that has what the machines ask for, such as `x-oem-id` and the CPU models: that of Debian 12.
const QEMU_MIN: (u32, u32) = (7, 2);
/// Words for every kernel: a panic ends the guest at once, and the self-tests of the kernel's cryptography take seconds.
const BOOT_WORDS: &str = "quiet panic=-1 cryptomgr.notests";
/// Letters of ACPI's OEM id and OEM table id. ACPI 6.5, 5.2.6.
const OEM_LETTERS: usize = 6;
const OEM_TABLE_LETTERS: usize = 8;
/// Between two looks at whether a guest has ended.
const LOOK: Duration = Duration::from_millis(50);

/// What a boot came to.
#[derive(Debug)]
pub struct Boot {
    /// Everything on the serial line, and what QEMU itself complained of.
    pub printed: String,
    /// From power-on to power-off, s.
    pub seconds: f64,
    /// It was ended at its time limit.
    pub hangs: bool,
}

/// The row of the architecture that `machine` has.
///
/// # Errors
/// There is none.
pub fn architecture(machine: &Machine) -> anyhow::Result<&'static Architecture> {
    let found = ARCHITECTURES.iter().find(|row| row.name == machine.architecture);
    let known: Vec<&str> = ARCHITECTURES.iter().map(|row| row.name).collect();
    found.with_context(|| {
        format!("architecture {} is unknown; known: {}", machine.architecture, known.join(", "))
    })
}

/// The emulator for `machine`: the packaged one, or with the plugin.
///
/// # Errors
/// It is absent or too old, in one line that says what to install.
pub fn emulator(machine: &Machine, cache: &Path) -> anyhow::Result<Emulator> {
    if machine.tier > 1 {
        return silicon::prepare(machine, cache);
    }
    let row = architecture(machine)?;
    let name = format!("qemu-system-{}", row.name);
    let program =
        cargo::find(&name).with_context(|| format!("{name} is absent (apt-get install {})", row.package))?;
    let emulator = Emulator { program, arguments: Vec::new() };
    let (major, minor) = version_of(&emulator)?;
    anyhow::ensure!(
        (major, minor) >= QEMU_MIN,
        "{name} {major}.{minor} is too old: the lab needs {}.{} or newer",
        QEMU_MIN.0,
        QEMU_MIN.1
    );
    Ok(emulator)
}

/// The first file system: busybox, sidestep, programs of this host, modules, init and steps.
///
/// # Errors
/// What is missing, and how it is made.
pub fn file_system(machine: &Machine, kernel: &Unpacked, cache: &Path) -> anyhow::Result<Vec<u8>> {
    let row = architecture(machine)?;
    let mut archive = Archive::default();
    archive.device("dev/console", 5, 1);
    archive.program("bin/busybox", &fs::read(packages::busybox(cache, row.debian)?)?);
    archive.link("bin/sh", "busybox");
    let own = program_for(row);
    anyhow::ensure!(own.exists(), "{} is absent; build it with cargo build --release -p cli", own.display());
    with_libraries(&mut archive, &own, "bin/sidestep")?;
    for name in &machine.programs {
        // This very program has the threads that share data.
        let own = (name == "xtask").then(cargo::this_program).transpose()?;
        let path = own.or_else(|| cargo::find(name));
        let path = path.with_context(|| format!("{name} is absent on this host; the guest needs it"))?;
        with_libraries(&mut archive, &path, &format!("bin/{name}"))?;
    }
    let mut order = String::new();
    for name in &machine.kernel.modules {
        if let Some(bytes) = kernel.module(name)? {
            archive.file(&format!("modules/{name}.ko"), &bytes);
            let _ = writeln!(order, "{name}");
        }
    }
    archive.file("modules/order", order.as_bytes());
    for step in &machine.step {
        archive.file(&format!("steps/{}", step.name), step.run.as_bytes());
    }
    archive.file("steps/kernel-messages", b"dmesg");
    let shared = cargo::root().join("lab/guest");
    for entry in fs::read_dir(&shared).with_context(|| format!("cannot list {}", shared.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        archive.file(&format!("lab/{name}"), &fs::read(&path)?);
    }
    archive.program("init", transcript::init(machine, row.console).as_bytes());
    Ok(archive.finish())
}

/// Nothing, if the program is there for an architecture that is not this host's.
///
/// # Errors
/// It is not built.
pub fn foreign_program(row: &Architecture) -> anyhow::Result<()> {
    let is_there = row.name == std::env::consts::ARCH || program_for(row).exists();
    anyhow::ensure!(is_there, "no program for {} here; cargo xtask arm64 builds it", row.name);
    Ok(())
}

/// The release build of sidestep for an architecture.
fn program_for(row: &Architecture) -> PathBuf {
    if row.name == std::env::consts::ARCH {
        return cargo::sidestep();
    }
    cargo::sidestep_for(row.name)
}

/// A program of this host and the libraries that ldd names; a static one has none.
fn with_libraries(archive: &mut Archive, program: &Path, place: &str) -> anyhow::Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    archive.program(place, &read(program)?);
    let printed = Command::new("ldd").arg(program).output().map(|done| done.stdout).unwrap_or_default();
    for word in String::from_utf8_lossy(&printed).split_whitespace().filter(|word| word.starts_with('/')) {
        archive.program(word, &read(Path::new(word))?);
    }
    Ok(())
}

/// All arguments of QEMU.
pub fn arguments(machine: &Machine, kernel: &Path, initrd: &Path) -> anyhow::Result<Vec<String>> {
    let row = architecture(machine)?;
    let qemu = &machine.qemu;
    let text = "-nodefaults -display none -no-reboot -serial stdio -monitor none";
    let mut all: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let mut add = |option: &str, value: String| all.extend([option.to_owned(), value]);
    add("-accel", format!("tcg,thread={}", if qemu.one_thread { "single" } else { "multi" }));
    let board = machine.board.as_ref();
    add("-machine", format!("{}{}", qemu.machine, board.map(oem).unwrap_or_default()));
    add("-cpu", qemu.cpu.clone());
    add("-smp", qemu.smp.clone());
    add("-m", machine.memory_mib().to_string());
    for text in board.map(smbios).into_iter().flatten().chain(qemu.smbios.iter().cloned()) {
        add("-smbios", text);
    }
    add("-kernel", kernel.display().to_string());
    add("-initrd", initrd.display().to_string());
    add("-append", format!("console={} {BOOT_WORDS} {}", row.console, machine.kernel.boot_words));
    if let Some(numa) = &machine.numa {
        nodes(numa, &mut add);
    }
    all.extend(qemu.arguments.iter().cloned());
    Ok(all)
}

/// SMBIOS structures of a board: firmware, system, board, chassis, memory module.
fn smbios(board: &Board) -> Vec<String> {
    let text = |value: &String| option_text(value);
    let (vendor, product) = (text(&board.vendor), text(&board.product));
    vec![
        format!(
            "type=0,vendor={},version={},date={}",
            text(&board.bios_vendor),
            text(&board.bios_version),
            text(&board.bios_date)
        ),
        format!("type=1,manufacturer={vendor},product={product}"),
        format!("type=2,manufacturer={vendor},product={product}"),
        format!("type=3,manufacturer={vendor}"),
        format!("type=17,manufacturer={vendor}"),
    ]
}

/// The ids that ACPI's tables bear, made of the board's names.
fn oem(board: &Board) -> String {
    let letters = |text: &String, count: usize| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.take(count).map(|letter| letter.to_ascii_uppercase()).collect()
    };
    format!(
        ",x-oem-id={},x-oem-table-id={}",
        letters(&board.vendor, OEM_LETTERS),
        letters(&board.product, OEM_TABLE_LETTERS)
    )
}

/// Nodes, distances and HMAT.
fn nodes(numa: &Numa, add: &mut impl FnMut(&str, String)) {
    let has_hmat = !numa.hmat_ns.is_empty();
    let with_cpus: Vec<usize> =
        (0..numa.nodes.len()).filter(|node| numa.nodes[*node].cpus.is_some()).collect();
    for (node, it) in numa.nodes.iter().enumerate() {
        let mut text = format!("node,nodeid={node}");
        if it.mib > 0 {
            add("-object", format!("memory-backend-ram,id=m{node},size={}M", it.mib));
            let _ = write!(text, ",memdev=m{node}");
        }
        if let Some(cpus) = &it.cpus {
            let _ = write!(text, ",cpus={cpus}");
        }
        if has_hmat {
            let initiator = if it.cpus.is_some() { node } else { with_cpus.first().copied().unwrap_or(0) };
            let _ = write!(text, ",initiator={initiator}");
        }
        add("-numa", text);
    }
    for (from, row) in numa.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate().filter(|(to, _)| *to != from) {
            add("-numa", format!("dist,src={from},dst={to},val={distance}"));
        }
    }
    for (from, row) in with_cpus.iter().zip(&numa.hmat_ns) {
        for (to, ns) in row.iter().enumerate() {
            let start = format!("hmat-lb,initiator={from},target={to},hierarchy=memory");
            add("-numa", format!("{start},data-type=access-latency,latency={ns}"));
            add("-numa", format!("{start},data-type=access-bandwidth,bandwidth=20G"));
        }
    }
}

/// Boots, and waits for the end or the time limit.
///
/// # Errors
/// QEMU does not start.
pub fn boot(emulator: &Emulator, arguments: &[String], limit: Duration) -> anyhow::Result<Boot> {
    let begun = Instant::now();
    let mut child = Command::new(&emulator.program)
        .args(&emulator.arguments)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", emulator.program.display()))?;
    let output = reader(child.stdout.take().expect("standard output was asked to be a pipe"));
    let errors = reader(child.stderr.take().expect("standard error was asked to be a pipe"));
    let mut hangs = false;
    while child.try_wait().context("cannot wait for the guest")?.is_none() {
        if begun.elapsed() > limit {
            hangs = true;
            child.kill().context("the guest hangs and cannot be ended")?;
            child.wait().context("cannot wait for the guest")?;
        }
        std::thread::sleep(LOOK);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let mut printed = output.join().expect("reading does not panic");
    let complaints = errors.join().expect("reading does not panic");
    // Features that the emulator lacks, one line for each CPU; the machines know it.
    for line in complaints.lines().filter(|line| !line.contains("TCG doesn't support")) {
        let _ = writeln!(printed, "qemu: {line}");
    }
    Ok(Boot { printed, seconds, hangs })
}

/// Reads to the end, beside us.
fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::definition::{self, tests::SMALL};

    fn small(from: &str, to: &str) -> Machine {
        Machine::parse("a", &SMALL.replace(from, to)).expect("it is right")
    }

    #[test]
    fn an_unknown_architecture_names_those_that_are_known() {
        let machine = small("tier = 1", "tier = 1\narchitecture = \"sparc\"");
        let error = architecture(&machine).expect_err("it is unknown");
        assert_eq!(error.to_string(), "architecture sparc is unknown; known: x86_64, aarch64");
    }

    #[test]
    fn a_board_hides_the_emulator_in_every_table() {
        let board = "[board]\nvendor = \"Sun, Inc.\"\nproduct = \"Blade X6440\"\nbios_vendor = \"AMI\"\nbios_version = \"1\"\nbios_date = \"07/15/2009\"\n[qemu]";
        let machine = small("[qemu]", board);
        let all = arguments(&machine, Path::new("k"), Path::new("i")).expect("it is known").join(" ");
        for part in [
            "pc,x-oem-id=SUNINC,x-oem-table-id=BLADEX64",
            "type=3,manufacturer=Sun,, Inc.",
            "date=07/15/2009",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
    }

    #[test]
    fn every_node_and_distance_reaches_qemu() {
        let numa = "[numa]\nnodes = [{cpus = \"0-1\", mib = 256}, {mib = 512}]\ndistances = [[10, 17], [18, 10]]\nhmat_ns = [[80, 160]]\n[qemu]";
        let machine = small("[qemu]", numa);
        let mut all = Vec::new();
        nodes(machine.numa.as_ref().expect("it has nodes"), &mut |option, value| {
            all.push(format!("{option} {value}"));
        });
        assert_eq!(
            all,
            [
                "-object memory-backend-ram,id=m0,size=256M",
                "-numa node,nodeid=0,memdev=m0,cpus=0-1,initiator=0",
                "-object memory-backend-ram,id=m1,size=512M",
                "-numa node,nodeid=1,memdev=m1,initiator=0",
                "-numa dist,src=0,dst=1,val=17",
                "-numa dist,src=1,dst=0,val=18",
                "-numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-latency,latency=80",
                "-numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=20G",
                "-numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-latency,latency=160",
                "-numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=20G",
            ]
        );
    }

    #[test]
    fn a_guest_that_hangs_is_ended_at_its_limit() {
        let sh = Emulator { program: "sh".into(), arguments: vec!["-c".to_owned()] };
        let begun = Instant::now();
        let boot = boot(&sh, &["echo begun; exec sleep 60".to_owned()], Duration::from_millis(200))
            .expect("sh starts");
        assert_eq!((boot.printed.as_str(), boot.hangs), ("begun\n", true));
        assert!(begun.elapsed() < Duration::from_secs(30));
        let absent = Emulator { program: "qemu-system-pdp11".into(), arguments: vec![] };
        let error = super::boot(&absent, &[], Duration::from_secs(1)).expect_err("there is none");
        assert_eq!(error.to_string(), "cannot start qemu-system-pdp11");
    }

    #[test]
    fn every_machine_of_the_repository_has_an_architecture() {
        for machine in definition::load(&definition::folder(), &[]).expect("all files are right") {
            assert!(architecture(&machine).is_ok(), "{}", machine.name);
        }
    }
}

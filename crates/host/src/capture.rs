//! This machine as a recording: a tarball that `--sysroot` and `--cpuid` read, and which files go into it.
//!
//! A recording is meant for bug reports: no serial number, no address, no name of host or user is in it unless asked.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use machine::shareable_command_line;

use crate::describe::environment::{SCAN_DEVICE, SCAN_FILES, SCAN_FOLDER};
use crate::live::{self, Pinned};
use crate::root::{Look, store};
use crate::{NodeFunction, Root, cpuid, messages};

/// Permissions of the files in a recording.
const MODE: u32 = 0o644;

/// Folders that are taken whole, links left out.
const FOLDERS: [&str; 7] = [
    "sys/devices/system/cpu",
    "sys/devices/system/node",
    "sys/devices/system/clocksource",
    "sys/kernel/mm/transparent_hugepage",
    "sys/kernel/mm/hugepages",
    "sys/module/kvm/parameters",
    "sys/module/kvm_intel/parameters",
];
/// Single files. Of DMI only what names the product: serial numbers and asset tags stay out.
const FILES: [&str; 28] = [
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/split_lock_mitigate",
    "proc/sys/kernel/nmi_watchdog",
    "proc/sys/kernel/unprivileged_bpf_disabled",
    "proc/sys/kernel/kexec_load_disabled",
    "proc/sys/net/core/bpf_jit_harden",
    "sys/kernel/security/lockdown",
    "sys/kernel/mm/ksm/run",
    "sys/hypervisor/type",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/board_vendor",
    "sys/class/dmi/id/board_name",
    "sys/class/dmi/id/bios_vendor",
    "sys/class/dmi/id/bios_version",
    "sys/class/dmi/id/bios_date",
    "sys/module/kvm_amd/parameters/nested",
    "proc/self/limits",
    "proc/device-tree/model",
    "proc/device-tree/compatible",
    "proc/device-tree/hypervisor/compatible",
    "sys/devices/soc0/machine",
    "sys/devices/soc0/family",
    "sys/devices/soc0/soc_id",
    "sys/devices/soc0/revision",
];
/// Names that identify one machine or reach beyond it.
const LEFT_OUT: [&str; 6] = ["serial", "uuid", "asset", "crash_notes", "uevent", "memory_failure"];
/// The most bytes of one file.
const FILE_BYTES_MAX: usize = 1 << 20;
/// Folders below a taken one are entered so deep.
const DEPTH_MAX: usize = 8;
/// Fields of /proc/self/status that are kept.
const STATUS_FIELDS: [&str; 4] =
    ["Speculation_Store_Bypass", "SpeculationIndirectBranch", "Cpus_allowed_list", "Mems_allowed_list"];
/// What is taken beside the files.
#[derive(Debug, Clone, Default)]
pub struct CaptureOptions {
    /// Name of the top folder.
    pub top: String,
    /// Model-specific registers to record of every CPU, as root outside of guests.
    pub msr: BTreeSet<u32>,
    /// Keep every value of the kernel's command line.
    pub full_command_line: bool,
}

/// What a recording became.
#[derive(Debug)]
pub struct Capture {
    /// The tarball, gzipped.
    pub tarball: Vec<u8>,
    /// Files in it.
    pub files: usize,
    /// CPUs whose CPUID is in it.
    pub cpus: usize,
    /// CPUs whose registers are in it.
    pub registers: usize,
}

/// Records this machine.
///
/// # Errors
/// The tarball could not be packed in memory.
pub fn capture(options: &CaptureOptions) -> io::Result<Capture> {
    let root = Root::live();
    let mut files = record_files(Path::new("/"), options.full_command_line);
    let messages = messages::of_this_machine();
    if !messages.is_empty() {
        let bytes = (messages.join("\n") + "\n").into_bytes();
        files.push(Recorded { path: messages::RECORDED.to_owned(), bytes });
    }
    let mut cpus = 0;
    let mut registers = 0;
    for cpu in live::allowed_cpus().iter() {
        // A CPU that went away meanwhile is left out.
        let Ok(_pinned) = Pinned::to(cpu) else { continue };
        let text = cpuid::dump_live();
        if !text.is_empty() {
            files.push(Recorded { path: format!("cpuid/pu{}", cpu.0), bytes: text.into_bytes() });
            cpus += 1;
        }
        let lines: String = options
            .msr
            .iter()
            .filter_map(|&number| {
                let value = root.register(cpu.0, number).ok()?;
                Some(format!("{number:08x} = {value:x}\n"))
            })
            .collect();
        if !lines.is_empty() {
            files.push(Recorded { path: format!("msr/{}", cpu.0), bytes: lines.into_bytes() });
            registers += 1;
        }
    }
    let tarball = pack(&options.top, &files)?;
    Ok(Capture { tarball, files: files.len(), cpus, registers })
}

fn pack(top: &str, files: &[Recorded]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(MODE);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, format!("{top}/{}", file.path), file.bytes.as_slice())?;
    }
    builder.into_inner()?.finish()
}

/// One file of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// Path below the top.
    pub(crate) path: String,
    /// Its content.
    pub(crate) bytes: Vec<u8>,
}

/// The files of the machine below `base`, which is `/` on the live one; the values of its command line all, or those that name
/// nobody.
pub(crate) fn record_files(base: &Path, keeps_command_line: bool) -> Vec<Recorded> {
    let mut found = Vec::new();
    for path in FILES {
        take(base, path, &mut found);
    }
    for path in FOLDERS {
        enter(base, path, 0, &mut found);
    }
    let devices = store::names(&base.join(SCAN_FOLDER));
    for device in devices.iter().filter(|name| name.starts_with(SCAN_DEVICE)) {
        for file in SCAN_FILES {
            take(base, &format!("{SCAN_FOLDER}/{device}/{file}"), &mut found);
        }
    }
    let functions = store::names(&base.join("sys/bus/pci/devices"));
    for function in functions.iter().filter(|name| NodeFunction::of_name(name).is_some()) {
        take(base, &format!("sys/bus/pci/devices/{function}/config"), &mut found);
    }
    let text = |path: &str| {
        store::read_file(&base.join(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut made = |path: &str, text: Option<String>| {
        if let Some(text) = text {
            found.push(Recorded { path: path.to_owned(), bytes: text.into_bytes() });
        }
    };
    let line = text("proc/cmdline")
        .map(|text| if keeps_command_line { text } else { shareable_command_line(&text) + "\n" });
    made("proc/cmdline", line);
    made("proc/version", text("proc/version").map(|text| without_builder(&text)));
    made("proc/self/status", text("proc/self/status").map(|text| speculation(&text)));
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn take(base: &Path, path: &str, found: &mut Vec<Recorded>) {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    if LEFT_OUT.iter().any(|word| name.contains(word)) {
        return;
    }
    // What only root may read, or nobody now, is absent from the recording as it is for the reader.
    if let Ok(mut bytes) = store::read_file(&base.join(path)) {
        bytes.truncate(FILE_BYTES_MAX);
        found.push(Recorded { path: path.to_owned(), bytes });
    }
}

fn enter(base: &Path, path: &str, depth: usize, found: &mut Vec<Recorded>) {
    for name in store::names(&base.join(path)) {
        let inside = format!("{path}/{name}");
        match store::look(&base.join(&inside)) {
            Look::Directory if depth < DEPTH_MAX && !is_block(&name) => {
                enter(base, &inside, depth + 1, found);
            }
            Look::File => take(base, &inside, found),
            Look::Directory | Look::Link(_) | Look::Missing => {}
        }
    }
}

/// A block of memory that can be switched off: thousands of them, and nothing asks for one.
fn is_block(name: &str) -> bool {
    name.strip_prefix("memory")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `Linux version 6.1.0` without who built it where.
fn without_builder(text: &str) -> String {
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ") + "\n"
}

fn speculation(text: &str) -> String {
    let is_kept = |line: &&str| line.split(':').next().is_some_and(|key| STATUS_FIELDS.contains(&key));
    text.lines().filter(is_kept).map(|line| line.to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_functions;

    #[test]
    fn a_recording_has_what_describes_and_nothing_that_names() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        };
        write(
            "proc/cmdline",
            "BOOT_IMAGE=/vmlinuz root=UUID=1234 quiet mitigations=off ip=10.0.0.1 user@host nosmt kvm.nx_huge_pages=off \
             rd.iscsi.password=secret systemd.machine_id=1234 spectre_v2=retpoline,generic -- --token secret\n",
        );
        write("proc/version", "Linux version 6.1.0 (someone@somewhere) (gcc 12)\n");
        write("proc/self/status", "Name:\tx\nSpeculation_Store_Bypass:\tvulnerable\nUid:\t0\n");
        write("sys/class/dmi/id/product_serial", "secret");
        write("sys/class/dmi/id/product_name", "Blade");
        write("sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n");
        write("sys/devices/system/node/node0/memory12/state", "online");
        write("sys/bus/pci/devices/0000:00:18.3/config", "words");
        write("sys/bus/pci/devices/0000:00:02.0/config", "words");
        let files = record_files(folder.path(), false);
        let text = |path: &str| {
            let file = files.iter().find(|file| file.path == path)?;
            Some(String::from_utf8_lossy(&file.bytes).into_owned())
        };
        assert_eq!(
            text("proc/cmdline").as_deref(),
            Some(
                "BOOT_IMAGE=... root=... quiet mitigations=off ip=... ... nosmt kvm.nx_huge_pages=off \
                 rd.iscsi.password=... systemd.machine_id=... spectre_v2=retpoline,generic\n"
            )
        );
        assert_eq!(text("proc/version").as_deref(), Some("Linux version 6.1.0\n"));
        assert_eq!(text("proc/self/status").as_deref(), Some("Speculation_Store_Bypass:\tvulnerable\n"));
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "proc/cmdline",
                "proc/self/status",
                "proc/version",
                "sys/bus/pci/devices/0000:00:18.3/config",
                "sys/class/dmi/id/product_name",
                "sys/devices/system/cpu/vulnerabilities/mds"
            ]
        );
    }

    #[test]
    fn clock_ramps_and_routes_of_nodes_survive_a_recording() {
        let machine =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines/synthetic-k8-two-sockets");
        let tarball = pack("recorded", &record_files(&machine, false)).expect("memory is enough");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("recorded.tar.gz");
        std::fs::write(&path, tarball).expect("a file");
        let (before, after) =
            (Root::open(&machine).expect("a machine"), Root::open(&path).expect("a recording"));
        let words = |root: &Root, function: u32, offset: u32| -> Vec<Option<u32>> {
            let functions = node_functions(root, function).into_iter();
            functions.map(|found| root.configuration_word(&found.name(), offset)).collect()
        };
        for (function, offset, expected) in [
            (3, 0x84, [0x23, 0x0100_0023]),
            (0, 0x40, [0x0003_0101, 0x0001_0202]),
            (0, 0x44, [0x0001_0202, 0x0003_0101]),
            (0, 0x60, [0x10, 0x11]),
        ] {
            let expected = expected.map(Some);
            assert_eq!(words(&before, function, offset), expected, "F{function}x{offset:x} of the machine");
            assert_eq!(words(&after, function, offset), expected, "F{function}x{offset:x} of its recording");
        }
    }
}

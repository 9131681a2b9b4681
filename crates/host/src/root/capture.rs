//! Which files of this machine go into a recording, and what is left out of them.
//!
//! A recording is meant for bug reports: no serial number, no address, no name of host or user is in it unless asked.

use std::path::Path;

use machine::shareable_command_line;

use super::folder;
use super::folder::Look;
use crate::NodeFunction;
use crate::describe::field_scan;

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
    let devices = folder::list(&base.join(field_scan::FOLDER));
    for device in devices.iter().filter(|name| name.starts_with(field_scan::DEVICE)) {
        for file in field_scan::FILES {
            take(base, &format!("{}/{device}/{file}", field_scan::FOLDER), &mut found);
        }
    }
    let functions = folder::list(&base.join("sys/bus/pci/devices"));
    for function in functions.iter().filter(|name| NodeFunction::of_name(name).is_some()) {
        take(base, &format!("sys/bus/pci/devices/{function}/config"), &mut found);
    }
    let text = |path: &str| {
        folder::read(&base.join(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
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
    if let Ok(mut bytes) = folder::read(&base.join(path)) {
        bytes.truncate(FILE_BYTES_MAX);
        found.push(Recorded { path: path.to_owned(), bytes });
    }
}

fn enter(base: &Path, path: &str, depth: usize, found: &mut Vec<Recorded>) {
    for name in folder::list(&base.join(path)) {
        let inside = format!("{path}/{name}");
        match folder::look(&base.join(&inside)) {
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
}

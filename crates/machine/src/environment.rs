//! What surrounds the CPUs: kernel, pages, clock sources, limits, container, frequency policy, mitigations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Transparent huge pages: the active word of each sysfs file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransparentHugePages {
    /// `always`, `madvise` or `never`.
    pub enabled: Option<String>,
    /// `always`, `defer`, `defer+madvise`, `madvise` or `never`.
    pub defrag: Option<String>,
}

/// A pool of reserved huge pages (`/sys/kernel/mm/hugepages`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HugePagePool {
    /// Page size.
    pub page_bytes: Bytes,
    /// Pages reserved.
    pub total: u64,
    /// Pages reserved and not in use.
    pub free: u64,
}

/// The kernel's clock sources.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSources {
    /// The one in use.
    pub current: Option<String>,
    /// Those that could be used.
    pub available: Vec<String>,
}

/// What this process runs inside of, beside a hypervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Container {
    /// `docker`, `podman`, `lxc`, `kubernetes`, `systemd-nspawn`, or `unknown`.
    pub kind: String,
    /// The file or variable that gave it away.
    pub evidence: String,
}

/// What this process may use at most.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Memory limit of the tightest cgroup above this process.
    pub cgroup_memory_bytes: Option<Bytes>,
    /// CPU bandwidth of the tightest cgroup, in thousandths of a CPU.
    pub cgroup_millicpus: Option<u64>,
    /// `MemAvailable` of /proc/meminfo.
    pub available_memory_bytes: Option<Bytes>,
    /// `RLIMIT_AS`, where it is limited.
    pub address_space_bytes: Option<Bytes>,
}

/// An in-field scan of the kernel: a test of the circuits of cores that firmware brings (`/sys/devices/virtual/misc/intel_ifs_N`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldScan {
    /// N: 0 scans the logic, 1 tests arrays. Source: Linux, Documentation/ABI/testing/sysfs-platform-intel-ifs.
    pub device: u32,
    /// How the last test ended, of whichever core: `pass`, `fail`, `untested`.
    pub status: String,
    /// The register behind the status, in hexadecimal.
    pub details: Option<String>,
    /// Version of the test image; `none` where none is loaded.
    pub image_version: Option<String>,
}

/// What surrounds the CPUs when something is measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Kernel release and version (`/proc/version` in short, or uname).
    pub kernel: Option<String>,
    /// Boot command line: of options that may name a disk, an address, a host or a password only the names, unless all was
    /// asked for.
    pub command_line: Option<String>,
    /// Memory in the machine.
    pub memory_bytes: Option<Bytes>,
    /// The base page size.
    pub page_bytes: Option<Bytes>,
    /// Reserved huge pages by size.
    pub huge_page_pools: Vec<HugePagePool>,
    /// Transparent huge pages.
    pub transparent_huge_pages: TransparentHugePages,
    /// Clock sources.
    pub clock_sources: ClockSources,
    /// Container this process runs in, if any.
    pub container: Option<Container>,
    /// Limits of this process.
    pub limits: Limits,
    /// `scaling_governor` and `scaling_driver` of the CPUs, as `driver/governor`, counted.
    pub frequency_policies: BTreeMap<String, usize>,
    /// cpuidle driver and its states with exit latency in us, as the kernel names them.
    pub idle_driver: Option<String>,
    /// Name and exit latency in microseconds of each idle state of the first CPU that has any.
    pub idle_states: Vec<(String, u64)>,
    /// What the kernel says of each vulnerability (`/sys/devices/system/cpu/vulnerabilities`).
    pub vulnerabilities: BTreeMap<String, String>,
    /// `bugs` of /proc/cpuinfo, sorted.
    pub bugs: Vec<String>,
    /// Automatic NUMA balancing (`kernel.numa_balancing`), where it exists.
    pub numa_balancing: Option<bool>,
    /// SMT control state (`on`, `off`, `forceoff`, `notsupported`).
    pub smt: Option<String>,
    /// In-field scans, as far as the kernel has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_scans: Vec<FieldScan>,
}

/// The base page of x86-64, and the smallest of any architecture that Linux runs on.
const SMALLEST_PAGE: Bytes = Bytes(4096);

impl Environment {
    /// The base page: 4 KiB where the kernel does not tell, or tells what is no page; 16 or 64 KiB on some arm64 kernels.
    pub fn base_page(&self) -> Bytes {
        let is_page = |page: &Bytes| page.0.is_power_of_two() && *page >= SMALLEST_PAGE;
        self.page_bytes.filter(is_page).unwrap_or(SMALLEST_PAGE)
    }
}

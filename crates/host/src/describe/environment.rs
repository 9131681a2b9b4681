//! Kernel, pages, clock sources, frequency policy, idle states, vulnerabilities, in-field scans.
//!
//! Of scans only files that are read are opened: a scan begins by a write alone.

use std::collections::BTreeMap;

use machine::{
    Bytes, ClockSources, Environment, FieldScan, HugePagePool, TransparentHugePages, shareable_command_line,
};
use record::Reading;

use super::confinement;
use super::source::{CPU_FOLDER, CpuInfo, Source, meminfo_bytes};
use crate::ReadError;

/// The entry of the auxiliary vector that holds the page size. Linux, include/uapi/linux/auxvec.h.
const AT_PAGESZ: u64 = 6;

/// The base page of x86. Intel SDM vol. 3A, "Paging"; AMD64 APM vol. 2, "Page Translation".
const X86_PAGE_BYTES: u64 = 4096;

/// Reads what surrounds the CPUs.
pub(super) fn read(source: &Source<'_>, info: &CpuInfo, texts: Option<&Vulnerabilities>) -> Environment {
    let meminfo = source.text("/proc/meminfo").unwrap_or_default();
    let page_file = |name: &str| source.word(&format!("/sys/kernel/mm/transparent_hugepage/{name}"));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let mut bugs = info.first("bugs").map(words).unwrap_or_default();
    bugs.sort();
    Environment {
        kernel: kernel(source),
        command_line: source.word("/proc/cmdline").map(|line| shareable_command_line(&line)),
        memory_bytes: meminfo_bytes(&meminfo, "MemTotal"),
        page_bytes: page_bytes(source, info).map(Bytes),
        huge_page_pools: huge_page_pools(source),
        transparent_huge_pages: TransparentHugePages {
            enabled: page_file("enabled").and_then(|text| chosen(&text)),
            defrag: page_file("defrag").and_then(|text| chosen(&text)),
        },
        clock_sources: clock_sources(source),
        container: confinement::container(source),
        limits: confinement::limits(source),
        frequency_policies: frequency_policies(source),
        idle_driver: source.word(&format!("{CPU_FOLDER}/cpuidle/current_driver")),
        idle_states: idle_states(source),
        vulnerabilities: texts.map(words_of).unwrap_or_default(),
        bugs,
        numa_balancing: source.word("/proc/sys/kernel/numa_balancing").map(|text| text != "0"),
        smt: source.word(&format!("{CPU_FOLDER}/smt/control")),
        field_scans: field_scans(source),
    }
}

/// The clock source in use, and all that may be.
pub(super) fn clock_sources(source: &Source<'_>) -> ClockSources {
    let words =
        |name: &str| source.word(&format!("/sys/devices/system/clocksource/clocksource0/{name}_clocksource"));
    let available = words("available").unwrap_or_default();
    ClockSources {
        current: words("current"),
        available: available.split_whitespace().map(str::to_owned).collect(),
    }
}

/// `Linux 6.1.0-18-amd64` of the long line in `/proc/version`, or the release alone.
fn kernel(source: &Source<'_>) -> Option<String> {
    if let Some(version) = source.word("/proc/version") {
        let words: Vec<&str> = version.split_whitespace().collect();
        return Some(match words.as_slice() {
            [system, "version", release, ..] => format!("{system} {release}"),
            _ => version.chars().take(80).collect(),
        });
    }
    source.word("/proc/sys/kernel/osrelease").map(|release| format!("Linux {release}"))
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

/// The page size the kernel tells this process, else that of the architecture.
fn page_bytes(source: &Source<'_>, info: &CpuInfo) -> Option<u64> {
    let vector = source.root().bytes("/proc/self/auxv").unwrap_or_default();
    let (words, _) = vector.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (pairs, _) = words.as_chunks::<2>();
    pairs
        .iter()
        .find(|[key, _]| *key == AT_PAGESZ)
        .map(|[_, size]| *size)
        .filter(|size| size.is_power_of_two())
        .or_else(|| info.first("cpu family").map(|_| X86_PAGE_BYTES))
}

fn huge_page_pools(source: &Source<'_>) -> Vec<HugePagePool> {
    const FOLDER: &str = "/sys/kernel/mm/hugepages";
    let mut pools: Vec<HugePagePool> = source
        .root()
        .list(FOLDER)
        .iter()
        .filter_map(|name| {
            let kilobytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let count = |file: &str| source.number(&format!("{FOLDER}/{name}/{file}"));
            Some(HugePagePool {
                page_bytes: Bytes(kilobytes.checked_mul(1024)?),
                total: count("nr_hugepages")?,
                free: count("free_hugepages").unwrap_or_default(),
            })
        })
        .collect();
    pools.sort_by_key(|pool| pool.page_bytes);
    pools
}

/// How many CPUs have each pair of frequency driver and governor.
fn frequency_policies(source: &Source<'_>) -> BTreeMap<String, usize> {
    let mut policies = BTreeMap::new();
    for cpu in source.root().numbers(CPU_FOLDER, "cpu") {
        let value = |name: &str| source.word(&format!("{CPU_FOLDER}/cpu{cpu}/cpufreq/scaling_{name}"));
        let (driver, governor) = (value("driver"), value("governor"));
        if driver.is_some() || governor.is_some() {
            let name = |part: Option<String>| part.unwrap_or_else(|| "unknown".to_owned());
            *policies.entry(format!("{}/{}", name(driver), name(governor))).or_default() += 1;
        }
    }
    policies
}

/// The idle states of the first CPU that has any.
fn idle_states(source: &Source<'_>) -> Vec<(String, u64)> {
    let states = |cpu: u32| -> Vec<(String, u64)> {
        let folder = format!("{CPU_FOLDER}/cpu{cpu}/cpuidle");
        source
            .root()
            .numbers(&folder, "state")
            .into_iter()
            .filter_map(|state| {
                let name = source.word(&format!("{folder}/state{state}/name"))?;
                Some((name, source.number(&format!("{folder}/state{state}/latency"))?))
            })
            .collect()
    };
    source
        .root()
        .numbers(CPU_FOLDER, "cpu")
        .into_iter()
        .map(states)
        .find(|states| !states.is_empty())
        .unwrap_or_default()
}

/// Where the kernel tells of them.
const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// The most that a file of sysfs shows: a page of memory. Linux, Documentation/filesystems/sysfs.rst.
const TEXT_BYTES_MAX: usize = 4096;

/// Texts by file, or why one cannot be read.
pub(crate) type Vulnerabilities = BTreeMap<String, Reading<String>>;

/// All files; `None` where there is no such folder.
pub(crate) fn vulnerabilities(source: &Source<'_>) -> Option<Vulnerabilities> {
    let names = source.root().list(VULNERABILITIES);
    let reading = |name: String| {
        let text = match source.root().read(&format!("{VULNERABILITIES}/{name}")) {
            Ok(text) if text.len() <= TEXT_BYTES_MAX => Reading::Is(text),
            Ok(text) => Reading::Missing(format!("{} bytes are no text of the kernel's", text.len())),
            Err(ReadError::Absent(_)) => Reading::Missing("absent".to_owned()),
            Err(error) => {
                source.note(error.to_string());
                Reading::Missing(error.to_string())
            }
        };
        (name, text)
    };
    (!names.is_empty()).then(|| names.into_iter().map(reading).collect())
}

/// Those that say anything.
fn words_of(vulnerabilities: &Vulnerabilities) -> BTreeMap<String, String> {
    let word = |(name, reading): (&String, &Reading<String>)| {
        let text = reading.value().filter(|text| !text.is_empty())?;
        Some((name.clone(), text.clone()))
    };
    vulnerabilities.iter().filter_map(word).collect()
}

/// Where the devices are. Source: Linux, Documentation/ABI/testing/sysfs-platform-intel-ifs.
pub(crate) const SCAN_FOLDER: &str = "sys/devices/virtual/misc";
/// How their names begin; a number follows.
pub(crate) const SCAN_DEVICE: &str = "intel_ifs_";
/// The files that say something. `run_test` is none of them.
pub(crate) const SCAN_FILES: [&str; 3] = ["status", "details", "image_version"];
/// What a status can be.
const SCAN_STATUSES: [&str; 3] = ["pass", "fail", "untested"];

/// The scans of a machine, by number.
fn field_scans(source: &Source<'_>) -> Vec<FieldScan> {
    let scan = |device: u32| {
        let [status, details, image_version] =
            SCAN_FILES.map(|file| source.word(&format!("{SCAN_FOLDER}/{SCAN_DEVICE}{device}/{file}")));
        let status = status?;
        let status = if SCAN_STATUSES.contains(&status.as_str()) {
            status
        } else {
            source.note(format!(
                "{SCAN_FOLDER}/{SCAN_DEVICE}{device}/status is neither of {}",
                SCAN_STATUSES.join(", ")
            ));
            "unknown".to_owned()
        };
        Some(FieldScan { device, status, details, image_version })
    };
    source.root().numbers(SCAN_FOLDER, SCAN_DEVICE).into_iter().filter_map(scan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;
    use crate::capture::record_files;

    #[test]
    fn scans_are_read_and_recorded_and_the_file_that_begins_one_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(SCAN_FOLDER).join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        };
        for (file, text) in [
            ("intel_ifs_0/status", "fail\n"),
            ("intel_ifs_0/details", "0x8000000000000001\n"),
            ("intel_ifs_0/image_version", "0x4b\n"),
            ("intel_ifs_0/run_test", "never read"),
            ("intel_ifs_1/status", "$(x)\n"),
            ("intel_ifs_2/details", "0x0\n"),
            ("uinput/status", "pass\n"),
        ] {
            write(file, text);
        }
        let root = Root::open(folder.path()).expect("a machine");
        let scans = field_scans(&Source::new(&root));
        let some = |word: &str| Some(word.to_owned());
        let [first, second] = scans.as_slice() else { panic!("{scans:?}") };
        assert_eq!((first.device, first.status.as_str()), (0, "fail"));
        assert_eq!((&first.details, &first.image_version), (&some("0x8000000000000001"), &some("0x4b")));
        assert_eq!((second.status.as_str(), &second.image_version), ("unknown", &None));
        let recorded = record_files(folder.path(), false);
        let paths: Vec<&str> =
            recorded.iter().filter_map(|file| file.path.strip_prefix(SCAN_FOLDER)).collect();
        let expected = ["0/details", "0/image_version", "0/status", "1/status", "2/details"];
        assert_eq!(paths, expected.map(|path| format!("/{SCAN_DEVICE}{path}")));
    }
}

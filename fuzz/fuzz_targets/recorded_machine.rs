//! The files of a recorded machine, each with a text of its own: described, read as evidence, and judged.
//!
//! The input is cut at NUL bytes; each piece is the text of the next path. `N` stands for CPUs or nodes 0 to 2.
#![cfg_attr(fuzzing, no_main)]

use std::sync::OnceLock;

use flaws::Catalogue;
use fuzz::fuzz_target;
use host::{FlawSources, Root};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";
const PATHS: [&str; 24] = [
    "proc/cpuinfo",
    "sys/devices/system/cpu/online",
    "cpuN/topology/core_cpus_list",
    "cpuN/topology/physical_package_id",
    "cpuN/topology/core_id",
    "cpuN/cache/index0/size",
    "cpuN/cache/index0/shared_cpu_map",
    "cpuN/cache/index0/level",
    "cpuN/cache/index0/type",
    "cpuN/online",
    "nodeN/cpulist",
    "nodeN/distance",
    "nodeN/meminfo",
    "sys/devices/system/node/online",
    "sys/devices/system/cpu/vulnerabilities/mds",
    "sys/devices/system/cpu/vulnerabilities/spectre_v2",
    "msr/0",
    "msr/1",
    "sys/bus/pci/devices/0000:00:18.3/config",
    "sys/bus/pci/devices/0000:00:18.0/config",
    "proc/self/status",
    "proc/meminfo",
    "proc/mounts",
    "dmesg",
];

static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    pack(bytes, &mut file).expect("room for it");
    let Ok(root) = Root::open(file.path()) else { return };
    let catalogue = CATALOGUE.get_or_init(flaws::catalogue);
    let evidence = FlawSources::of(&root, None).read(&catalogue.registers());
    let _ = flaws::judge(catalogue, &evidence);
    let _ = flaws::uneven(catalogue, &evidence);
});

fn pack(bytes: &[u8], file: impl std::io::Write) -> std::io::Result<()> {
    let mut builder = tar::Builder::new(file);
    for (path, text) in PATHS.iter().zip(bytes.split(|byte| *byte == 0)) {
        for unit in 0..3 {
            let unit = unit.to_string();
            let path = match path.get(..4) {
                Some("cpuN") => format!("{CPU}/{}", path.replacen('N', &unit, 1)),
                Some("node") => format!("{NODE}/{}", path.replacen('N', &unit, 1)),
                _ if unit == "0" => (*path).to_owned(),
                _ => break,
            };
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            builder.append_data(&mut header, path, text)?;
        }
    }
    builder.finish()
}

//! Model-specific registers of every CPU and configuration words of every AMD node, live or recorded.

use std::collections::{BTreeMap, BTreeSet};

use record::{PciWord, Reading, RegisterReading, msr_key, pair_key};

use crate::root::register;
use crate::{NodeFunction, Root, node_functions};

/// A register that every x86 CPU has. Intel SDM vol. 4, IA32_TIME_STAMP_COUNTER; AMD64 APM vol. 2, TSC.
const TIME_STAMP_COUNTER: u32 = 0x10;
/// Bytes of configuration space that everybody may read: Linux, drivers/pci/pci-sysfs.c.
const OPEN_BYTES: usize = 64;

/// Every asked register of every CPU; one reason for all where the first CPU refuses.
pub(super) fn msr(
    root: &Root,
    cpus: &[u32],
    asked: &BTreeSet<u32>,
) -> BTreeMap<String, Vec<RegisterReading>> {
    let refusal = cpus.first().and_then(|&cpu| refusal(root, cpu));
    let readings = |number: u32| match &refusal {
        Some(reason) => vec![RegisterReading { unit: 0, value: Reading::Missing(reason.clone()) }],
        None => {
            cpus.iter().map(|&cpu| RegisterReading { unit: cpu, value: one(root, cpu, number) }).collect()
        }
    };
    asked.iter().map(|&number| (msr_key(number), readings(number))).collect()
}

/// Why no register of a CPU can be read, if so.
fn refusal(root: &Root, cpu: u32) -> Option<String> {
    if !root.has_running_cpus() {
        let path = format!("msr/{cpu}");
        return (!root.exists(&path)).then(|| format!("the recording has no {path}"));
    }
    let path = format!("/dev/cpu/{cpu}/msr");
    match root.register(cpu, TIME_STAMP_COUNTER) {
        Ok(_) => None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(format!("{path} is absent; load the msr module"))
        }
        Err(error) => Some(format!("{path}: {error}; run as root")),
    }
}

fn one(root: &Root, cpu: u32, number: u32) -> Reading<u64> {
    match root.register(cpu, number) {
        Ok(value) => Reading::Is(value),
        Err(_) if !root.has_running_cpus() => Reading::Missing(format!("not recorded of CPU {cpu}")),
        // The device answers EIO for a register that the CPU does not have: msr(4).
        Err(error) if error.raw_os_error() == Some(libc::EIO) => {
            Reading::Missing("this CPU has no such register".to_owned())
        }
        Err(error) => Reading::Missing(format!("CPU {cpu}: {error}")),
    }
}

/// Every asked word of every AMD node.
pub(super) fn pci(root: &Root, asked: &BTreeSet<PciWord>) -> BTreeMap<String, Vec<RegisterReading>> {
    let mut found = BTreeMap::new();
    for &PciWord { function, offset } in asked {
        let reading = |found: NodeFunction| {
            let value = match root.bytes(&format!("sys/bus/pci/devices/{}/config", found.name())) {
                Ok(bytes) => word(&bytes, offset),
                Err(error) => Reading::Missing(error.to_string()),
            };
            RegisterReading { unit: found.node, value }
        };
        let readings: Vec<RegisterReading> =
            node_functions(root, function).into_iter().map(reading).collect();
        found.insert(pair_key(function, offset), readings);
    }
    found
}

fn word(bytes: &[u8], offset: u32) -> Reading<u64> {
    match register::word(bytes, offset) {
        Some(register::NOBODY) => Reading::Missing("nobody answers".to_owned()),
        Some(word) => Reading::Is(word.into()),
        None if bytes.len() <= OPEN_BYTES => {
            Reading::Missing(format!("only the first {OPEN_BYTES} bytes are open; run as root"))
        }
        None => Reading::Missing(format!("configuration space ends at {} bytes", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_registers_and_words_are_read_for_each_unit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let base = folder.path();
        let node = base.join("sys/bus/pci/devices/0000:00:19.3");
        std::fs::create_dir_all(&node).expect("folders");
        std::fs::create_dir_all(base.join("msr")).expect("folders");
        std::fs::write(base.join("msr/0"), "c0010015 = 1000018\n").expect("a file");
        std::fs::write(base.join("msr/1"), "nonsense\n").expect("a file");
        let mut config = vec![0; 256];
        config[0x84..0x88].copy_from_slice(&0x0300_0001_u32.to_le_bytes());
        std::fs::write(node.join("config"), &config).expect("a file");
        let root = Root::open(base).expect("a recording");
        let registers = &msr(&root, &[0, 1], &[0xc001_0015].into())["c0010015"];
        assert_eq!(registers[0].value, Reading::Is(0x0100_0018));
        assert!(matches!(&registers[1].value, Reading::Missing(reason) if reason.contains("CPU 1")));
        let asked = [(3, 0x84), (3, 0xffe), (2, 0)].map(|(function, offset)| PciWord { function, offset });
        let words = pci(&root, &asked.into());
        assert_eq!(words["3.84"], [RegisterReading { unit: 1, value: Reading::Is(0x0300_0001) }]);
        assert!(matches!(&words["3.ffe"][0].value, Reading::Missing(reason) if reason.contains("256")));
        assert!(words["2.0"].is_empty());
    }

    #[test]
    fn a_recording_without_registers_says_so_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("sys")).expect("folders");
        let root = Root::open(folder.path()).expect("a recording");
        let readings = msr(&root, &[0, 1, 2], &[0x10].into());
        assert_eq!(readings["10"].len(), 1);
    }

    #[test]
    fn what_only_root_may_read_is_said() {
        assert!(matches!(word(&[0; 64], 0x84), Reading::Missing(reason) if reason.contains("root")));
    }
}

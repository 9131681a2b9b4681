//! `/proc/cpuinfo`: one block of `key : value` lines per CPU on most architectures, a common block on some.

use std::collections::BTreeMap;

use machine::CpuId;

use super::source::Source;

/// The largest CPU number believed; as in `machine::CpuSet`.
const CPU_NUMBER_LIMIT: u32 = 65_536;

/// The lines of `/proc/cpuinfo`, by CPU.
#[derive(Debug, Default)]
pub(crate) struct CpuInfo {
    /// Lines outside any CPU's block: s390 and PowerPC put the machine there.
    pub(crate) common: BTreeMap<String, String>,
    /// The block of each CPU, by the number after `processor`.
    pub(crate) cpus: BTreeMap<CpuId, BTreeMap<String, String>>,
}

impl CpuInfo {
    /// Reads the file; empty where there is none.
    pub(crate) fn read(source: &Source<'_>) -> Self {
        source.text("/proc/cpuinfo").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut cpu = None;
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                if line.trim().is_empty() {
                    cpu = None;
                }
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            // s390 writes "processor 3: version = FF, ..." on one line per CPU.
            let number = match key.strip_prefix("processor") {
                Some("") => value.parse().ok(),
                Some(rest) => rest.trim().parse().ok(),
                None => None,
            };
            if let Some(number) = number.filter(|number| *number < CPU_NUMBER_LIMIT) {
                cpu = Some(CpuId(number));
                info.cpus.entry(CpuId(number)).or_default();
                continue;
            }
            let block = cpu.and_then(|cpu| info.cpus.get_mut(&cpu)).unwrap_or(&mut info.common);
            block.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
        info
    }

    /// The value of a key in the first block that has it, the common block last.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.cpus
            .values()
            .find_map(|block| block.get(key))
            .or_else(|| self.common.get(key))
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The value of a key for one CPU.
    pub(crate) fn of(&self, cpu: CpuId, key: &str) -> Option<&str> {
        self.cpus.get(&cpu)?.get(key).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_belong_to_their_cpus_and_the_rest_is_common() {
        let text = "vendor_id : IBM/S390\n\nprocessor\t: 4\nmodel name\t: A: B\n\nprocessor : 7\nflags\t:\n\nHardware : X\n";
        let info = CpuInfo::parse(text);
        assert_eq!(info.cpus.keys().map(|cpu| cpu.0).collect::<Vec<_>>(), [4, 7]);
        assert_eq!(info.of(CpuId(4), "model name"), Some("A: B"));
        assert_eq!(info.first("vendor_id"), Some("IBM/S390"));
        assert_eq!(info.first("Hardware"), Some("X"));
        assert_eq!(info.first("flags"), None);
    }
}

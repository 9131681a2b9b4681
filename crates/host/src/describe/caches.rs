//! Cache instances from `/sys/devices/system/cpu/cpuN/cache/indexK`.

use std::collections::BTreeMap;

use machine::{Bytes, Cache, CacheKind, CpuSet};

use super::source::{Source, size_bytes};
use super::topology::CPU_FOLDER;

/// Every cache instance of the online CPUs, by level, kind and first CPU; empty where sysfs has none.
pub(super) fn read(source: &Source<'_>, online: &CpuSet) -> Vec<Cache> {
    let mut caches: BTreeMap<(u8, CacheKind, CpuSet), Cache> = BTreeMap::new();
    for cpu in online.iter() {
        let folder = format!("{CPU_FOLDER}/cpu{cpu}/cache");
        for index in source.numbered(&folder, "index") {
            let file = |name: &str| format!("{folder}/index{index}/{name}");
            let Some(level) = source.number::<u8>(&file("level")).filter(|level| *level > 0) else {
                continue;
            };
            let kind = match source.word(&file("type")).as_deref() {
                Some("Data") => CacheKind::Data,
                Some("Instruction") => CacheKind::Instruction,
                Some("Unified") => CacheKind::Unified,
                other => {
                    source.note(format!(
                        "{} is {:?}, not a kind of cache",
                        file("type"),
                        other.unwrap_or("absent")
                    ));
                    continue;
                }
            };
            let mut shared_by = source
                .cpus(&file("shared_cpu_map"), &file("shared_cpu_list"))
                .unwrap_or_default()
                .intersection(online);
            shared_by.insert(cpu);
            let key = (level, kind, shared_by.clone());
            if caches.contains_key(&key) {
                continue;
            }
            let size = source.word(&file("size")).and_then(|text| size_bytes(&text)).filter(|size| *size > 0);
            let line = source.number::<u64>(&file("coherency_line_size")).filter(|line| *line > 0);
            caches.insert(
                key,
                Cache {
                    level,
                    kind,
                    size_bytes: size.map(Bytes),
                    line_bytes: line.map(Bytes),
                    ways: source.number(&file("ways_of_associativity")),
                    shared_by,
                },
            );
        }
    }
    let mut caches: Vec<Cache> = caches.into_values().collect();
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.shared_by.first()));
    caches
}

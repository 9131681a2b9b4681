//! Cache instances from `/sys/devices/system/cpu/cpuN/cache/indexK`.
//!
//! Each CPU names those that it shares a cache with, twice: as a mask and as a list. Old kernels write masks of zeros where they
//! do not know, and firmware contradicts itself. What is believed is a set that holds the CPU itself, stays within its package and
//! does not cut another CPU's set; what is not is a disagreement, and no further cache. A set over several packages that nothing else
//! replaces is one cache. Where sets are unlike and the cache's `id` makes them alike, the id is believed: Linux before 4.14,
//! arch/x86/kernel/cpu/cacheinfo.c, takes the APIC id modulo the sharers for the begin of a set, which cuts sets of six.

use std::collections::BTreeMap;

use machine::{Bytes, Cache, CacheKind, Core, CpuId, CpuSet, Disagreement};

use super::source::{CPU_FOLDER, Source, size_bytes};

/// What the caches are held against.
pub(super) struct Around<'a> {
    pub(super) online: &'a CpuSet,
    pub(super) cores: &'a [Core],
    /// The package of each CPU; empty where a cache may well serve several, as the books of s390 do.
    pub(super) packages: BTreeMap<CpuId, i64>,
}

/// Who contradicts a CPU whose set cuts that of another.
const OTHERS: &str = "another CPU of them";

/// Level and kind: what the caches of one CPU differ in.
type Name = (u8, CacheKind);

/// Every cache instance of the online CPUs, by level, kind and first CPU; empty where sysfs has none.
pub(super) fn read(source: &Source<'_>, around: &Around<'_>) -> Vec<Cache> {
    let mut found: BTreeMap<Name, Instances> = BTreeMap::new();
    for cpu in around.online.iter() {
        let folder = format!("{CPU_FOLDER}/cpu{cpu}/cache");
        for index in source.root().numbers(&folder, "index") {
            let folder = format!("{folder}/index{index}");
            if let Some(name) = name(source, &folder) {
                found.entry(name).or_default().claim(source, around, cpu, folder);
            }
        }
    }
    let mut caches = Vec::new();
    for (name, mut instances) in found {
        instances.heed_ids();
        instances.report_disputes(source, name);
        instances.settle_unclaimed(source, around, name);
        caches.extend(instances.found.into_iter().map(|instance| cache(source, name, instance)));
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.shared_by.first()));
    caches
}

fn short_name((level, kind): Name) -> String {
    Cache { level, kind, ..Cache::default() }.name()
}

fn name(source: &Source<'_>, folder: &str) -> Option<Name> {
    let level = source.number::<u8>(&format!("{folder}/level")).filter(|level| *level > 0)?;
    let file = format!("{folder}/type");
    let kind = match source.word(&file).as_deref() {
        Some("Data") => CacheKind::Data,
        Some("Instruction") => CacheKind::Instruction,
        Some("Unified") => CacheKind::Unified,
        other => {
            source.note(format!("{file} is {:?}, not a kind of cache", other.unwrap_or("absent")));
            return None;
        }
    };
    Some((level, kind))
}

fn cache(source: &Source<'_>, (level, kind): Name, instance: Instance) -> Cache {
    let file = |name: &str| format!("{}/{name}", instance.folder);
    let size = source.word(&file("size")).and_then(|text| size_bytes(&text)).filter(|size| *size > 0);
    let line = source.number::<u64>(&file("coherency_line_size")).filter(|line| *line > 0);
    Cache {
        level,
        kind,
        size_bytes: size.map(Bytes),
        line_bytes: line.map(Bytes),
        ways: source.number(&file("ways_of_associativity")),
        shared_by: instance.shared_by,
        sharers_unknown: instance.sharers_unknown,
    }
}

/// One cache, and the folder that describes it.
struct Instance {
    folder: String,
    shared_by: CpuSet,
    sharers_unknown: bool,
}

/// The caches of one name.
#[derive(Default)]
struct Instances {
    found: Vec<Instance>,
    /// Which of them a CPU uses.
    of_cpu: BTreeMap<CpuId, usize>,
    /// CPUs whose sharers are not known or not believed, with their folders and what they say.
    unclaimed: Vec<(CpuId, String, Option<CpuSet>)>,
    /// CPUs by the number of the cache, where all have one, with the folder of the first.
    by_id: BTreeMap<u64, (String, CpuSet)>,
    /// What contradicts each other, by who does: the first CPU that has it, what both say, how many CPUs have it.
    disputes: BTreeMap<[String; 2], (CpuId, [String; 2], usize)>,
}

impl Instances {
    /// What one CPU says of its cache.
    fn claim(&mut self, source: &Source<'_>, around: &Around<'_>, cpu: CpuId, folder: String) {
        const FILES: [&str; 2] = ["shared_cpu_map", "shared_cpu_list"];
        if let Some(id) = source.number(&format!("{folder}/id")) {
            self.by_id.entry(id).or_insert_with(|| (folder.clone(), CpuSet::new())).1.insert(cpu);
        }
        let named = |cpus: Option<CpuSet>| {
            let cpus = cpus?.intersection(around.online);
            (!cpus.is_empty()).then_some(cpus)
        };
        let map = named(source.cpu_mask(&format!("{folder}/{}", FILES[0])));
        let list = named(source.cpu_list(&format!("{folder}/{}", FILES[1])));
        if let (Some(map), Some(list)) = (&map, &list)
            && map != list
        {
            self.dispute(cpu, [FILES[0], FILES[1]], [map, list].map(|cpus| format!("CPUs {cpus}")));
        }
        let list = list.filter(|list| map.as_ref() != Some(list));
        // Masks first: they are older and always complete; trees edited by hand often have stale lists.
        let candidates: Vec<(&str, CpuSet)> =
            FILES.into_iter().zip([map, list]).filter_map(|(file, cpus)| Some((file, cpus?))).collect();
        for (file, cpus) in &candidates {
            match self.doubt(around, cpu, cpus) {
                None => return self.take(cpu, cpus, folder),
                Some((against, says)) => self.dispute(cpu, [file, &against], [format!("CPUs {cpus}"), says]),
            }
        }
        let said = candidates.into_iter().map(|(_, cpus)| cpus).find(|cpus| cpus.contains(cpu));
        self.unclaimed.push((cpu, folder, said));
    }

    /// Takes the sets of the ids, where those are alike and the kernel's are not. Ids of which each CPU has its own say nothing: Linux
    /// numbers every cache so where an AMD CPU has no leaf 8000_001D (`get_cache_id`, arch/x86/kernel/cpu/cacheinfo.c).
    fn heed_ids(&mut self) {
        let is_alike = |mut sets: Vec<usize>| {
            sets.dedup();
            sets.len() == 1
        };
        let numbered: usize = self.by_id.values().map(|(_, cpus)| cpus.len()).sum();
        if numbered != self.of_cpu.len()
            || numbered == self.by_id.len()
            || !is_alike(self.by_id.values().map(|(_, cpus)| cpus.len()).collect())
        {
            return;
        }
        let is_taken = !is_alike(self.found.iter().map(|one| one.shared_by.len()).collect());
        let taken = if is_taken { ", which are taken" } else { "" };
        let by_id = std::mem::take(&mut self.by_id);
        for (cpu, cpus) in by_id.values().flat_map(|(_, cpus)| cpus.iter().map(move |cpu| (cpu, cpus))) {
            let said = self.of_cpu.get(&cpu).map(|at| self.found[*at].shared_by.clone()).unwrap_or_default();
            if said != *cpus {
                self.dispute(
                    cpu,
                    ["shared_cpu_map", "the cache's id"],
                    [format!("CPUs {said}"), format!("CPUs {cpus}{taken}")],
                );
            }
        }
        if is_taken {
            let instance = |(folder, shared_by)| Instance { folder, shared_by, sharers_unknown: false };
            self.found = by_id.into_values().map(instance).collect();
        }
    }

    /// Why a set of sharers is not believed: what it is against, and what that says.
    fn doubt(&self, around: &Around<'_>, cpu: CpuId, cpus: &CpuSet) -> Option<(String, String)> {
        if let Some(&at) = self.of_cpu.get(&cpu) {
            let shared_by = &self.found[at].shared_by;
            return (shared_by != cpus).then(|| (OTHERS.to_owned(), format!("CPUs {shared_by}")));
        }
        if !cpus.contains(cpu) {
            return Some(("its folder".to_owned(), format!("CPU {cpu}")));
        }
        let package = |cpu: CpuId| around.packages.get(&cpu);
        if let Some(other) = cpus.iter().find(|other| package(*other) != package(cpu)) {
            let numbers = [cpu, other].map(|cpu| package(cpu).map_or(-1, |number| *number));
            let says = format!("packages {} and {}", numbers[0], numbers[1]);
            return Some(("physical_package_id".to_owned(), says));
        }
        let other = cpus.iter().find(|other| self.of_cpu.contains_key(other))?;
        let shared_by = &self.found[self.of_cpu[&other]].shared_by;
        Some((OTHERS.to_owned(), format!("CPUs {shared_by}")))
    }

    /// Believes a set: the CPU's own instance, or a new one.
    fn take(&mut self, cpu: CpuId, cpus: &CpuSet, folder: String) {
        if self.of_cpu.contains_key(&cpu) {
            return;
        }
        self.of_cpu.extend(cpus.iter().map(|cpu| (cpu, self.found.len())));
        self.found.push(Instance { folder, shared_by: cpus.clone(), sharers_unknown: false });
    }

    fn dispute(&mut self, cpu: CpuId, sources: [&str; 2], says: [String; 2]) {
        self.disputes.entry(sources.map(str::to_owned)).or_insert((cpu, says, 0)).2 += 1;
    }

    /// Reports what contradicts each other, once for each kind.
    fn report_disputes(&self, source: &Source<'_>, name: Name) {
        for ([first, second], (cpu, [says, against], count)) in &self.disputes {
            let others = if *count > 1 { format!(" and {} other CPUs", count - 1) } else { String::new() };
            let subject = format!("who shares the {} of CPU {cpu}{others}", short_name(name));
            source.disagree(Disagreement::between(
                &subject,
                [(first, says.clone()), (second, against.clone())],
            ));
        }
    }

    /// CPUs of which no other CPU names share what they say, over packages as it may be, else one instance for each core.
    fn settle_unclaimed(&mut self, source: &Source<'_>, around: &Around<'_>, name: Name) {
        let mut left: BTreeMap<CpuId, String> = BTreeMap::new();
        for (cpu, folder, said) in std::mem::take(&mut self.unclaimed) {
            let shared_by = said.filter(|cpus| cpus.iter().all(|cpu| !self.of_cpu.contains_key(&cpu)));
            match shared_by {
                _ if self.of_cpu.contains_key(&cpu) => {}
                Some(shared_by) => self.take(cpu, &shared_by, folder),
                None => _ = left.insert(cpu, folder),
            }
        }
        if left.is_empty() {
            return;
        }
        source.note(format!(
            "{CPU_FOLDER} does not show which of CPUs {} share an {}; one for each core is assumed",
            left.keys().copied().collect::<CpuSet>(),
            short_name(name)
        ));
        for core in around.cores {
            let mut cpus = core.cpus.iter().filter_map(|cpu| Some((cpu, left.get(&cpu)?))).peekable();
            if let Some((_, folder)) = cpus.peek().copied() {
                let shared_by = cpus.map(|(cpu, _)| cpu).collect();
                self.found.push(Instance { folder: folder.clone(), shared_by, sharers_unknown: true });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Root;

    /// What each of four CPUs in two packages says of its third level, mask and list, and what is made of it: sharers, `?` where
    /// they are unknown, and how many contradictions there are.
    type Case = ([(&'static str, &'static str); 4], &'static [&'static str], usize);

    const CASES: [Case; 7] = [
        ([("3", "0-1"), ("3", "0-1"), ("c", "2-3"), ("c", "2-3")], &["0-1", "2-3"], 0),
        // Nothing is named: as many as there may be.
        ([("0", ""); 4], &["0?", "1?", "2?", "3?"], 0),
        // A neighbour tells, or the list.
        ([("0", ""), ("3", ""), ("0", "2-3"), ("c", "")], &["0-1", "2-3"], 0),
        // A set that leaves its package is no further cache.
        ([("3", ""), ("f", ""), ("c", ""), ("c", "")], &["0-1", "2-3"], 1),
        // Nothing stands against it but the packages: one cache, never one for each core.
        ([("f", "0-3"), ("f", "0-3"), ("f", "0-3"), ("f", "0-3")], &["0-3"], 1),
        // A mask against its own list, and one that cuts another's.
        ([("3", "0"), ("3", "0-1"), ("c", "2-3"), ("c", "2-3")], &["0-1", "2-3"], 1),
        ([("3", ""), ("2", ""), ("c", ""), ("c", "")], &["0-1", "2-3"], 1),
    ];

    #[test]
    fn sharers_that_are_not_reported_or_contradict_are_no_caches_of_their_own() {
        for (says, expected, contradictions) in CASES {
            let folder = tempfile::tempdir().expect("a temporary folder");
            for (cpu, (map, list)) in says.iter().enumerate() {
                let write = |path: &str, text: &str| {
                    let path = folder.path().join(format!("sys/devices/system/cpu/cpu{cpu}/{path}"));
                    std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
                    std::fs::write(path, text).expect("a file");
                };
                write("topology/physical_package_id", &(cpu / 2).to_string());
                write("topology/core_id", &(cpu % 2).to_string());
                for (file, text) in
                    [("level", "3"), ("type", "Unified"), ("shared_cpu_map", map), ("shared_cpu_list", list)]
                {
                    write(&format!("cache/index3/{file}"), text);
                }
            }
            let machine = crate::describe(&Root::open(folder.path()).expect("a tree"), None);
            let found: Vec<String> = machine
                .topology
                .caches
                .iter()
                .map(|cache| format!("{}{}", cache.shared_by, if cache.sharers_unknown { "?" } else { "" }))
                .collect();
            assert_eq!(found, expected, "{says:?}");
            assert_eq!(machine.disagreements.len(), contradictions, "{says:?}: {:#?}", machine.disagreements);
            let is_reported = machine.missing.iter().any(|line| line.contains("share an L3"));
            assert_eq!(
                is_reported,
                expected.iter().any(|cache| cache.ends_with('?')),
                "{:?}",
                machine.missing
            );
        }
    }
}

//! An hwloc topology in XML (`lstopo --of xml`, of versions 1 and 2) as the files in which Linux describes the same machine: whatever
//! reads a recorded machine reads it.
//!
//! Source: hwloc, hwloc/topology-xml.c and hwloc2.dtd. What Linux does not say of a machine (memory of packages, devices) is skipped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use machine::CpuSet;
use roxmltree::{Document, Node, ParsingOptions};

use crate::plain_file::open_plain;

/// Where Linux describes CPUs, nodes and the kinds of cores of Intel hybrids.
const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";
const KINDS: [(&str, &str); 2] =
    [("IntelCore", "sys/devices/cpu_core/cpus"), ("IntelAtom", "sys/devices/cpu_atom/cpus")];
/// Elements may be nested this deep; hwloc allows a level of objects for each kind and bridge, some 30. The parser walks them by
/// recursion.
const LEVELS_MAX: usize = 256;
/// `CONFIG_NR_CPUS` is at most this on x86 (arch/x86/Kconfig), and on all others less.
const CPUS_MAX: usize = 8192;
/// `HWLOC_DISTANCES_KIND_MEANS_LATENCY`: hwloc/include/hwloc/distances.h.
const MEANS_LATENCY: u64 = 1 << 2;
/// Facts of the CPU by the names of hwloc, and the lines of /proc/cpuinfo that say the same.
const FACTS: [(&str, &str); 5] = [
    ("CPUVendor", "vendor_id"),
    ("CPUFamilyNumber", "cpu family"),
    ("CPUModelNumber", "model"),
    ("CPUModel", "model name"),
    ("CPUStepping", "stepping"),
];

/// True of a file that begins like such a topology.
pub fn is_topology(path: &Path) -> bool {
    /// The head that hwloc writes before the element has a hundred bytes.
    const START_BYTES: u64 = 512;
    let mut start = Vec::new();
    let read = open_plain(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    let start = String::from_utf8_lossy(&start);
    read.is_ok()
        && start.trim_start_matches('\u{feff}').trim_start().starts_with('<')
        && start.contains("<topology")
}

/// Whether more elements are open at once than `levels_max`, by counting tags: a bound, not a parse.
pub fn is_nested_deeper(text: &str, levels_max: usize) -> bool {
    let mut open = 0_usize;
    text.match_indices('<').any(|(at, _)| {
        let rest = &text.as_bytes()[at + 1..];
        match rest.first() {
            Some(b'/') => open = open.saturating_sub(1),
            Some(b'!' | b'?') | None => {}
            Some(_) => {
                let end = rest.iter().position(|byte| *byte == b'>').unwrap_or(rest.len());
                open += usize::from(end == 0 || rest[end - 1] != b'/');
            }
        }
        open > levels_max
    })
}

/// Hands the path and text of each file to `put`, until that says stop.
///
/// # Errors
/// What is wrong with the text, or what `put` says.
pub(super) fn files<E: From<String>>(
    text: &str,
    put: &mut dyn FnMut(String, String) -> Result<(), E>,
) -> Result<(), E> {
    if is_nested_deeper(text, LEVELS_MAX) {
        return Err(format!("elements are nested more than {LEVELS_MAX} deep").into());
    }
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| error.to_string())?;
    let machine = objects(document.root_element()).next();
    let machine = machine.ok_or_else(|| "the topology has no object".to_owned())?;
    let online = cpus(machine, "online_cpuset").or_else(|| cpus(machine, "cpuset"));
    let online = online.ok_or_else(|| "its machine has no cpuset".to_owned())?;
    if online.len() > CPUS_MAX {
        return Err(format!("it has more than {CPUS_MAX} CPUs").into());
    }
    let present = cpus(machine, "complete_cpuset").unwrap_or_else(|| online.clone());
    put(format!("{CPUS}/online"), online.to_string())?;
    put(format!("{CPUS}/present"), present.to_string())?;
    let fact = |name| infos(document.root_element()).find(|(have, _)| *have == name).map(|(_, value)| value);
    for (name, file) in [("OSRelease", "osrelease"), ("Architecture", "arch")] {
        if let Some(value) = fact(name) {
            put(format!("proc/sys/kernel/{file}"), value.to_owned())?;
        }
    }
    let known = FACTS.iter().filter_map(|(name, key)| Some((key, fact(name)?)));
    let known = known.fold(String::new(), |known, (key, value)| format!("{known}{key}\t: {value}\n"));
    let mut info = String::new();
    for cpu in online.iter() {
        let _ = writeln!(info, "processor\t: {cpu}\n{known}");
    }
    put("proc/cpuinfo".to_owned(), info)?;
    of_objects(machine, put)?;
    for kind in document.descendants().filter(|node| node.has_tag_name("cpukind")) {
        let name = infos(kind).find(|(name, _)| *name == "CoreType").map(|(_, value)| value);
        let folder = KINDS.iter().find(|(kind, _)| Some(*kind) == name);
        if let (Some((_, path)), Some(cpus)) = (folder, cpus(kind, "cpuset")) {
            put((*path).to_owned(), cpus.to_string())?;
        }
    }
    Ok(())
}

/// The files of packages, dies, cores, caches and nodes.
fn of_objects<E: From<String>>(
    machine: Node,
    put: &mut dyn FnMut(String, String) -> Result<(), E>,
) -> Result<(), E> {
    let (mut counts, mut nodes) = (BTreeMap::<&str, u32>::new(), Vec::new());
    for object in objects(machine) {
        let kind = object.attribute("type").unwrap_or_default();
        let next = counts.entry(kind).or_default();
        let id = object.attribute("os_index").map_or_else(|| next.to_string(), str::to_owned);
        *next += 1;
        let cpus = cpus(object, "cpuset").unwrap_or_default();
        if kind == "NUMANode" {
            nodes.push((id, cpus, number(object, "local_memory")));
            continue;
        }
        let files = of_each_cpu(object, kind, &id, &cpus.to_string());
        for cpu in cpus.iter() {
            files.iter().try_for_each(|(file, text)| put(format!("{CPUS}/cpu{cpu}/{file}"), text.clone()))?;
        }
    }
    let distances = distances(machine, nodes.len());
    for (row, (id, cpus, bytes)) in nodes.into_iter().enumerate() {
        let memory = bytes.map(|bytes| format!("Node {id} MemTotal: {bytes} B"));
        let files = [
            ("cpulist", Some(cpus.to_string())),
            ("meminfo", memory),
            ("distance", distances.get(row).cloned()),
        ];
        for (file, text) in files.into_iter().filter_map(|(file, text)| Some((file, text?))) {
            put(format!("{NODES}/node{id}/{file}"), text)?;
        }
    }
    Ok(())
}

/// The files of each CPU of an object. Version 1 calls every cache `Cache`, version 2 `L1iCache`.
fn of_each_cpu(object: Node, kind: &str, id: &str, cpus: &str) -> Vec<(String, String)> {
    const TYPES: [&str; 3] = ["Unified", "Data", "Instruction"];
    let (name, members) = match kind {
        "Package" | "Socket" => ("physical_package_id", "package_cpus"),
        "Die" => ("die_id", "die_cpus"),
        "Core" => ("core_id", "core_cpus"),
        kind if kind == "Cache" || kind.starts_with('L') && kind.ends_with("Cache") => {
            // A zero stands for what is not known; fully associative is -1.
            let known =
                |name| object.attribute(name).filter(|_| number(object, name).is_some_and(|value| value > 0));
            let type_of = number(object, "cache_type").map_or(Some(0), |kind| usize::try_from(kind).ok());
            let type_of = type_of.and_then(|kind| Some((kind, *TYPES.get(kind)?)));
            let (Some(level), Some((index, type_of))) = (known("depth"), type_of) else { return Vec::new() };
            let files = [
                ("level", Some(level)),
                ("type", Some(type_of)),
                ("size", known("cache_size")),
                ("coherency_line_size", known("cache_linesize")),
                ("ways_of_associativity", known("cache_associativity")),
                ("shared_cpu_list", Some(cpus)),
            ];
            let file = |(file, text): (&str, Option<&str>)| {
                Some((format!("cache/index{level}{index}/{file}"), text?.to_owned()))
            };
            return files.into_iter().filter_map(file).collect();
        }
        _ => return Vec::new(),
    };
    vec![(format!("topology/{name}"), id.to_owned()), (format!("topology/{members}_list"), cpus.to_owned())]
}

/// The rows of distances between so many nodes; none where the file has none. Version 1 divides them by a base; both write them in
/// the order of the nodes.
fn distances(machine: Node, nodes: usize) -> Vec<String> {
    let values = |node: Node| {
        let base = node.attribute("latency_base").map_or(Some(1.0), |base| base.parse::<f64>().ok())?;
        let texts = node.children().filter(|child| !child.has_tag_name("indexes"));
        let texts = texts.filter_map(|child| child.attribute("value").or_else(|| child.text()));
        let numbers =
            texts.flat_map(str::split_whitespace).map(|word| Some(word.parse::<f64>().ok()? * base));
        numbers.collect::<Option<Vec<f64>>>()
    };
    let is_latency = |node: &Node| {
        node.has_tag_name("distances")
            || node.has_tag_name("distances2")
                && node.attribute("type") == Some("NUMANode")
                && number(*node, "kind").is_some_and(|kind| kind & MEANS_LATENCY != 0)
    };
    let all = machine.document().descendants().filter(is_latency).filter_map(values);
    let square = nodes.saturating_mul(nodes).max(1);
    let Some(values) = all.into_iter().find(|values| values.len() == square) else { return Vec::new() };
    let row = |row: &[f64]| row.iter().map(|value| value.round().to_string()).collect::<Vec<_>>().join(" ");
    values.chunks(nodes.max(1)).map(row).collect()
}

/// The objects below an element, those that hold others first.
fn objects<'a, 'i>(of: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    of.descendants().filter(|node| node.has_tag_name("object"))
}

/// The names and values said of an object, and of those below it.
fn infos<'a>(of: Node<'a, '_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let infos = of.descendants().filter(|node| node.has_tag_name("info"));
    infos.filter_map(|info| Some((info.attribute("name")?, info.attribute("value")?)))
}

fn number(of: Node, name: &str) -> Option<u64> {
    of.attribute(name)?.parse().ok()
}

/// A set of CPUs: words of 32 bits with `0x`, the highest first, of which those of zeros may be empty. hwloc/bitmap.c,
/// `hwloc_bitmap_asprintf`; a set without end (`0xf...f`) is none.
fn cpus(of: Node, name: &str) -> Option<CpuSet> {
    let words = of.attribute(name)?.split(',').map(|word| format!("{:0>8}", word.trim_start_matches("0x")));
    CpuSet::from_mask(&words.collect::<Vec<_>>().join(",")).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::Root;

    /// Two packages of two cores with two threads, a node each, as version 2 writes them.
    const SECOND: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x000000ff" complete_cpuset="0x000001ff">
 <info name="Architecture" value="x86_64"/><info name="OSRelease" value="6.18.1"/>
 PACKAGES
</object>
<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
 <indexes length="4">0 1 </indexes><u64values length="6">10 21 </u64values><u64values length="6">21 10 </u64values></distances2>
<cpukind cpuset="0x0000000f"><info name="CoreType" value="IntelCore"/></cpukind>
<cpukind cpuset="0x000000f0"><info name="CoreType" value="IntelAtom"/></cpukind></topology>"#;
    const PACKAGE: &str = r#"<object type="Package" os_index="INDEX" cpuset="ALL"><info name="CPUVendor" value="GenuineIntel"/>
<info name="CPUModel" value="Made up"/><info name="CPUFamilyNumber" value="6"/><info name="CPUModelNumber" value="85"/>
<object type="NUMANode" os_index="INDEX" cpuset="ALL" local_memory="4096"/>
<object type="L3Cache" cpuset="ALL" cache_size="1048576" depth="3" cache_linesize="64" cache_associativity="-1" cache_type="0">
<object type="Core" os_index="0" cpuset="ONE"><object type="PU" os_index="0" cpuset="ONE"/></object>
<object type="Core" os_index="1" cpuset="TWO"/></object></object>"#;

    fn second() -> String {
        let one = |index: &str, all: &str, one: &str, two: &str| {
            PACKAGE.replace("INDEX", index).replace("ALL", all).replace("ONE", one).replace("TWO", two)
        };
        let packages = one("0", "0x0000000f", "0x3", "0xc") + &one("1", "0x000000f0", "0x30", "0xc0");
        SECOND.replace("PACKAGES", &packages)
    }

    fn opened(text: &str) -> Result<machine::Machine, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("topology.xml");
        std::fs::write(&path, text).expect("a file");
        let root = Root::open(&path).map_err(|error| error.to_string())?;
        Ok(crate::describe(&root, None))
    }

    #[test]
    fn a_topology_is_read_like_the_files_of_the_machine() {
        let machine = opened(&second()).expect("a topology");
        let topology = &machine.topology;
        assert_eq!(
            (topology.packages().len(), topology.cores.len(), topology.cpus.len()),
            (2, 4, 8),
            "{topology:?}"
        );
        assert_eq!(topology.offline.to_string(), "8");
        let third: Vec<_> =
            topology.caches.iter().map(|one| (one.level, one.shared_by.to_string())).collect();
        assert_eq!(third, [(3, "0-3".to_owned()), (3, "4-7".to_owned())]);
        assert_eq!(
            (topology.caches[0].size_bytes, topology.caches[0].ways),
            (Some(machine::Bytes(1 << 20)), None)
        );
        let nodes: Vec<_> =
            topology.nodes.iter().map(|node| (node.distances.clone(), node.memory_bytes)).collect();
        assert_eq!(
            nodes,
            [(vec![10, 21], Some(machine::Bytes(4096))), (vec![21, 10], Some(machine::Bytes(4096)))]
        );
        let identity = &machine.identity;
        assert_eq!((identity.name.as_deref(), identity.model), (Some("Made up"), Some(85)));
        assert_eq!(identity.architecture.as_deref(), Some("x86_64"));
        assert_ne!(topology.cpus[0].core_kind, topology.cpus[7].core_kind);
        assert!(machine.disagreements.is_empty() && machine.missing.is_empty(), "{:?}", machine.missing);
    }

    #[test]
    fn the_first_version_divides_distances_by_a_base_and_calls_packages_sockets() {
        let text = r#"<topology><object type="Machine" online_cpuset="0x3" cpuset="0x7">
            <distances nbobjs="2" relative_depth="1" latency_base="10.0"><latency value="1.0"/><latency value="2.1"/>
            <latency value="2.1"/><latency value="1.0"/></distances>
            <object type="Socket" os_index="4" cpuset="0x3"><object type="NUMANode" os_index="0" cpuset="0x1"/>
            <object type="NUMANode" os_index="1" cpuset="0x2" local_memory="1000"/>
            <object type="Cache" cpuset="0x3" cache_size="32768" depth="1" cache_type="2"/></object></object></topology>"#;
        let machine = opened(text).expect("a topology");
        let node = &machine.topology.nodes[1];
        assert_eq!((node.distances.clone(), node.memory_bytes), (vec![21, 10], Some(machine::Bytes(1000))));
        assert_eq!(machine.topology.caches[0].name(), "L1i");
        assert_eq!(machine.topology.cpus[0].package, 4);
    }

    #[test]
    fn what_is_no_topology_is_refused_in_one_line_and_fills_no_memory() {
        let deep = format!("<topology>{}", "<object>".repeat(100_000));
        let bomb = "<!DOCTYPE t [<!ENTITY x \"xxxxxxxx\"><!ENTITY y \"&x;&x;\"><!ENTITY z \"&y;&y;\">]><topology>&z;</topology>";
        let every = vec!["0xffffffff"; 2048].join(",");
        let cache = format!(r#"<object type="L2Cache" cpuset="{every}" depth="2" cache_type="0"/>"#);
        let many =
            format!(r#"<topology><object type="Machine" cpuset="{every}">{cache}</object></topology>"#);
        for (text, expected) in [
            (deep.as_str(), "nested more than 256 deep"),
            ("<topology>", "is damaged"),
            (bomb, "the topology has no object"),
            ("<topology></topology>", "the topology has no object"),
            (r#"<topology><object type="Machine"/></topology>"#, "has no cpuset"),
            (r#"<topology><object type="Machine" cpuset="0xf...f"/></topology>"#, "has no cpuset"),
            (many.as_str(), "more than 8192 CPUs"),
            ("<svg></svg>", "is neither a directory"),
        ] {
            let error = opened(text).expect_err("no topology");
            assert!(error.contains(expected) && !error.contains('\n'), "{text:.60}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_topology_that_is_cut_or_spoilt_never_panics(at in 0_usize..2000, put in "[<>\"/0-9x, ]{0,6}") {
            let all = second();
            let at = at.min(all.len());
            let _ = super::files::<String>(&format!("{}{put}{}", &all[..at], &all[(at + 2).min(all.len())..]), &mut |_, _| Ok(()));
            let _ = super::files::<String>(&all[..at], &mut |_, _| Ok(()));
        }
    }
}

//! The machine of the sample: one package, cores with two levels of their own and one shared L3.

use machine::{
    Bytes, Cache, CacheKind, ClockSources, Core, CoreKind, Cpu, CpuId, Disagreement, Environment,
    HugePagePool, Identity, Limits, Machine, Node, NodeId, Tlb, TlbKind, Topology, TransparentHugePages,
    Vendor,
};

/// A guest with that many CPUs, eight to a node.
pub(crate) fn sample_machine(cpu_count: u32) -> Machine {
    Machine {
        identity: Identity {
            vendor: Some(Vendor::Amd),
            family: Some(25),
            model: Some(1),
            stepping: Some(1),
            microcode: Some(0x0a00_11d5),
            name: Some("AMD EPYC 7003 (synthetic sample)".to_owned()),
            hypervisor: Some("KVM".to_owned()),
            flags: ["avx", "avx2", "constant_tsc", "nonstop_tsc", "rdtscp", "sse2"]
                .map(str::to_owned)
                .to_vec(),
            architecture: Some("x86_64".to_owned()),
            board: Some("QEMU Standard PC".to_owned()),
            bios: Some("SeaBIOS 1.16".to_owned()),
            ..Identity::default()
        },
        topology: topology(cpu_count),
        tlbs: [(1, 64), (2, 2048)]
            .map(|(level, entries)| Tlb {
                level,
                kind: TlbKind::Data,
                page_bytes: vec![Bytes(4096), Bytes(2 << 20)],
                entries,
                ways: Some(if level == 1 { 0 } else { 8 }),
            })
            .to_vec(),
        environment: environment(),
        disagreements: vec![Disagreement {
            subject: "threads per core".to_owned(),
            sysfs: "1".to_owned(),
            cpuid: "2".to_owned(),
            sources: None,
        }],
        missing: vec!["cpufreq: no such directory, this is a guest".to_owned()],
    }
}

fn topology(cpu_count: u32) -> Topology {
    let ids = || (0..cpu_count).map(CpuId);
    let nodes = cpu_count.div_ceil(8);
    let own = |level: u8, kind: CacheKind, kib: u64, ways: u32| {
        ids().map(move |cpu| Cache {
            level,
            kind,
            size_bytes: Some(Bytes(kib << 10)),
            line_bytes: Some(Bytes(64)),
            ways: Some(ways),
            shared_by: [cpu].into_iter().collect(),
            sharers_unknown: false,
        })
    };
    let of_node = |node: u32| ids().filter(move |cpu| cpu.0 / 8 == node).collect();
    let mut caches: Vec<Cache> =
        own(1, CacheKind::Data, 32, 8).chain(own(1, CacheKind::Instruction, 32, 8)).collect();
    caches.extend(own(2, CacheKind::Unified, 512, 8));
    caches.extend((0..nodes).map(|node| Cache {
        level: 3,
        kind: CacheKind::Unified,
        size_bytes: Some(Bytes(32 << 20)),
        line_bytes: Some(Bytes(64)),
        ways: Some(16),
        shared_by: of_node(node),
        sharers_unknown: false,
    }));
    Topology {
        cpus: ids()
            .map(|id| Cpu {
                id,
                core_index: id.0 as usize,
                package: 0,
                die: None,
                module: None,
                node: Some(NodeId(id.0 / 8)),
                core_kind: CoreKind::Uniform,
                capacity: None,
            })
            .collect(),
        cores: ids()
            .map(|id| Core { os_index: Some(i64::from(id.0)), package: 0, cpus: [id].into_iter().collect() })
            .collect(),
        caches,
        nodes: (0..nodes)
            .map(|node| Node {
                id: NodeId(node),
                cpus: of_node(node),
                memory_bytes: Some(Bytes(24 << 30)),
                free_bytes: Some(Bytes(20 << 30)),
                distances: (0..nodes).map(|to| if to == node { 10 } else { 21 }).collect(),
                attributes: Vec::new(),
                side_caches: Vec::new(),
            })
            .collect(),
        distance_nodes: (0..nodes).map(NodeId).collect(),
        allowed: ids().collect(),
        allowed_nodes: (0..nodes).map(NodeId).collect(),
        ..Topology::default()
    }
}

fn environment() -> Environment {
    Environment {
        kernel: Some("6.18.0-sample".to_owned()),
        command_line: Some("root=/dev/vda1 ro quiet mitigations=auto".to_owned()),
        memory_bytes: Some(Bytes(24 << 30)),
        page_bytes: Some(Bytes(4096)),
        huge_page_pools: vec![HugePagePool { page_bytes: Bytes(2 << 20), total: 0, free: 0 }],
        transparent_huge_pages: TransparentHugePages {
            enabled: Some("madvise".to_owned()),
            defrag: Some("madvise".to_owned()),
        },
        clock_sources: ClockSources {
            current: Some("kvm-clock".to_owned()),
            available: vec!["kvm-clock".to_owned(), "tsc".to_owned(), "acpi_pm".to_owned()],
        },
        limits: Limits { available_memory_bytes: Some(Bytes(22 << 30)), ..Limits::default() },
        idle_driver: Some("haltpoll".to_owned()),
        idle_states: vec![("POLL".to_owned(), 0), ("haltpoll".to_owned(), 1)],
        vulnerabilities: [
            ("spectre_v1", "Mitigation: usercopy/swapgs barriers and __user pointer sanitization"),
            ("spectre_v2", "Mitigation: Retpolines; IBPB: conditional; STIBP: disabled"),
            ("meltdown", "Not affected"),
        ]
        .map(|(name, says)| (name.to_owned(), says.to_owned()))
        .into_iter()
        .collect(),
        bugs: ["spectre_v1", "spectre_v2"].map(str::to_owned).to_vec(),
        ..Environment::default()
    }
}

//! The plan of a check-up on 1, 2, 64 and 256 CPUs: what runs, for how long, what was cut or dropped and why.
//!
//! `UPDATE_EXPECT=1` rewrites the golden.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use machine::{Bytes, Cache, CacheKind, Core, CoreKind, Cpu, CpuId, CpuSet, Machine, Node, NodeId, Topology};
use probes::plan::{Depth, Options, Probe, Selection, plan, selectable_names, smallest_budget_s};
use probes::signature::SignatureProbe;

const GOLDEN: &str = include_str!("../golden/plan.txt");

/// How a made-up machine is built.
#[derive(Debug, Clone, Copy)]
struct Shape {
    packages: u32,
    nodes_per_package: u32,
    cores_per_l3: u32,
    cores: u32,
    threads: u32,
}

const ONE: Shape = Shape { packages: 1, nodes_per_package: 1, cores_per_l3: 1, cores: 1, threads: 1 };
const TWO: Shape = Shape { cores_per_l3: 2, cores: 2, ..ONE };
const EIGHT: Shape = Shape { cores_per_l3: 4, cores: 4, threads: 2, ..ONE };
const SIXTY_FOUR: Shape =
    Shape { packages: 2, nodes_per_package: 1, cores_per_l3: 16, cores: 32, threads: 2 };
const LARGE: Shape = Shape { packages: 2, nodes_per_package: 4, cores_per_l3: 8, cores: 128, threads: 2 };

/// The CPUs of a machine numbered as Linux does: first threads of all cores first.
fn machine(shape: Shape) -> Machine {
    let mut topology = Topology::default();
    let nodes = shape.packages * shape.nodes_per_package;
    let threads_of = |core: u32| (0..shape.threads).map(move |thread| CpuId(thread * shape.cores + core));
    for thread in 0..shape.threads {
        for core in 0..shape.cores {
            topology.cpus.push(Cpu {
                id: CpuId(thread * shape.cores + core),
                core_index: core as usize,
                package: i64::from(core * shape.packages / shape.cores),
                die: None,
                module: None,
                node: Some(NodeId(core * nodes / shape.cores)),
                core_kind: CoreKind::Uniform,
                capacity: None,
            });
        }
    }
    for core in 0..shape.cores {
        let package = i64::from(core * shape.packages / shape.cores);
        topology.cores.push(Core { os_index: None, package, cpus: threads_of(core).collect() });
    }
    let mut cache = |level, size, cores_each: u32| {
        for first in (0..shape.cores).step_by(cores_each as usize) {
            topology.caches.push(Cache {
                level,
                kind: if level == 1 { CacheKind::Data } else { CacheKind::Unified },
                size_bytes: Some(Bytes(size)),
                line_bytes: Some(Bytes(64)),
                ways: None,
                shared_by: (first..first + cores_each).flat_map(threads_of).collect::<CpuSet>(),
                sharers_unknown: false,
            });
        }
    };
    cache(1, 32 << 10, 1);
    cache(2, 1 << 20, 1);
    cache(3, 32 << 20, shape.cores_per_l3);
    let distance =
        |from: u32, to: u32| match (from == to, from * shape.packages / nodes == to * shape.packages / nodes)
        {
            (true, _) => 10,
            (false, true) => 12,
            (false, false) => 32,
        };
    topology.distance_nodes = (0..nodes).map(NodeId).collect();
    topology.nodes = (0..nodes)
        .map(|node| Node {
            id: NodeId(node),
            cpus: topology
                .cpus
                .iter()
                .filter(|cpu| cpu.node == Some(NodeId(node)))
                .map(|cpu| cpu.id)
                .collect(),
            memory_bytes: Some(Bytes(16 << 30)),
            free_bytes: None,
            distances: (0..nodes).map(|to| distance(node, to)).collect(),
            attributes: Vec::new(),
            side_caches: Vec::new(),
        })
        .collect();
    topology.allowed = topology.online();
    let mut machine = Machine { topology, ..Machine::default() };
    machine.environment.memory_bytes = Some(Bytes((u64::from(nodes) * 16) << 30));
    machine.environment.transparent_huge_pages.enabled = Some("madvise".to_owned());
    machine
}

fn cpus(machine: &Machine) -> Vec<CpuId> {
    machine.topology.online().iter().collect()
}

fn show(title: &str, machine: &Machine, options: &Options) -> String {
    let plan = plan(machine, &cpus(machine), options, 7);
    let mut text = format!("{title}: budget {} s, worst case {:.1} s\n", plan.budget_s, plan.worst_case_s());
    for probe in &plan.probes {
        let name = probe.probe.name();
        writeln!(text, "  {name:<13} {:>5.1} s  disturbs {}", probe.seconds, probe.disturbs)
            .expect("a string");
        for line in &probe.reduced {
            writeln!(text, "      cut: {line}").expect("a string");
        }
    }
    for dropped in &plan.dropped {
        writeln!(text, "  {:<13} dropped: {}", dropped.probe.name(), dropped.reason).expect("a string");
    }
    text
}

/// The probes that every architecture has: a plan of these is the same everywhere.
fn everywhere() -> Selection {
    let names = Probe::all().map(Probe::name).filter(|name| *name != "atomics");
    Selection::of_names(names).expect("names of the list")
}

fn options(depth: Depth) -> Options {
    Options { depth, only: everywhere(), signatures: SignatureProbe::ALL.to_vec(), ..Options::default() }
}

#[test]
fn the_plans_of_four_machines_are_as_reviewed() {
    let mut text = String::new();
    for (cpus, shape) in [(1, ONE), (2, TWO), (64, SIXTY_FOUR), (256, LARGE)] {
        let machine = machine(shape);
        assert_eq!(machine.topology.cpus.len(), cpus);
        for (flag, depth) in [("--quick", Depth::Quick), ("default", Depth::Default), ("--full", Depth::Full)]
        {
            text += &show(&format!("{cpus} CPUs, {flag}"), &machine, &options(depth));
            text.push('\n');
        }
    }
    let thirty = Options { budget_s: Some(30.0), ..options(Depth::Default) };
    text += &show("2 CPUs, --budget 30", &machine(TWO), &thirty);
    text.push('\n');
    let ten = Options { budget_s: Some(10.0), ..options(Depth::Default) };
    text += &show("2 CPUs, --budget 10", &machine(TWO), &ten);
    text.push('\n');
    let mut poor = machine(TWO);
    poor.environment.memory_bytes = Some(Bytes(64 << 20));
    poor.environment.transparent_huge_pages.enabled = Some("never".to_owned());
    text += &show(
        "2 CPUs with 64 MiB and no huge pages",
        &poor,
        &Options { only: everywhere(), ..Options::default() },
    );
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/plan.txt");
        std::fs::write(path, &text).expect("the golden can be written");
        return;
    }
    assert!(
        text == GOLDEN,
        "the plan differs from tests/golden/plan.txt; UPDATE_EXPECT=1 rewrites it:\n{text}"
    );
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn shapes() -> impl Strategy<Value = Shape> {
        (0_u32..6, 0_u32..3, 0_u32..2, 1_u32..3).prop_map(|(cores, l3, packages, threads)| {
            let (cores, packages) = (1 << cores, 1 << packages.min(cores));
            Shape {
                packages,
                nodes_per_package: 1,
                cores_per_l3: (1 << l3).min(cores / packages).max(1),
                cores,
                threads,
            }
        })
    }

    fn depths() -> impl Strategy<Value = Depth> {
        prop_oneof![Just(Depth::Quick), Just(Depth::Default), Just(Depth::Full)]
    }

    fn selections() -> impl Strategy<Value = Selection> {
        prop::collection::vec(prop::sample::select(selectable_names()), 1..6)
            .prop_map(|names| Selection::of_names(names).expect("names from the list"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_plan_fits_its_budget_and_says_what_became_of_every_probe(
            shape in shapes(),
            depth in depths(),
            only in selections(),
            budget_s in prop_oneof![Just(None), (0.0..2000.0_f64).prop_map(Some)],
            memory in 1_u64 << 16..1 << 40,
            seed: u64,
        ) {
            let mut machine = machine(shape);
            machine.environment.memory_bytes = Some(Bytes(memory));
            let signatures = SignatureProbe::ALL.to_vec();
            let options = Options { depth, budget_s, only, signatures, epochs: probes::plan::EPOCHS };
            let checked = check_shares(&machine, &options);
            prop_assert!(checked.is_ok(), "{:?}", checked);
            let made = plan(&machine, &cpus(&machine), &options, seed);
            let allowed_s = made.budget_s.max(probes::plan::OVERHEAD_S);
            prop_assert!(made.worst_case_s() <= allowed_s + 1e-6, "{} > {allowed_s}", made.worst_case_s());
            let again = plan(&machine, &cpus(&machine), &options, seed);
            prop_assert_eq!(format!("{made:?}"), format!("{again:?}"));
            let planned = made.probes.iter().map(|planned| planned.probe);
            let named: BTreeSet<_> = planned.chain(made.dropped.iter().map(|dropped| dropped.probe)).collect();
            let chosen: BTreeSet<_> = probes::plan::Probe::all().filter(|p| options.only.contains(*p)).collect();
            prop_assert_eq!(named, chosen);
            prop_assert_eq!(made.to_record().entries.len(), made.probes.len() + made.dropped.len());
        }

        #[test]
        fn nonsense_budgets_and_no_cpus_plan_nothing_and_do_not_panic(budget_s: f64, depth in depths()) {
            let options = Options { depth, budget_s: Some(budget_s), ..Options::default() };
            prop_assert!(plan(&Machine::default(), &[], &options, 1).probes.is_empty());
            plan(&Machine::default(), &[CpuId(0), CpuId(9)], &options, 1);
        }
    }
}

/// Every probe of a plan has time to spend in each of its parts, and ends within the time it was given.
fn check_shares(machine: &Machine, options: &Options) -> Result<(), String> {
    let cpus = cpus(machine);
    for planned in plan(machine, &cpus, options, 3).probes {
        let (parts, worst_s) = (planned.settings.shares(), planned.settings.worst_case_s());
        let (name, seconds) = (planned.probe.name(), planned.seconds);
        let context =
            format!("{name} of {} s on {} CPUs, {:?}", options.budget_s(), cpus.len(), options.depth);
        if let Some((part, share_s)) =
            parts.iter().find(|(_, share_s)| !(*share_s > 0.0 && share_s.is_finite()))
        {
            return Err(format!("{context}: {share_s} s of {seconds} s for {part}"));
        }
        if worst_s > seconds + 1e-9 {
            return Err(format!("{context}: at most {worst_s} s of {seconds} s"));
        }
    }
    Ok(())
}

#[test]
fn settings_end_within_the_time_they_were_given() {
    for shape in [ONE, TWO, SIXTY_FOUR, LARGE] {
        for depth in [Depth::Quick, Depth::Default, Depth::Full] {
            check_shares(&machine(shape), &options(depth)).expect("within its time");
        }
    }
}

/// Tenths of seconds where shares are small, and coarser steps above; machines of many CPUs take longer to plan for.
#[test]
fn every_budget_from_a_second_to_ten_minutes_gives_every_part_of_a_probe_its_time() {
    for (shape, step) in [(ONE, 1), (TWO, 1), (EIGHT, 2), (LARGE, 12)] {
        let machine = machine(shape);
        let tenths = (10..600).step_by(step).chain((600..=6_000).step_by(20 * step));
        for budget_s in tenths.map(|tenths| f64::from(tenths) / 10.0) {
            let options = Options { budget_s: Some(budget_s), ..options(Depth::Default) };
            check_shares(&machine, &options).expect("within its time");
        }
    }
}

#[test]
fn the_smallest_budget_measures_something_and_less_does_not() {
    let machine = machine(ONE);
    let smallest_s = smallest_budget_s(&Options::default());
    let count = |budget_s: f64| {
        let options = Options { budget_s: Some(budget_s), ..Options::default() };
        plan(&machine, &cpus(&machine), &options, 1).probes.len()
    };
    assert_eq!((count(smallest_s), count(smallest_s - 0.15)), (1, 0));
}

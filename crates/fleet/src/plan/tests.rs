//! Plans name every node once, keep to their lanes, and quote whatever they are given.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

fn nodes(racks: &[usize]) -> Vec<PlannedNode> {
    let of_rack = |(rack, count): (usize, &usize)| {
        let node = move |number| PlannedNode {
            name: NodeName::parse(&format!("r{rack}n{number}")).expect("a name"),
            rack: Some(format!("rack {rack}")),
        };
        (0..*count).map(node).collect::<Vec<_>>()
    };
    racks.iter().enumerate().flat_map(of_rack).collect()
}

fn plan(engine: Engine, nodes: Vec<PlannedNode>) -> Plan {
    Plan {
        engine,
        nodes: Nodes::Listed(nodes),
        partition: None,
        drop: "/shared/drop".to_owned(),
        options: vec!["--quick".to_owned()],
        at_once: 4,
        image: "registry.example/sidestep:0.1.0".to_owned(),
        seed: 7,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_node_is_placed_once_and_no_rack_has_more_lanes_than_may_run(
        racks in proptest::collection::vec(1_usize..30, 1..6),
        at_once in 1_usize..9,
        seed: u64,
    ) {
        let nodes = nodes(&racks);
        let placed = placed(&nodes, at_once, seed);
        let names: BTreeSet<&str> = placed.iter().map(|one| one.node.name.as_str()).collect();
        prop_assert!(placed.len() == nodes.len() && names.len() == nodes.len());
        let mut turns: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for one in &placed {
            prop_assert!(one.lane < at_once);
            // Nodes of a lane come in their turns, without a gap.
            let turn = turns.entry((one.rack, one.lane)).or_default();
            prop_assert_eq!(one.turn, *turn);
            *turn += 1;
        }
    }
}

#[test]
fn every_script_names_every_node_once_and_the_same_seed_gives_the_same_script() {
    let each = |engine| {
        let text = script(&plan(engine, nodes(&[5, 9]))).expect("a script");
        assert_eq!(script(&plan(engine, nodes(&[5, 9]))).expect("a script"), text);
        assert!(!text.split('@').any(|part| part == "RUN" || part == "DROP" || part == "NODES"), "{text}");
        for node in nodes(&[5, 9]) {
            let name = node.name.as_str();
            let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | '"');
            let count = text.split(is_end).filter(|word| *word == name).count();
            assert_eq!(count, 1, "{name} in {text}");
        }
    };
    each(Engine::Slurm);
    each(Engine::Ansible);
    each(Engine::Kubernetes);
}

#[test]
fn slurm_has_a_job_for_each_node_and_never_an_array() {
    let apart = script(&plan(Engine::Slurm, nodes(&[3]))).expect("a script");
    for part in ["--exclusive", "--dependency=singleton", "--kill-on-bad-exit=0", "submit r0n1 r0/"] {
        assert!(apart.contains(part), "{part}");
    }
    let of_partition = |partition: &str| {
        let partition = Some(partition.to_owned());
        script(&Plan { nodes: Nodes::All, partition, ..plan(Engine::Slurm, Vec::new()) })
    };
    let partition = of_partition("a,b-1").expect("a script");
    assert_eq!(partition.matches(" --partition=a,b-1").count(), 2, "{partition}");
    for name in ["a b", "", "a\ntouch P", "a;x"] {
        assert!(matches!(of_partition(name), Err(PlanError::NoName(..))), "{name}");
    }
    for text in [apart, partition] {
        assert!(!text.contains("--array"), "{text}");
    }
}

#[test]
fn what_is_given_is_quoted_for_whoever_reads_it() {
    let hostile = "/d/$(reboot)'\"\n;x";
    for (engine, expected) in [
        (Engine::Slurm, r#"drop='/d/$(reboot)'\''""#),
        (Engine::Ansible, r#"drop: "/d/$(reboot)'\"\x0a;x""#),
        (Engine::Kubernetes, r#"path: "/d/$(reboot)'\"\x0a;x""#),
    ] {
        let text = script(&Plan { drop: hostile.to_owned(), ..plan(engine, nodes(&[1])) }).expect("a script");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_name_that_means_more_to_the_engine_is_refused_and_no_value_is_a_template() {
    for name in ["all", "ungrouped"] {
        let node = PlannedNode { name: NodeName::parse(name).expect("a name"), rack: None };
        let plan = |engine| plan(engine, vec![node.clone()]);
        assert_eq!(
            script(&plan(Engine::Ansible)),
            Err(PlanError::NoName(name.to_owned(), "Ansible", "host"))
        );
        assert!(script(&plan(Engine::Slurm)).is_ok() && script(&plan(Engine::Kubernetes)).is_ok());
    }
    let hostile = "{{ lookup('pipe', 'id') }}@NODES@$(NODE_NAME)";
    let with = |engine| {
        let options = vec![hostile.to_owned()];
        script(&Plan { options, drop: hostile.to_owned(), ..plan(engine, nodes(&[1])) }).expect("a script")
    };
    let ansible = with(Engine::Ansible);
    assert_eq!(ansible.matches(&format!("!unsafe \"{hostile}\"")).count(), 2, "{ansible}");
    let jobs = with(Engine::Kubernetes);
    assert!(jobs.contains("'id') }}@NODES@$$(NODE_NAME)\""), "{jobs}");
    assert_eq!(filled("a@B@c@D@@ ${e[@]}", &[("B", "@D@".to_owned())]), "a@D@c@D@@ ${e[@]}");
}

#[test]
fn what_an_engine_lacks_is_said() {
    let all = Plan { nodes: Nodes::All, ..plan(Engine::Kubernetes, Vec::new()) };
    assert_eq!(script(&all), Err(PlanError::NoNames));
    let partition = Plan { partition: Some("p".to_owned()), ..plan(Engine::Ansible, nodes(&[1])) };
    assert_eq!(script(&partition), Err(PlanError::SlurmAlone));
    assert_eq!(script(&plan(Engine::Slurm, Vec::new())), Err(PlanError::NoNodes));
}

#[test]
fn objects_of_kubernetes_have_names_that_it_takes() {
    let long = "n".repeat(60);
    let names = ["n1", "N1", "n_1", "rack-1.site.example", &long, &format!("{long}1")];
    let text = script(&plan(
        Engine::Kubernetes,
        names
            .iter()
            .map(|name| PlannedNode { name: NodeName::parse(name).expect("a name"), rack: None })
            .collect(),
    ))
    .expect("a script");
    let objects: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("  name: ")).collect();
    assert_eq!(objects.len(), names.len(), "{objects:?}");
    for name in objects {
        let is_taken = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        assert!(name.len() <= 63 && name.bytes().all(is_taken) && !name.ends_with(['-', '.']), "{name}");
    }
}

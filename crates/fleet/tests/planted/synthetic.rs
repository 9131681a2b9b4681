//! Fleets that are made up, with faults that are known: for tests.

use std::io::{self, Write};

use record::{
    FIRST_KERNEL_SET, FleetCheck, FleetTable, MetricRow, NodeRow, Quality, RunColumns, StateKind, StateRow,
};
use serde::Serialize;
use stats::Random;

/// Nodes of a rack, and of a chassis.
const RACK: usize = 64;
const CHASSIS: usize = 8;
/// Spread of what all metrics of a node share, and of each metric, as logarithms.
const OF_NODE: f64 = 0.004;
const OF_METRIC: f64 = 0.006;
/// Degrees of freedom of heavy tails.
const FREEDOM: i32 = 3;
/// Spread of what other work adds to each metric of a busy node.
const OF_WORK: f64 = 0.05;
/// Slow nodes, the metrics that they are slow on, and by how much.
const SLOW_NODES: usize = 5;
const SLOW: (std::ops::Range<usize>, f64) = (0..40, 0.2);
/// Metrics that slot 0 and BIOS 2.1 are slow on, and by how much.
const SLOT: (std::ops::Range<usize>, f64) = (40..80, 0.02);
const BIOS: (std::ops::Range<usize>, f64) = (100..140, 0.03);
/// Share of the nodes with BIOS 2.1.
const BIOS_SHARE: f64 = 0.2;
/// By how much the rack with BIOS 1.3 is slow on everything.
const RACK_SLOW: f64 = 0.015;
/// Metrics of one socket that half a bandwidth is left of.
const HALF: std::ops::Range<usize> = 300..303;
/// Drift of the rack whose clocks drift.
const DRIFT_PPB: f64 = 800.0;

/// How numbers vary.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Noise {
    /// Normal.
    Normal,
    /// Student's t with three degrees of freedom.
    Heavy,
}

impl Noise {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal => OF_METRIC * random.normal(),
            Self::Heavy => {
                let chi: f64 = (0..FREEDOM).map(|_| random.normal().powi(2)).sum();
                OF_METRIC * random.normal() / (chi / f64::from(FREEDOM)).sqrt()
            }
        }
    }
}

/// A fleet to be made.
#[derive(Debug, Clone)]
pub(crate) struct Synthetic {
    /// Nodes.
    pub(crate) nodes: usize,
    /// Metrics of each.
    pub(crate) metrics: usize,
    /// Of all that is drawn.
    pub(crate) seed: u64,
    /// How numbers vary.
    pub(crate) noise: Noise,
    /// Nodes beside other work.
    pub(crate) busy: usize,
    /// Whether records say so.
    pub(crate) shares_known: bool,
    /// Whether there are faults.
    pub(crate) is_faulty: bool,
}

/// Where its rows go.
pub(crate) struct Sinks<'w> {
    /// Of `metrics`.
    pub(crate) metrics: &'w mut dyn Write,
    /// Of `nodes`.
    pub(crate) nodes: &'w mut dyn Write,
    /// Of `states`.
    pub(crate) states: &'w mut dyn Write,
    /// The operator's CSV.
    pub(crate) inventory: &'w mut dyn Write,
}

/// What is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Planted {
    /// Nodes that are slow, and the one with half a bandwidth.
    pub(crate) nodes: Vec<String>,
    /// Levels that are slow; all names of one are the same nodes.
    pub(crate) levels: Vec<Vec<String>>,
    /// States of a minority: the id, and how many nodes.
    pub(crate) states: Vec<(String, usize)>,
    /// Busy nodes.
    pub(crate) busy: Vec<String>,
}

/// Where a node is and what is wrong with it.
struct Node {
    name: String,
    rack: usize,
    bios: &'static str,
    is_slow: bool,
    is_half: bool,
    is_busy: bool,
    drifts: bool,
    is_unprotected: bool,
}

impl Synthetic {
    fn draw(&self, random: &mut Random) -> Vec<Node> {
        let racks = self.nodes.div_ceil(RACK);
        let mut order: Vec<usize> = (0..self.nodes).collect();
        random.shuffle(&mut order);
        let place = |node: usize| order.iter().position(|one| *one == node).unwrap_or(usize::MAX);
        let places: Vec<usize> = (0..self.nodes).map(place).collect();
        let [old_rack, drifting_rack] = [1 % racks, 2 % racks];
        let node = |index: usize| {
            let (rack, place) = (index / RACK, places[index]);
            let newer = if random.unit() < BIOS_SHARE { "2.1" } else { "2.3" };
            let at = |from: usize, count: usize| self.is_faulty && (from..from + count).contains(&place);
            Node {
                name: format!("n{index:05}"),
                rack,
                bios: if self.is_faulty && rack == old_rack { "1.3" } else { newer },
                is_slow: at(0, SLOW_NODES),
                is_half: at(SLOW_NODES, 1),
                is_unprotected: at(SLOW_NODES + 1, 1),
                is_busy: (SLOW_NODES + 2..SLOW_NODES + 2 + self.busy).contains(&place),
                drifts: self.is_faulty && rack == drifting_rack,
            }
        };
        (0..self.nodes).map(node).collect()
    }

    /// Writes all rows, and says what is planted in them.
    ///
    /// # Errors
    /// A sink takes no more.
    pub(crate) fn write(&self, sinks: &mut Sinks<'_>) -> io::Result<Planted> {
        let mut random = Random::new(self.seed);
        let nodes = self.draw(&mut random);
        let levels: Vec<f64> = (0..self.metrics).map(|_| (2.0 + random.normal()).exp()).collect();
        writeln!(sinks.inventory, "node,rack,chassis,slot,dimm_lot")?;
        for (index, node) in nodes.iter().enumerate() {
            let (chassis, slot, lot) = (index / CHASSIS, index % CHASSIS, random.below(3));
            writeln!(sinks.inventory, "{},r{:03},c{chassis:04},{slot},lot{lot}", node.name, node.rack)?;
            self.write_node(node, &mut random, sinks)?;
            let own = OF_NODE * random.normal();
            for (metric, level) in levels.iter().enumerate() {
                let mut log = own + self.fault(node, slot, metric) + self.noise.draw(&mut random);
                if node.is_busy {
                    log += (OF_WORK * random.normal()).abs();
                }
                line(sinks.metrics, &row(node, metric, *level, log))?;
            }
        }
        Ok(self.planted(&nodes))
    }

    /// What is planted in a metric of a node, as a logarithm.
    fn fault(&self, node: &Node, slot: usize, metric: usize) -> f64 {
        let is_in = |(metrics, by): &(std::ops::Range<usize>, f64), holds: bool| {
            if holds && metrics.contains(&metric) { *by } else { 0.0 }
        };
        let half = if node.is_half && HALF.contains(&metric) { std::f64::consts::LN_2 } else { 0.0 };
        let old = if node.bios == "1.3" { RACK_SLOW } else { 0.0 };
        half + old
            + is_in(&SLOW, node.is_slow)
            + is_in(&SLOT, self.is_faulty && slot == 0)
            + is_in(&BIOS, self.is_faulty && node.bios == "2.1")
    }

    fn write_node(&self, node: &Node, random: &mut Random, sinks: &mut Sinks<'_>) -> io::Result<()> {
        let others = if node.is_busy { 0.2 + 0.4 * random.unit() } else { 0.02 * random.unit() };
        let shares =
            [Some(others), Some(0.001 * random.unit())].map(|share| share.filter(|_| self.shares_known));
        line(
            sinks.nodes,
            &NodeRow {
                node: node.name.clone(),
                run_id: run_id(node),
                facts: [
                    ("cpu_model", "Synthetic 9000"),
                    ("microcode", if random.bool() { "0xa0011d1" } else { "0xa0011d5" }),
                    ("bios_version", node.bios),
                    ("kernel", "6.12.1"),
                ]
                .map(|(column, value)| (column.to_owned(), value.into()))
                .into(),
                run: RunColumns {
                    started_utc: STARTED.to_owned(),
                    kernel_set_version: FIRST_KERNEL_SET,
                    preset: "quick".to_owned(),
                    experiment: "check-up".to_owned(),
                    others_share: shares[0],
                    steal_share: shares[1],
                    ..RunColumns::default()
                },
                metrics: self.metrics as u64,
                ..NodeRow::default()
            },
        )?;
        let state = |kind: StateKind, id: &str| StateRow {
            node: node.name.clone(),
            run_id: run_id(node),
            ..StateRow::about(kind, id)
        };
        let (workaround, protected) =
            if node.is_unprotected { ("off", "not_protected") } else { ("on", "protected") };
        let flaw = StateRow {
            affected: Some("yes".to_owned()),
            workaround: Some(workaround.to_owned()),
            protected: Some(protected.to_owned()),
            ..state(StateKind::Flaw, "spectre-v2")
        };
        let rate = 2.0 * random.normal() + if node.drifts { DRIFT_PPB } else { 0.0 };
        let clock = StateRow {
            value: Some(if node.drifts { "moves" } else { "agrees" }.to_owned()),
            rate_ppb: Some(rate),
            ..state(StateKind::Clock, "pair/0>1")
        };
        let fails = node.bios == "1.3";
        let screening = StateRow {
            value: Some(if fails { "fail" } else { "pass" }.to_owned()),
            ..state(StateKind::Sdc, "ifs/0")
        };
        line(sinks.states, &flaw)?;
        line(sinks.states, &screening)?;
        line(sinks.states, &clock)
    }

    fn planted(&self, nodes: &[Node]) -> Planted {
        let named = |is: &dyn Fn(&Node) -> bool| -> Vec<String> {
            nodes.iter().filter(|node| is(node)).map(|node| node.name.clone()).collect()
        };
        let busy = named(&|node| node.is_busy);
        if !self.is_faulty {
            return Planted { busy, ..Planted::default() };
        }
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let drifting = nodes.iter().filter(|node| node.drifts).count();
        let failing = nodes.iter().filter(|node| node.bios == "1.3").count();
        Planted {
            nodes: named(&|node| node.is_slow || node.is_half),
            levels: vec![
                names(&["slot=0"]),
                names(&["bios_version=2.1"]),
                names(&["bios_version=1.3", "rack=r001"]),
            ],
            states: vec![
                ("counters".to_owned(), drifting),
                ("ifs/0".to_owned(), failing),
                ("spectre-v2".to_owned(), 1),
            ],
            busy,
        }
    }
}

const STARTED: &str = "2026-11-26T04:54:12Z";

fn run_id(node: &Node) -> String {
    format!("20261126T045412Z-1a2b3c4d-{}", node.name)
}

fn line(sink: &mut dyn Write, row: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(row)?;
    text.push(b'\n');
    sink.write_all(&text)
}

/// A number with its name: latencies and bandwidths of two sockets, and loops.
fn row(node: &Node, metric: usize, level: f64, log: f64) -> MetricRow {
    let socket = i64::from(metric % 2 == 1 || HALF.contains(&metric));
    let is_bandwidth = metric >= 300;
    let (family, name) = match metric {
        0..40 => ("arithmetic", format!("compute/kernel={metric}")),
        40..300 => ("memory latency", format!("latency/block={}/stride=64/page=4096", metric << 20)),
        _ => ("memory bandwidth", format!("bandwidth/triad/avx2/ordinary/block={}", metric << 20)),
    };
    let estimate = level * if is_bandwidth { -log } else { log }.exp();
    MetricRow {
        node: node.name.clone(),
        run_id: run_id(node),
        metric: name,
        family: family.to_owned(),
        cpu: Some((socket * 64).to_string()),
        socket: Some(socket),
        unit: if is_bandwidth { "bytes_per_s" } else { "ns" }.to_owned(),
        higher_is_better: is_bandwidth,
        n: 40,
        estimate,
        ci_lo: Some(estimate * 0.99),
        ci_hi: Some(estimate * 1.01),
        quality: Quality::Converged,
        ..MetricRow::default()
    }
}

impl Planted {
    /// What was planted and is neither found nor called busy, one line each.
    pub(crate) fn missed(&self, found: &FleetCheck) -> Vec<String> {
        let mut missed: Vec<String> = self
            .nodes
            .iter()
            .filter(|node| !found.suspects.iter().any(|one| one.node == **node))
            .filter(|node| !found.busy.iter().any(|one| one.node == **node))
            .map(|node| format!("node {node}"))
            .collect();
        let names = |level: &record::FleetLevel| {
            let own = format!("{}={}", level.factor, level.level);
            level.tied.iter().cloned().chain([own]).collect::<Vec<_>>()
        };
        for level in &self.levels {
            let holds = |one: &record::FleetLevel| level.iter().all(|name| names(one).contains(name));
            missed.extend((!found.levels.iter().any(holds)).then(|| format!("level {}", level.join(" or "))));
        }
        for (id, nodes) in &self.states {
            let is_found = found.minorities.iter().any(|one| one.id == *id && one.nodes == *nodes);
            missed.extend((!is_found).then(|| format!("state {id} of {nodes}")));
        }
        let is_busy = |node: &&String| found.busy.iter().any(|one| one.node == **node);
        missed.extend(self.busy.iter().filter(|node| !is_busy(node)).map(|node| format!("busy {node}")));
        missed
    }

    /// Nodes and levels that are found and were not planted, one line each: of nodes, then of levels.
    pub(crate) fn invented(&self, found: &FleetCheck) -> [Vec<String>; 2] {
        let nodes = found.suspects.iter().filter(|one| !self.nodes.contains(&one.node));
        let is_planted = |one: &record::FleetLevel| {
            let name = format!("{}={}", one.factor, one.level);
            self.levels.iter().flatten().any(|level| *level == name)
        };
        let levels = found.levels.iter().filter(|one| !is_planted(one));
        [
            nodes.map(|one| one.node.clone()).collect(),
            levels.map(|one| format!("{}={}", one.factor, one.level)).collect(),
        ]
    }
}

impl Sinks<'_> {
    /// Names of the files of a folder of rows, in the order of the sinks.
    pub(crate) fn files() -> [String; 4] {
        let rows = |table: FleetTable| table.file().to_owned();
        let [metrics, nodes, states] = [FleetTable::Metrics, FleetTable::Nodes, FleetTable::States].map(rows);
        [metrics, nodes, states, "inventory.csv".to_owned()]
    }
}

//! What is judged, from the runs of a fleet: nodes by strata, numbers beside the median of the quiet nodes, levels, states.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use record::{FleetStratum, Guards, NodeRow};
use stats::{Deviations, Order, median, median_absolute_deviation};

use super::Place;
use super::factors::{Level, Minority, Places, levels, minorities};
use super::gathered::{CheckUps, Gathered, Run};
use super::node::Node;

/// Guests always lose something to others: a node is busy above what makes a check-up doubtful, and above so many robust deviations beyond
/// the fleet's median.
const STEAL_DEVIATIONS: f64 = 6.0 * 1.4826;
/// Deviations are kept in millionths, so that no order of additions changes any of them.
const STEPS: f64 = 1e6;
const STEP: f64 = 1e-6;

#[derive(Debug, Clone)]
pub(super) struct Metric {
    pub(super) stratum: usize,
    pub(super) key: String,
    pub(super) family: String,
    pub(super) socket: Option<i64>,
}

/// A run that repeats a suspect beside healthy nodes.
#[derive(Debug, Clone)]
pub(super) struct Repeat {
    pub(super) row: NodeRow,
    /// By key.
    pub(super) values: BTreeMap<String, f64>,
}

/// All that is judged.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) strata: Vec<FleetStratum>,
    /// By name.
    pub(super) nodes: Vec<Node>,
    /// Nodes without a check-up.
    pub(super) missing: Vec<String>,
    /// By stratum, then by key.
    pub(super) metrics: Vec<Metric>,
    pub(super) levels: Vec<Level>,
    /// The rarest first.
    pub(super) minorities: Vec<Minority>,
    pub(super) repeats: Vec<Repeat>,
    /// By node its place in its stratum.
    pub(super) node_places: Vec<usize>,
    /// By stratum.
    pub(super) deviations: Vec<Deviations>,
    pub(super) rows: usize,
}

impl Tables {
    pub(super) fn of(gathered: &Gathered, place: &Place) -> Self {
        let places = Places::of(place, &gathered.names);
        let latest: Vec<&Run> =
            gathered.check_ups.values().map(|check_ups| &gathered.runs[check_ups.latest]).collect();
        let strata: Vec<(&str, &str, u32)> =
            latest.iter().map(|run| stratum(&run.row)).collect::<BTreeSet<_>>().into_iter().collect();
        let steal_most = steal_most(&latest);
        let node = |(run, (name, check_ups)): (&&Run, (&String, &CheckUps))| {
            let row = &run.row;
            let of = |factor: &[&str]| places.level(name, factor).map(str::to_owned);
            let is_above = |share: Option<f64>, most: f64| share.is_some_and(|share| share > most);
            Node {
                stratum: strata.binary_search(&stratum(row)).unwrap_or_default(),
                row: row.clone(),
                runs: check_ups.count,
                is_two_machines: check_ups.serials.len() > 1,
                is_busy: is_above(row.run.others_share, Guards::OTHERS_DOUBTFUL)
                    || is_above(row.run.steal_share, steal_most),
                rack: of(&["rack"]),
                chassis: of(&["chassis"]),
                slot: of(&["slot", "position"]),
            }
        };
        let nodes: Vec<Node> = latest.iter().zip(&gathered.check_ups).map(node).collect();
        let about = |(index, (_, preset, kernel_set_version)): (usize, &(&str, &str, u32))| {
            let own = latest.iter().zip(&nodes).filter(|(_, node)| node.stratum == index);
            let mut models = own.filter_map(|(run, _)| run.row.fact("cpu_model"));
            FleetStratum {
                cpu_model: models.next().unwrap_or("unknown CPU").to_owned(),
                preset: (*preset).to_owned(),
                kernel_set_version: *kernel_set_version,
                ..FleetStratum::default()
            }
        };
        let mut tables = Self {
            strata: strata.iter().enumerate().map(about).collect(),
            missing: places.missing(&gathered.check_ups),
            levels: levels(gathered, &latest, &nodes, &places),
            minorities: minorities(gathered, &latest, &nodes),
            repeats: repeats(gathered),
            nodes,
            ..Self::default()
        };
        tables.place_nodes();
        for stratum in 0..tables.strata.len() {
            tables.add_numbers(gathered, &latest, stratum);
        }
        tables
    }

    fn place_nodes(&mut self) {
        let mut counts = vec![0; self.strata.len()];
        for node in &self.nodes {
            self.node_places.push(counts[node.stratum]);
            counts[node.stratum] += 1;
        }
    }

    /// The metrics of a stratum and how far its nodes are from the median of those that are quiet.
    fn add_numbers(&mut self, gathered: &Gathered, latest: &[&Run], stratum: usize) {
        let mut columns: HashMap<u32, Column> = HashMap::new();
        let mut units = 0;
        for (index, run) in
            latest.iter().enumerate().filter(|(index, _)| self.nodes[*index].stratum == stratum)
        {
            units += 1;
            for (heading, log) in &run.values {
                let heading = gathered.headings.of(*heading);
                let column = columns.entry(heading.key).or_default();
                match column.families.iter_mut().find(|(family, _)| *family == heading.family) {
                    Some((_, count)) => *count += 1,
                    None => column.families.push((heading.family, 1)),
                }
                column.socket = column.socket.or(heading.socket);
                column.values.push((self.node_places[index], !self.nodes[index].is_busy, *log));
            }
        }
        let with_centre = |(key, column): (u32, Column)| {
            let quiet = column.values.iter().filter(|(_, is_quiet, _)| *is_quiet).map(|(.., log)| *log);
            let centre = median(&quiet.collect::<Vec<f64>>())?;
            Some((gathered.words.of(key), column, centre))
        };
        let mut columns: Vec<(&String, Column, f64)> = columns.into_iter().filter_map(with_centre).collect();
        columns.order_by_key(|(key, ..)| *key);
        let mut deviations = Deviations::new(units, columns.len());
        for (metric, (key, column, centre)) in columns.into_iter().enumerate() {
            self.rows += column.values.len();
            for (unit, _, log) in &column.values {
                let steps = ((log - centre) * STEPS).round();
                deviations.set(metric, *unit, (steps * STEP) as f32);
            }
            let family = column.family().map_or_else(String::new, |family| gathered.words.of(family).clone());
            self.metrics.push(Metric { stratum, key: key.clone(), family, socket: column.socket });
        }
        self.deviations.push(deviations);
    }
}

/// The numbers of one metric.
#[derive(Debug, Default)]
struct Column {
    /// The place of the node, whether it is quiet, and the number.
    values: Vec<(usize, bool, f64)>,
    /// Families with how many numbers are of each.
    families: Vec<(u32, usize)>,
    socket: Option<i64>,
}

impl Column {
    /// That of the most numbers, the first of several.
    fn family(&self) -> Option<u32> {
        let most = self.families.iter().map(|(_, count)| *count).max();
        self.families.iter().find(|(_, count)| Some(*count) == most).map(|(family, _)| *family)
    }
}

/// What is never mixed.
fn stratum(row: &NodeRow) -> (&str, &str, u32) {
    (row.fact("cpu_model").unwrap_or_default(), &row.run.preset, row.run.kernel_set_version)
}

fn steal_most(latest: &[&Run]) -> f64 {
    let shares: Vec<f64> = latest.iter().filter_map(|run| run.row.run.steal_share).collect();
    let usual = median(&shares).zip(median_absolute_deviation(&shares));
    usual.map_or(Guards::STEAL_DOUBTFUL, |(median, deviation)| {
        Guards::STEAL_DOUBTFUL.max(median + STEAL_DEVIATIONS * deviation)
    })
}

fn repeats(gathered: &Gathered) -> Vec<Repeat> {
    let runs = gathered.repeats.iter().map(|index| &gathered.runs[*index]);
    let repeat = |run: &Run| {
        let mut values = BTreeMap::new();
        for (heading, log) in &run.values {
            let key = gathered.words.of(gathered.headings.of(*heading).key);
            let value = values.entry(key.clone()).or_insert(*log);
            *value = value.max(*log);
        }
        Repeat { row: run.row.clone(), values }
    };
    runs.filter(|run| !run.values.is_empty()).map(repeat).collect()
}

//! A machine of linked sockets, as a TOML file describes it: each number with its source.

use machine::Hertz;
use record::TomlError;
use serde::{Deserialize, Serialize};

use super::graph::{Graph, Hops};
use super::latency::Coherence;
use crate::machine_file::{MachineFile, MachineKind, Possible, Sourced, require, within};

/// More sockets than this are a typing error.
const SOCKETS_MAX: usize = 64;
/// A socket alone has nobody to wait for.
const SOCKETS_MIN: usize = 2;
/// Clocks outside of this are typing errors, in hertz.
const CLOCK_RANGE_HZ: std::ops::RangeInclusive<f64> = 1e6..=1e11;
/// Bandwidths of a socket outside of this are typing errors, in MB/s.
const TRIAD_RANGE_MB_PER_S: std::ops::RangeInclusive<f64> = 1.0..=1e9;
/// Latencies above this are typing errors.
const TIME_MAX_NS: f64 = 1e6;

/// What a core asks of memory in a triad (a = b + scalar * c), by rows: one line of each of a, b and c.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StreamDescription {
    /// Bytes of a line.
    pub line_bytes: Sourced<u32>,
    /// Lines that a core can have outstanding.
    pub outstanding_lines: Sourced<f64>,
    /// Lines of a row that are waited for: 3 if stores allocate, else 2.
    pub demand_lines_per_row: Sourced<f64>,
}

/// What somebody else measured of one socket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PublishedTriad {
    /// The socket.
    pub socket: usize,
    /// STREAM Triad of one core, 10^6 bytes per second.
    pub triad_mb_per_s: f64,
    /// Who published it.
    pub source: String,
}

/// A machine of sockets that are joined by links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SocketMachine {
    /// What such files state.
    pub kind: String,
    /// Short name.
    pub name: String,
    /// For people.
    pub title: String,
    /// Sockets, from 0.
    pub sockets: usize,
    /// Pairs of sockets that a coherent link joins.
    pub links: Sourced<Vec<[usize; 2]>>,
    /// Whom a read asks.
    pub coherence: Sourced<Coherence>,
    /// Clock of the cores.
    pub core_hz: Sourced<Hertz>,
    /// Latency of a local read if no socket is farther than one link: the part that goes with the core's clock.
    pub near_core_cycles: Sourced<f64>,
    /// The part that does not.
    pub near_ns: Sourced<f64>,
    /// What each further link to the farthest socket adds, there and back.
    pub hop_round_trip_ns: Sourced<f64>,
    /// Latency of a local read that asks nobody, if known.
    #[serde(default)]
    pub dram_ns: Option<Sourced<f64>>,
    /// Idle latency with one link to the farthest socket, lowest and highest that are known; what the loaded latency has
    /// beyond it is no waiting for snoops.
    #[serde(default)]
    pub idle_near_ns: Option<Sourced<[f64; 2]>>,
    /// How a core streams, if the latencies above hold under load.
    #[serde(default)]
    pub stream: Option<StreamDescription>,
    /// Joined to predictions after they were made.
    #[serde(default)]
    pub published: Vec<PublishedTriad>,
}

impl SocketMachine {
    /// The graph of the links; the file was held against it when it was read.
    pub fn graph(&self) -> Graph {
        Graph::of_links(self.sockets, &self.links.value).expect("links were checked when the file was read")
    }

    /// Links between any two sockets.
    pub fn hops(&self) -> Hops {
        self.graph().hops().expect("links were checked when the file was read")
    }

    /// Latency of a local read if no socket is farther than one link.
    pub fn near_ns_at(&self, core_hz: Hertz) -> f64 {
        self.near_ns.value + self.near_core_cycles.value * 1e9 / core_hz.0
    }
}

impl MachineFile for SocketMachine {
    const KIND: MachineKind = MachineKind::Sockets;

    fn read(text: &str) -> Result<Self, TomlError> {
        record::read_toml(text)
    }

    fn possible(&self) -> Possible {
        possible_graph(self)?;
        possible_publications(self)?;
        possible_numbers(self)
    }
}

fn possible_graph(machine: &SocketMachine) -> Possible {
    within("sockets", machine.sockets, SOCKETS_MIN..=SOCKETS_MAX)?;
    let graph = Graph::of_links(machine.sockets, &machine.links.value)
        .map_err(|error| ("links".to_owned(), format!("cannot be: {error}")))?;
    require(graph.hops().is_some(), "links", || {
        "leave a socket that others cannot reach; add a link".to_owned()
    })?;
    let asks_somebody = machine.coherence.value != Coherence::ProbeFilter;
    require(asks_somebody || machine.dram_ns.is_some(), "dram_ns", || {
        "is missing; a read that asks nobody takes as long as that".to_owned()
    })
}

fn possible_publications(machine: &SocketMachine) -> Possible {
    for (place, &PublishedTriad { socket, triad_mb_per_s, .. }) in machine.published.iter().enumerate() {
        require(socket < machine.sockets, "published", || {
            format!("names socket {socket}; they are 0 to {}", machine.sockets - 1)
        })?;
        let is_first = machine.published[..place].iter().all(|before| before.socket != socket);
        require(is_first, "published", || format!("names socket {socket} twice"))?;
        require(TRIAD_RANGE_MB_PER_S.contains(&triad_mb_per_s), "published", || {
            let [low, high] = [TRIAD_RANGE_MB_PER_S.start(), TRIAD_RANGE_MB_PER_S.end()];
            format!("has the triad {triad_mb_per_s}; give {low} to {high} MB/s")
        })?;
    }
    Ok(())
}

fn possible_numbers(machine: &SocketMachine) -> Possible {
    let hertz = machine.core_hz.value.0;
    require(CLOCK_RANGE_HZ.contains(&hertz), "core_hz", || format!("is {hertz}; give 1 MHz to 100 GHz"))?;
    for (key, ns) in [
        ("near_core_cycles", machine.near_core_cycles.value),
        ("near_ns", machine.near_ns.value),
        ("hop_round_trip_ns", machine.hop_round_trip_ns.value),
        ("dram_ns", machine.dram_ns.as_ref().map_or(0.0, |ns| ns.value)),
    ] {
        within(key, ns, 0.0..=TIME_MAX_NS)?;
    }
    let [low, high] = machine.idle_near_ns.as_ref().map_or([0.0; 2], |idle| idle.value);
    within("idle_near_ns", low, 0.0..=TIME_MAX_NS)?;
    within("idle_near_ns", high, low..=TIME_MAX_NS)?;
    within("near_core_cycles and near_ns", machine.near_ns_at(machine.core_hz.value), 0.1..=TIME_MAX_NS)?;
    let Some(stream) = &machine.stream else { return Ok(()) };
    within("stream.line_bytes", stream.line_bytes.value, 16..=4096)?;
    within("stream.outstanding_lines", stream.outstanding_lines.value, 1.0..=1000.0)?;
    within("stream.demand_lines_per_row", stream.demand_lines_per_row.value, 1.0..=3.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_file::tests::are_refused;

    #[test]
    fn what_cannot_be_is_named_with_its_key() {
        let changes = [
            ("sockets = 4", "sockets = 0", "sockets"),
            ("sockets = 4", "sockets = 9", "links"),
            ("[0, 1]", "[0, 7]", "links"),
            ("[0, 1]", "[1, 1]", "links"),
            ("value = 2.5e9", "value = nan", "nan stands for no quantity"),
            ("value = 276.5", "value = -1.0", "near_core_cycles"),
            ("socket = 3", "socket = 4", "published"),
            ("socket = 3", "socket = 2", "published"),
            ("triad_mb_per_s = 3945.4141", "triad_mb_per_s = 0.0", "published"),
            ("triad_mb_per_s = 3945.4141", "triad_mb_per_s = 1e-308", "give 1 to 1000000000 MB/s"),
            ("kind = \"linked-sockets\"", "kind = \"x\"", "kind"),
        ];
        are_refused::<SocketMachine>("x6440-8380", &changes);
    }
}

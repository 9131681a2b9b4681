//! A machine of linked sockets, as a TOML file describes it: each number with its source.

use machine::Hertz;
use serde::{Deserialize, Serialize};

use super::graph::{Graph, Hops};
use super::latency::Coherence;
use crate::machine_file::{DescriptionError, Sourced, decoded, is_of_kind, outside, unless_impossible};

/// What a file says of itself under `kind`.
pub const KIND: &str = "linked-sockets";
/// More sockets than this are a slip of the pen.
const SOCKETS_MAX: usize = 64;
/// A socket alone has nobody to wait for.
const SOCKETS_MIN: usize = 2;
/// Clocks outside of this are slips of the pen, in hertz.
const CLOCK_RANGE_HZ: std::ops::RangeInclusive<f64> = 1e6..=1e11;
/// Bandwidths of a socket outside of this are slips of the pen, in MB/s.
const TRIAD_RANGE_MB_PER_S: std::ops::RangeInclusive<f64> = 1.0..=1e9;
/// Latencies above this are slips of the pen.
const TIME_MAX_NS: f64 = 1e6;

/// What a core asks of memory in a triad (a = b + scalar * c), by rows: one line of each of a, b and c.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamDescription {
    /// Bytes of a line.
    pub line_bytes: Sourced<u32>,
    /// Lines that a core can have under way.
    pub outstanding_lines: Sourced<f64>,
    /// Lines of a row that are waited for: 3 if stores allocate, else 2.
    pub demand_lines_per_row: Sourced<f64>,
}

/// What somebody else measured of one socket.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketMachine {
    /// Always `KIND`.
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
    /// Machines that come with sidestep whose published numbers are fitted together with those of this one.
    #[serde(default)]
    pub siblings: Vec<String>,
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

/// Whether the text of a machine file says that it describes linked sockets.
pub fn is_described(text: &str) -> bool {
    is_of_kind(text, KIND)
}

/// Reads a machine; `file` is its name for messages.
///
/// # Errors
/// What is wrong, where, and what would be right.
pub fn parse(text: &str, file: &str) -> Result<SocketMachine, DescriptionError> {
    let machine: SocketMachine = decoded(text, file)?;
    let problem = impossible(&machine).or_else(|| impossible_number(&machine));
    unless_impossible(machine, problem, file)
}

/// What cannot be of the graph and of what others published.
fn impossible(machine: &SocketMachine) -> Option<(&'static str, String)> {
    if machine.kind != KIND {
        return Some(("kind", format!("is {:?}; give {KIND:?}", machine.kind)));
    }
    if !(SOCKETS_MIN..=SOCKETS_MAX).contains(&machine.sockets) {
        return Some(("sockets", format!("is {}; give {SOCKETS_MIN} to {SOCKETS_MAX}", machine.sockets)));
    }
    match Graph::of_links(machine.sockets, &machine.links.value) {
        Err(error) => return Some(("links", format!("cannot be: {error}"))),
        Ok(graph) if graph.hops().is_none() => {
            return Some(("links", "leave a socket that others cannot reach; add a link".to_owned()));
        }
        Ok(_) => {}
    }
    if machine.coherence.value == Coherence::ProbeFilter && machine.dram_ns.is_none() {
        return Some(("dram_ns", "is missing; a read that asks nobody takes as long as that".to_owned()));
    }
    for (place, one) in machine.published.iter().enumerate() {
        if one.socket >= machine.sockets {
            return Some((
                "published",
                format!("names socket {}; they are 0 to {}", one.socket, machine.sockets - 1),
            ));
        }
        if machine.published[..place].iter().any(|before| before.socket == one.socket) {
            return Some(("published", format!("names socket {} twice", one.socket)));
        }
        if !TRIAD_RANGE_MB_PER_S.contains(&one.triad_mb_per_s) {
            let [low, high] = [TRIAD_RANGE_MB_PER_S.start(), TRIAD_RANGE_MB_PER_S.end()];
            let said = format!("has the triad {}; give {low} to {high} MB/s", one.triad_mb_per_s);
            return Some(("published", said));
        }
    }
    None
}

/// A number that no machine can have.
fn impossible_number(machine: &SocketMachine) -> Option<(&'static str, String)> {
    let hertz = machine.core_hz.value.0;
    if !CLOCK_RANGE_HZ.contains(&hertz) {
        return Some(("core_hz", format!("is {hertz}; give 1 MHz to 100 GHz")));
    }
    let idle = machine.idle_near_ns.as_ref().map_or([0.0; 2], |idle| idle.value);
    let mut bounded = vec![
        ("near_core_cycles", machine.near_core_cycles.value, 0.0, TIME_MAX_NS),
        ("near_ns", machine.near_ns.value, 0.0, TIME_MAX_NS),
        ("hop_round_trip_ns", machine.hop_round_trip_ns.value, 0.0, TIME_MAX_NS),
        ("dram_ns", machine.dram_ns.as_ref().map_or(0.0, |ns| ns.value), 0.0, TIME_MAX_NS),
        ("idle_near_ns", idle[0], 0.0, TIME_MAX_NS),
        ("idle_near_ns", idle[1], idle[0], TIME_MAX_NS),
        ("near_core_cycles and near_ns", machine.near_ns_at(machine.core_hz.value), 0.1, TIME_MAX_NS),
    ];
    if let Some(stream) = &machine.stream {
        bounded.extend([
            ("stream.line_bytes", f64::from(stream.line_bytes.value), 16.0, 4096.0),
            ("stream.outstanding_lines", stream.outstanding_lines.value, 1.0, 1000.0),
            ("stream.demand_lines_per_row", stream.demand_lines_per_row.value, 1.0, 3.0),
        ]);
    }
    outside(bounded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::known::KNOWN;
    use super::*;

    #[test]
    fn the_machines_that_come_with_sidestep_are_possible() {
        for (name, text) in KNOWN {
            assert!(is_described(text));
            let machine = parse(text, name).expect(name);
            assert_eq!(machine.name, *name);
            let is_known = |sibling: &String| KNOWN.iter().any(|(known, _)| known == sibling);
            assert!(machine.siblings.iter().all(is_known), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_is_named_with_its_key() {
        let text = KNOWN[0].1;
        for (from, to, key) in [
            ("sockets = 4", "sockets = 0", "sockets"),
            ("sockets = 4", "sockets = 9", "links"),
            ("[0, 1]", "[0, 7]", "links"),
            ("[0, 1]", "[1, 1]", "links"),
            ("value = 2.5e9", "value = nan", "core_hz"),
            ("value = 276.5", "value = -1.0", "near_core_cycles"),
            ("socket = 3", "socket = 4", "published"),
            ("socket = 3", "socket = 2", "published"),
            ("triad_mb_per_s = 3945.4141", "triad_mb_per_s = 0.0", "published"),
            ("triad_mb_per_s = 3945.4141", "triad_mb_per_s = 1e-308", "give 1 to 1000000000 MB/s"),
            ("kind = \"linked-sockets\"", "kind = \"x\"", "kind"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = parse(&text.replace(from, to), "f.toml").expect_err(to).to_string();
            assert!(error.contains("f.toml") && error.contains(key), "{error}");
        }
        let error = parse(&format!("wings = 2\n{text}"), "f.toml").expect_err("unknown").to_string();
        assert!(error.contains("f.toml, line 1") && error.contains("wings"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}") {
            let _ = parse(&text, "f.toml");
            let _ = is_described(&text);
        }
    }
}

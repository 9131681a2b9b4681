//! A simulated machine of linked sockets: what each socket gets, why, and what the numbers cannot tell.

use machine::Hertz;
use serde::Serialize;

use super::description::SocketMachine;
use super::graph::{ENUMERATED_NODES_MAX, Hops, connected_graphs, pairs};
use super::latency::Coherence;
use super::triad;
use super::variant::{Variant, VariantError};
use crate::published::{Misses, missed_percent};

/// Version of the document.
const SCHEMA: u32 = 1;

/// One socket.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketRow {
    /// The socket.
    pub socket: usize,
    /// Links to the farthest socket.
    pub eccentricity: u32,
    /// The sockets that far.
    pub farthest: Vec<usize>,
    /// Latency of a local read, as the model has it.
    pub latency_ns: f64,
    /// STREAM Triad of one core with its own memory, if the machine's file says how it streams.
    pub triad_mb_per_s: Option<f64>,
    /// Lowest and highest that the ranges of the file allow.
    pub triad_range_mb_per_s: Option<[f64; 2]>,
    /// The same without the changes, if there are any.
    pub as_built_mb_per_s: Option<f64>,
    /// What others measured of the machine as it is built; none if it is changed.
    pub published_mb_per_s: Option<f64>,
    /// By how much the prediction misses that, in per cent of it.
    pub error_percent: Option<f64>,
}

/// One way to share the triad between outstanding lines, lines per row and latency: all give the same bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alternative {
    /// Outstanding lines.
    pub outstanding_lines: f64,
    /// Lines per row that are waited for.
    pub demand_lines_per_row: f64,
    /// Latency of the fastest socket.
    pub fastest_ns: f64,
    /// Latency of the slowest.
    pub slowest_ns: f64,
    /// What one link more costs, there and back; none if all sockets are alike.
    pub hop_round_trip_ns: Option<f64>,
}

/// How many graphs of as many sockets look like this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Likeness {
    /// Connected graphs of labelled sockets.
    pub graphs: usize,
    /// Those with the same eccentricity at each socket.
    pub same_eccentricities: usize,
    /// Others with the same order of near and far sockets at other distances.
    pub same_order: usize,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketSimulation {
    /// Version of the document.
    pub schema: u32,
    /// Short name of the machine.
    pub machine: String,
    /// For people.
    pub title: String,
    /// How it differs from the machine as built, in words.
    pub changes: Vec<String>,
    /// Links.
    pub links: Vec<[usize; 2]>,
    /// Whom a read asks.
    pub coherence: Coherence,
    /// Clock of the cores.
    pub core_hz: Hertz,
    /// A row per socket.
    pub rows: Vec<SocketRow>,
    /// Latency of a read by each socket (row) of memory at each (column).
    pub latency_ns: Vec<Vec<f64>>,
    /// What one link more to the farthest socket costs, there and back.
    pub hop_round_trip_ns: f64,
    /// Root mean square of the errors.
    pub rms_percent: Option<f64>,
    /// The largest error.
    pub max_percent: Option<f64>,
    /// If nothing but memory that asks nobody limited a core.
    pub ceiling_mb_per_s: Option<f64>,
    /// Other readings of the same bandwidths.
    pub degeneracy: Vec<Alternative>,
    /// Whether bandwidths alone could name the graph; none where there are too many graphs to walk through.
    pub likeness: Option<Likeness>,
    /// The machine that ran, with every number and its source.
    pub description: SocketMachine,
}

/// Runs a machine, changed or as built.
///
/// # Errors
/// What the machine cannot be changed to.
pub fn simulate(machine: &SocketMachine, variant: &Variant) -> Result<SocketSimulation, VariantError> {
    let changed = variant.of(machine)?;
    let (hops, built) = (changed.hops(), machine.hops());
    let mut rows: Vec<SocketRow> = (0..changed.sockets).map(|socket| row(&changed, &hops, socket)).collect();
    for row in &mut rows {
        if variant.is_change() {
            row.as_built_mb_per_s = machine.triad(&built, row.socket).map(|triad| triad.mb_per_s);
        } else {
            join(row, machine);
        }
    }
    let misses = Misses::of(rows.iter().map(|row| row.error_percent));
    Ok(SocketSimulation {
        schema: SCHEMA,
        machine: machine.name.clone(),
        title: machine.title.clone(),
        changes: variant.words(),
        links: changed.links.value.clone(),
        coherence: changed.coherence.value,
        core_hz: changed.core_hz.value,
        latency_ns: changed.read_times().matrix_ns(&hops, changed.coherence.value),
        hop_round_trip_ns: changed.hop_round_trip_ns.value,
        rms_percent: misses.map(|misses| misses.rms_percent),
        max_percent: misses.map(|misses| misses.max_percent),
        ceiling_mb_per_s: changed
            .ceiling_mb_per_s()
            .filter(|_| changed.coherence.value == Coherence::ProbeFilter),
        degeneracy: degeneracy(&changed, &rows),
        likeness: (changed.sockets <= ENUMERATED_NODES_MAX).then(|| likeness(&hops)),
        rows,
        description: changed,
    })
}

fn row(machine: &SocketMachine, hops: &Hops, socket: usize) -> SocketRow {
    let triad = machine.triad(hops, socket);
    SocketRow {
        socket,
        eccentricity: hops.eccentricity(socket),
        farthest: hops.farthest(socket),
        latency_ns: machine.local_ns(hops, socket),
        triad_mb_per_s: triad.map(|triad| triad.mb_per_s),
        triad_range_mb_per_s: triad.and_then(|triad| triad.range_mb_per_s),
        as_built_mb_per_s: None,
        published_mb_per_s: None,
        error_percent: None,
    }
}

/// Puts the published number beside a prediction that is made.
fn join(row: &mut SocketRow, machine: &SocketMachine) {
    let published = machine.published.iter().find(|one| one.socket == row.socket);
    row.published_mb_per_s = published.map(|one| one.triad_mb_per_s);
    row.error_percent = missed_percent(row.triad_mb_per_s, row.published_mb_per_s);
}

/// Choices of outstanding lines and lines per row that give the same triads with other latencies.
fn degeneracy(machine: &SocketMachine, rows: &[SocketRow]) -> Vec<Alternative> {
    let Some(stream) = machine.stream.as_ref().filter(|_| machine.coherence.value == Coherence::Broadcast)
    else {
        return Vec::new();
    };
    let triads: Vec<(f64, u32)> =
        rows.iter().filter_map(|row| Some((row.triad_mb_per_s?, row.eccentricity))).collect();
    alternatives(f64::from(stream.line_bytes.value), &triads)
}

/// Readings of triads in MB/s, each with the links to its farthest socket, that differ in latency alone.
pub(super) fn alternatives(line_bytes: f64, triads: &[(f64, u32)]) -> Vec<Alternative> {
    /// From fewer than the documented eight lines to more, with stores that allocate (3) and that do not (2).
    const CHOICES: [(f64, f64); 4] = [(6.0, 3.0), (8.0, 3.0), (8.0, 2.0), (10.0, 3.0)];
    let extreme = |better: fn(f64, f64) -> bool| {
        triads.iter().copied().reduce(|best, one| if better(one.0, best.0) { one } else { best })
    };
    let (Some(fastest), Some(slowest)) = (extreme(|one, best| one > best), extreme(|one, best| one < best))
    else {
        return Vec::new();
    };
    let of = |(outstanding_lines, demand_lines_per_row)| {
        let latency_ns =
            |mb_per_s| triad::latency_ns_of(line_bytes, outstanding_lines, demand_lines_per_row, mb_per_s);
        let (fastest_ns, slowest_ns) = (latency_ns(fastest.0), latency_ns(slowest.0));
        let hops = f64::from(slowest.1) - f64::from(fastest.1);
        Alternative {
            outstanding_lines,
            demand_lines_per_row,
            fastest_ns,
            slowest_ns,
            hop_round_trip_ns: (hops > 0.0).then(|| (slowest_ns - fastest_ns) / hops),
        }
    };
    CHOICES.into_iter().map(of).collect()
}

fn likeness(hops: &Hops) -> Likeness {
    let pattern = hops.eccentricities();
    let mut likeness = Likeness { graphs: 0, same_eccentricities: 0, same_order: 0 };
    for (_, other) in connected_graphs(hops.nodes()) {
        let others = other.eccentricities();
        likeness.graphs += 1;
        if others == pattern {
            likeness.same_eccentricities += 1;
        } else if is_same_order(&pattern, &others) {
            likeness.same_order += 1;
        }
    }
    likeness
}

/// Whether any two sockets are ordered alike by both.
fn is_same_order(one: &[u32], other: &[u32]) -> bool {
    pairs(one.len()).all(|(a, b)| one[a].cmp(&one[b]) == other[a].cmp(&other[b]))
}

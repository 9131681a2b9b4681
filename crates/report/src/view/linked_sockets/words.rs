//! What a run of linked sockets says, in words.

use models::interconnect::{Coherence, SocketRow, SocketSimulation};
use stats::text::capital;

use crate::number::{self, short};
use crate::page::Statement;
use crate::view::socket_words::{alternative, by_distance, links, numbered};

/// Rounding of the model, below which sockets are alike, as a share.
const ALIKE_SHARE: f64 = 1e-6;

/// Whether the machine's file says how a core streams.
pub(super) fn streams(simulation: &SocketSimulation) -> bool {
    simulation.rows.iter().any(|row| row.triad_mb_per_s.is_some())
}

/// Sockets by how far their farthest is, nearest first.
fn classes(simulation: &SocketSimulation) -> Vec<(u32, Vec<&SocketRow>)> {
    by_distance(&simulation.rows, |row| Some(row.eccentricity))
}

fn sockets(rows: &[&SocketRow]) -> String {
    numbered("socket", rows.iter().map(|row| row.socket as u32))
}

/// Which sockets are slower, and by how much.
pub(super) fn answer(simulation: &SocketSimulation) -> Statement {
    let classes = classes(simulation);
    let ([(_, near), ..], [.., (_, far)]) = (classes.as_slice(), classes.as_slice()) else {
        return Statement::default();
    };
    let (fast, slow) = (near[0].latency_ns, far[0].latency_ns);
    if slow / fast < 1.0 + ALIKE_SHARE {
        let ns = short(slow);
        return Statement::good(format!(
            "All sockets are alike: a read of a socket's own memory takes {ns} ns."
        ));
    }
    let bandwidth = far[0].triad_mb_per_s.zip(near[0].triad_mb_per_s);
    let lost = bandwidth.map_or_else(
        || "wait longer for their own memory".to_owned(),
        |(slow, fast)| format!("get {} less bandwidth", number::percent(1.0 - slow / fast)),
    );
    let ([near, far], [fast, slow]) = ([near, far].map(|rows| sockets(rows)), [fast, slow].map(short));
    let far = capital(&far);
    Statement::look(format!("{far} {lost} than {near} (local read: {slow} ns instead of {fast})."))
}

/// Why, and how near that is to what was published.
pub(super) fn because(simulation: &SocketSimulation) -> Vec<Statement> {
    let mut said = vec![Statement::plain(match simulation.coherence {
        Coherence::Broadcast => broadcast(simulation),
        Coherence::ProbeFilter => filtered(simulation),
    })];
    said.extend(near_published(simulation).map(Statement::plain));
    said
}

fn broadcast(simulation: &SocketSimulation) -> String {
    const RULE: &str = "A local read completes only when every other socket has answered the snoop, so the farthest socket decides";
    let classes = classes(simulation);
    let ([(near, near_rows), ..], [.., (far, far_rows)]) = (classes.as_slice(), classes.as_slice()) else {
        return String::new();
    };
    if near == far {
        return format!("{RULE}: it is {} away from each.", links(*far));
    }
    let whom =
        far_rows.iter().filter_map(|row| Some(format!("{} for {}", row.farthest.first()?, row.socket)));
    format!(
        "{RULE}: {} away from {} ({}), {} from {}. Each further link costs {} ns there and back.",
        links(*far),
        sockets(far_rows),
        number::joined(whom, ", "),
        links(*near),
        sockets(near_rows),
        short(simulation.hop_round_trip_ns)
    )
}

fn filtered(simulation: &SocketSimulation) -> String {
    const RULE: &str = "The directory at the home node shows that no other socket has the line, so no snoops are sent and each socket waits for its memory alone.";
    let Some(row) = simulation.rows.first() else { return String::new() };
    let (Some([low, high]), Some(ceiling)) = (row.triad_range_mb_per_s, simulation.ceiling_mb_per_s) else {
        return RULE.to_owned();
    };
    let (low, high) = (low.min(high) / 1e3, low.max(high) / 1e3);
    let kept = if high - low < 0.05 {
        format!("{high:.1} GB/s")
    } else {
        format!("{low:.1} to {high:.1} GB/s, by the range of idle_near_ns")
    };
    format!(
        "{RULE} With the other costs of a row as with snoops, triad is {kept}; limited by memory latency alone it would be {:.1}. No published number of one core tests this.",
        ceiling / 1e3
    )
}

fn near_published(simulation: &SocketSimulation) -> Option<String> {
    if !simulation.changes.is_empty() || !streams(simulation) {
        return None;
    }
    Some(match (simulation.rms_percent, simulation.max_percent) {
        (Some(rms), Some(max)) => {
            format!("Published bandwidths are met within {max:.2} % ({rms:.2} % root mean square).")
        }
        _ => {
            "No bandwidth of one core was published for this machine: the prediction is untested.".to_owned()
        }
    })
}

/// The law behind the bandwidth, and what bandwidths leave undetermined.
pub(super) fn details(simulation: &SocketSimulation) -> Vec<String> {
    [law(simulation), degeneracy(simulation), likeness(simulation)].into_iter().flatten().collect()
}

fn law(simulation: &SocketSimulation) -> Option<String> {
    let lines = simulation.description.stream.as_ref()?.outstanding_lines.value;
    (simulation.coherence == Coherence::Broadcast).then(|| {
        format!(
            "Bandwidth follows from latency by Little's law: {lines} lines of 64 B outstanding, divided by the latency.",
        )
    })
}

fn degeneracy(simulation: &SocketSimulation) -> Option<String> {
    let first = simulation.degeneracy.first()?;
    let ratio = first.slowest_ns / first.fastest_ns;
    if ratio < 1.0 + ALIKE_SHARE {
        return None;
    }
    Some(format!(
        "Undetermined: bandwidths fix only the ratio of the latencies, {ratio:.2}. These give the same bandwidths: {}. A measured latency would decide.",
        number::joined(simulation.degeneracy.iter().map(alternative), "; ")
    ))
}

fn likeness(simulation: &SocketSimulation) -> Option<String> {
    let alike = simulation.likeness?;
    if alike.graphs < 2 || simulation.coherence != Coherence::Broadcast {
        return None;
    }
    let (equal, identified) = match alike.same_eccentricities {
        1 => (
            "this one alone has".to_owned(),
            "bandwidths identify the links if the latency at one link is known",
        ),
        more => (format!("{more} have"), "bandwidths alone cannot identify the links"),
    };
    let similar = match alike.same_order {
        0 => String::new(),
        1 => ", and 1 more has the same order of near and far".to_owned(),
        more => format!(", and {more} more have the same order of near and far"),
    };
    Some(format!(
        "Of the {} to connect {} {equal} the farthest sockets {} links away{similar}: {identified}.",
        machine::counted(alike.graphs, "way"),
        machine::counted(simulation.rows.len(), "socket"),
        number::joined(simulation.rows.iter().map(|row| row.eccentricity), ", ")
    ))
}

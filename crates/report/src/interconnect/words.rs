//! What a run of linked sockets says, in words.

use std::fmt::Write;

use models::interconnect::{Coherence, SocketRow, SocketSimulation};

use crate::number;

/// Rounding of the model, below which sockets are alike, as a share.
const ALIKE_SHARE: f64 = 1e-6;

/// Who is slow and why, what the numbers cannot tell, and what is assumed.
pub(super) fn sentences(simulation: &SocketSimulation) -> Vec<String> {
    let mut said = Vec::new();
    match simulation.coherence {
        Coherence::Broadcast => said.push(broadcast(simulation)),
        Coherence::ProbeFilter => said.push(filtered(simulation)),
    }
    said.extend(law(simulation));
    said.extend(degeneracy(simulation));
    said.extend(likeness(simulation));
    said.extend(fit_of_published(simulation));
    said.push(sources(simulation));
    said
}

/// Sockets by how far their farthest is, nearest first.
fn classes(simulation: &SocketSimulation) -> Vec<(u32, Vec<&SocketRow>)> {
    let mut classes: Vec<(u32, Vec<&SocketRow>)> = Vec::new();
    for row in &simulation.rows {
        match classes.iter_mut().find(|(far, _)| *far == row.eccentricity) {
            Some((_, rows)) => rows.push(row),
            None => classes.push((row.eccentricity, vec![row])),
        }
    }
    classes.sort_by_key(|(far, _)| *far);
    classes
}

pub(super) fn links(count: u32) -> String {
    if count == 1 { "one link".to_owned() } else { format!("{count} links") }
}

fn sockets(rows: &[&SocketRow]) -> String {
    let names: Vec<String> = rows.iter().map(|row| row.socket.to_string()).collect();
    match names.as_slice() {
        [] => "no socket".to_owned(),
        [one] => format!("socket {one}"),
        [first @ .., last] => format!("sockets {} and {last}", first.join(", ")),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn broadcast(simulation: &SocketSimulation) -> String {
    let classes = classes(simulation);
    let why = "a read of a socket's own memory is done only when every other socket has answered the snoop, so its farthest socket decides";
    let ([(near, near_rows), rest @ ..], Some((far, far_rows))) = (classes.as_slice(), classes.last()) else {
        return String::new();
    };
    if rest.is_empty() {
        return format!(
            "All sockets are alike: {why}, and that is {} away from each ({} ns).",
            links(*far),
            number::short(far_rows[0].latency_ns)
        );
    }
    let whom =
        far_rows.iter().filter_map(|row| Some(format!("{} for {}", row.farthest.first()?, row.socket)));
    let lost = match (near_rows[0].triad_mb_per_s, far_rows[0].triad_mb_per_s) {
        (Some(fast), Some(slow)) => {
            format!("get {} less than {}", number::percent(1.0 - slow / fast), sockets(near_rows))
        }
        _ => format!(
            "wait {} ns longer than {}",
            number::short(far_rows[0].latency_ns - near_rows[0].latency_ns),
            sockets(near_rows)
        ),
    };
    format!(
        "{} {lost}: {why}. It is {} away there ({}), so that probe and answer pass through another socket; {} have it {} away. Each link more costs {} ns there and back: {} ns become {}.",
        capital(&sockets(far_rows)),
        links(*far),
        whom.collect::<Vec<_>>().join(", "),
        sockets(near_rows),
        links(*near),
        number::short(simulation.hop_round_trip_ns),
        number::short(near_rows[0].latency_ns),
        number::short(far_rows[0].latency_ns)
    )
}

fn filtered(simulation: &SocketSimulation) -> String {
    let Some(row) = simulation.rows.first() else { return String::new() };
    let mut said = format!(
        "Nobody is asked: a directory at the home knows that no other socket has the line, so each socket waits for its memory alone, {} ns, and all are alike wherever they sit.",
        number::short(row.latency_ns)
    );
    if let (Some([low, high]), Some(ceiling)) = (row.triad_range_mb_per_s, simulation.ceiling_mb_per_s) {
        let (low, high) = (low.min(high) / 1e3, low.max(high) / 1e3);
        let kept = if high - low < 0.05 {
            format!("{high:.1} GB/s")
        } else {
            format!("{low:.1} to {high:.1} GB/s, by the range of idle_near_ns")
        };
        let _ = write!(
            said,
            " What a row takes beyond waiting is kept as it is with snoops, which makes {kept}; if memory alone limited a core it would be {:.1}. No published number of one core holds this.",
            ceiling / 1e3
        );
    }
    said
}

fn law(simulation: &SocketSimulation) -> Option<String> {
    let of = |name: &str| simulation.numbers.iter().find(|one| one.name == name).map(|one| one.value.clone());
    let lines = of("outstanding_lines")?;
    let differ = simulation.events_differ_percent?;
    let agree = if differ < 0.1 {
        "run event by event, lines and probes give the same".to_owned()
    } else {
        format!("run event by event, lines and probes differ from it by {} %", number::short(differ))
    };
    (simulation.coherence == Coherence::Broadcast).then(|| {
        format!("Bandwidth follows from latency by Little's law: {lines} of 64 B under way, divided by the time that each takes; {agree}.")
    })
}

fn degeneracy(simulation: &SocketSimulation) -> Option<String> {
    let (first, rest) = simulation.degeneracy.split_first()?;
    let ratio = first.slowest_ns / first.fastest_ns;
    if ratio < 1.0 + ALIKE_SHARE {
        return None;
    }
    let reading = |one: &models::interconnect::Alternative| {
        let stores =
            if one.demand_lines_per_row > 2.5 { "stores that allocate" } else { "stores that do not" };
        format!(
            "{} ns ({} to {}) with {} lines and {stores}",
            one.hop_round_trip_ns.map_or_else(|| number::UNKNOWN.to_owned(), number::column),
            number::short(one.fastest_ns),
            number::short(one.slowest_ns),
            one.outstanding_lines
        )
    };
    let all: Vec<String> = [first].into_iter().chain(rest).map(reading).collect();
    Some(format!(
        "What the numbers cannot tell: only the ratio of the latencies is fixed, {ratio:.2}. Lines under way, lines per row and latency trade against each other, and these link costs give the same bandwidths: {}. A measured latency would choose.",
        all.join("; ")
    ))
}

fn likeness(simulation: &SocketSimulation) -> Option<String> {
    let alike = simulation.likeness?;
    if alike.graphs < 2 || simulation.coherence != Coherence::Broadcast {
        return None;
    }
    let far: Vec<String> = simulation.rows.iter().map(|row| row.eccentricity.to_string()).collect();
    let equal = match alike.same_eccentricities {
        1 => "this one alone has".to_owned(),
        more => format!("{more} have"),
    };
    let similar = match alike.same_order {
        0 => String::new(),
        1 => ", and 1 more has the same order of near and far".to_owned(),
        more => format!(", and {more} more have the same order of near and far"),
    };
    let told = if alike.same_eccentricities == 1 {
        "bandwidths name the links if the latency at one link is known"
    } else {
        "bandwidths alone cannot name the links"
    };
    Some(format!(
        "Of the {} to connect {} {equal} the farthest sockets {} links away{similar}: {told}.",
        machine::counted(alike.graphs, "way"),
        machine::counted(simulation.rows.len(), "socket"),
        far.join(", ")
    ))
}

fn fit_of_published(simulation: &SocketSimulation) -> Option<String> {
    if !simulation.changes.is_empty() || !super::streams(simulation) {
        return None;
    }
    Some(match (simulation.rms_percent, simulation.max_percent) {
        (Some(rms), Some(max)) => {
            format!("Against what was published: {rms:.2} % root mean square, {max:.2} % at most.")
        }
        _ => "Nobody published bandwidths of one core on this machine; nothing holds the prediction."
            .to_owned(),
    })
}

fn sources(simulation: &SocketSimulation) -> String {
    let of = |start: &str| {
        let names = simulation.numbers.iter().filter(|one| one.source.starts_with(start)).map(|one| one.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let (fitted, assumed) = (of("fitted"), of("assumed"));
    let mut said = "On paper, not measured".to_owned();
    for (word, names) in [("fitted", fitted), ("assumed", assumed)] {
        if !names.is_empty() {
            let _ = write!(said, "; {word}: {names}");
        }
    }
    said + ". The machine file gives the reasons."
}

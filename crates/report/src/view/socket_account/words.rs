//! What one model says of measured sockets, in words: why each gets what it gets, and what stays undetermined.

use std::collections::BTreeSet;

use models::Misses;
use models::interconnect::{AccountRow, Explanation, Mesh, SocketAccount};
use stats::text::capital;

use crate::number::{self, short};
use crate::view::socket_words::{self, alternative, by_distance, links, numbered};

/// CPUs named in a sentence; --json has all.
const CPUS_NAMED: usize = 24;
/// A bandwidth that the model misses by more, in per cent, does not come from its latency.
const MISSED_PERCENT: f64 = 5.0;
/// Latencies that differ by less, as a share, are taken as one.
const ALIKE_SHARE: f64 = 0.005;

/// All but the reason.
pub(crate) fn details(account: &SocketAccount) -> Vec<String> {
    let sentences = [law(account), degeneracy(account), unexplained(account), left_over(account)];
    sentences.into_iter().flatten().collect()
}

/// The reason, by the model of the links.
pub(crate) fn why(account: &SocketAccount) -> String {
    match (&account.explanation, &account.graph) {
        (Some(Explanation::Snoops { .. }), Some(_)) => by_snoops(account),
        (Some(Explanation::Levels { levels }), Some(_)) => by_levels(levels),
        (Some(Explanation::Mesh(mesh)), _) => of_mesh(mesh),
        _ => without_links(account),
    }
}

fn of_mesh(mesh: &Mesh) -> String {
    format!(
        "The nodes are clusters of a die, {}. No cluster's own memory is nearer than another's, so clusters are alike.",
        socket_words::mesh(mesh, " ns")
    )
}

/// CPUs by how far their farthest node is, nearest first.
fn classes(account: &SocketAccount) -> Vec<(u32, Vec<&AccountRow>)> {
    by_distance(&account.rows, |row| row.eccentricity)
}

fn nodes(rows: &[&AccountRow]) -> String {
    numbered("node", rows.iter().filter_map(|row| row.node).collect::<BTreeSet<u32>>())
}

fn by_snoops(account: &SocketAccount) -> String {
    const RULE: &str = "a local read completes only when its data and every other node's snoop answer have arrived, so the farthest node decides";
    let classes = classes(account);
    let ([(near, near_rows), ..], Some((far, far_rows))) = (classes.as_slice(), classes.last()) else {
        return without_links(account);
    };
    let of = |rows: &[&AccountRow]| rows.iter().find_map(|row| row.latency_predicted_ns).unwrap_or(f64::NAN);
    let (fast, slow) = (of(near_rows), of(far_rows));
    if near == far {
        return format!(
            "All nodes are alike: {RULE}, and that is {} away from each ({} ns).",
            links(*far),
            short(slow)
        );
    }
    if slow < fast * (1.0 + ALIKE_SHARE) {
        return format!(
            "All nodes are alike in their own memory ({} ns): the data arrives after the last snoop answer, although the farthest node is {} away from {} and {} from {}.",
            short(fast),
            links(*near),
            nodes(near_rows),
            links(*far),
            nodes(far_rows)
        );
    }
    let whom = far_rows.iter().filter_map(|row| Some(format!("{} for {}", row.farthest.first()?, row.node?)));
    let whom = number::joined(whom, ", ");
    let triad = |rows: &[&AccountRow]| rows.iter().find_map(|row| row.triad_predicted_mb_per_s);
    let lost = triad(near_rows).zip(triad(far_rows)).map_or_else(String::new, |(fast, slow)| {
        format!(" and get {} less bandwidth", number::percent(1.0 - slow / fast))
    });
    let each = short((slow - fast) / f64::from(far - near));
    let (far_nodes, near_nodes) = (capital(&nodes(far_rows)), nodes(near_rows));
    let (far, near) = (links(*far), links(*near));
    let [more, fast, slow] = [slow - fast, fast, slow].map(short);
    format!(
        "{far_nodes} wait {more} ns longer for their own memory than {near_nodes}{lost}: {RULE}. It is {far} away from them ({whom}), {near} from {near_nodes}. Each further link costs {each} ns there and back ({fast} ns become {slow})."
    )
}

fn by_levels(levels: &[f64]) -> String {
    let Some((own, rest)) = levels.split_first() else { return String::new() };
    let further = rest.iter().zip(1..).map(|(ns, hops)| format!("{} ns over {}", short(*ns), links(hops)));
    format!(
        "A node's own memory takes {} ns at every node: reads do not wait for far nodes, as with a probe filter or a directory. Other memory takes {}.",
        short(*own),
        number::joined(further, ", ")
    )
}

/// What can be said where no links are known.
fn without_links(account: &SocketAccount) -> String {
    let Some(inference) = &account.inference else {
        return "Links, hops and snoops are not identifiable: there are no two nodes with a measured CPU and memory. The model is that all CPUs are alike.".to_owned();
    };
    let flat = match &account.explanation {
        Some(Explanation::Flat { local: Some(local), remote: Some(remote) })
            if (remote / local - 1.0).abs() > ALIKE_SHARE =>
        {
            format!("own memory takes {} ns and any other {}", short(*local), short(*remote))
        }
        Some(Explanation::Flat { local: Some(all), .. }) => {
            format!("all memory takes {} ns", short(*all))
        }
        _ => "all CPUs are alike".to_owned(),
    };
    format!("The links are not identifiable: {}. The model without links: {flat}.", inference.reason)
}

fn law(account: &SocketAccount) -> Option<String> {
    let lines = account.lines?;
    let of_each: Vec<f64> = account.rows.iter().filter_map(|row| row.lines).collect();
    let (least, most) =
        of_each.iter().fold((f64::MAX, 0.0_f64), |(least, most), one| (least.min(*one), most.max(*one)));
    let each = if of_each.is_empty() || most / least < 1.0 + ALIKE_SHARE {
        String::new()
    } else {
        format!(" ({} to {} by CPU)", short(least), short(most))
    };
    let error = account.triad.map_or_else(String::new, |misses| {
        format!("; {} are met within {:.1} %", number::count(misses.count, "triad"), misses.max_percent)
    });
    Some(format!(
        "Bandwidth follows from latency by Little's law: {} outstanding lines of 64 B{each}, divided by the latency{error}.",
        short(lines)
    ))
}

fn degeneracy(account: &SocketAccount) -> Option<String> {
    let all = number::joined(account.degeneracy.iter().map(alternative), "; ");
    let decided = if account.lines.is_some() {
        "Here the latency is measured and the loop allocates, which fixes C; as reads take longer under load than idle, C is at least that."
    } else {
        "A measured latency would decide."
    };
    (!all.is_empty()).then(|| {
        format!(
            "Bandwidths alone fix lines over latency (C / L), not both: {all} give the same triads. {decided}"
        )
    })
}

/// Bandwidths that do not come from latencies.
fn unexplained(account: &SocketAccount) -> Option<String> {
    let short: Vec<String> = account
        .rows
        .iter()
        .filter_map(|row| Some((row.cpu, row.triad_error_percent?)))
        .filter(|(_, error)| *error > MISSED_PERCENT)
        .take(CPUS_NAMED)
        .map(|(cpu, error)| format!("CPU {cpu} by {}", number::percent(1.0 - 1.0 / (1.0 + error / 100.0))))
        .collect();
    (!short.is_empty()).then(|| {
        format!(
            "Below what its latency allows: {}. The cause is not the links but the memory (channels, clock), the core, or a neighbour.",
            short.join(", ")
        )
    })
}

/// How far the latencies are from the model.
fn left_over(account: &SocketAccount) -> Option<String> {
    let Misses { rms_percent, max_percent, .. } = account.latency?;
    Some(format!(
        "Model error: latencies of own memory {rms_percent:.1} % root mean square, {max_percent:.1} % at most."
    ))
}

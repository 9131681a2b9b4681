//! Measured sockets beside what one model makes of them, in the terminal: a row per CPU, and the paragraph that says why.

use std::fmt::Write;

use models::interconnect::{AccountRow, Alternative, Explanation, Misses, SocketAccount};
use record::{SocketVerdict, Sockets};

use super::{capital, links};
use crate::escape::plain;
use crate::number::{self, UNKNOWN};
use crate::sockets::flight_doubts;
use crate::terminal::{Ink, Paper, Terminal, table_of};

/// CPUs shown below each other; --json has all.
const CPUS_SHOWN: usize = 24;
/// A bandwidth that the model misses by more, in per cent, does not come from its latency.
const MISSED_PERCENT: f64 = 5.0;
/// Latencies that differ by less, as a share, are taken as one.
const ALIKE_SHARE: f64 = 0.005;

/// The account for people; `from` names the record.
pub fn account_terminal(
    account: &SocketAccount,
    sockets: &Sockets,
    from: &str,
    terminal: Terminal,
) -> String {
    let mut paper = Paper::new(terminal);
    paper.strong(&plain(&format!(
        "{} of {from}, measured and predicted",
        number::count(account.rows.len(), "CPU")
    )));
    graph(&mut paper, account);
    paper.blank();
    rows(&mut paper, account);
    paper.blank();
    for sentence in sentences(account, sockets) {
        paper.wrapped("- ", &plain(&sentence));
    }
    for doubt in flight_doubts(sockets) {
        paper.wrapped_inked(Ink::Doubt, "? ", &plain(&doubt));
    }
    paper.finish()
}

fn graph(paper: &mut Paper, account: &SocketAccount) {
    let told = match &account.graph {
        Some(graph) => {
            let links: Vec<String> = graph.edges.iter().map(|[from, to]| format!("{from}-{to}")).collect();
            format!("{}, from {}", links.join(" "), graph.source)
        }
        None => "not identifiable".to_owned(),
    };
    paper.wrapped_inked(Ink::Faint, "links: ", &plain(&told));
}

fn rows(paper: &mut Paper, account: &SocketAccount) {
    let headers = ["CPU", "node", "far", "latency", "model", "error", "triad", "model", "error"];
    let mut table = table_of(&headers.map(str::to_owned));
    let whole = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), |value| format!("{value:.0}"));
    let nanoseconds = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), number::column);
    let error = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), signed_percent);
    let count = |value: Option<u32>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    for row in account.rows.iter().take(CPUS_SHOWN) {
        table.add_row([
            row.cpu.to_string(),
            count(row.node),
            count(row.eccentricity),
            nanoseconds(row.latency_ns),
            nanoseconds(row.latency_predicted_ns),
            error(row.latency_error_percent),
            whole(row.triad_mb_per_s),
            whole(row.triad_predicted_mb_per_s),
            error(row.triad_error_percent),
        ]);
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "far: links to the farthest node; latency: of the CPU's own memory, ns; triad: one core there, MB/s; error: of the model, which was fitted to these numbers",
    );
    if account.rows.len() > CPUS_SHOWN {
        paper.faint(&format!("{} more CPUs: --json has them", account.rows.len() - CPUS_SHOWN));
    }
}

/// A digit after the point, and no sign where that is all there is.
fn signed_percent(value: f64) -> String {
    let text = format!("{value:+.1} %");
    if matches!(text.as_str(), "+0.0 %" | "-0.0 %") { "0.0 %".to_owned() } else { text }
}

/// Why each socket gets what it gets, and what cannot be told.
pub(crate) fn sentences(account: &SocketAccount, sockets: &Sockets) -> Vec<String> {
    let mut said = vec![why(account)];
    said.extend(law(account));
    said.extend(degeneracy(account, sockets));
    said.extend(unexplained(account));
    said.extend(left_over(account));
    said.extend(doubt(sockets));
    said
}

fn why(account: &SocketAccount) -> String {
    match (&account.explanation, &account.graph) {
        (Some(Explanation::Snoops { .. }), Some(_)) => by_snoops(account),
        (Some(Explanation::Levels { levels }), Some(_)) => by_levels(levels),
        (Some(Explanation::Mesh(mesh)), _) => format!(
            "The nodes are clusters of a die, {} by {} in each of {}: {} ns of a cluster's own memory, {} more for each column{}{}. No cluster's own memory is nearer than another's, so clusters are alike.",
            mesh.columns,
            mesh.rows,
            if mesh.packages == 1 { "one package".to_owned() } else { format!("{} packages", mesh.packages) },
            number::short(mesh.base),
            number::short(mesh.column_step),
            mesh.row_step.map_or_else(String::new, |step| format!(", {} for each row", number::short(step))),
            mesh.remote.map_or_else(String::new, |ns| format!(", {} of other packages", number::short(ns)))
        ),
        _ => without_links(account),
    }
}

/// CPUs by how far their farthest node is, nearest first.
fn classes(account: &SocketAccount) -> Vec<(u32, Vec<&AccountRow>)> {
    let mut classes: Vec<(u32, Vec<&AccountRow>)> = Vec::new();
    for row in &account.rows {
        let Some(far) = row.eccentricity else { continue };
        match classes.iter_mut().find(|(other, _)| *other == far) {
            Some((_, rows)) => rows.push(row),
            None => classes.push((far, vec![row])),
        }
    }
    classes.sort_by_key(|(far, _)| *far);
    classes
}

/// "nodes 0 and 3".
fn nodes(rows: &[&AccountRow]) -> String {
    let mut nodes: Vec<u32> = rows.iter().filter_map(|row| row.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let names: Vec<String> = nodes.iter().map(u32::to_string).collect();
    match names.as_slice() {
        [] => "no node".to_owned(),
        [one] => format!("node {one}"),
        [first @ .., last] => format!("nodes {} and {last}", first.join(", ")),
    }
}

fn by_snoops(account: &SocketAccount) -> String {
    const RULE: &str = "a read of a node's own memory is done only when its data and every other node's answer to the snoop have come, so the farthest node decides";
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
            number::short(slow)
        );
    }
    if slow < fast * (1.0 + ALIKE_SHARE) {
        return format!(
            "All nodes are alike in their own memory ({} ns): its data comes after the last answer to a snoop, though the farthest node is {} away from {} and {} from {}.",
            number::short(fast),
            links(*near),
            nodes(near_rows),
            links(*far),
            nodes(far_rows)
        );
    }
    let whom = far_rows
        .iter()
        .filter_map(|row| Some(format!("{} for {}", row.farthest.first()?, row.node?)))
        .collect::<Vec<_>>()
        .join(", ");
    let triad = |rows: &[&AccountRow]| rows.iter().find_map(|row| row.triad_predicted_mb_per_s);
    let lost = triad(near_rows).zip(triad(far_rows)).map_or_else(String::new, |(fast, slow)| {
        format!(" and get {} less bandwidth", number::percent(1.0 - slow / fast))
    });
    let each = (slow - fast) / f64::from(far - near);
    format!(
        "{} wait {} ns longer for their own memory than {}{lost}: {RULE}. It is {} away there ({whom}), {} for {}. Each link more costs {} ns there and back: {} ns become {}.",
        capital(&nodes(far_rows)),
        number::short(slow - fast),
        nodes(near_rows),
        links(*far),
        links(*near),
        nodes(near_rows),
        number::short(each),
        number::short(fast),
        number::short(slow)
    )
}

fn by_levels(levels: &[f64]) -> String {
    let Some((own, rest)) = levels.split_first() else { return String::new() };
    let further: Vec<String> = rest
        .iter()
        .enumerate()
        .map(|(place, ns)| format!("{} ns over {}", number::short(*ns), links(place as u32 + 1)))
        .collect();
    format!(
        "A node's own memory takes {} ns wherever the node sits: reads do not wait for the answers of far nodes, as with a probe filter or a directory. Other memory takes {}.",
        number::short(*own),
        further.join(", ")
    )
}

/// What can be said where no links are known.
fn without_links(account: &SocketAccount) -> String {
    const LEFT: &str = "what can be told: whether the CPUs are alike, how many lines each keeps under way, and where several together meet a roof";
    let Some(inference) = &account.inference else {
        return format!(
            "There are no two nodes with a measured CPU and memory: links, hops and snoops are not identifiable here. The model is that all CPUs are alike; {LEFT}."
        );
    };
    let flat = match &account.explanation {
        Some(Explanation::Flat { local: Some(local), remote: Some(remote) })
            if (remote / local - 1.0).abs() > ALIKE_SHARE =>
        {
            format!("own memory takes {} ns and any other {}", number::short(*local), number::short(*remote))
        }
        Some(Explanation::Flat { local: Some(all), .. }) => {
            format!("all memory takes {} ns", number::short(*all))
        }
        _ => "all CPUs are alike".to_owned(),
    };
    format!(
        "The links are not identifiable: {}. The model without links is that {flat}; {LEFT}.",
        inference.reason
    )
}

fn law(account: &SocketAccount) -> Option<String> {
    let lines = account.lines?;
    let of_each: Vec<f64> = account.rows.iter().filter_map(|row| row.lines).collect();
    let (least, most) =
        of_each.iter().fold((f64::MAX, 0.0_f64), |(least, most), one| (least.min(*one), most.max(*one)));
    let each = if of_each.is_empty() || most / least < 1.0 + ALIKE_SHARE {
        String::new()
    } else {
        format!(" (by CPU {} to {})", number::short(least), number::short(most))
    };
    let error = account.triad.map_or_else(String::new, |misses| {
        format!(", which meets {} within {:.1} %", number::count(misses.count, "triad"), misses.max_percent)
    });
    Some(format!(
        "Bandwidth follows from latency by Little's law: {} lines of 64 B under way{each}, divided by the time that each takes{error}.",
        number::short(lines)
    ))
}

fn degeneracy(account: &SocketAccount, sockets: &Sockets) -> Option<String> {
    let (first, _) = account.degeneracy.split_first()?;
    let is_measured = account.lines.is_some();
    let ratio = first.slowest_ns / first.fastest_ns;
    let reading = |one: &Alternative| {
        let stores =
            if one.demand_lines_per_row > 2.5 { "stores that allocate" } else { "stores that do not" };
        let latency = if ratio < 1.0 + ALIKE_SHARE {
            format!("{} ns", number::short(one.fastest_ns))
        } else {
            format!("{} to {} ns", number::short(one.fastest_ns), number::short(one.slowest_ns))
        };
        let link = one
            .hop_round_trip_ns
            .filter(|_| ratio > 1.0 + ALIKE_SHARE)
            .map_or_else(String::new, |ns| format!(", {} a link", number::column(ns)));
        format!("{latency}{link} with {} lines and {stores}", one.outstanding_lines)
    };
    let all: Vec<String> = account.degeneracy.iter().map(reading).collect();
    let mut said = format!(
        "What bandwidths alone cannot tell: they fix lines over latency (C / L), not C and L: {} make the same triads.",
        all.join("; ")
    );
    said += if is_measured {
        " Here the latency is measured and our own loop is known to allocate, which chooses C; the latency is an idle one, and as reads take longer under load, C is at least that."
    } else {
        " A measured latency would choose."
    };
    if let Some(longer) = longer_under_load(sockets).filter(|_| is_measured) {
        let _ = write!(
            said,
            " With all CPUs of a node streaming, a read took up to {} times as long as idle.",
            number::short(longer)
        );
    }
    Some(said)
}

/// By what a latency grows at most when others stream.
fn longer_under_load(sockets: &Sockets) -> Option<f64> {
    let idle = |node| {
        let points =
            sockets.loaded.iter().filter(move |one| one.node == node && one.point.loading.is_empty());
        points.map(|one| one.point.ns).find(|ns| *ns > 0.0)
    };
    let ratios = sockets.loaded.iter().filter_map(|one| Some(one.point.ns / idle(one.node)?));
    ratios.filter(|ratio| ratio.is_finite() && *ratio > 1.0).reduce(f64::max)
}

/// Bandwidths that do not come from latencies.
fn unexplained(account: &SocketAccount) -> Option<String> {
    let short: Vec<String> = account
        .rows
        .iter()
        .filter_map(|row| Some((row.cpu, row.triad_error_percent?)))
        .filter(|(_, error)| *error > MISSED_PERCENT)
        .take(CPUS_SHOWN)
        .map(|(cpu, error)| format!("CPU {cpu} by {}", number::percent(1.0 - 1.0 / (1.0 + error / 100.0))))
        .collect();
    (!short.is_empty()).then(|| {
        format!(
            "Less than its latency and the lines of the others allow gets {}: that is no matter of links, but of its memory (channels, clock of the memory), its core, or a neighbour.",
            short.join(", ")
        )
    })
}

/// How far the latencies are from the model.
fn left_over(account: &SocketAccount) -> Option<String> {
    let told = |misses: Misses| {
        format!("{:.1} % root mean square, {:.1} % at most", misses.rms_percent, misses.max_percent)
    };
    let mut said = String::new();
    if let Some(latency) = account.latency {
        let _ = write!(said, "The model misses latencies of own memory by {}", told(latency));
    }
    if let Some(triad) = account.triad {
        let start = if said.is_empty() { "The model misses" } else { "," };
        let _ = write!(said, "{start} triads by {}", told(triad));
    }
    (!said.is_empty()).then(|| said + ".")
}

/// What the measurement itself says of its differences.
fn doubt(sockets: &Sockets) -> Option<String> {
    let widest = sockets.equality.iter().map(|of| of.aa_half_width).fold(0.0, f64::max);
    match sockets.verdict {
        SocketVerdict::Inconclusive => Some(format!(
            "Whether the CPUs are alike was inconclusive when this was measured{}: differences above may be noise.",
            if widest > 0.0 {
                format!(" (the same CPU differed from itself by ±{})", number::percent(widest))
            } else {
                String::new()
            }
        )),
        SocketVerdict::Alike => {
            Some("When this was measured no CPU differed from the others in its own memory.".to_owned())
        }
        SocketVerdict::Asymmetric => None,
    }
}

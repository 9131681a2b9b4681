//! What a matrix of latencies shows of groups and links.

use std::fmt::Write;

use machine::{CpuId, CpuSet};
use models::interconnect::{
    Explanation, Graph, GroupLevel, Inference, LevelName, Member, Mesh, Unit, Verdict,
};

use super::socket_words::{self, node_links};
use crate::figure::GraphPicture;
use crate::figure::sockets;
use crate::number;
use crate::page::{Drawn, Page, Section, Statement, Tone};

/// The inference as a page; `from` names the matrix.
pub fn inferred_links_page(inference: &Inference, from: &str) -> Page {
    let subject = if inference.members_are == Member::Cpus {
        "Groups of CPUs and links between them".to_owned()
    } else if inference.nodes.is_empty() {
        "Links of nodes".to_owned()
    } else {
        format!("Links of {}", number::count(inference.nodes.len(), "node"))
    };
    Page {
        subject: format!("{subject}, from {from}"),
        answer: answer(inference),
        because: groups(inference),
        sections: vec![
            section(inference),
            Section::new("links", "").figure("inferred-links", "Links", picture(inference)),
        ],
        about: vec![format!("graphs and arrangements examined: {}", inference.examined)],
        ..Page::default()
    }
}

/// Which links there are, or why that is undetermined.
pub(super) fn answer(inference: &Inference) -> Statement {
    let (verdict, reason) = (inference.verdict.name(), &inference.reason);
    if inference.verdict == Verdict::Identified {
        let (links, sure) = (node_links(&inference.edges), probability(inference.probability));
        let text = format!("Links {verdict}: {links} (probability {sure}); {reason}.");
        return Statement::good(text);
    }
    Statement::doubt(format!("Links {verdict}: {reason}."))
}

/// A sentence and the members of each level of groups.
fn groups(inference: &Inference) -> Vec<Statement> {
    let one = |level: &GroupLevel| {
        let tone = if level.clear { Tone::Plain } else { Tone::Doubt };
        let said = group_sentence(inference, level);
        Statement::new(tone, format!("{said}. Members: {}", group_members(level)))
    };
    inference.groups.iter().map(one).collect()
}

/// The rest of what is known, for this page and for that of measured sockets.
pub(super) fn section(inference: &Inference) -> Section {
    Section::new("inference", "").facts(inference_facts(inference))
}

/// `2 groups of 48 CPUs (share a cache): 46.6 ns within, 134 ns between; clear, 2.6 times`.
fn group_sentence(inference: &Inference, level: &GroupLevel) -> String {
    let unit = unit(inference.unit);
    let member = inference.members_are.name();
    let groups: Vec<_> = level.members.iter().filter(|group| group.len() > 1).collect();
    let least = groups.iter().map(|group| group.len()).min().unwrap_or(0);
    let most = groups.iter().map(|group| group.len()).max().unwrap_or(0);
    let size = |least: usize, most: usize| {
        if least == most { number::count(most, member) } else { format!("{least} to {most} {member}s") }
    };
    let alone = match level.members.len() - groups.len() {
        0 => String::new(),
        singles => format!(", {} in none", number::count(singles, member)),
    };
    let said = |groups: usize, size: String, alone: &str, name: LevelName, within: f64| {
        let (groups, name) = (number::count(groups, "group"), level_name(name));
        format!("{groups} of {size}{alone} ({name}): {}{unit} within", number::short(within))
    };
    let within = if are_of_kinds(level) {
        let kinds = level.sizes.iter();
        let kinds = kinds.map(|of| said(of.groups, size(of.size, of.size), "", of.level, of.within));
        number::joined(kinds, "; ") + &alone
    } else {
        said(groups.len(), size(least, most), &alone, level.level, level.within)
    };
    let clear = if level.clear { "clear" } else { "not clear" };
    format!(
        "{within}, {}{unit} between; {clear}: nearly all pairs between take at least {:.2} times as long, the spread is {:.0} %",
        number::short(level.between),
        level.gap_ratio,
        level.spread * 100.0,
    )
}

/// Whether groups of one size differ from those of another by more than repeated measurements do: then no one latency is of all.
fn are_of_kinds(level: &GroupLevel) -> bool {
    /// As `STEP_MIN` of the groups.
    const ALIKE: f64 = 1.05;
    /// More sizes are groups of one kind, cut unevenly.
    const KINDS_MAX: usize = 3;
    let within = || level.sizes.iter().map(|of| of.within);
    let (least, most) = (within().fold(f64::MAX, f64::min), within().fold(0.0, f64::max));
    level.sizes.len() <= KINDS_MAX && most > least * ALIKE
}

fn level_name(level: LevelName) -> &'static str {
    match level {
        LevelName::Smt => "threads of a core",
        LevelName::SharedCache => "cores of a cache, a die or a socket",
        LevelName::DieOrSocket => "dies or sockets",
        LevelName::NearNodes => "near nodes, such as those of a package",
    }
}

/// The members of the first groups, as Linux lists CPUs; what is longer is in --json.
fn group_members(level: &GroupLevel) -> String {
    const SHOWN: usize = 4;
    const LIST_CHARS: usize = 40;
    let groups = level.members.iter().filter(|group| group.len() > 1);
    let listed = |group: &Vec<u32>| {
        let list = group.iter().map(|cpu| CpuId(*cpu)).collect::<CpuSet>().to_string();
        let cut = list.char_indices().rfind(|(at, sign)| *at <= LIST_CHARS && *sign == ',');
        match cut.filter(|_| list.len() > LIST_CHARS) {
            Some((end, _)) => format!("{},...", &list[..end]),
            None => list,
        }
    };
    let count = groups.clone().count();
    let mut text: Vec<String> = groups.take(SHOWN).map(listed).collect();
    if count > SHOWN {
        text.push(format!("and {} more", count - SHOWN));
    }
    text.join(" | ")
}

/// What is known of the links, each with its name.
pub(crate) fn inference_facts(inference: &Inference) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !inference.edges.is_empty() {
        let name = match (inference.verdict, &inference.explanation) {
            (Verdict::Identified, _) => "links",
            // Neighbours inside packages, which nothing joins, are no guess at the links of the machine.
            (Verdict::NotIdentifiable, Explanation::Mesh(mesh)) if mesh.packages > 1 => "adjacent",
            (Verdict::NotIdentifiable, _) => "best guess",
        };
        let text =
            format!("{} (probability {})", node_links(&inference.edges), probability(inference.probability));
        facts.push((name, text));
        let far = inference.nodes.iter().zip(&inference.eccentricities);
        let far = number::joined(far.map(|(node, far)| format!("{node}: {far}")), ", ");
        if !far.is_empty() {
            facts.push(("farthest", format!("{far} (links to the farthest node)")));
        }
    }
    facts.push(("model", explanation(inference)));
    let unit = unit(inference.unit);
    let rms = if inference.rms < 0.005 { "0".to_owned() } else { number::short(inference.rms) };
    let error = format!("{rms}{unit} root mean square, {:.1} % of an entry at most", inference.max_percent);
    facts.push(("error", error));
    if let Some(next) = inference.runner_up.as_ref().filter(|_| !inference.edges.is_empty()) {
        let text = format!(
            "{} (probability {}, error {}{unit})",
            node_links(&next.edges),
            probability(next.probability),
            number::short(next.rms)
        );
        facts.push(("second best", text));
    }
    if !inference.alike.is_empty() {
        let text = format!("{} more graphs explain the entries about as well", inference.alike.len());
        facts.push(("alike", text));
    }
    facts.extend(inference.remarks.iter().map(|remark| ("note", remark.clone())));
    facts
}

fn unit(unit: Unit) -> String {
    if unit.name().is_empty() { String::new() } else { format!(" {}", unit.name()) }
}

fn probability(probability: f64) -> String {
    /// Nearer to 1 the model itself is the greater doubt.
    const NEAR_ONE: f64 = 0.999;
    match probability {
        near if near > NEAR_ONE => "over 99.9 %".to_owned(),
        small if small < 1.0 - NEAR_ONE => "under 0.1 %".to_owned(),
        other => format!("{:.1} %", other * 100.0),
    }
}

fn explanation(inference: &Inference) -> String {
    let unit = unit(inference.unit);
    let value = |value: f64| format!("{}{unit}", number::short(value));
    match &inference.explanation {
        Explanation::Snoops { probe, dram, hop } => {
            let mut said = format!("snoops are broadcast, a link costs {} one way", value(*hop));
            if let Some(probe) = probe {
                let _ = write!(said, "; a read that waits for probes takes {} and its links", value(*probe));
            }
            if let Some(dram) = dram {
                let _ = write!(said, "; one that waits for data takes {} and its links", value(*dram));
            }
            said
        }
        Explanation::Levels { levels } => {
            let named = number::joined(levels.iter().map(|level| value(*level)), ", ");
            format!("a level for each number of links: {named}")
        }
        Explanation::Mesh(mesh) if inference.members_are == Member::Cpus => of_mesh_of_groups(mesh, &value),
        Explanation::Mesh(mesh) => socket_words::mesh(mesh, &unit),
        Explanation::Groups { local, latencies, .. } => {
            let named = number::joined(latencies.iter().map(|latency| value(*latency)), ", ");
            let own =
                local.map_or_else(String::new, |local| format!("{} of a node's own memory; ", value(local)));
            format!("{own}groups, from the innermost outwards: {named}")
        }
        Explanation::Flat { local: Some(local), remote: Some(remote) }
            if (remote - local).abs() > f64::EPSILON =>
        {
            format!("{} of a node's own memory, {} of any other", value(*local), value(*remote))
        }
        Explanation::Flat { local, .. } => local
            .map_or_else(|| "unknown".to_owned(), |all| format!("the mean of all entries is {}", value(all))),
    }
}

/// Lines go from group to group here: no entry is a read of memory.
fn of_mesh_of_groups(mesh: &Mesh, value: &dyn Fn(f64) -> String) -> String {
    let (columns, each) = (mesh.columns, value(mesh.column_step));
    let step = |step: f64| value(mesh.base + step);
    let neighbours = step(mesh.column_step);
    match mesh.row_step {
        Some(row) => format!(
            "{columns} by {} groups: {neighbours} between neighbours in a row, {} in a column; each further column adds {each}, each row {}",
            mesh.rows,
            step(row),
            value(row)
        ),
        None => format!(
            "{columns} groups in a row: {neighbours} between neighbours; each further column adds {each}"
        ),
    }
}

/// The links as a picture; none without any.
fn picture(inference: &Inference) -> Option<Drawn> {
    let graph =
        Graph::of_numbered(&inference.nodes, &inference.edges).filter(|_| !inference.edges.is_empty())?;
    let picture = GraphPicture {
        title: inference.verdict.name().to_owned(),
        graph,
        names: inference.nodes.iter().map(u32::to_string).collect(),
        notes: vec![String::new(); inference.nodes.len()],
        reads: None,
    };
    Some(sockets::graph(&picture, "inferred-links"))
}

#[cfg(test)]
mod tests {
    use models::interconnect::{infer, read_matrix};

    use super::*;
    use crate::Terminal;

    fn text(csv: &str) -> String {
        let inference = infer(&read_matrix(csv).expect("a matrix").matrix);
        let text = inferred_links_page(&inference, "a\u{1b}[31mtest").terminal(Terminal::default(), true);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_diamond_is_named_with_its_runner_up_and_nothing_steers_the_terminal() {
        let said = text("138,138,138,146\n138,102,120,138\n138,120,102,138\n146,138,138,138\n");
        assert!(said.contains("identified") && said.contains("0-1 0-2 1-2 1-3 2-3"), "{said}");
        assert!(said.contains("second best") && !said.contains('\u{1b}'), "{said}");
    }

    /// CPUs in groups of four: a latency for each two groups, the same within all, and pairs that scatter by `scatter`.
    fn of_groups(between: [[f64; 4]; 4], scatter: f64) -> String {
        let entry = |one: usize, other: usize| {
            let sign = if (one + other).is_multiple_of(2) { 1.0 } else { -1.0 };
            let latency = between[one / 4][other / 4] * (1.0 + sign * scatter);
            if one == other { String::new() } else { latency.to_string() }
        };
        let row = |one: usize| (0..16).map(|other| entry(one, other)).collect::<Vec<_>>().join(",");
        text(&(0..16).map(row).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn lines_between_groups_are_no_reads_of_memory_and_the_mean_error_is_no_more_than_the_greatest() {
        let square = [
            [40.0, 150.0, 152.0, 202.0],
            [150.0, 40.0, 202.0, 152.0],
            [152.0, 202.0, 40.0, 150.0],
            [202.0, 152.0, 150.0, 40.0],
        ];
        let said = of_groups(square, 0.03);
        assert!(said.contains("Links identified") && said.contains("2 by 2 groups: 15"), "{said}");
        assert!(!said.contains("memory") && !said.contains("cluster"), "{said}");
        // 3 % of 150 to 202 ns.
        assert!(said.contains("ns root mean square, 3."), "{said}");
    }

    #[test]
    fn equally_far_groups_are_no_chance_among_entries() {
        let mesh = [0, 1, 2, 3].map(|one| [0, 1, 2, 3].map(|other| if one == other { 40.0 } else { 130.0 }));
        let said = of_groups(mesh, 0.02);
        assert!(said.contains("Links not identifiable: 4 groups: latencies between them"), "{said}");
        assert!(said.contains("groups, from the innermost outwards: 39.7 ns, 130 ns"), "{said}");
        let three = text("# nodes: 0 1 2\n0,12.5,30.1\n12.5,0,30.0\n30.1,30.0,0\n");
        assert!(
            three.contains("explain the entries, which are 12.5 to 30.1") && !three.contains("chance"),
            "{three}"
        );
    }

    #[test]
    fn groups_of_two_kinds_have_a_latency_each() {
        let kind = |cpu: usize| if cpu < 12 { (cpu / 2, 9.0) } else { (4 + cpu / 4 * 2, 30.0) };
        let entry = |one: usize, other: usize| match (kind(one), kind(other)) {
            _ if one == other => String::new(),
            ((one, within), (other, _)) if one == other => within.to_string(),
            _ => "50".to_owned(),
        };
        let row = |one: usize| (0..20).map(|other| entry(one, other)).collect::<Vec<_>>().join(",");
        let said = text(&(0..20).map(row).collect::<Vec<_>>().join("\n"));
        assert!(said.contains("6 groups of 2 CPUs (threads of a core): 9 ns within; 2 groups of 4 CPUs (cores of a cache, a die or a socket): 30 ns within, 50 ns between; clear"), "{said}");
    }

    #[test]
    fn what_shows_no_links_names_none() {
        let said = text("# unit: distance\n10,20,20,20\n20,10,20,20\n20,20,10,20\n20,20,20,10\n");
        assert!(said.contains("not identifiable") && !said.contains("0-1"), "{said}");
        assert!(text("80").contains("one node has no links"));
    }
}

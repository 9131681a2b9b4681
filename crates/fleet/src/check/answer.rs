//! What a check amounts to in a sentence, and what else there is to know.

use machine::counted;
use record::{FleetCheck, FleetLevel, FleetStatus, FleetSuspect, FleetVerdict, seconds_of_utc};
use stats::text::{first_few, joined, signed_percent};

use super::node::Node;
use super::tables::Tables;
use super::{FEWEST_NODES, is_rare};

/// Names in a sentence.
const NAMES: usize = 4;
/// Clocks of nodes may differ by this many days before it is noted.
const CLOCK_DAYS: u64 = 30;
const DAY_S: u64 = 86_400;

pub(super) fn sentence(check: &FleetCheck) -> String {
    let nodes = counted(check.nodes.len(), "node");
    match check.verdict {
        FleetVerdict::CannotTell => {
            let most = check.strata.iter().map(|stratum| stratum.quiet_nodes).max().unwrap_or(0);
            format!(
                "undetermined: {nodes}; a check needs {FEWEST_NODES} quiet ones of one CPU model and preset, and found {most}"
            )
        }
        FleetVerdict::Uniform => {
            let metrics = check.strata.iter().map(|stratum| stratum.metrics).max().unwrap_or(0);
            format!(
                "no odd node among {nodes} by {}, and no factor explains a difference",
                counted(metrics, "metric")
            )
        }
        FleetVerdict::Odd => {
            let rare = check.minorities.iter().filter(|one| is_rare(one)).count();
            let states = (rare > 0).then(|| format!("{} of a few nodes", counted(rare, "state")));
            let parts = [suspects(&check.suspects, &nodes), levels(&check.levels), states];
            let parts = joined(parts.into_iter().flatten(), "; ");
            if check.suspects.is_empty() { format!("{nodes}: {parts}") } else { parts }
        }
    }
}

fn suspects(suspects: &[FleetSuspect], nodes: &str) -> Option<String> {
    let first = suspects.first()?;
    let counts = [FleetStatus::Confirmed, FleetStatus::Suspect, FleetStatus::NotSeenAgain].map(|status| {
        let count = suspects.iter().filter(|one| one.status == status).count();
        (count > 0).then(|| format!("{count} {}", status.words()))
    });
    let counts = joined(counts.into_iter().flatten(), ", ");
    let by = signed_percent(first.worse_percent);
    let metrics = counted(first.metrics, "metric");
    Some(format!("{counts} of {nodes}, first {} ({by} on {metrics})", first.node))
}

fn levels(levels: &[FleetLevel]) -> Option<String> {
    let first = levels.first()?;
    let by = signed_percent(first.worse_percent);
    let tied = first.tied.first().map_or_else(String::new, |tied| format!(" or {tied}"));
    let more = if levels.len() > 1 { format!(" (and {} more)", levels.len() - 1) } else { String::new() };
    let (factor, level, metrics) = (&first.factor, &first.level, counted(first.metrics, "metric"));
    Some(format!("{factor}={level}{tied} explains {by} on {metrics}{more}"))
}

pub(super) fn notes(tables: &Tables, check: &FleetCheck) -> Vec<String> {
    let named = |is: &dyn Fn(&Node) -> bool| -> Vec<&str> {
        tables.nodes.iter().filter(|node| is(node)).map(|node| node.row.node.as_str()).collect()
    };
    let day = |node: &Node| Some(seconds_of_utc(&node.row.run.started_utc)? / DAY_S);
    let mut known: Vec<u64> = tables.nodes.iter().filter_map(day).collect();
    known.sort_unstable();
    let middle = known.get(known.len() / 2).copied().unwrap_or_default();
    let is_apart = |node: &Node| day(node).is_none_or(|day| day.abs_diff(middle) > CLOCK_DAYS);
    let missing: Vec<&str> = tables.missing.iter().map(String::as_str).collect();
    let has_places = tables.nodes.iter().any(|node| node.rack.is_some() || node.slot.is_some());
    let mut notes = Vec::new();
    let mut note = |names: &[&str], text: &str| {
        if !names.is_empty() {
            notes.push(format!("{} {text}: {}", counted(names.len(), "node"), first_few(names, NAMES)));
        }
    };
    note(&missing, "of the inventory without a check-up");
    if has_places {
        note(&named(&|node| node.rack.is_none() && node.slot.is_none()), "without a place in the inventory");
    }
    note(
        &named(&|node| node.is_two_machines),
        "whose name two machines have: their hardware differs between records",
    );
    note(&named(&|node| node.row.partial.is_some()), "whose check-up stopped early; what it measured counts");
    note(&named(&is_apart), &format!("whose clock is {CLOCK_DAYS} days and more from the others'"));
    let several = tables.nodes.iter().filter(|node| node.runs > 1).count();
    if several > 0 {
        notes
            .push(format!("{} with several check-ups, of which the latest counts", counted(several, "node")));
    }
    for stratum in check.strata.iter().filter(|stratum| stratum.wide_metrics.is_none()) {
        let (nodes, quiet) = (counted(stratum.nodes, "node"), stratum.quiet_nodes);
        let (model, preset, set) = (&stratum.cpu_model, &stratum.preset, stratum.kernel_set_version);
        notes.push(format!(
            "too few to be compared: {nodes} ({quiet} quiet) of {model}, {preset}, kernel set {set}; {FEWEST_NODES} are needed"
        ));
    }
    let skipped: usize = check.strata.iter().map(|stratum| stratum.metrics_skipped).sum();
    if skipped > 0 {
        notes.push(format!(
            "{} not judged: they do not vary, or too few nodes have them",
            counted(skipped, "metric")
        ));
    }
    notes
}

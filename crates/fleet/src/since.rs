//! What changed with a change: nodes that changed one thing, against nodes that changed nothing at the same time.
//!
//! An event study: each node's difference across the change, less the median difference of matched nodes of its stratum (rack
//! first). Intervals by the bootstrap over nodes, or over racks where there are enough of them. What else changed at the same boot
//! is told. A coincidence in time is no cause: that needs arms drawn at random.

use std::collections::BTreeMap;
use std::io::BufRead;

use machine::counted;
use record::{FLEET_CHECK_SCHEMA, FleetCoincidence, FleetEffect, FleetSince};
use regex::Regex;
use serde::Deserialize;
use stats::text::signed_percent;
use stats::{clustered_median, median};

use crate::check::{Lines, TableError};

/// Nodes on either side that an answer needs.
pub const FEWEST_NODES: usize = 30;
/// From this many racks on whole racks are drawn.
const FEWEST_RACKS: usize = 10;
/// All intervals together hold with this probability.
const LEVEL: f64 = 0.95;
/// Seed of the bootstrap: the same rows give the same intervals.
const SEED: u64 = 24;
/// Metrics that are listed without --metric.
const METRICS: usize = 10;
/// Differences smaller than this share mean nothing.
const MARGIN: f64 = 0.005;
/// Values named of a factor that never has the one asked for.
const LEVELS_NAMED: usize = 6;

/// A change of one factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The factor, such as `microcode`.
    pub factor: String,
    /// Its value before.
    pub old: String,
    /// Its value after.
    pub new: String,
}

impl std::str::FromStr for Change {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "write FACTOR=OLD:NEW, such as microcode=0xa0011d1:0xa0011d5";
        let (factor, values) = text.split_once('=').ok_or(FORM)?;
        let (old, new) = values.split_once(':').ok_or(FORM)?;
        if [factor, old, new].iter().any(|part| part.is_empty()) || old == new {
            return Err(FORM);
        }
        Ok(Self { factor: factor.to_owned(), old: old.to_owned(), new: new.to_owned() })
    }
}

#[derive(Debug, Default, Deserialize)]
struct Counts {
    changed: usize,
    mixed: usize,
    without_boot: usize,
    unmatched: usize,
    unchanged: usize,
    matches: usize,
    randomised: usize,
    levels: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Event {
    p: i64,
    node: String,
    rack: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Metric {
    key: String,
    family: String,
}

/// The tables of a study.
#[derive(Debug, Default)]
pub struct Study {
    counts: Counts,
    coincidences: Vec<FleetCoincidence>,
    events: Vec<Event>,
    metrics: Vec<Metric>,
    /// By event and metric, as a logarithm.
    differences: Vec<Vec<Option<f64>>>,
}

impl Study {
    /// Reads what DuckDB prints.
    ///
    /// # Errors
    /// It is not what the script prints.
    pub fn read(input: impl BufRead) -> Result<Self, TableError> {
        let mut lines = Lines::new(input)?;
        let mut all = Self::default();
        while lines.table() != "end" {
            match lines.table().to_owned().as_str() {
                "counts" => all.counts = lines.objects()?.pop().unwrap_or_default(),
                "coincidences" => all.coincidences = lines.objects()?,
                "events" => all.events = lines.objects()?,
                "metrics" => all.metrics = lines.objects()?,
                "differences" => {
                    let places: BTreeMap<i64, usize> =
                        all.events.iter().enumerate().map(|(place, event)| (event.p, place)).collect();
                    let mut differences = vec![vec![None; all.metrics.len()]; all.events.len()];
                    lines.numbers(|[p, metric, millionths]| {
                        let of_event = &mut differences[*places.get(&p)?];
                        *of_event.get_mut(usize::try_from(metric).ok()?)? = Some(millionths as f64 * 1e-6);
                        Some(())
                    })?;
                    all.differences = differences;
                }
                other => return Err(TableError::unknown(other)),
            }
        }
        Ok(all)
    }
}

/// Judges a study; `metric` chooses the metrics that are listed.
pub fn judge(study: &Study, change: &Change, metric: Option<&Regex>) -> FleetSince {
    let counts = &study.counts;
    let mut found = FleetSince {
        schema: FLEET_CHECK_SCHEMA,
        change: [change.factor.clone(), change.old.clone(), change.new.clone()],
        changed_nodes: counts.changed - counts.unmatched.min(counts.changed),
        unchanged_nodes: counts.unchanged,
        mixed_nodes: counts.mixed,
        without_boot: counts.without_boot,
        is_randomised: counts.matches > 0 && counts.randomised == counts.matches,
        coincidences: study.coincidences.clone(),
        ..FleetSince::default()
    };
    if counts.unmatched > 0 {
        let nodes = counted(counts.unmatched, "node");
        found.notes.push(format!(
            "{nodes} changed, and fewer than 3 nodes like it were measured at the same times; not used"
        ));
    }
    let clusters = clusters(study);
    (found.unit, found.undetermined) = (clusters.0.to_owned(), undetermined(study, change, &found));
    if found.undetermined.is_none() {
        found.effects = effects(study, &clusters.1, metric);
    }
    found.sentence = sentence(&found);
    found
}

/// Why there is no answer; `None` if there is one.
fn undetermined(study: &Study, change: &Change, found: &FleetSince) -> Option<String> {
    let Change { factor, old, new } = change;
    let levels = study.counts.levels.as_deref().unwrap_or_default();
    if levels.is_empty() {
        return Some(format!("no record has the factor {factor}"));
    }
    if let Some(unknown) = [old, new].into_iter().find(|value| !levels.contains(value)) {
        let some: Vec<&str> = levels.iter().take(LEVELS_NAMED).map(String::as_str).collect();
        return Some(format!("{factor} is never {unknown}; it is {}", some.join(", ")));
    }
    if found.changed_nodes >= FEWEST_NODES && found.unchanged_nodes >= FEWEST_NODES {
        return None;
    }
    let first = found.coincidences.first().filter(|_| found.mixed_nodes > 0);
    Some(match first {
        Some(other) => format!(
            "cannot be distinguished from {}, which changed at the same boot on {} of {}",
            other.factor,
            other.nodes,
            counted(other.of_nodes, "node")
        ),
        None => format!(
            "{} changed it alone and {} at the same times changed nothing; {FEWEST_NODES} of each are needed",
            counted(found.changed_nodes, "node"),
            found.unchanged_nodes
        ),
    })
}

/// What is drawn: racks if there are enough, else nodes; and the events of each.
fn clusters(study: &Study) -> (&'static str, Vec<Vec<usize>>) {
    let by = |name: &dyn Fn(&Event) -> String| {
        let mut clusters: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, event) in study.events.iter().enumerate() {
            clusters.entry(name(event)).or_default().push(place);
        }
        clusters.into_values().collect::<Vec<_>>()
    };
    let racks = by(&|event| event.rack.clone().unwrap_or_default());
    let are_known = study.events.iter().all(|event| event.rack.is_some());
    if are_known && racks.len() >= FEWEST_RACKS {
        ("racks", racks)
    } else {
        ("nodes", by(&|event| event.node.clone()))
    }
}

fn effects(study: &Study, clusters: &[Vec<usize>], metric: Option<&Regex>) -> Vec<FleetEffect> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, metric) in study.metrics.iter().enumerate() {
        groups.entry(&metric.family).or_default().push(index);
    }
    let mut groups: Vec<(&str, Vec<usize>)> = groups.into_iter().collect();
    let mut single: Vec<(&str, Vec<usize>)> =
        study.metrics.iter().enumerate().map(|(index, metric)| (metric.key.as_str(), vec![index])).collect();
    if let Some(metric) = metric {
        single.retain(|(key, _)| metric.is_match(key));
    } else {
        let size = |(_, metrics): &(&str, Vec<usize>)| centre(study, metrics).map_or(0.0, f64::abs);
        single.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.0.cmp(b.0)));
        single.truncate(METRICS);
    }
    let families = groups.len();
    groups.extend(single);
    // Bonferroni: all intervals hold together.
    let level = 1.0 - (1.0 - LEVEL) / groups.len().max(1) as f64;
    let effect = |(place, (name, metrics)): (usize, (&str, Vec<usize>))| {
        let worse = centre(study, &metrics)?;
        let values: Vec<Vec<f64>> = clusters
            .iter()
            .map(|events| events.iter().filter_map(|event| of_event(study, *event, &metrics)).collect())
            .collect();
        Some(FleetEffect {
            name: name.to_owned(),
            is_family: place < families,
            metrics: metrics.len(),
            worse_percent: 100.0 * worse.exp_m1(),
            interval: clustered_median(&values, level, SEED)
                .map(|interval| interval.map(|log| 100.0 * log.exp_m1())),
        })
    };
    groups.into_iter().enumerate().filter_map(effect).collect()
}

/// The median over these metrics of one event.
fn of_event(study: &Study, event: usize, metrics: &[usize]) -> Option<f64> {
    median(&metrics.iter().filter_map(|metric| study.differences[event][*metric]).collect::<Vec<_>>())
}

fn centre(study: &Study, metrics: &[usize]) -> Option<f64> {
    let events = (0..study.differences.len()).filter_map(|event| of_event(study, event, metrics));
    median(&events.collect::<Vec<_>>())
}

/// Whether an effect excludes all that means nothing.
pub fn is_certain(effect: &FleetEffect) -> bool {
    effect.interval.is_some_and(|interval| interval.low > 100.0 * MARGIN || interval.high < -100.0 * MARGIN)
}

fn sentence(found: &FleetSince) -> String {
    let [factor, old, new] = &found.change;
    let change = format!("{factor} {old} to {new}");
    if let Some(why) = &found.undetermined {
        return format!("undetermined: {change}: {why}");
    }
    let word = if found.is_randomised { "because of" } else { "with" };
    let on = format!("{} changed, {} did not", counted(found.changed_nodes, "node"), found.unchanged_nodes);
    let certain = || found.effects.iter().filter(|effect| is_certain(effect));
    let size = |a: &&FleetEffect, b: &&FleetEffect| a.worse_percent.abs().total_cmp(&b.worse_percent.abs());
    let largest = certain().filter(|effect| effect.is_family).max_by(size).or_else(|| certain().max_by(size));
    if let Some(effect) = largest {
        let interval =
            effect.interval.map_or_else(String::new, |i| format!(" [{:+.1}, {:+.1}]", i.low, i.high));
        return format!(
            "{} {}{interval} {word} {change} ({on})",
            effect.name,
            signed_percent(effect.worse_percent)
        );
    }
    let ends = found.effects.iter().filter_map(|effect| effect.interval);
    let most = ends.fold(0.0_f64, |most, i| most.max(i.low.abs()).max(i.high.abs()));
    format!("no difference detected (smaller than {most:.1} %) {word} {change} ({on})")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn a_change_is_a_factor_and_two_values() {
        let change: Change = "microcode=0xa:0xb".parse().expect("a change");
        assert_eq!(
            (change.factor.as_str(), change.old.as_str(), change.new.as_str()),
            ("microcode", "0xa", "0xb")
        );
        for text in ["", "microcode", "microcode=a", "=a:b", "m=:b", "m=a:", "m=a:a"] {
            assert!(text.parse::<Change>().is_err(), "{text}");
        }
    }

    fn tables(nodes: usize, unchanged: usize, effect: i64) -> String {
        let mut text = format!(
            ":counts\n{{\"changed\":{nodes},\"mixed\":0,\"without_boot\":0,\"unmatched\":0,\"unchanged\":{unchanged},\"matches\":9,\
             \"randomised\":0,\"levels\":[\"a\",\"b\"]}}\n:coincidences\n:events\n"
        );
        for event in 0..nodes {
            let _ = writeln!(text, "{{\"p\":{event},\"node\":\"n{event}\",\"rack\":null}}");
        }
        text += ":metrics\n{\"key\":\"x cpu 0\",\"family\":\"memory latency\"}\n:differences\n";
        for event in 0..nodes {
            let step = i64::try_from(event % 7).expect("below 7") - 3;
            let _ = writeln!(text, "{event},0,{}", effect + step * 1000);
        }
        text + ":end\n"
    }

    fn since(nodes: usize, unchanged: usize, effect: i64) -> FleetSince {
        let study = Study::read(tables(nodes, unchanged, effect).as_bytes()).expect("tables");
        judge(&study, &"microcode=a:b".parse().expect("a change"), None)
    }

    #[test]
    fn an_effect_is_found_and_called_no_cause() {
        let found = since(40, 30, 30_000);
        assert!(found.sentence.starts_with("memory latency +3.0 % [+2"), "{}", found.sentence);
        assert!(
            found.sentence.contains(" with microcode a to b (40 nodes changed, 30 did not)"),
            "{}",
            found.sentence
        );
        let none = since(40, 30, 0).sentence;
        assert!(none.starts_with("no difference detected (smaller than 0."), "{none}");
    }

    #[test]
    fn few_nodes_and_unknown_values_have_no_answer() {
        assert!(since(29, 400, 30_000).sentence.contains("30 of each are needed"));
        assert!(since(40, 29, 30_000).effects.is_empty());
        let study = Study::read(tables(40, 40, 0).as_bytes()).expect("tables");
        let found = judge(&study, &"microcode=a:c".parse().expect("a change"), None);
        assert!(found.sentence.contains("microcode is never c; it is a, b"), "{}", found.sentence);
    }
}

//! One stratum judged: busy nodes set aside, levels peeled off, and the nodes that are odd beside what these explain.

use record::{FleetBusy, FleetCheck, FleetDeviation, FleetLevel, FleetStatus, FleetStratum, FleetSuspect};
use stats::{
    BEYOND_SPREADS, Crossing, Deviations, Explained, FEWEST_UNITS, Oddity, Outliers, median, peeled,
};

use super::node::Node;
use super::tables::Tables;
use super::{ALIKE, ALL_METRICS, FEWEST_NODES, node, repeats};

/// Metrics named of each finding.
const WORST: usize = 5;
/// Healthy nodes beside a suspect that is repeated.
const MATCHED: usize = 2;
/// Nodes on either side where a level is repeated: five against five can have a p of 0.008.
const REPEATED: usize = 5;
/// A node whose shares are not known is taken to be busy if its numbers scatter this many times more than those of the others,
const SCATTER: f64 = 2.0;
/// and are worse by this many spreads in the median,
const SCATTERED_WORSE: f64 = 1.0;
/// over at least so many metrics.
const SCATTERED_METRICS: usize = 20;

/// A stratum with its nodes and metrics by their places in it.
pub(super) struct Judged<'t> {
    index: usize,
    tables: &'t Tables,
    deviations: Deviations,
    /// Indices into the tables, by place.
    nodes: Vec<usize>,
    metrics: Vec<usize>,
}

/// Percent more of what a unit of work costs.
fn percent(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

impl<'t> Judged<'t> {
    pub(super) fn new(index: usize, tables: &'t Tables, deviations: Deviations) -> Self {
        let nodes = (0..tables.nodes.len()).filter(|node| tables.nodes[*node].stratum == index).collect();
        let metrics =
            (0..tables.metrics.len()).filter(|metric| tables.metrics[*metric].stratum == index).collect();
        Self { index, tables, deviations, nodes, metrics }
    }

    fn node(&self, place: usize) -> &'t Node {
        &self.tables.nodes[self.nodes[place]]
    }

    /// Judges it, and adds what it finds.
    pub(super) fn judge(mut self, check: &mut FleetCheck) {
        let quiet: Vec<bool> = (0..self.nodes.len()).map(|place| !self.node(place).is_busy).collect();
        self.centre(&quiet);
        let scatter = self.scatter(&quiet);
        let counts: Vec<bool> = quiet.iter().zip(&scatter).map(|(quiet, s)| *quiet && s.is_none()).collect();
        self.describe(check);
        let quiet_nodes = counts.iter().filter(|counts| **counts).count();
        let judged = (0..self.metrics.len()).filter(|m| self.deviations.spread(*m) > 0.0).count();
        let mut stratum = FleetStratum {
            nodes: self.nodes.len(),
            quiet_nodes,
            metrics: judged,
            metrics_skipped: self.metrics.len() - judged,
            ..self.tables.strata[self.index].clone()
        };
        if quiet_nodes >= FEWEST_NODES {
            let levels = self.levels();
            let families = self.families(check);
            let explained = self.peel(&levels, &counts, &families);
            let found = self.deviations.outliers(&counts, &families);
            (stratum.wide_metrics, stratum.narrow_spreads) =
                (Some(found.wide_metrics.clone()), Some(found.narrow_spreads));
            self.add_levels(check, &levels, &explained, &counts, &found);
            self.add_suspects(check, &counts, &found);
            for (place, node) in self.nodes.iter().enumerate() {
                check.nodes[*node].beyond = found.beyond[place];
            }
        }
        self.add_busy(check, &scatter);
        check.strata.push(stratum);
    }

    fn centre(&mut self, counts: &[bool]) {
        (0..self.metrics.len()).for_each(|metric| self.deviations.centre(metric, counts, FEWEST_NODES));
    }

    /// The family of each metric, as a place in the document's; those beyond its last share one.
    fn families(&self, check: &FleetCheck) -> Vec<usize> {
        let place = |metric: &usize| {
            let family = &self.tables.metrics[*metric].family;
            check
                .families
                .iter()
                .position(|name| name == family)
                .unwrap_or(check.families.len())
                .saturating_sub(1)
        };
        self.metrics.iter().map(place).collect()
    }

    /// By node how many times more its numbers scatter than those of others, where they look disturbed and nothing is known of
    /// what else ran.
    fn scatter(&self, quiet: &[bool]) -> Vec<Option<f64>> {
        let of = |place: usize| {
            let known = (0..self.metrics.len()).filter_map(|m| self.deviations.in_spreads(m, place));
            let known: Vec<f64> = known.map(f64::from).collect();
            let spread = stats::robust_standard_deviation(&known)?;
            (known.len() >= SCATTERED_METRICS).then_some((spread, median(&known)?))
        };
        let all: Vec<Option<(f64, f64)>> = (0..self.nodes.len()).map(of).collect();
        let usual: Vec<f64> = all
            .iter()
            .zip(quiet)
            .filter(|(_, quiet)| **quiet)
            .filter_map(|(one, _)| Some(one.as_ref()?.0))
            .collect();
        let usual = median(&usual).unwrap_or(0.0);
        let disturbed = |(place, one): (usize, &Option<(f64, f64)>)| {
            let (spread, worse) = (*one)?;
            let node = self.node(place);
            // A guest does not see who else is at work on its host.
            let is_unknown = (node.row.run.others_share.is_none() || node.row.fact("hypervisor").is_some())
                && !node.is_busy;
            let is_disturbed = spread > SCATTER * usual && worse > SCATTERED_WORSE && usual > 0.0;
            (is_unknown && is_disturbed).then(|| spread / usual)
        };
        all.iter().enumerate().map(disturbed).collect()
    }

    /// Deviations of each node by family, before anything is explained.
    fn describe(&self, check: &mut FleetCheck) {
        let family = |metric: &usize| self.tables.metrics[self.metrics[*metric]].family.as_str();
        let of_family: Vec<Vec<usize>> = check
            .families
            .iter()
            .map(|name| {
                (0..self.metrics.len()).filter(|m| name == ALL_METRICS || name == family(m)).collect()
            })
            .collect();
        for (place, node) in self.nodes.iter().enumerate() {
            let of = |metrics: &Vec<usize>| {
                let known = metrics.iter().filter_map(|metric| self.deviations.known(*metric, place));
                median(&known.map(f64::from).collect::<Vec<_>>()).map(percent)
            };
            check.nodes[*node].deviation_percent = of_family.iter().map(of).collect();
        }
    }

    /// The levels of this stratum: indices into the tables, and nodes by place. Of levels with the same nodes only the first is
    /// tried; the others are named as tied.
    fn levels(&self) -> Vec<(usize, Vec<u32>)> {
        let mut seen = std::collections::BTreeSet::new();
        let own =
            (0..self.tables.levels.len()).filter(|level| self.tables.levels[*level].stratum == self.index);
        let placed = own.map(|level| {
            let places =
                self.tables.levels[level].nodes.iter().map(|n| self.tables.node_places[*n as usize] as u32);
            (level, places.collect::<Vec<u32>>())
        });
        placed.filter(|(_, places)| seen.insert(places.clone())).collect()
    }

    /// Subtracts what levels explain. Odd nodes stay out, unless they are most of a level.
    fn peel(&mut self, levels: &[(usize, Vec<u32>)], counts: &[bool], families: &[usize]) -> Vec<Explained> {
        let first = self.deviations.outliers(counts, families);
        let mut is_aside: Vec<bool> = first.odd.iter().map(Option::is_some).collect();
        for (_, places) in levels {
            let (odd, all) = (
                places.iter().filter(|place| first.odd[**place as usize].is_some()).count(),
                places.iter().filter(|place| counts[**place as usize]).count(),
            );
            if odd >= FEWEST_UNITS && 2 * odd >= all {
                for place in places {
                    is_aside[*place as usize] = false;
                }
            }
        }
        let counted: Vec<bool> =
            counts.iter().zip(&is_aside).map(|(counts, aside)| *counts && !aside).collect();
        let sets: Vec<Vec<u32>> = levels.iter().map(|(_, places)| places.clone()).collect();
        peeled(&mut self.deviations, &sets, &counted, FEWEST_NODES)
    }

    fn deviation(&self, metric: usize, log: f64) -> FleetDeviation {
        let about = &self.tables.metrics[self.metrics[metric]];
        FleetDeviation {
            metric: about.key.clone(),
            family: about.family.clone(),
            worse_percent: percent(log),
        }
    }

    fn name(&self, level: usize) -> String {
        format!("{}={}", self.tables.levels[level].factor, self.tables.levels[level].name)
    }

    fn add_levels(
        &self,
        check: &mut FleetCheck,
        levels: &[(usize, Vec<u32>)],
        explained: &[Explained],
        counts: &[bool],
        found: &Outliers,
    ) {
        let of_nodes = counts.iter().filter(|counts| **counts).count();
        for (rank, one) in explained.iter().enumerate() {
            let (level, places) = &levels[one.level];
            let about = &self.tables.levels[*level];
            let mut hits = one.hits.clone();
            hits.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            let before = explained[..rank].iter().filter(|other| {
                let (_, others) = &levels[other.level];
                !Crossing::of(others, places).is_separable()
            });
            let confounded = before.map(|other| self.name(levels[other.level].0)).collect();
            let healthy = |place: &usize| counts[*place] && found.odd[*place].is_none();
            let mut level = FleetLevel {
                factor: about.factor.clone(),
                level: about.name.clone(),
                stratum: self.index,
                status: FleetStatus::Suspect,
                nodes: one.units,
                of_nodes,
                metrics: one.hits.len(),
                of_metrics: one.tested,
                worse_percent: percent(one.effect()),
                worst: hits.iter().take(WORST).map(|(metric, log)| self.deviation(*metric, *log)).collect(),
                tied: self.tied(*level, places),
                confounded,
                repeat_on: self.repeat_on(check, places, &healthy),
                repeat: None,
            };
            let keys: Vec<&str> =
                hits.iter().map(|(m, _)| self.tables.metrics[self.metrics[*m]].key.as_str()).collect();
            let members: Vec<&str> =
                places.iter().map(|place| self.node(*place as usize).row.node.as_str()).collect();
            repeats::of_level(self.tables, &members, &keys, &mut level);
            check.levels.push(level);
        }
    }

    /// Levels of other factors with nearly the same nodes.
    fn tied(&self, level: usize, places: &[u32]) -> Vec<String> {
        let own: Vec<u32> = places.iter().map(|place| self.nodes[*place as usize] as u32).collect();
        let others = (0..self.tables.levels.len()).filter(|other| {
            let (one, other) = (&self.tables.levels[level], &self.tables.levels[*other]);
            other.stratum == one.stratum && other.factor != one.factor
        });
        let alike = others.filter(|other| {
            let members = &self.tables.levels[*other].nodes;
            members.len() < 2 * own.len() && Crossing::of(members, &own).likeness() >= ALIKE
        });
        alike.map(|other| self.name(other)).collect()
    }

    /// Healthy nodes of a level, spread over it, and for each the nearest healthy one outside.
    fn repeat_on(
        &self,
        check: &FleetCheck,
        places: &[u32],
        healthy: &dyn Fn(&usize) -> bool,
    ) -> [Vec<String>; 2] {
        let inside: Vec<usize> =
            places.iter().map(|place| *place as usize).filter(|place| healthy(place)).collect();
        let step = inside.len().div_ceil(REPEATED).max(1);
        let mut outside: Vec<usize> = (0..self.nodes.len())
            .filter(|place| healthy(place) && places.binary_search(&(*place as u32)).is_err())
            .collect();
        let mut pairs = [Vec::new(), Vec::new()];
        for place in inside.into_iter().step_by(step) {
            let Some(other) = self.nearest(check, place, &outside).first().copied() else { break };
            outside.retain(|one| *one != other);
            pairs[0].push(self.node(place).row.node.clone());
            pairs[1].push(self.node(other).row.node.clone());
        }
        pairs
    }

    /// The nearest of these places, those in the same rack first.
    fn nearest(&self, check: &FleetCheck, place: usize, others: &[usize]) -> Vec<usize> {
        let of = |place: usize| &check.nodes[self.nodes[place]].place;
        let key = |other: &usize| (node::distance(of(place), of(*other)), *other);
        let mut near: Vec<usize> = others.iter().copied().filter(|other| *other != place).collect();
        if near.len() > MATCHED {
            near.select_nth_unstable_by_key(MATCHED, key);
            near.truncate(MATCHED);
        }
        near.sort_by_key(key);
        near
    }

    fn add_suspects(&self, check: &mut FleetCheck, counts: &[bool], found: &Outliers) {
        let healthy: Vec<usize> =
            (0..self.nodes.len()).filter(|place| counts[*place] && found.odd[*place].is_none()).collect();
        for (place, odd) in found.odd.iter().enumerate().filter_map(|(place, odd)| Some((place, (*odd)?))) {
            let limit = match odd {
                Oddity::Wide => f64::from(BEYOND_SPREADS),
                Oddity::Narrow => found.narrow_spreads,
            };
            let beyond = |metric: usize| {
                let size = self.deviations.in_spreads(metric, place)?;
                let log = f64::from(self.deviations.known(metric, place)?);
                (f64::from(size.abs()) > limit).then_some((metric, size.abs(), log))
            };
            let mut hits: Vec<(usize, f32, f64)> = (0..self.metrics.len()).filter_map(beyond).collect();
            hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let of_metrics =
                (0..self.metrics.len()).filter(|m| self.deviations.known(*m, place).is_some()).count();
            let logs: Vec<f64> = hits.iter().map(|hit| hit.2).collect();
            let matched = self.nearest(check, place, &healthy).into_iter();
            let mut suspect = FleetSuspect {
                node: self.node(place).row.node.clone(),
                stratum: self.index,
                status: FleetStatus::Suspect,
                is_wide: odd == Oddity::Wide,
                metrics: hits.len(),
                of_metrics,
                worse_percent: median(&logs).map_or(0.0, percent),
                worst: hits
                    .iter()
                    .take(WORST)
                    .map(|(metric, _, log)| self.deviation(*metric, *log))
                    .collect(),
                shared: self.shared(&hits),
                matched: matched.map(|other| self.node(other).row.node.clone()).collect(),
                repeat: None,
            };
            let keys: Vec<&str> =
                hits.iter().map(|hit| self.tables.metrics[self.metrics[hit.0]].key.as_str()).collect();
            repeats::of_node(self.tables, &self.node(place).row.run.started_utc, &keys, &mut suspect);
            check.suspects.push(suspect);
        }
    }

    /// What all deviating metrics have in common and not all metrics have.
    fn shared(&self, hits: &[(usize, f32, f64)]) -> String {
        let about = |metric: usize| &self.tables.metrics[self.metrics[metric]];
        let Some(first) = hits.first().map(|hit| about(hit.0)) else { return String::new() };
        let of_socket = first.socket.filter(|socket| {
            hits.iter().all(|hit| about(hit.0).socket == Some(*socket))
                && (0..self.metrics.len()).any(|m| about(m).socket.is_some_and(|other| other != *socket))
        });
        let of_family = hits.iter().all(|hit| about(hit.0).family == first.family);
        let parts =
            [of_socket.map(|socket| format!("socket {socket}")), of_family.then(|| first.family.clone())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn add_busy(&self, check: &mut FleetCheck, scatter: &[Option<f64>]) {
        for (place, scatter) in scatter.iter().enumerate() {
            let node = self.node(place);
            if !node.is_busy && scatter.is_none() {
                continue;
            }
            check.nodes[self.nodes[place]].is_busy = true;
            let beyond = |m: &usize| {
                self.deviations.in_spreads(*m, place).is_some_and(|size| size.abs() > BEYOND_SPREADS)
            };
            check.busy.push(FleetBusy {
                node: node.row.node.clone(),
                others_share: node.row.run.others_share,
                steal_share: node.row.run.steal_share,
                metrics: (0..self.metrics.len()).filter(beyond).count(),
                scatter: *scatter,
            });
        }
    }
}

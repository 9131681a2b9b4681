//! Fitting the probes into the budget: shorter first, then fewer.

use stats::Order;

use super::{DroppedProbe, Options, Probe, Selection};
use crate::probe::Subject;

/// Time of a run besides its probes, in seconds: reading the machine (0.1), calibration (0.1), pinning and starting
/// threads, diagnosis, writing record and report (1 to 2 on a busy machine).
pub const OVERHEAD_S: f64 = 3.0;

/// The planner deals in tenths of a second.
const TENTHS: f64 = 10.0;

/// A probe that would like to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    pub(super) probe: Probe,
    pub(super) asked_s: f64,
    pub(super) least_s: f64,
}

/// The smallest budget in seconds with which anything of the selection can be measured.
pub fn smallest_budget_s(options: &Options) -> f64 {
    let chosen = Probe::all().filter(|probe| options.only.contains(*probe));
    OVERHEAD_S + chosen.map(|probe| probe.about().least_s).fold(f64::INFINITY, f64::min)
}

/// The probes that the user wants and the machine allows; of the others only those that the user wants get a reason.
pub(super) fn requests(
    subject: &Subject<'_>,
    only: &Selection,
    dropped: &mut Vec<DroppedProbe>,
) -> Vec<Request> {
    let cpu_count = subject.cpus.len();
    let mut requests = Vec::new();
    for probe in Probe::all().filter(|probe| only.contains(*probe)) {
        let about = probe.about();
        let mut drop = |reason: String| dropped.push(DroppedProbe { probe, reason });
        if cpu_count == 0 {
            drop("no CPU to measure on".to_owned());
        } else if let Some(reason) = (about.missing)(subject) {
            drop(reason.to_owned());
        } else if let Some(seconds) = subject.by_depth(about.seconds) {
            let more_s = (about.more_s)(subject);
            let asked_s = seconds + about.per_cpu_s * cpu_count.saturating_sub(2) as f64 + more_s;
            requests.push(Request { probe, asked_s, least_s: least_s(subject, probe).min(asked_s) });
        } else {
            let next = if about.seconds[1].is_some() { "the default check-up and --full" } else { "--full" };
            drop(format!("not in {}; it is in {next}", subject.depth.flag()));
        }
    }
    requests
}

/// The least time that a probe is given here, in seconds: what it says something with, and what it takes whatever its budget.
fn least_s(subject: &Subject<'_>, probe: Probe) -> f64 {
    let about = probe.about();
    (about.plan)(subject, about.least_s).worst_case_s().max(about.least_s)
}

/// The seconds of each: cuts all probes by the same share of what they can spare; drops the least important ones first if that is not enough.
pub(super) fn fit(
    mut requests: Vec<Request>,
    budget_s: f64,
    overhead_s: f64,
    dropped: &mut Vec<DroppedProbe>,
) -> Vec<(Request, f64)> {
    let available_s = (budget_s - overhead_s).max(0.0);
    let sum = |requests: &[Request], of: fn(&Request) -> f64| requests.iter().map(of).sum::<f64>();
    let mut by_rank: Vec<Probe> = Probe::all().collect();
    by_rank.order_by_key(|probe| probe.about().rank);
    for probe in by_rank.into_iter().rev() {
        if sum(&requests, |request| tenths_up(request.least_s)) <= available_s + f64::EPSILON {
            break;
        }
        if let Some(index) = requests.iter().position(|request| request.probe == probe) {
            let request = requests.remove(index);
            let reason = format!(
                "it needs at least {:.1} s, which the budget of {budget_s} s does not leave after more important \
                 probes; give more with --budget, or only this with --only {}",
                request.least_s,
                probe.name()
            );
            dropped.push(DroppedProbe { probe, reason });
        }
    }
    let (least_s, asked_s) =
        (sum(&requests, |request| tenths_up(request.least_s)), sum(&requests, |request| request.asked_s));
    let spare = if asked_s <= available_s { 1.0 } else { (available_s - least_s) / (asked_s - least_s) };
    requests
        .into_iter()
        .map(|request| {
            let least_s = tenths_up(request.least_s);
            let seconds = if spare >= 1.0 {
                request.asked_s
            } else {
                tenths_down(least_s + spare.max(0.0) * (request.asked_s - least_s).max(0.0)).max(least_s)
            };
            (request, seconds)
        })
        .collect()
}

fn tenths_up(seconds: f64) -> f64 {
    (seconds * TENTHS - 1e-6).ceil() / TENTHS
}

fn tenths_down(seconds: f64) -> f64 {
    (seconds * TENTHS + 1e-6).floor() / TENTHS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<Request> {
        let request = |name, asked_s, least_s| {
            let probe = Probe::all().find(|probe| probe.name() == name).expect("in the list");
            Request { probe, asked_s, least_s }
        };
        vec![request("control", 1.0, 0.5), request("surface", 10.0, 3.0), request("parallel", 5.0, 1.0)]
    }

    fn seconds(budget_s: f64) -> Vec<f64> {
        fit(requests(), budget_s, OVERHEAD_S, &mut Vec::new()).iter().map(|(_, seconds)| *seconds).collect()
    }

    #[test]
    fn what_fits_is_left_alone_and_what_does_not_shrinks_towards_its_least() {
        assert_eq!(seconds(OVERHEAD_S + 16.0), [1.0, 10.0, 5.0]);
        assert_eq!(seconds(OVERHEAD_S + 10.25), [0.7, 6.5, 3.0]);
        assert_eq!(seconds(OVERHEAD_S + 4.5), [0.5, 3.0, 1.0]);
    }

    #[test]
    fn the_least_important_goes_first_and_is_reported_why() {
        let mut dropped = Vec::new();
        fit(requests(), OVERHEAD_S + 4.0, OVERHEAD_S, &mut dropped);
        assert_eq!(dropped[0].probe.name(), "parallel");
        assert!(dropped[0].reason.contains("--only parallel"));
        assert!(seconds(0.0).is_empty());
    }
}

//! From the runs of all arms to what is recommended: nothing that the experiment does not show.

use record::{
    Better, DocumentHead, Ended, LopsidedGuard, PLACE_SCHEMA, PlaceArm, PlaceOutcome, PlacedThread, Sharing,
};
use stats::{Cell, Comparison, Interval, Verdict, holm, median, quantile_interval, sorted};

use super::arms::{ArmPlan, Arms, BEST, FACTORS, OS_AGAIN, is_tried};
use super::decision::Busy;
use crate::ab::outcome::{aa_control, aa_row, counts, failures, raw};
use crate::ab::{GuardSpec, RowSpec, TrialLog};
use stats::Factors;

/// An arm is recommended only with a q below this: of programs that do not care, fewer than one in fifty gets a
/// recommendation, before the margin, which makes it rarer.
const RECOMMENDED_Q: f64 = 0.02;
/// Predictions are printed in whole percents.
const PREDICTED_STEP_PERCENT: f64 = 1.0;

/// What is known before the first arm is run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgramProfile {
    /// The command, or the process.
    pub subject: String,
    /// CPUs that may be used.
    pub cpus: String,
    /// Threads that are placed.
    pub threads: Vec<Busy>,
    /// Threads that are left free.
    pub idle_threads: usize,
    /// Threads that are left alone, as they had or chose CPUs of their own.
    pub apart_threads: usize,
    /// Those of them that are busy.
    pub apart_busy: usize,
    /// Why its threads cannot be determined by what was seen of them.
    pub unseen: Option<String>,
    /// Who shares what.
    pub sharing: Option<Sharing>,
    /// 0.02 for 2 %.
    pub margin: f64,
    /// As far as it is known before.
    pub head: DocumentHead,
}

/// The document without any run: nothing to be placed, and why.
pub fn nothing_tried(setting: &ProgramProfile, arms: &Arms, why: &str) -> PlaceOutcome {
    let mut found = draft(setting, arms, &RowShown::default());
    found.arms.clear();
    found.head.sentence = format!("keep the kernel's placement: {why}");
    found
}

/// What the runs amount to.
pub fn outcome(
    trial_log: &TrialLog,
    rows: &[RowSpec],
    guards: &[GuardSpec],
    arms: &Arms,
    setting: &ProgramProfile,
) -> PlaceOutcome {
    let row = RowShown::of(rows.first());
    let mut found = draft(setting, arms, &row);
    let guarded = trial_log.trials.guarded(guards);
    let sign = if row.better == Better::Higher { -1.0 } else { 1.0 };
    let of_cell = |index: usize| Cell::all(FACTORS).nth(index).unwrap_or(Cell::BASELINE);
    let costs: Vec<Option<Comparison>> = (0..arms.plans.len())
        .map(|index| {
            let logs = trial_log.trials.baseline_logs(0, of_cell(index), &guarded);
            let costs: Vec<f64> = logs.iter().map(|log| sign * log).collect();
            let arms = arms.plans.len() - 1;
            let cost = Comparison::one_of_several(&costs, arms).filter(|_| index > 0)?;
            Some(cost.widened(trial_log.aa_control.widening))
        })
        .collect();
    let p: Vec<f64> = costs.iter().flatten().map(|cost| cost.p).collect();
    let mut q = holm(&p).into_iter();
    for (index, (arm, cost)) in found.arms.iter_mut().zip(&costs).enumerate() {
        let values = trial_log.trials.values_in(of_cell(index), 0, &guarded);
        (arm.value, arm.runs) = (median(&values), values.len());
        arm.interval = quantile_interval(&sorted(&values), 0.5);
        if let Some(cost) = cost {
            let q = q.next().unwrap_or(1.0);
            let percent = |ratio: f64| 100.0 * (if sign < 0.0 { 1.0 / ratio } else { ratio } - 1.0);
            arm.change_percent = Some(percent(cost.ratio));
            arm.change_interval =
                cost.interval.map(|ends| Interval::between(percent(ends.low), percent(ends.high)));
            (arm.p, arm.q) = (Some(cost.p), Some(q));
            arm.verdict = cost.verdict_in_family(setting.margin, q);
        }
    }
    let aa_rows = Factors::effects(FACTORS).into_iter().filter_map(|effect| {
        let logs: Vec<f64> =
            trial_log.trials.aa_logs(0, effect, &guarded).into_iter().filter(|log| log.is_finite()).collect();
        aa_row(&row.name, &format!("{effect:?}"), &logs)
    });
    predict_in_metric(&mut found);
    found.aa = aa_control(&trial_log.aa_control, aa_rows.collect(), trial_log.trials.blocks());
    found.pair_counts = counts(&trial_log.trials, &guarded, guards);
    let lopsided: Vec<String> =
        found.pair_counts.lopsided.iter().map(|guard| in_words(guard, &found.arms)).collect();
    found.head.notes.extend(lopsided);
    found.failures = failures(trial_log);
    found.ended = Some(trial_log.ended);
    found.raw = raw(trial_log);
    found.recommended = recommended(&found).map(|arm| arm.name.clone());
    found.head.sentence = sentence(&found);
    found
}

/// What a guard saw in some arms more than in others.
fn in_words(lopsided: &LopsidedGuard, arms: &[PlaceArm]) -> String {
    let trials = arms.iter().zip(&lopsided.trials).map(|(arm, trials)| format!("{trials} of {}", arm.name));
    format!(
        "{} was seen in some placements more than in others (runs: {}), which may be what they do: those runs count",
        lopsided.guard,
        trials.collect::<Vec<_>>().join(", ")
    )
}

/// Makes of the predicted change of the time one of the metric: of work done per time the inverse, and of another metric none.
fn predict_in_metric(found: &mut PlaceOutcome) {
    let is_time = found.metric == RowShown::default().name;
    let is_rate = !is_time && found.better == Better::Higher;
    if !is_time && !is_rate && found.predicted_by.take().is_some() {
        found.unpredicted = Some(format!(
            "predicted is what a placement does to the time, which does not tell what it does to {}",
            found.metric
        ));
    }
    if let Some(by) = found.predicted_by.as_mut().filter(|_| is_rate) {
        *by = format!(
            "{by}; {} is taken for work done per time, which changes as the inverse of the time",
            found.metric
        );
    }
    let in_metric = |percent: f64| {
        if is_rate { 100.0 * (1.0 / (1.0 + percent / 100.0).max(f64::MIN_POSITIVE) - 1.0) } else { percent }
    };
    for arm in &mut found.arms {
        let percent = arm.predicted_percent.filter(|_| is_time || is_rate).map(in_metric);
        let ends =
            arm.predicted_interval.map(|ends| Interval::between(in_metric(ends.low), in_metric(ends.high)));
        arm.predicted_interval = percent.zip(ends).map(|(percent, ends)| rounded_out(percent, ends));
        arm.predicted_percent = percent;
    }
}

/// The interval, as wide at least as whole percents tell numbers apart: arithmetic without chance is not without error.
fn rounded_out(percent: f64, ends: Interval) -> Interval {
    // Nothing loses more than all of it.
    let low = (percent - PREDICTED_STEP_PERCENT).max(f64::midpoint(percent, -100.0));
    Interval::between(ends.low.min(low), ends.high.max(percent + PREDICTED_STEP_PERCENT))
}

#[derive(Debug, Clone)]
struct RowShown {
    name: String,
    unit: String,
    better: Better,
}

impl Default for RowShown {
    fn default() -> Self {
        Self { name: "wall time".to_owned(), unit: "s".to_owned(), better: Better::Lower }
    }
}

impl RowShown {
    fn of(row: Option<&RowSpec>) -> Self {
        row.map_or_else(Self::default, |row| Self {
            name: row.name.clone(),
            unit: row.unit.clone(),
            better: row.better,
        })
    }
}

fn draft(setting: &ProgramProfile, arms: &Arms, row: &RowShown) -> PlaceOutcome {
    let best = arms.plans.iter().find(|plan| plan.name == BEST);
    let placed = |busy: &Busy| PlacedThread {
        process: busy.key.process,
        name: busy.key.name.clone(),
        nth: busy.key.nth,
        tid: Some(busy.thread),
        order: busy.order,
        cpu_share: busy.cpu_share,
        cpus: best.map(|plan| cpus_of(plan, busy)).unwrap_or_default(),
    };
    let arm = |plan: &ArmPlan| PlaceArm {
        same_as: plan.same_as.map(str::to_owned),
        cpus: if plan.arrangement.cpus.is_empty() {
            Vec::new()
        } else {
            setting.threads.iter().map(|busy| cpus_of(plan, busy)).collect()
        },
        predicted_percent: plan.predicted.map(|predicted| predicted.percent),
        predicted_interval: plan.predicted.map(|predicted| predicted.interval),
        ..PlaceArm::untried(plan.name, plan.what)
    };
    PlaceOutcome {
        head: DocumentHead {
            schema: PLACE_SCHEMA,
            margin_percent: 100.0 * setting.margin,
            elapsed_s: Some(0.0),
            ..setting.head.clone()
        },
        subject: setting.subject.clone(),
        cpus: setting.cpus.clone(),
        recommended: None,
        unseen: setting.unseen.clone(),
        threads: setting.threads.iter().map(placed).collect(),
        idle_threads: setting.idle_threads,
        apart_threads: setting.apart_threads,
        decision: arms.decision.clone(),
        predicted_by: arms.predicted_by.clone().ok(),
        unpredicted: arms.predicted_by.clone().err().filter(|why| !why.is_empty()),
        metric: row.name.clone(),
        unit: row.unit.clone(),
        better: row.better,
        arms: arms.plans.iter().map(arm).collect(),
        aa: record::AaControl::default(),
        pair_counts: record::PairCounts::default(),
        failures: Vec::new(),
        ended: None,
        sharing: setting.sharing.clone(),
        raw: Vec::new(),
    }
}

fn cpus_of(plan: &ArmPlan, busy: &Busy) -> String {
    plan.arrangement.of(&busy.key).map(ToString::to_string).unwrap_or_default()
}

/// The arm that gains most, of those that are shown to gain beyond the margin, but the computed best one if the other is not told
/// from it: equal placements under two names would be recommended by turns. None where the kernel against itself showed anything.
fn recommended(found: &PlaceOutcome) -> Option<&PlaceArm> {
    let is_sure = |arm: &&PlaceArm| arm.q.is_some_and(|q| q <= RECOMMENDED_Q);
    let is_alarm = |arm: &PlaceArm| arm.name == OS_AGAIN && is_sure(&arm);
    if found.aa.contaminated || found.arms.iter().any(is_alarm) {
        return None;
    }
    let gain = |arm: &PlaceArm| arm.change_percent.map_or(0.0, f64::abs);
    let is_shown = |arm: &&PlaceArm| arm.verdict == Verdict::Faster && is_tried(arm) && is_sure(arm);
    let shown: Vec<&PlaceArm> = found.arms.iter().filter(is_shown).collect();
    let most = shown.iter().copied().max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    let is_as_good = |arm: &PlaceArm| {
        arm.name == BEST
            && arm.change_interval.zip(most.change_percent).is_some_and(|(ends, most)| ends.contains(most))
    };
    Some(shown.into_iter().find(|arm| is_as_good(arm)).unwrap_or(most))
}

/// A rate that was nothing in most runs of each placement: such numbers have no ratio.
fn is_without_rate(found: &PlaceOutcome) -> bool {
    let mut values = found.arms.iter().filter_map(|arm| arm.value).peekable();
    found.better == Better::Higher && values.peek().is_some() && values.all(|value| value <= 0.0)
}

fn sentence(found: &PlaceOutcome) -> String {
    if let Some(arm) = recommended(found) {
        let change = arm.change_percent.unwrap_or(0.0);
        let way = if change < 0.0 { "less" } else { "more" };
        let ordered = |ends: Interval, change: f64| {
            if change < 0.0 { [-ends.high, -ends.low] } else { [ends.low, ends.high] }
        };
        let ends = arm.change_interval.map_or_else(String::new, |ends| {
            let [low, high] = ordered(ends, change);
            format!(" [{low:.1}, {high:.1}]")
        });
        let predicted = arm.predicted_percent.map_or_else(String::new, |predicted| {
            let way = if predicted < 0.0 { "less" } else { "more" };
            let ends = arm.predicted_interval.map_or_else(String::new, |ends| {
                let [low, high] = ordered(ends, predicted);
                format!(" [{low:.0}, {high:.0}]")
            });
            format!("; predicted {:.0} % {way}{ends}", predicted.abs())
        });
        return format!(
            "{} gives {:.1} % {way} {}{ends} than the kernel's own placement{predicted}",
            arm.name,
            change.abs(),
            found.metric
        );
    }
    let tried: Vec<&PlaceArm> = found.arms.iter().filter(|arm| is_tried(arm)).collect();
    let all = |verdict: Verdict| !tried.is_empty() && tried.iter().all(|arm| arm.verdict == verdict);
    let why = if found.ended == Some(Ended::Interrupted) {
        "it was ended before anything was shown"
    } else if found.ended == Some(Ended::Failing) {
        "too many runs failed"
    } else if is_without_rate(found) {
        "no progress was counted under any placement; the number has to rise with the work done"
    } else if found.aa.contaminated {
        "the kernel's placement differed from itself by more than chance, so nothing can be told"
    } else if all(Verdict::Equivalent) {
        "its placement does not matter within the margin"
    } else if tried.iter().any(|arm| arm.verdict == Verdict::Faster) {
        "what looks better is not sure enough to be recommended; more runs (--budget) may tell"
    } else if tried.iter().any(|arm| arm.verdict == Verdict::Inconclusive) {
        "nothing tried is shown to be better; more runs (--budget) may tell"
    } else {
        "nothing tried is better"
    };
    format!("keep the kernel's placement: {why}")
}

#[cfg(test)]
mod tests {
    use record::PlaceArm;

    use super::super::arms::OS;
    use super::super::arrangement::Arrangement;
    use super::*;

    fn experiment(metric: &str) -> PlaceOutcome {
        let plan = |name| ArmPlan {
            name,
            what: "",
            arrangement: Arrangement::default(),
            same_as: None,
            predicted: None,
        };
        let arms = Arms {
            plans: vec![plan(OS), plan("best")],
            decision: None,
            predicted_by: Ok("arithmetic".to_owned()),
        };
        let row = RowShown { name: metric.to_owned(), ..RowShown::default() };
        let mut found = draft(&ProgramProfile::default(), &arms, &row);
        found.arms[1].predicted_percent = Some(-50.0);
        found
    }

    #[test]
    fn the_computed_placement_is_recommended_where_another_is_not_distinguished_from_it() {
        let arm = |name: &str, change: f64, q: f64| PlaceArm {
            change_percent: Some(change),
            change_interval: Some(Interval::between(change - 3.0, change + 3.0)),
            q: Some(q),
            verdict: Verdict::Faster,
            ..PlaceArm::untried(name, "")
        };
        let check = |best: (f64, f64), pack: (f64, f64), expected: Option<&str>| {
            let mut found = experiment("wall time");
            found.arms =
                vec![PlaceArm::untried(OS, ""), arm(BEST, best.0, best.1), arm("pack", pack.0, pack.1)];
            assert_eq!(recommended(&found).map(|arm| arm.name.as_str()), expected, "{best:?} {pack:?}");
        };
        check((-22.6, 1e-6), (-23.8, 1e-5), Some(BEST));
        check((-22.6, 1e-6), (-27.0, 1e-5), Some("pack"));
        check((-22.6, 0.2), (-23.8, 1e-5), Some("pack"));
        check((-22.6, 0.2), (-23.8, 0.2), None);
    }

    #[test]
    fn what_is_predicted_is_the_metric_or_nothing() {
        let check = |metric: &str, better: Better, expected: Option<(f64, [f64; 2])>, described: &str| {
            let mut found = experiment(metric);
            found.better = better;
            found.arms[1].predicted_interval = Some(Interval::between(-60.0, -20.0));
            predict_in_metric(&mut found);
            let ends = expected.map(|(_, [low, high])| Interval::between(low, high));
            let arm = &found.arms[1];
            assert_eq!(
                (arm.predicted_percent, arm.predicted_interval),
                (expected.map(|(value, _)| value), ends)
            );
            let by = found.predicted_by.or(found.unpredicted).expect("something is said");
            assert!(by.contains(described), "{metric}: {by}");
        };
        check("wall time", Better::Lower, Some((-50.0, [-60.0, -20.0])), "arithmetic");
        check("progress", Better::Higher, Some((100.0, [25.0, 150.0])), "the inverse");
        check("metric", Better::Lower, None, "does not tell what it does to metric");
    }

    #[test]
    fn what_hides_any_difference_is_said_before_more_runs_are_advised() {
        let check = |value: f64, better: Better, ended: Ended, expected: &str| {
            let mut found = experiment("progress");
            (found.better, found.ended) = (better, Some(ended));
            found.arms.iter_mut().for_each(|arm| arm.value = Some(value));
            assert!(sentence(&found).contains(expected), "{}", sentence(&found));
        };
        check(0.0, Better::Higher, Ended::BudgetSpent, "no progress was counted under any placement");
        check(0.0, Better::Lower, Ended::BudgetSpent, "more runs (--budget) may tell");
        check(5.0, Better::Higher, Ended::BudgetSpent, "more runs (--budget) may tell");
        check(5.0, Better::Higher, Ended::Failing, "too many runs failed");
    }

    #[test]
    fn a_prediction_without_chance_has_an_interval_all_the_same() {
        for percent in [-99.9, -50.0, 0.0, 35.0, 300.0] {
            let ends = rounded_out(percent, Interval::between(percent, percent));
            assert!(
                ends.low > -100.0 && format!("{:+.0}", ends.low) != format!("{:+.0}", ends.high),
                "{ends:?}"
            );
        }
        let wide = Interval::between(10.0, 90.0);
        assert_eq!(rounded_out(35.0, wide), wide);
    }
}

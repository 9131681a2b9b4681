//! From the runs of a bill to its lines: what each setting costs, how sure that is, what all of it costs together, in one sentence.

use record::{
    BillAmount, BillAverage, BillEnded, BillEntry, BillPhase, BillProgram, BillSetting, BillSettingAverage,
    BillTurn, BillVerdict, ProgramBill,
};
use stats::{BlockEffect, BlockFit, Interval, Order};

use super::course::{CONFIDENCE, Course};

/// Four of five bills show a difference this many standard errors beyond the critical value.
const Z_OF_POWER: f64 = 0.84;
/// Mean of the size of a standard normal number: what noise alone makes of a symmetric difference.
const MEAN_SIZE_OF_NORMAL: f64 = 0.797_884_560_802_865_4;

/// The bill of one program, from all runs so far; `interrupted` if it was not led to its end.
pub fn program_bill(
    course: &Course,
    settings: &[BillSetting],
    about: &BillProgram,
    ended: BillEnded,
) -> ProgramBill {
    let judged = Judged::of(course);
    let mut entries: Vec<BillEntry> = settings
        .iter()
        .enumerate()
        .map(|(place, setting)| entry(course, (place, setting), &judged))
        .collect();
    let rank = |entry: &BillEntry| {
        let amount = entry.amount.map_or(f64::NEG_INFINITY, |amount| amount.cost_percent);
        (
            entry.about.needless == Some(true) && entry.verdict == BillVerdict::Costs,
            class(entry.verdict),
            amount,
        )
    };
    entries.order_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        b.0.cmp(&a.0).then(a.1.cmp(&b.1)).then(b.2.total_cmp(&a.2))
    });
    let recommended: Vec<usize> = course.recommended().members().collect();
    let (joint, remainder) = together(course, &recommended, judged.fresh.as_ref());
    let deviation = judged.screening.as_ref().map(|one| one.fit.deviation);
    ProgramBill {
        about: about.clone(),
        as_is: median_of(course, <[usize]>::is_empty),
        recommended: median_of(course, |switched| {
            !recommended.is_empty() && switched == recommended.as_slice()
        }),
        noise_percent: deviation.map(percent_of_log),
        entries,
        joint,
        remainder,
        ended,
        runs: course.turns.len(),
        turns: course.turns.clone(),
    }
}

/// The order of verdicts on a bill.
fn class(verdict: BillVerdict) -> u8 {
    match verdict {
        BillVerdict::Costs => 0,
        BillVerdict::Fails => 1,
        BillVerdict::NotShown => 2,
        BillVerdict::BelowMargin => 3,
        BillVerdict::Saves => 4,
    }
}

/// A fit with the t that the largest of all differences exceeds by chance once in twenty bills.
struct Critical {
    fit: BlockFit,
    t: f64,
}

impl Critical {
    fn of(fit: BlockFit, confidence: f64) -> Self {
        let t = fit.family().quantile(confidence);
        Self { fit, t }
    }
}

/// What the phases of a bill showed.
struct Judged {
    screening: Option<Critical>,
    fresh: Option<Critical>,
    confirmed: Vec<(usize, BlockEffect)>,
}

impl Judged {
    fn of(course: &Course) -> Self {
        let of = |phase| course.fit(phase).map(|fit| Critical::of(fit, course.rules.confidence()));
        Self {
            screening: of(BillPhase::Screening),
            fresh: of(BillPhase::Confirming),
            confirmed: course.confirmed(),
        }
    }
}

fn entry(course: &Course, (place, setting): (usize, &BillSetting), judged: &Judged) -> BillEntry {
    let switched = |turn: &&BillTurn| turn.switched == [place];
    let runs = course.turns.iter().filter(switched).count();
    let failed = course.turns.iter().filter(switched).filter(|turn| turn.value.is_none());
    let failures: Vec<&String> = failed.filter_map(|turn| turn.failure.as_ref()).collect();
    let failure = failures.first().map(|first| format!("{first}, in {} of {runs} runs", failures.len()));
    let of = |one: &Option<Critical>| {
        one.as_ref().and_then(|one| Some((one.fit.effects[place]?, one.t, one.fit.family())))
    };
    let confirmed = judged.confirmed.iter().find(|(setting, _)| *setting == place);
    // What had fresh runs is judged by them alone: it was chosen by the others.
    let shown = of(&judged.fresh).or_else(|| of(&judged.screening));
    let verdict = match confirmed {
        _ if course.failing().contains(&place) => BillVerdict::Fails,
        Some((_, effect)) if effect.difference < 0.0 => BillVerdict::Costs,
        Some(_) => BillVerdict::Saves,
        None if course.below_margin().contains(&place) => BillVerdict::BelowMargin,
        None if judged.fresh.as_ref().is_some_and(|fresh| course.is_negligible(&fresh.fit, place)) => {
            BillVerdict::BelowMargin
        }
        None => BillVerdict::NotShown,
    };
    BillEntry {
        about: setting.clone(),
        verdict,
        amount: shown.map(|(effect, critical, _)| amount(effect, critical)),
        p: shown.map(|(effect, _, family)| family.exceeds(effect.t())),
        smallest_percent: of(&judged.screening)
            .map(|(effect, critical, _)| percent_of_log((critical + Z_OF_POWER) * effect.standard_error)),
        failure,
        runs,
    }
}

/// What all recommended changes are worth, and what that is beyond their sum.
fn together(
    course: &Course,
    recommended: &[usize],
    fresh: Option<&Critical>,
) -> (Option<BillAmount>, Option<BillAmount>) {
    let Some(Critical { fit: fresh, t }) = fresh.filter(|_| !recommended.is_empty()) else {
        return (None, None);
    };
    if let [only] = recommended {
        return (fresh.effects[*only].map(|effect| amount(effect, *t)), None);
    }
    let Some(fit) = course.joint_fit() else { return (None, None) };
    let Some(joint) = fit.effects[0] else { return (None, None) };
    let confidence = course.rules.confidence();
    let own = amount(joint, stats::student_quantile(confidence, fit.degrees));
    let places: Vec<usize> = recommended.iter().map(|setting| setting + 1).collect();
    let beyond = fresh.sum(&places).map(|sum| {
        let effect = BlockEffect {
            difference: joint.difference - sum.difference,
            standard_error: joint.standard_error.hypot(sum.standard_error),
            runs: joint.runs,
        };
        amount(effect, stats::student_quantile(confidence, fit.degrees.min(fresh.degrees)))
    });
    (Some(own), beyond)
}

/// A difference of logarithms of costs, other value less present one, as the cost of the present one.
fn amount(effect: BlockEffect, critical: f64) -> BillAmount {
    let Interval { low, high } = effect.interval(critical);
    BillAmount {
        cost_percent: percent_of_log(-effect.difference),
        interval: Interval { low: percent_of_log(-high), high: percent_of_log(-low) },
    }
}

fn percent_of_log(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

fn median_of(course: &Course, is_state: impl Fn(&[usize]) -> bool) -> Option<f64> {
    let counted =
        course.turns.iter().filter(|turn| turn.phase != BillPhase::WarmUp && is_state(&turn.switched));
    stats::median(&counted.filter_map(|turn| turn.value).collect::<Vec<_>>())
}

/// Averages of several bills: over all, by group, and without each group.
pub fn averages(programs: &[ProgramBill]) -> Vec<BillAverage> {
    let mut groups: Vec<&str> = Vec::new();
    for program in programs {
        if !program.about.group.is_empty() && !groups.contains(&program.about.group.as_str()) {
            groups.push(&program.about.group);
        }
    }
    let average = |group: String, is_in: &dyn Fn(&ProgramBill) -> bool| {
        let all: Vec<(f64, f64)> = programs.iter().filter(|one| is_in(one)).filter_map(differs).collect();
        let count = all.len();
        let mean = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / count.max(1) as f64;
        (count > 0).then(|| BillAverage {
            group,
            symmetric_percent: mean(|one| one.0),
            floor_percent: mean(|one| one.1),
            programs: count,
        })
    };
    let mut found = vec![average("all".to_owned(), &|_| true)];
    if groups.len() > 1 {
        found.extend(
            groups.iter().map(|group| average((*group).to_owned(), &|one| one.about.group == *group)),
        );
        found.extend(
            groups.iter().map(|group| average(format!("without:{group}"), &|one| one.about.group != *group)),
        );
    }
    found.into_iter().flatten().collect()
}

/// What each setting costs on average, the most expensive first. Programs are the sample: the interval is of their mean.
pub fn setting_averages(programs: &[ProgramBill]) -> Vec<BillSettingAverage> {
    let mut names: Vec<&str> = Vec::new();
    for entry in programs.iter().flat_map(|program| &program.entries) {
        if !names.contains(&entry.about.name.as_str()) {
            names.push(&entry.about.name);
        }
    }
    let confidence = 1.0 - (1.0 - CONFIDENCE) / names.len().max(1) as f64;
    let average = |name: &&str| {
        let of_setting = programs.iter().flat_map(|program| &program.entries);
        let logs: Vec<f64> = of_setting
            .filter(|entry| entry.about.name == **name && entry.verdict != BillVerdict::Fails)
            .filter_map(|entry| Some((entry.amount?.cost_percent / 100.0).ln_1p()))
            .collect();
        let degrees = u32::try_from(logs.len()).ok()?.checked_sub(1).filter(|degrees| *degrees > 0)?;
        let standard_error = (stats::sample_variance(&logs) / logs.len() as f64).sqrt();
        let effect = BlockEffect { difference: -stats::mean(&logs), standard_error, runs: logs.len() };
        let amount = amount(effect, stats::student_quantile(confidence, degrees));
        Some(BillSettingAverage { setting: (*name).to_owned(), amount, programs: logs.len() })
    };
    let mut all: Vec<BillSettingAverage> = names.iter().filter_map(average).collect();
    all.order_by(|a, b| b.amount.cost_percent.total_cmp(&a.amount.cost_percent));
    all
}

/// The symmetric difference of a program in percent, and what noise alone would make of it; `None` where what its costs come to
/// together was not measured.
fn differs(program: &ProgramBill) -> Option<(f64, f64)> {
    let noise = program.noise_percent?;
    if program.ended == BillEnded::Interrupted || (program.joint.is_none() && costs(program).next().is_some())
    {
        return None;
    }
    let joint = program.joint.map_or(1.0, |joint| 1.0 + joint.cost_percent / 100.0);
    let is_baseline = |turn: &&BillTurn| {
        turn.phase != BillPhase::WarmUp && turn.switched.is_empty() && turn.value.is_some()
    };
    let baseline_runs = program.turns.iter().filter(is_baseline).count().max(1);
    let error = noise * (2.0 / baseline_runs as f64).sqrt();
    Some((stats::symmetric_percent(1.0, joint), MEAN_SIZE_OF_NORMAL * error))
}

/// Settings that cost something.
fn costs(bill: &ProgramBill) -> impl Iterator<Item = &BillEntry> {
    bill.entries.iter().filter(|entry| entry.verdict == BillVerdict::Costs)
}

/// The answer in one sentence.
pub fn headline(programs: &[ProgramBill]) -> String {
    match programs {
        [] => "nothing was measured".to_owned(),
        [one] => of_one(one) + &most_saved(programs) + &with_which_it_fails(one),
        several => of_several(several) + &most_saved(programs),
    }
}

/// What of the present state makes a program fastest, as the end of a sentence; empty if nothing does.
fn most_saved(programs: &[ProgramBill]) -> String {
    let saving = |entry: &&BillEntry| entry.verdict == BillVerdict::Saves;
    let all = programs.iter().flat_map(|one| {
        let entries = one.entries.iter().filter(saving);
        entries.filter_map(move |entry| Some((one, entry, entry.amount?)))
    });
    let Some((program, entry, amount)) = all.min_by(|a, b| a.2.cost_percent.total_cmp(&b.2.cost_percent))
    else {
        return String::new();
    };
    let whom = if programs.len() > 1 { format!(" {}", program.about.name) } else { String::new() };
    let saved = BillAmount {
        cost_percent: -amount.cost_percent,
        interval: Interval { low: -amount.interval.high, high: -amount.interval.low },
    };
    format!("; {}={} saves{whom} {}", entry.about.name, entry.about.now, with_interval(saved))
}

/// Settings with which the program does not work, as the end of a sentence; empty if there are none.
fn with_which_it_fails(bill: &ProgramBill) -> String {
    let failing = bill.entries.iter().filter(|entry| entry.verdict == BillVerdict::Fails);
    let names: Vec<String> =
        failing.map(|entry| format!("{}={}", entry.about.name, entry.about.other)).collect();
    if names.is_empty() { String::new() } else { format!("; it fails with {}", names.join(", ")) }
}

fn of_one(bill: &ProgramBill) -> String {
    if bill.ended == BillEnded::Failing {
        return "not measured: the program fails with everything as it is".to_owned();
    }
    let mut costs: Vec<&BillEntry> = costs(bill).collect();
    let percent = |entry: &BillEntry| entry.amount.map_or(0.0, |amount| amount.cost_percent);
    costs.order_by(|a, b| percent(b).total_cmp(&percent(a)));
    let largest = costs.first().map(|entry| format!("{}={}", entry.about.name, entry.about.now));
    match (bill.joint, costs.as_slice(), largest) {
        (Some(joint), [_], Some(largest)) => {
            format!(
                "{largest} costs this program {}; no other setting has a cost that was shown",
                with_interval(joint)
            )
        }
        (Some(joint), [first, ..], Some(largest)) => format!(
            "settings cost this program {}; most of all {largest}: {:.1} %",
            with_interval(joint),
            percent(first)
        ),
        (None, [first, ..], Some(largest)) => format!(
            "{largest} costs this program {}; what all {} settings cost together was not measured",
            first.amount.map_or_else(String::new, with_interval),
            costs.len()
        ),
        _ => nothing_shown(bill),
    }
}

fn nothing_shown(bill: &ProgramBill) -> String {
    let works = || bill.entries.iter().filter(|entry| entry.verdict != BillVerdict::Fails);
    let highest: Vec<f64> = works().filter_map(|entry| Some(entry.amount?.interval.high)).collect();
    let settings = machine::counted(highest.len(), "setting");
    if works().next().is_none() && !bill.entries.is_empty() {
        return "no setting could be priced".to_owned();
    }
    highest.iter().copied().reduce(f64::max).map_or_else(
        || {
            let settings = machine::counted(bill.entries.len(), "setting");
            format!("undetermined: too few runs to price {settings}; give more time with --for")
        },
        |highest| {
            format!("no cost detected for {settings}; each costs less than {highest:.1} % (95 %, all of them at once)")
        },
    )
}

fn of_several(programs: &[ProgramBill]) -> String {
    let priced = programs.iter().filter(|one| one.noise_percent.is_some()).count();
    let others = programs.len() - priced;
    let others = if others > 0 {
        format!("; {} could not be priced", machine::counted(others, "program"))
    } else {
        String::new()
    };
    let of = machine::counted(priced, "program");
    let moved = programs.iter().filter(|one| costs(one).next().is_some()).count();
    let largest = programs
        .iter()
        .flat_map(|one| costs(one).filter_map(move |entry| Some((one, entry, entry.amount?))))
        .max_by(|a, b| a.2.cost_percent.total_cmp(&b.2.cost_percent));
    match largest {
        None => format!("no cost detected in {of}{others}"),
        Some((program, entry, amount)) => format!(
            "settings cost {moved} of {of}; most of all {}={} costs {} {}{others}",
            entry.about.name,
            entry.about.now,
            program.about.name,
            with_interval(amount)
        ),
    }
}

/// `11.3 % [9.8, 12.7]`.
fn with_interval(amount: BillAmount) -> String {
    let Interval { low, high } = amount.interval;
    format!("{:.1} % [{low:.1}, {high:.1}]", amount.cost_percent)
}

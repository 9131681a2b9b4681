//! What is said of neighbours: sentences with the numbers that they rest on.

use record::{CpuShare, HostRank, Neighbours, Record};
use stats::RowClass;

use super::{CORE_SHARE, OTHERS, TAKEN, WAITED};

/// One sentence on the epochs, and one on each class that is beyond earlier runs.
pub(super) fn shows(record: &Record, found: &Neighbours) -> Vec<String> {
    let count = record.epochs.len();
    let mut lines: Vec<String> =
        found.at_work.iter().map(|epoch| at_work(record, found, *epoch, count)).collect();
    if lines.is_empty() && count > 0 {
        lines.extend(quiet(record, found, count));
    }
    lines.extend(found.ranks.iter().filter(|rank| rank.is_worse).map(rank));
    lines
}

/// Who is meant: other guests where there is a hypervisor, else and where the kernel itself counted them other programs.
fn who(got: &CpuShare, in_guest: bool) -> &'static str {
    let programs = got.others_share.is_some_and(|share| share > OTHERS);
    match (in_guest, programs) {
        (true, false) => "neighbours were",
        (true, true) => "other programs of this guest, perhaps neighbours too, were",
        (false, _) => "other programs were",
    }
}

fn at_work(record: &Record, found: &Neighbours, epoch: usize, count: usize) -> String {
    let got = &record.epochs[epoch - 1].got;
    let mut signs: Vec<String> = found
        .costs
        .iter()
        .filter(|cost| cost.ratios[epoch - 1] > cost.limit)
        .map(|cost| format!("{} {}", name(cost.class), signed(cost.ratios[epoch - 1])))
        .collect();
    signs.extend(taken(got, [TAKEN, OTHERS, WAITED]));
    signs.extend(core_share(got, CORE_SHARE).map(|share| format!("a CPU had {share}")));
    format!("{} at work in epoch {epoch} of {count}: {}", who(got, found.in_guest), signs.join(", "))
}

/// `None` if no epoch told anything.
fn quiet(record: &Record, found: &Neighbours, count: usize) -> Option<String> {
    let most = |of: fn(&CpuShare) -> Option<f64>| {
        record.epochs.iter().filter_map(|epoch| of(&epoch.got)).reduce(f64::max)
    };
    let most = CpuShare {
        steal_share: most(|got| got.steal_share),
        others_share: most(|got| got.others_share),
        waited_share: most(|got| got.waited_share),
        core_share: record.epochs.iter().filter_map(|epoch| epoch.got.core_share).reduce(f64::min),
    };
    let mut signs: Vec<String> = found
        .costs
        .iter()
        .map(|cost| {
            let worst = cost.ratios.iter().copied().fold(1.0, f64::max);
            format!("{} {}", name(cost.class), signed(worst))
        })
        .collect();
    signs.extend(taken(&most, [-1.0; 3]));
    signs.extend(core_share(&most, f64::INFINITY).map(|share| format!("each CPU had at least {share}")));
    let whom = if found.in_guest { "neighbours" } else { "other programs" };
    let epochs = if count == 1 { "one epoch".to_owned() } else { format!("{count} epochs") };
    (!signs.is_empty()).then(|| format!("no sign of {whom} in {epochs}: at most {}", signs.join(", ")))
}

fn taken(got: &CpuShare, above: [f64; 3]) -> Vec<String> {
    let shares = [
        ("steal", got.steal_share),
        ("other programs", got.others_share),
        ("waiting for a CPU", got.waited_share),
    ];
    let told = shares.into_iter().zip(above).filter_map(|((what, share), above)| {
        let share = share.filter(|share| share.is_finite() && *share > above)?;
        Some(format!("{what} {:.1} %", share * 100.0))
    });
    told.collect()
}

/// What a CPU had of its core, if that is below.
fn core_share(got: &CpuShare, below: f64) -> Option<String> {
    let share = got.core_share.filter(|share| *share < below)?;
    Some(format!("{:.0} % of a core", share * 100.0))
}

fn rank(rank: &HostRank) -> String {
    format!("{}: more than these spread", stands(rank))
}

/// `memory latency +45 % against the median of 5 earlier check-ups of this machine, 5 of them better`.
fn stands(rank: &HostRank) -> String {
    let others = if rank.is_own {
        format!("{} earlier check-ups of this machine", rank.count)
    } else {
        format!("{} other machines with this CPU", rank.count)
    };
    let spread = rank.spread.map_or_else(String::new, |spread| {
        format!(" (one standard deviation {:.1} %)", spread.exp_m1() * 100.0)
    });
    format!(
        "{} {} against the median of {others}{spread}, {} of them better",
        name(rank.class),
        signed(rank.ratio),
        rank.better
    )
}

/// The evidence for giving an instance back.
pub(super) fn give_back(worse: &[&HostRank]) -> String {
    let told: Vec<String> = worse.iter().map(|rank| stands(rank)).collect();
    format!(
        "there is reason to give this instance back, if a check-up an hour from now finds the same: {}",
        told.join("; ")
    )
}

/// Costs of the core are those of its clock's period.
fn name(class: RowClass) -> &'static str {
    match class {
        RowClass::CoreClock => "core cycle",
        RowClass::Stream => "STREAM time",
        other => other.name(),
    }
}

fn signed(ratio: f64) -> String {
    format!("{:+.0} %", (ratio - 1.0) * 100.0)
}

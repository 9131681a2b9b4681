//! What may be behind a change: facts in the order of their likelihood, in words, and the experiment that could prove one.

use machine::{shell_quoted, shell_word};
use record::{FactDifference, Fingerprint, GuardOutcome, GuardToggle, GuardTrend, Guards, HistoryEntry};
use stats::text::points_of_share;
use stats::{Order, median};

use super::Departure;
use crate::history::{FLAW_FACT, is_same_memory};

/// Facts from the likeliest cause of other numbers to the least; mitigations stand behind, then all others.
const LIKELIEST: [&str; 17] = [
    "CPU limit",
    "offline CPUs",
    "allowed CPUs",
    "clock source",
    "huge pages",
    "frequency policy",
    "SMT",
    "microcode",
    "kernel",
    "command line",
    "hypervisor",
    "isolated CPUs",
    "memory limit",
    "NUMA balancing",
    "BIOS",
    "idle driver",
    "huge page defrag",
];
/// The fact that moves a class before all others.
const BY_CLASS: [(&str, &str); 2] = [("clock reads", "clock source"), ("page walks", "huge pages")];
/// Facts that a toggle can switch to and fro; the toggle's values are the fact's.
const TOGGLES: [(&str, &str); 4] = [
    ("clock source", "clocksource"),
    ("huge pages", "thp-system"),
    ("SMT", "smt"),
    ("NUMA balancing", "numa-balancing"),
];
const COMMAND_LINE: &str = "command line";
/// Longer values are cut in a sentence; the list has them whole.
const VALUE_CHARACTERS: usize = 48;
const CUT: &str = "...";
/// Between the parts of a fact that is a list: states of a mitigation, policies of CPUs.
const LIST_SEPARATORS: [&str; 2] = ["; ", ", "];

/// Puts the likeliest cause first.
pub(super) fn order(facts: &mut [FactDifference], class: Option<&str>) {
    let of_class = BY_CLASS.iter().find(|(name, _)| Some(*name) == class).map(|(_, fact)| *fact);
    facts.order_by_key(|difference| {
        let name = difference.fact.as_str();
        let place = LIKELIEST.iter().position(|fact| *fact == name);
        let is_of_flaw = name.starts_with("mitigation ") || name.starts_with(FLAW_FACT);
        (Some(name) != of_class, place.unwrap_or(LIKELIEST.len() + usize::from(!is_of_flaw)))
    });
}

fn value(value: Option<&Option<String>>) -> String {
    let text = value.and_then(Option::as_deref).unwrap_or("none");
    if text.chars().count() <= VALUE_CHARACTERS {
        return text.to_owned();
    }
    format!("{}{CUT}", text.chars().take(VALUE_CHARACTERS).collect::<String>())
}

/// `clock source from kvm-clock to tsc`; of command lines the words that differ, of long lists the parts.
pub(super) fn described(difference: &FactDifference) -> String {
    if difference.fact == COMMAND_LINE {
        let [gone, come] = or_none(parts(difference, " "));
        return format!("boot words from {gone} to {come}");
    }
    let sides = [0, 1].map(|side| difference.values.get(side));
    let is_long = sides.iter().any(|side| value(*side).ends_with(CUT));
    let separator = LIST_SEPARATORS.into_iter().find(|separator| {
        sides.into_iter().flatten().flatten().any(|value| value.contains(separator)) && is_long
    });
    let [before, after] = match separator {
        Some(separator) => {
            let differing = parts(difference, separator).map(Some);
            or_none(differing.map(|part| value(part.filter(|part| !part.is_empty()).map(Some).as_ref())))
        }
        None => sides.map(value),
    };
    format!("{} from {before} to {after}", difference.fact)
}

fn or_none(parts: [String; 2]) -> [String; 2] {
    parts.map(|part| if part.is_empty() { "none".to_owned() } else { part })
}

/// Parts of a list that only the first has, and that only the second has.
fn parts(difference: &FactDifference, separator: &str) -> [String; 2] {
    let lists = [0, 1].map(|side| -> Vec<&str> {
        let list = difference.values.get(side).and_then(Option::as_deref).unwrap_or_default();
        list.split(separator).map(str::trim).filter(|part| !part.is_empty()).collect()
    });
    [0, 1].map(|side: usize| {
        let lone: Vec<&str> =
            lists[side].iter().filter(|part| !lists[1 - side].contains(part)).copied().collect();
        lone.join(separator)
    })
}

/// In what another machine differs from that of the baseline.
pub(super) fn other_machine(was: &Fingerprint, is: &Fingerprint) -> String {
    let is_same_memory = is_same_memory(was, is);
    let memory =
        |of: &Fingerprint| of.memory_bytes.filter(|_| !is_same_memory).map(|bytes| bytes.to_string());
    let described = [
        ("CPU", Some(was.cpu.clone()), Some(is.cpu.clone())),
        ("number of CPUs", Some(was.cpus.to_string()), Some(is.cpus.to_string())),
        ("hypervisor", was.hypervisor.clone(), is.hypervisor.clone()),
        ("memory", memory(was), memory(is)),
    ];
    let word = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
    let differing = described.into_iter().filter(|(_, before, after)| before != after);
    let described =
        differing.map(|(what, before, after)| format!("{what} from {} to {}", word(before), word(after)));
    described.collect::<Vec<_>>().join(", ")
}

/// The answer where numbers are beyond their limits.
///
/// `busier` is what the check saw of others, beyond what the baseline saw.
pub(super) fn of_numbers(outcome: &GuardOutcome, busier: Option<&str>) -> String {
    let first = outcome.changes.first().expect("there are changes");
    let what = first.row.as_ref().unwrap_or(&first.class);
    let way = if first.slower_percent > 0.0 { "slower" } else { "faster" };
    let more = match outcome.changes.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let why = match (outcome.facts.first(), busier) {
        (Some(fact), _) => format!("most likely why: {}, a coincidence in time and no proof", described(fact)),
        (None, Some(busier)) => format!("most likely why: {busier}, a coincidence in time and no proof"),
        (None, None) => "no watched fact differs, so the cause is outside of them: a neighbour on the host, heat, firmware".to_owned(),
    };
    let by_trend = first.trend.as_ref().map_or_else(String::new, |trend| {
        let GuardTrend { days, days_beyond, percent_per_day } = trend;
        let slope = percent_per_day.map_or_else(String::new, |slope| format!(", {slope:+.2} % a day"));
        format!(" by its trend: beyond the baseline on {days_beyond} of {days} days{slope}")
    });
    format!("changed: {what} {:.0} % {way}{by_trend}{more}; {why}", first.slower_percent.abs())
}

/// Commands that could prove one of these facts to be the cause.
pub(super) fn proofs(facts: &[FactDifference]) -> Vec<GuardToggle> {
    facts
        .iter()
        .filter_map(|difference| {
            Some(GuardToggle { fact: difference.fact.clone(), command: command(difference)? })
        })
        .collect()
}

fn command(difference: &FactDifference) -> Option<String> {
    let sides: Vec<&str> = difference.values.iter().flatten().map(String::as_str).collect();
    let [before, after] = sides[..] else { return None };
    if difference.fact == COMMAND_LINE {
        let [gone, come] = parts(difference, " ").map(|words| shell_quoted(&words));
        return Some(format!("sidestep ab --across-reboot --a {gone} --b {come}"));
    }
    if difference.fact == "frequency policy" {
        // `driver/governor xN`, where all CPUs have one.
        let governor = |policy: &str| Some(policy.split_once('/')?.1.split_once(" x")?.0.to_owned());
        let is_one = !before.contains(',') && !after.contains(',');
        let (before, after) = governor(before).zip(governor(after)).filter(|(a, b)| is_one && a != b)?;
        return Some(toggled("governor", &before, &after));
    }
    let (_, toggle) = TOGGLES.iter().find(|(fact, _)| *fact == difference.fact)?;
    Some(toggled(toggle, before, after))
}

fn toggled(toggle: &str, before: &str, after: &str) -> String {
    format!("sidestep ab --toggle {}", shell_word(&format!("{toggle}={before}:{after}")))
}

/// A share of a check-up's time, or of its windows.
struct Condition {
    of: fn(&HistoryEntry) -> Option<f64>,
    /// Said before and after the share in percent.
    words: [&'static str; 2],
    /// A check-up with so much more than the baseline's median shows no change by its numbers: what makes one check-up
    /// doubtful.
    doubtful: f64,
}

const CONDITIONS: [Condition; 3] = [
    Condition {
        of: |run| run.others_share,
        words: ["other processes used", "of all CPUs"],
        doubtful: Guards::OTHERS_DOUBTFUL,
    },
    Condition {
        of: |run| run.steal_share,
        words: ["the hypervisor gave", "of the CPU time to others"],
        doubtful: Guards::STEAL_DOUBTFUL,
    },
    Condition {
        of: |run| run.dropped_share,
        words: ["pre-emption cost", "of the windows"],
        doubtful: Guards::DROPPED_DOUBTFUL,
    },
];
/// Shares beyond the baseline's largest by less than this are not worth a word.
const WORTH_A_WORD: f64 = 0.01;

impl Condition {
    fn of_baseline(&self, runs: &[HistoryEntry]) -> Vec<f64> {
        runs.iter().filter_map(self.of).collect()
    }

    fn in_words(&self, share: f64, baseline: f64, which: &str) -> String {
        let [before, after] = self.words;
        format!(
            "{before} {} % {after} ({which} {} % in the baseline)",
            points_of_share(share),
            points_of_share(baseline)
        )
    }
}

/// What makes a check-up busier than the whole baseline was, so that its numbers are not judged.
pub(super) fn busier(runs: &[HistoryEntry], check: &HistoryEntry) -> Option<String> {
    CONDITIONS.iter().find_map(|condition| {
        let (share, usual) = ((condition.of)(check)?, median(&condition.of_baseline(runs))?);
        (share > usual + condition.doubtful).then(|| condition.in_words(share, usual, "usually"))
    })
}

/// Why numbers that moved while others did more than in the baseline show no change, and how large one would have to be; `None` where
/// nothing moved beyond its limit, as then the others do not matter.
pub(super) fn behind_noise(noise: &str, departures: &[Departure]) -> Option<String> {
    let furthest = departures.iter().max_by(|a, b| a.log.abs().total_cmp(&b.log.abs()))?;
    let what = furthest.row.as_deref().unwrap_or(furthest.class.name());
    let percent = furthest.log.abs().exp_m1() * 100.0;
    Some(format!("{noise}, and {what} moved by {percent:.0} %: only larger changes would show"))
}

/// What of a check-up is beyond every run of the baseline, most first.
pub(super) fn remarkable(runs: &[HistoryEntry], check: &HistoryEntry) -> Option<String> {
    let beyond = |condition: &'static Condition| {
        let share = (condition.of)(check)?;
        let most = condition.of_baseline(runs).into_iter().reduce(f64::max)?;
        (share > most + WORTH_A_WORD)
            .then(|| ((share - most) / condition.doubtful, condition.in_words(share, most, "at most")))
    };
    let found = CONDITIONS.iter().filter_map(beyond);
    found.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, described)| described)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(name: &str, before: Option<&str>, after: Option<&str>) -> FactDifference {
        FactDifference {
            fact: name.to_owned(),
            values: [before, after].map(|v| v.map(str::to_owned)).to_vec(),
        }
    }

    #[test]
    fn what_a_toggle_could_prove_comes_with_its_command() {
        for (difference, reported_as, command) in [
            (
                fact("clock source", Some("kvm-clock"), Some("tsc")),
                "clock source from kvm-clock to tsc",
                Some("sidestep ab --toggle clocksource=kvm-clock:tsc"),
            ),
            (fact("offline CPUs", None, Some("1")), "offline CPUs from none to 1", None),
            (
                fact(
                    "frequency policy",
                    Some("acpi-cpufreq/ondemand x2"),
                    Some("acpi-cpufreq/performance x2"),
                ),
                "frequency policy from acpi-cpufreq/ondemand x2 to acpi-cpufreq/performance x2",
                Some("sidestep ab --toggle governor=ondemand:performance"),
            ),
            (
                fact("clock source", Some("tsc; touch P #"), Some("a'b")),
                "clock source from tsc; touch P # to a'b",
                Some(r"sidestep ab --toggle 'clocksource=tsc; touch P #:a'\''b'"),
            ),
            (
                fact("command line", Some("quiet ro"), Some("quiet ro mitigations=off")),
                "boot words from none to mitigations=off",
                Some("sidestep ab --across-reboot --a '' --b 'mitigations=off'"),
            ),
        ] {
            assert_eq!(described(&difference), reported_as);
            let found = proofs(std::slice::from_ref(&difference));
            assert_eq!(found.first().map(|proof| proof.command.as_str()), command);
        }
    }

    #[test]
    fn every_toggle_that_is_named_is_in_the_catalogue() {
        for name in TOGGLES.iter().map(|(_, toggle)| *toggle).chain(["governor"]) {
            assert!(toggles::find(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_likeliest_cause_is_first_and_the_class_has_its_own() {
        let mut facts: Vec<FactDifference> =
            ["memory", "mitigation mds", "kernel", "huge pages", "clock source"]
                .iter()
                .map(|name| fact(name, Some("a"), Some("b")))
                .collect();
        let names = |facts: &[FactDifference]| facts.iter().map(|one| one.fact.clone()).collect::<Vec<_>>();
        order(&mut facts, None);
        assert_eq!(names(&facts), ["clock source", "huge pages", "kernel", "mitigation mds", "memory"]);
        order(&mut facts, Some("page walks"));
        assert_eq!(names(&facts)[0], "huge pages");
    }

    fn run(others: f64, steal: f64) -> HistoryEntry {
        HistoryEntry { others_share: Some(others), steal_share: Some(steal), ..HistoryEntry::default() }
    }

    #[test]
    fn busier_is_meant_beside_the_baseline_and_not_beside_an_idle_machine() {
        let quiet: Vec<HistoryEntry> = (0..20).map(|index| run(0.001 * f64::from(index), 0.0)).collect();
        let busy: Vec<HistoryEntry> = (0..20).map(|index| run(0.3 + 0.01 * f64::from(index), 0.01)).collect();
        let expected = "other processes used 52 % of all CPUs (usually 1.0 % in the baseline)";
        assert_eq!(busier(&quiet, &run(0.52, 0.0)).as_deref(), Some(expected));
        assert_eq!(busier(&busy, &run(0.52, 0.0)), None);
        assert!(
            busier(&busy, &run(0.8, 0.0)).is_some_and(|described| described.contains("80 % of all CPUs"))
        );
        let expected = "the hypervisor gave 4.0 % of the CPU time to others (usually 0.0 % in the baseline)";
        assert_eq!(busier(&quiet, &run(0.0, 0.04)).as_deref(), Some(expected));
        assert_eq!(busier(&[HistoryEntry::default()], &run(0.9, 0.9)), None, "what is unknown is no reason");
    }

    #[test]
    fn what_is_beyond_every_run_is_named_and_small_shares_are_not() {
        let quiet: Vec<HistoryEntry> = (0..20).map(|index| run(0.001 * f64::from(index), 0.0)).collect();
        assert_eq!(remarkable(&quiet, &run(0.02, 0.005)), None);
        let found = remarkable(&quiet, &run(0.08, 0.015)).expect("both are beyond");
        assert!(found.starts_with("the hypervisor gave 1.5 %"), "{found}");
    }
}

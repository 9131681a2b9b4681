//! A placement as text: what is recommended, what each arm gained against what was predicted, and who goes where.

use record::{
    AaTwin, ParkingTax, PlaceArm, PlaceOutcome, PlaceSweep, PlacedThread, SharingOffer, WriterPair,
    WriterVerdict,
};
use stats::Verdict;

use super::sharers::{names, strongest_pairs};
use crate::escape::plain;
use crate::number::{UNKNOWN, column, count, percent, short};
use crate::terminal::{Ink, Paper, Terminal, table_of};
use crate::view::experiment::dropped;

/// Threads listed; --json has all.
const THREADS_SHOWN: usize = 16;
/// Doubtful pairs listed; --json has all.
const PAIRS_SHOWN: usize = 4;
/// A name is cut beyond this: the kernel keeps 15 bytes of it.
const NAME_CHARACTERS: usize = 15;

/// The page.
pub fn place_terminal(found: &PlaceOutcome, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    let ink = if found.recommended.is_some() { Ink::Good } else { Ink::Strong };
    paper.wrapped_inked(ink, "", &plain(&found.sentence));
    paper.blank();
    arms(&mut paper, found);
    threads(&mut paper, found);
    pairs(&mut paper, found);
    facts(&mut paper, found);
    paper.finish()
}

fn arms(paper: &mut Paper, found: &PlaceOutcome) {
    if found.arms.is_empty() {
        return;
    }
    let unit = if found.unit.is_empty() { String::new() } else { format!(", {}", found.unit) };
    let headers = [
        "placement".to_owned(),
        format!("{}{unit}", found.metric),
        "predicted %".to_owned(),
        "measured %".to_owned(),
    ];
    let mut table = table_of(&[&headers[..], &["q".to_owned(), "verdict".to_owned()]].concat());
    for arm in &found.arms {
        let name = arm_name(arm);
        let value = arm.value.map_or_else(|| "-".to_owned(), column);
        table.add_row([plain(&name), value, predicted(arm), change(arm), q(arm), verdict(arm).to_owned()]);
    }
    paper.table(table);
    paper.blank();
}

/// The arm, and the other name of the same placement.
pub(super) fn arm_name(arm: &PlaceArm) -> String {
    arm.same_as.as_ref().map_or_else(|| arm.name.clone(), |other| format!("{} = {other}", arm.name))
}

fn signed(value: f64) -> String {
    format!("{value:+.1}")
}

/// What an arm should bring, with what is not known better.
pub(super) fn predicted(arm: &PlaceArm) -> String {
    let Some(change) = arm.predicted_percent else { return String::new() };
    arm.predicted_interval
        .map_or_else(|| signed(change), |ends| format!("{change:+.0} [{:+.0}, {:+.0}]", ends.low, ends.high))
}

fn change(arm: &PlaceArm) -> String {
    let Some(change) = arm.change_percent else { return String::new() };
    arm.change_interval
        .map_or_else(|| signed(change), |ends| format!("{change:+.1} [{:+.1}, {:+.1}]", ends.low, ends.high))
}

fn q(arm: &PlaceArm) -> String {
    match arm.q {
        Some(q) if q < 0.001 => "<.001".to_owned(),
        Some(q) if q < 1.0 => format!("{q:.3}").trim_start_matches('0').to_owned(),
        Some(_) => "1".to_owned(),
        None => String::new(),
    }
}

pub(super) fn verdict(arm: &PlaceArm) -> &'static str {
    match (arm.change_percent, arm.verdict) {
        (None, _) => "",
        (_, Verdict::Faster) => "better",
        (_, Verdict::Slower) => "worse",
        (_, Verdict::Equivalent) => "equivalent",
        (_, Verdict::Inconclusive) => "?",
    }
}

fn threads(paper: &mut Paper, found: &PlaceOutcome) {
    if found.threads.is_empty() {
        return;
    }
    let shown = found.recommended.clone().or_else(|| found.arms.get(1).map(|arm| arm.name.clone()));
    let arm = found.arms.iter().find(|arm| Some(&arm.name) == shown.as_ref() && !arm.cpus.is_empty());
    // Where nothing was tried, nobody goes anywhere.
    let heading = arm.map(|arm| format!("CPUs by {}", arm.name));
    let headings = ["thread", "busy %"].map(str::to_owned).into_iter().chain(heading);
    let mut table = table_of(&headings.collect::<Vec<_>>());
    for (index, thread) in found.threads.iter().enumerate().take(THREADS_SHOWN) {
        let cpus = arm.map(|arm| arm.cpus.get(index).cloned().unwrap_or_default());
        let busy = format!("{:.0}", 100.0 * thread.cpu_share);
        table.add_row([thread_name(thread), busy].into_iter().chain(cpus).collect::<Vec<_>>());
    }
    paper.table(table);
    let more = found.threads.len().saturating_sub(THREADS_SHOWN);
    if more > 0 {
        paper.faint(&format!("and {more} more, see --json"));
    }
    paper.blank();
}

/// Who shares what, the strongest pairs alone.
fn pairs(paper: &mut Paper, found: &PlaceOutcome) {
    let pairs = strongest_pairs(found);
    for pair in &pairs {
        paper.wrapped("shared    ", &plain(pair));
    }
    if !pairs.is_empty() {
        paper.blank();
    }
}

/// `1/worker#2`: the process, unless it is the first, the name, and which of that name.
pub(super) fn thread_name(thread: &PlacedThread) -> String {
    let name: String = plain(&thread.name).chars().take(NAME_CHARACTERS).collect();
    let process = if thread.process == 0 { String::new() } else { format!("{}/", thread.process) };
    format!("{process}{name}#{}", thread.nth)
}

/// What the kernel against itself showed, and how much of that chance explains.
pub(super) fn alarms(aa: &AaTwin) -> String {
    format!("{}, up to {} by chance", count(aa.alarms, "alarm"), aa.alarms_by_chance)
}

/// What the threads were watched by and what not, one line each.
pub(super) fn learnt_by(found: &PlaceOutcome) -> Vec<(&'static str, String)> {
    let line = |offer: &SharingOffer| match &offer.refused {
        None => ("learnt by", offer.name.clone()),
        Some(why) => ("not by", format!("{}: {why}", offer.name)),
    };
    let mut lines: Vec<_> = found.sharing.iter().flat_map(|sharing| &sharing.offers).map(line).collect();
    // What was taken comes first.
    lines.sort_by_key(|line| line.0 == "not by");
    lines
}

/// Who writes to shared pages, and each pair of which that is doubtful.
pub(super) fn confirmed(found: &PlaceOutcome) -> Vec<(&'static str, String)> {
    let Some(sharing) = &found.sharing else { return Vec::new() };
    let Some(writers) = &sharing.writers else { return Vec::new() };
    let names = names(found, sharing);
    let name = |thread: usize| names.get(thread).map_or(UNKNOWN, String::as_str);
    let is_doubtful = |pair: &&WriterPair| pair.is_called && pair.verdict == WriterVerdict::OwnPages;
    let doubt = |pair: &WriterPair| {
        let [first, second] = pair.threads.map(name);
        let (turns, changes) = (pair.turns, pair.changes);
        ("doubtful", format!("{first} with {second}: {changes} changes of hands in {turns} turns on a page"))
    };
    let doubts = writers.pairs.iter().filter(is_doubtful).take(PAIRS_SHOWN).map(doubt);
    std::iter::once(("confirmed", writers.sentence.clone())).chain(doubts).collect()
}

fn facts(paper: &mut Paper, found: &PlaceOutcome) {
    for (label, text) in learnt_by(found) {
        paper.wrapped(&format!("{label:10}"), &plain(&text));
    }
    for (label, text) in confirmed(found) {
        paper.wrapped(&format!("{label:10}"), &plain(&text));
    }
    if let Some(decision) = &found.decision {
        let gap = decision.gap_percent.map_or_else(|| UNKNOWN.to_owned(), |gap| format!("{gap:.2} %"));
        paper.wrapped(
            "decided   ",
            &format!(
                "by {}; value {} speeds of a thread, by chance {}, at most {} ({}), gap {gap}",
                plain(&decision.learnt_by),
                short(decision.value),
                short(decision.chance_value),
                short(decision.bound),
                plain(&decision.proof),
            ),
        );
        for term in &decision.terms {
            paper.wrapped("counted   ", &plain(term));
        }
    }
    if let Some(by) = &found.predicted_by {
        paper.wrapped("predicted ", &format!("by {}", plain(by)));
    }
    if let Some(why) = &found.unpredicted {
        paper.wrapped("predicted ", &format!("nothing: {}", plain(why)));
    }
    if found.ended.is_some() && !found.arms.is_empty() {
        let kept = found.pair_counts.kept;
        paper.wrapped(
            "proven    ",
            &format!(
                "{} of each placement in random turns, {kept} kept{}; A/A inside: {}; intervals made wider by {}",
                count(found.pair_counts.taken, "run"),
                dropped(&found.pair_counts),
                alarms(&found.aa),
                short(found.aa.widening.max(1.0))
            ),
        );
        paper
            .wrapped("margin    ", &format!("{} of {}", percent(found.margin_percent / 100.0), found.metric));
    }
    if let Some(parking) = &found.parking {
        paper.wrapped("parking   ", &parking_words(parking));
    }
    if let Some(aside) = aside(found) {
        paper.wrapped("aside     ", &aside);
    }
    for failure in &found.failures {
        let text = format!(
            "{} of {} failed: {}",
            failure.failed,
            machine::counted(failure.of, "run"),
            plain(&failure.example)
        );
        paper.wrapped_inked(Ink::Doubt, "? ", &text);
    }
    for note in &found.notes {
        paper.wrapped("note      ", &plain(note));
    }
}

/// Who was not placed.
fn aside(found: &PlaceOutcome) -> Option<String> {
    let some = |number: usize, noun: &str, what: &str| {
        (number > 0).then(|| format!("{} {what}", count(number, noun)))
    };
    // Where nothing was tried the others are as free.
    let idle_threads = if found.ended.is_some() { found.idle_threads } else { 0 };
    let aside: Vec<String> = [
        some(idle_threads, "idle thread", "left free"),
        some(found.apart_threads, "thread", "with CPUs of the program's own choice left alone"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!aside.is_empty()).then(|| aside.join("; "))
}

/// The page of a sweep over numbers of threads: the answer, and for each number the largest change that was found.
pub fn place_sweep_terminal(found: &PlaceSweep, terminal: Terminal) -> String {
    let mut paper = Paper::new(terminal);
    paper.wrapped_inked(Ink::Strong, "", &plain(&found.sentence));
    paper.blank();
    let mut table =
        table_of(&["threads", "placement", "predicted %", "measured %", "q", "verdict"].map(str::to_owned));
    for row in &found.rows {
        let arms = row.outcome.arms.iter().zip(&row.arms);
        let arms = arms.filter(|(arm, _)| arm.change_percent.is_some() && arm.name != "os again");
        let arm = arms.max_by(|(a, _), (b, _)| size(a).total_cmp(&size(b)));
        let cells = arm.map_or_else(
            || ["-".to_owned(), String::new(), String::new(), String::new(), String::new()],
            |(arm, judged)| {
                let among_all = PlaceArm { q: judged.q, verdict: judged.verdict, ..arm.clone() };
                let (q, verdict) = (q(&among_all), verdict(&among_all).to_owned());
                [arm_name(arm), predicted(arm), change(arm), q, verdict]
            },
        );
        table.add_row(std::iter::once(row.threads.to_string()).chain(cells).collect::<Vec<_>>());
    }
    paper.table(table);
    paper.wrapped_inked(
        Ink::Faint,
        "",
        "of each number of threads the placement that differs most from the kernel's; q over all that was tried with any number",
    );
    for row in &found.rows {
        if row.outcome.arms.is_empty() {
            paper.wrapped(&format!("{}: ", row.threads), &plain(&row.outcome.sentence));
        }
    }
    paper.finish()
}

fn size(arm: &PlaceArm) -> f64 {
    arm.change_percent.map_or(0.0, f64::abs)
}

/// What sleeping CPUs cost, in words.
pub(super) fn parking_words(parking: &ParkingTax) -> String {
    let share = match (parking.percent, parking.interval) {
        (Some(share), Some(ends)) => {
            format!("{share:.2} % of the time [{:.2}, {:.2}] waits for CPUs to wake", ends.low, ends.high)
        }
        (Some(share), None) => format!("{share:.2} % of the time waits for CPUs to wake"),
        (None, _) => "not known".to_owned(),
    };
    let unsupported = if parking.unsupported {
        "; unsupported: the kernel names no idle states here, a hypervisor decides"
    } else {
        ""
    };
    let steal = parking.steal_percent.filter(|steal| *steal > 0.1).map_or_else(String::new, |steal| {
        format!("; {steal:.1} % was stolen meanwhile, which looks like slow waking")
    });
    format!("{share}{unsupported}{steal}; {}", plain(&parking.advice))
}

#[cfg(test)]
pub(super) mod tests {
    use record::{
        Better, Ended, PLACE_SCHEMA, PairCounts, PlaceDecision, PlaceSweepArm, PlaceSweepRow, SharedWriters,
        Sharing, SharingThread,
    };
    use stats::Interval;

    use super::*;

    fn arm(name: &str, change: Option<f64>) -> PlaceArm {
        PlaceArm {
            same_as: (name == "best").then(|| "spread".to_owned()),
            cpus: vec!["0".to_owned(); 3],
            predicted_percent: change,
            predicted_interval: change.map(|change| Interval::between(change - 10.0, change + 10.0)),
            value: Some(1.234),
            change_percent: change,
            change_interval: change.map(|change| Interval::between(change - 10.0, change + 10.0)),
            p: change.map(|_| 0.001),
            q: change.map(|_| 0.0004),
            verdict: change.map_or(Verdict::Inconclusive, |_| Verdict::Faster),
            runs: 18,
            ..PlaceArm::untried(name, "neighbours in the order of creation apart")
        }
    }

    /// Two threads of which it is doubtful that they write to the same pages.
    fn sharing_in_doubt() -> Sharing {
        let watched = ["one\u{1b}[31m", "other"]
            .map(|name| SharingThread { name: name.to_owned(), tid: 7, ..SharingThread::default() })
            .to_vec();
        let doubtful = WriterPair {
            threads: [0, 1],
            is_called: true,
            turns: 90,
            changes: 1,
            verdict: WriterVerdict::OwnPages,
            ..WriterPair::default()
        };
        let writers = SharedWriters {
            sentence: "0 of 1 pair of threads that share written memory write to the same pages; and so on"
                .to_owned(),
            pairs: vec![doubtful],
            ..SharedWriters::default()
        };
        Sharing { threads: watched, writers: Some(writers), ..Sharing::default() }
    }

    pub(in super::super) fn example(threads: usize) -> PlaceOutcome {
        let thread = |nth: usize| PlacedThread {
            process: nth % 2,
            name: "worker\u{1b}[31m of a very long name".to_owned(),
            nth,
            tid: None,
            order: nth,
            cpu_share: 0.97,
            cpus: "0".to_owned(),
        };
        let offer = |name: &str, refused: Option<&str>| SharingOffer {
            name: name.to_owned(),
            refused: refused.map(str::to_owned),
        };
        let offers = vec![
            offer("memory samples of the processor", Some("the kernel offers none here")),
            offer("the kernel's clock, registers decoded", None),
        ];
        PlaceOutcome {
            schema: PLACE_SCHEMA,
            sentence: "best gives 57.9 % less wall time [56.5, 58.8] than the kernel's own placement; predicted 57 % less".to_owned(),
            subject: "./prog".to_owned(),
            cpus: "0-1".to_owned(),
            recommended: Some("best".to_owned()),
            unseen: None,
            threads: (0..threads).map(thread).collect(),
            idle_threads: 1,
            apart_threads: 2,
            decision: Some(PlaceDecision {
                learnt_by: "memory, wake-ups and CPU time".to_owned(),
                levels: Vec::new(),
                value: 1.2,
                bound: 1.2,
                gap_percent: Some(0.0),
                proof: "matching".to_owned(),
                chance_value: 0.4,
                busy: 2.0,
                terms: vec!["a wake on the waker's own CPU saves 4.8 us: a default from another machine, as it says".to_owned()],
            }),
            predicted_by: Some("a simulation".to_owned()),
            unpredicted: None,
            metric: "wall time".to_owned(),
            unit: "s".to_owned(),
            better: Better::Lower,
            arms: vec![arm("os", None), arm("best", Some(-57.9)), arm("pack", Some(12.0)), arm("os again", Some(0.1))],
            aa: AaTwin { alarms: 1, alarms_by_chance: 7, ..AaTwin::default() },
            pair_counts: PairCounts::default(),
            failures: Vec::new(),
            ended: Some(Ended::Precise),
            margin_percent: 2.0,
            parking: None,
            sharing: Some(Sharing { offers, ..sharing_in_doubt() }),
            notes: vec!["a note that is long enough to be wrapped, as it goes on and on until the line is full".to_owned()],
            tool_version: "0".to_owned(),
            started_utc: "now".to_owned(),
            seed: 1,
            elapsed_s: 1.0,
            raw: Vec::new(),
        }
    }

    #[test]
    fn the_page_begins_with_the_sentence_and_keeps_to_80_columns() {
        for threads in [0, 3, 200] {
            let text = place_terminal(&example(threads), Terminal::default());
            assert!(text.starts_with("best gives 57.9 % less wall time"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
            let taken = "learnt by the kernel's clock, registers decoded\n";
            let refused = "not by    memory samples of the processor: the kernel offers none here\n";
            assert!(text.contains(&[taken, refused].concat()), "{text}");
            let doubt = " with other (7): 1 changes of hands in 90 turns on a page\n";
            assert!(text.contains("\nconfirmed 0 of 1 pair") && text.contains("\ndoubtful  one"), "{text}");
            assert!(text.contains(doubt), "{text}");
            assert!(text.contains("counted   a wake on the waker's own CPU saves 4.8 us"), "{text}");
            let aside = "1 idle thread left free; 2 threads with CPUs of the program's own choice left alone";
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains(aside) && words.contains("A/A inside: 1 alarm, up to 7 by chance"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_sweep_shows_the_verdict_that_holds_for_all_numbers_of_threads() {
        let outcome = example(3);
        let judge = |arm: &PlaceArm| PlaceSweepArm {
            q: arm.change_percent.map(|_| 0.067),
            verdict: Verdict::Inconclusive,
        };
        let arms = outcome.arms.iter().map(judge).collect();
        let row = PlaceSweepRow { threads: 3, outcome, arms };
        let found = PlaceSweep {
            schema: PLACE_SCHEMA,
            sentence: "the runs do not tell with 3 threads".to_owned(),
            sensitive: Vec::new(),
            only_worse: Vec::new(),
            insensitive: Vec::new(),
            unknown: vec![3],
            unseen: Vec::new(),
            rows: vec![row],
        };
        let text = place_sweep_terminal(&found, Terminal::default());
        let line = text.lines().find(|line| line.starts_with('3')).expect("a row of three threads");
        assert!(line.contains(".067") && line.ends_with('?'), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn the_page_for_the_browser_holds_arms_bars_and_no_foreign_markup() {
        let mut found = example(3);
        found.threads[0].name = "<script>alert(1)</script>".to_owned();
        let page = super::super::place_html(&found, crate::Html { script: false });
        assert!(
            page.contains("Predicted against measured")
                && page.contains("<svg")
                && page.contains("best = spread")
        );
        assert!(!page.contains("<script>alert"));
        let row =
            "<td>best = spread</td><td>neighbours in the order of creation apart</td><td>1.23</td><td>-58";
        assert!(page.contains(row), "{page}");
        found.arms.iter_mut().for_each(|arm| arm.predicted_percent = None);
        let page = super::super::place_html(&found, crate::Html { script: false });
        assert!(page.contains("<h2>Measured</h2>") && !page.contains("redicted before any run"));
    }
}

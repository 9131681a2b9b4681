//! Runs and threads that are over too soon to be placed, and what to do instead.

use experiments::place::decision::CPU_SHARE_MIN;
use experiments::place::run_subject::RunSeen;
use experiments::place::thread_lifetimes::ShortLived;
use host::live::thread_state;

/// A run that is over sooner is looked at a few times only. Assumed: ten looks, which follow each other by 2 ms as long as threads come.
const RUN_S_MIN: f64 = 0.02;
/// CPU time below which a run is as good as idle, however long it waited for a CPU. Assumed: several times what a command that does
/// nothing takes to be started.
const BUSY_S_MIN: f64 = 0.005;
/// With more of the CPU time in threads that come and go, placing the others says nothing of the program: most of it.
const SHORT_LIVED_SHARE_MAX: f64 = 0.5;
/// Processes named of those that went on.
const PROCESSES_NAMED: usize = 3;
/// With more it is worth a note. Assumed.
const SHORT_LIVED_NOTE_FROM: f64 = 0.2;

/// Why nothing can be said of the threads of a run that is over at once: what was seen of them is chance. `went_on` are the processes that
/// were not over with it.
pub(super) fn too_brief(profile: &RunSeen, went_on: &[String]) -> Option<String> {
    let run = &profile.run;
    let busy_s = run.user_s + run.system_s;
    let is_brief = run.wall_s < RUN_S_MIN || busy_s < BUSY_S_MIN || profile.census.is_empty();
    let (busy_ms, wall_ms) = ((1e3 * busy_s).ceil(), (1e3 * run.wall_s).ceil());
    is_brief.then(|| {
        if went_on.is_empty() {
            format!("{busy_ms:.0} ms of CPU time in {wall_ms:.0} ms is too little to place its threads")
        } else {
            format!("the command ended after {wall_ms:.0} ms and {}", as_service(went_on))
        }
    })
}

/// Processes that still run, with their names.
pub(super) fn went_on(processes: &[u32]) -> Vec<String> {
    let name = |pid: &u32| thread_state(*pid).map(|state| format!("process {pid} ({})", state.name));
    processes.iter().filter_map(name).collect()
}

/// What to do with such a command.
pub(super) fn as_service(went_on: &[String]) -> String {
    let names = names_of(went_on);
    format!("went on in the background, as {names}: sidestep place --pid PID places such a one")
}

/// The first of them.
pub(super) fn names_of(went_on: &[String]) -> String {
    let more = match went_on.len().saturating_sub(PROCESSES_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    went_on[..went_on.len().min(PROCESSES_NAMED)].join(", ") + &more
}

/// Why nothing can be said of threads that are gone before they are known.
pub(super) fn too_short_lived(profile: &RunSeen) -> Option<String> {
    let found = short_lived(profile).filter(|found| found.share() > SHORT_LIVED_SHARE_MAX)?;
    Some(format!(
        "its threads come and go too fast to be placed one by one: {} seen, and {}. sidestep place --pid PID places a process that goes on; taskset -c CPUS COMMAND keeps all of a program on some CPUs",
        found.seen,
        in_short_lives(found)
    ))
}

/// What is to be known of such threads beside others.
pub(super) fn some_short_lived(profile: &RunSeen) -> Option<String> {
    let range = SHORT_LIVED_NOTE_FROM..=SHORT_LIVED_SHARE_MAX;
    let found = short_lived(profile).filter(|found| range.contains(&found.share()))?;
    Some(format!("{}: those are seldom placed in time", in_short_lives(found)))
}

/// Threads that came and went, unless they did next to nothing.
fn short_lived(profile: &RunSeen) -> Option<&ShortLived> {
    profile.short_lived.as_ref().filter(|found| found.busy_s > CPU_SHARE_MIN * profile.run.wall_s)
}

fn in_short_lives(found: &ShortLived) -> String {
    format!(
        "{:.0} % of {:.2} s of CPU time was in threads that lived for less than {:.2} s, or that were not observed",
        100.0 * found.share(),
        found.total_s,
        found.limit_s
    )
}

#[cfg(test)]
mod tests {
    use experiments::place::thread_table::{Counted, Key};
    use host::live::{ChildRun, Ending};
    use toggles::ThreadId;

    use super::*;

    fn seen(wall_s: f64, user_s: f64, fleeting_s: f64) -> RunSeen {
        let run = ChildRun {
            ending: Ending::Code(0),
            wall_s,
            user_s,
            system_s: 0.0,
            max_resident_bytes: 0,
            page_faults: 0,
            context_switches: 0,
            left_processes: false,
            output: Vec::new(),
            errors: Vec::new(),
        };
        let one = Counted {
            key: Key { process: 0, name: "sh".to_owned(), nth: 0 },
            id: ThreadId { process: 1, thread: 1, start_ticks: 1 },
            cpu_share: 0.0,
            is_apart: false,
        };
        let short_lived = ShortLived { seen: 7, busy_s: fleeting_s, total_s: user_s, limit_s: wall_s / 10.0 };
        RunSeen {
            run,
            census: vec![one],
            short_lived: Some(short_lived),
            left_behind: Vec::new(),
            cpus: None,
        }
    }

    #[test]
    fn a_command_that_goes_on_in_the_background_is_reported_as_one() {
        let own = went_on(&[std::process::id(), u32::MAX]);
        assert!(
            own.len() == 1 && own[0].starts_with(&format!("process {} (", std::process::id())),
            "{own:?}"
        );
        let brief = seen(0.0029, 0.001, 0.0);
        let reason = too_brief(&brief, &["process 7 (daemon)".to_owned()]).expect("it is brief");
        assert!(reason.starts_with("the command ended after 3 ms and went on in the background, as process 7 (daemon): sidestep place --pid"));
        let five = ["a", "b", "c", "d", "e"].map(str::to_owned);
        assert!(too_brief(&brief, &five).is_some_and(|reason| reason.contains("as a, b, c and 2 more:")));
        assert_eq!(too_brief(&seen(1.0, 1.0, 0.0), &five), None);
    }

    #[test]
    fn short_runs_and_short_lives_are_named_with_what_to_do() {
        let check = |profile: &RunSeen, why: Option<&str>, note: Option<&str>| {
            let why_not = too_brief(profile, &[]).or_else(|| too_short_lived(profile));
            let found = (why_not, some_short_lived(profile));
            for (found, expected) in [(&found.0, why), (&found.1, note)] {
                let is_reported = found.as_deref().unwrap_or("").contains(expected.unwrap_or(""));
                assert!(found.is_some() == expected.is_some() && is_reported, "{profile:?}: {found:?}");
            }
        };
        check(&seen(0.01, 0.01, 0.0), Some("10 ms of CPU time in 10 ms is too little"), None);
        check(&RunSeen { census: Vec::new(), ..seen(1.0, 1.0, 0.0) }, Some("too little"), None);
        check(
            &seen(1.0, 1.9, 1.7),
            Some(
                "one by one: 7 seen, and 89 % of 1.90 s of CPU time was in threads that lived for less than 0.10 s",
            ),
            None,
        );
        check(&seen(1.0, 1.9, 1.7), Some("sidestep place --pid PID places a process that goes on"), None);
        check(&seen(1.0, 1.9, 0.6), None, Some("32 % of 1.90 s"));
        check(&seen(1.0, 1.9, 0.1), None, None);
        // Nearly idle: that no thread is busy is the truth.
        check(&seen(10.0, 0.1, 0.1), None, None);
    }
}

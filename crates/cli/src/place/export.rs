//! A recommended placement for other programs: ready commands and snippets.

use clap::ValueEnum;
use machine::{CpuSet, shell_quoted};
use record::{PlaceArm, PlaceOutcome, PlacedThread};

/// For whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A shell script that binds the threads of a running process by taskset
    Taskset,
    /// Variables for OpenMP
    Omp,
}

/// What the others would need, or why there is nothing for them; `running` is the process that was placed, if it ran already.
pub(super) fn text(found: &PlaceOutcome, form: Form, running: Option<u32>) -> String {
    let is_recommended =
        |arm: &&PlaceArm| found.recommended.as_ref() == Some(&arm.name) && !arm.cpus.is_empty();
    let Some(arm) = found.arms.iter().find(is_recommended) else {
        return "# nothing is recommended: keep the kernel's placement\n".to_owned();
    };
    let placed = Placed { found, arm, running };
    let made = match form {
        Form::Taskset => placed.taskset(),
        Form::Omp => placed.omp(),
    };
    made.unwrap_or_else(|why| format!("# {why}\n"))
}

/// Foreign text in a comment of a script: what breaks the line would be run.
fn in_comment(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Who goes where.
struct Placed<'a> {
    found: &'a PlaceOutcome,
    arm: &'a PlaceArm,
    running: Option<u32>,
}

impl Placed<'_> {
    fn threads(&self) -> impl Iterator<Item = (&PlacedThread, &str)> {
        self.found.threads.iter().zip(self.arm.cpus.iter().map(String::as_str))
    }

    /// The same of the process that was started first, in the order of creation.
    fn threads_of_first(&self) -> Vec<(&PlacedThread, &str)> {
        let mut threads: Vec<_> = self.threads().filter(|(thread, _)| thread.process == 0).collect();
        threads.sort_by_key(|(thread, _)| thread.order);
        threads
    }

    /// The CPUs of all threads, if they are the same.
    fn shared_by_all(&self) -> Option<&str> {
        let first = self.arm.cpus.first()?;
        self.arm.cpus.iter().all(|cpus| cpus == first).then_some(first.as_str())
    }

    /// The command with something before it. How a running process was started cannot be known: it may have rewritten its
    /// arguments, and its folder and environment are its own.
    fn before_the_command(&self, prefix: &str) -> String {
        match self.running {
            None => format!("{prefix} {}\n", self.found.subject),
            Some(process) => {
                format!("# put this before the command that starts process {process}:\n{prefix}\n")
            }
        }
    }

    /// Thread i of a team goes to place i, and thread 0 is the first thread of the program, busy or not.
    fn omp(&self) -> Result<String, String> {
        let threads = self.threads_of_first();
        if threads.len() < self.found.threads.len() {
            return Err(
                "OpenMP binds threads of one process, and these are of several; use taskset".to_owned()
            );
        }
        let first = threads.first().map_or(0, |(thread, _)| thread.order);
        let has_gap = threads.iter().enumerate().any(|(index, (thread, _))| thread.order != first + index);
        if first > 1 || has_gap {
            return Err(
                "OpenMP binds the first threads of a program, and others were created before or among these; use taskset"
                    .to_owned(),
            );
        }
        let free = (first == 1).then_some(self.found.cpus.as_str());
        let places: Vec<String> =
            free.into_iter().chain(threads.iter().map(|(_, cpus)| *cpus)).map(omp_place).collect();
        let variables =
            format!("OMP_NUM_THREADS={} OMP_PLACES='{}' OMP_PROC_BIND=close", places.len(), places.join(","));
        let head = if free.is_some() { ", which was idle and is left free" } else { "" };
        Ok(format!(
            "# for a program whose threads are OpenMP's; the first place is of its first thread{head}\n{}",
            self.before_the_command(&variables)
        ))
    }

    /// One set of CPUs for all, or a function that finds the threads of a process by name and order, and what to call for each.
    fn taskset(&self) -> Result<String, String> {
        if let Some(cpus) = self.shared_by_all() {
            return Ok(self.before_the_command(&format!("taskset -c {cpus}")));
        }
        let threads = self.threads_of_first();
        if threads.is_empty() {
            return Err(
                "all threads of this placement are of child processes, which have other numbers in each run"
                    .to_owned(),
            );
        }
        let call = |(thread, cpus): &(&PlacedThread, &str)| {
            format!("bind {} {} {cpus}\n", shell_quoted(&thread.name), thread.nth)
        };
        let left_out = self.threads().filter(|(thread, _)| thread.process != 0).map(|(thread, cpus)| {
            let (name, nth, process) = (in_comment(&thread.name), thread.nth, thread.process);
            format!("# not bound, as it is of child process {process}: {name}#{nth}, to CPU {cpus}\n")
        });
        Ok(format!(
            "#!/bin/sh\n# sh FILE PID, once its threads run: {}\nset -e\n\
             pid=${{1:?give the number of the process}}\n\
             # bind NAME NTH CPUS: the thread of that name that was created after NTH others of it\n\
             bind() {{\n  nth=0\n  for thread in $(ls \"/proc/$pid/task\" | sort -n); do\n    \
             [ \"$(cat \"/proc/$pid/task/$thread/comm\" 2>/dev/null)\" = \"$1\" ] || continue\n    \
             if [ \"$nth\" -eq \"$2\" ]; then\n      taskset -cp \"$3\" \"$thread\"\n      return\n    fi\n    \
             nth=$((nth + 1))\n  done\n  \
             echo \"process $pid has no thread $1 after $2 others of that name\" >&2\n  return 1\n}}\n{}{}",
            in_comment(&self.found.subject),
            threads.iter().map(call).collect::<String>(),
            left_out.collect::<String>()
        ))
    }
}

/// A place is written with commas, `{0,1}`: `OMP_PLACES` of the OpenMP specification has no ranges like 0-1.
fn omp_place(cpus: &str) -> String {
    let numbers: Vec<String> =
        CpuSet::from_list(cpus).iter().flat_map(CpuSet::iter).map(|cpu| cpu.0.to_string()).collect();
    format!("{{{}}}", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use experiments::place::arms::Arms;
    use experiments::place::outcome::{ProgramProfile, nothing_tried};
    use stats::Verdict;

    use super::*;

    /// Threads of a program whose first thread is idle, on these CPUs of 0-1.
    fn found(cpus: &[&str]) -> PlaceOutcome {
        let setting = ProgramProfile {
            subject: "./prog 'a b'".to_owned(),
            cpus: "0-1".to_owned(),
            ..ProgramProfile::default()
        };
        let arms = Arms { plans: Vec::new(), decision: None, predicted_by: Err(String::new()) };
        let mut found = nothing_tried(&setting, &arms, "");
        let thread = |(nth, cpus): (usize, &&str)| PlacedThread {
            tid: None,
            process: 0,
            name: "it's a worker".to_owned(),
            nth,
            order: nth + 1,
            cpu_share: 0.5,
            cpus: (*cpus).to_owned(),
        };
        found.threads = cpus.iter().enumerate().map(thread).collect();
        found.recommended = Some("best".to_owned());
        found.arms = vec![PlaceArm {
            cpus: cpus.iter().map(|cpus| (*cpus).to_owned()).collect(),
            verdict: Verdict::Faster,
            ..PlaceArm::untried("best", "")
        }];
        found
    }

    /// The same with the orders of creation that each thread has.
    fn ordered(cpus: &[&str], orders: &[usize]) -> PlaceOutcome {
        let mut found = found(cpus);
        for (thread, order) in found.threads.iter_mut().zip(orders) {
            thread.order = *order;
        }
        found
    }

    /// The same with the last thread in a child process.
    fn with_child(cpus: &[&str]) -> PlaceOutcome {
        let mut found = found(cpus);
        found.threads.last_mut().expect("threads").process = 1;
        found
    }

    fn sh(arguments: &[&str], script: &str) -> std::process::Output {
        let pipe = |command: &mut Command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
        };
        let mut shell = pipe(Command::new("sh").args(arguments)).expect("every Linux has sh");
        shell.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
        shell.wait_with_output().expect("it ends")
    }

    fn check(found: &PlaceOutcome, form: Form, running: Option<u32>, expected: &str) {
        let script = text(found, form, running);
        assert!(script.contains(expected), "{form:?}: {script}");
    }

    #[test]
    fn every_form_is_a_shell_script_whatever_threads_and_commands_are_called() {
        for form in Form::value_variants() {
            for running in [None, Some(10595)] {
                let mut pairs = with_child(&["0", "0", "1", "1"]);
                pairs.subject = "./prog 'a\nfalse'".to_owned();
                for found in [pairs, found(&["1", "1"]), found(&["0", "1"])] {
                    let script = text(&found, *form, running);
                    assert!(sh(&["-n"], &script).status.success(), "{form:?}: {script}");
                    assert!(script.lines().all(|line| !line.starts_with("false")), "{form:?}: {script}");
                    let mut commands = script.lines().filter(|line| !line.starts_with('#'));
                    let is_made_up = running.is_some() && commands.any(|line| line.contains("prog"));
                    assert!(!is_made_up, "{form:?}: {script}");
                }
            }
            let mut unproven = found(&["0", "1"]);
            unproven.recommended = None;
            assert_eq!(
                text(&unproven, *form, None),
                "# nothing is recommended: keep the kernel's placement\n"
            );
        }
    }

    #[test]
    fn each_program_gets_what_it_can_express() {
        let one = found(&["1", "1"]);
        check(&one, Form::Taskset, None, "taskset -c 1 ./prog 'a b'\n");
        let in_turns = found(&["1", "0", "1", "0"]);
        let places = "OMP_NUM_THREADS=5 OMP_PLACES='{0,1},{1},{0},{1},{0}' OMP_PROC_BIND=close ./prog";
        check(&in_turns, Form::Omp, None, places);
        let with_first = ordered(&["1", "0"], &[0, 1]);
        check(&with_first, Form::Omp, None, "OMP_NUM_THREADS=2 OMP_PLACES='{1},{0}' ");
        let pairs = with_child(&["0", "0", "1", "1"]);
        check(
            &pairs,
            Form::Taskset,
            None,
            "bind 'it'\\''s a worker' 2 1\n# not bound, as it is of child process 1: ",
        );
    }

    #[test]
    fn of_a_process_that_runs_the_options_are_printed_and_no_command_is_made_up() {
        let one = found(&["1", "1"]);
        for (form, option) in [(Form::Omp, "OMP_PROC_BIND=close\n"), (Form::Taskset, "\ntaskset -c 1\n")] {
            check(&one, form, Some(10595), option);
            check(&one, form, Some(10595), "# put this before the command that starts process 10595:\n");
        }
    }

    #[test]
    fn what_cannot_be_expressed_is_refused_in_one_line() {
        let child = with_child(&["0", "0", "1", "1"]);
        for (found, form, expected) in [
            (&child, Form::Omp, "these are of several"),
            (&ordered(&["0", "1"], &[1, 3]), Form::Omp, "others were created before or among these"),
            (&ordered(&["0", "1"], &[2, 3]), Form::Omp, "others were created before or among these"),
        ] {
            let script = text(found, form, None);
            assert!(script.starts_with("# ") && script.lines().count() == 1, "{form:?}: {script}");
            assert!(script.contains(expected), "{form:?}: {script}");
        }
    }

    #[test]
    fn a_script_stops_at_the_first_thread_that_is_not_there() {
        let script = text(&found(&["0", "1"]), Form::Taskset, None);
        let own = std::process::id().to_string();
        let ended = sh(&["-s", &own], &(script + "echo all of it\n"));
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && ended.stdout.is_empty(), "{ended:?}");
        assert!(said.contains(" has no thread it's a worker after 0 others of that name"), "{said}");
    }
}

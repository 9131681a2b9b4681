//! A recommended placement for other programs: ready commands and snippets.

use std::collections::BTreeMap;

use clap::ValueEnum;
use machine::CpuSet;
use record::{PlaceArm, PlaceOutcome, PlacedThread};

/// For whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A shell script that binds the threads of a running process by taskset
    Taskset,
    /// Properties for systemd: CPUs of the whole program
    Systemd,
    /// A shell script that makes a threaded cpuset (cgroup v2) per set of CPUs and moves the threads of a running process
    Cpuset,
    /// Variables for OpenMP
    Omp,
    /// A command for likwid-pin
    Likwid,
    /// An option for srun
    Slurm,
}

/// What the others would need, or why there is nothing for them.
pub(super) fn text(found: &PlaceOutcome, form: Form) -> String {
    let arm = found.arms.iter().find(|arm| found.recommended.as_ref() == Some(&arm.name));
    let Some(arm) = arm else {
        return "# nothing is recommended: leave it to the kernel\n".to_owned();
    };
    match form {
        Form::Taskset => taskset(found, arm),
        Form::Cpuset => cpuset(found, arm),
        Form::Systemd => {
            let all = union(arm);
            format!(
                "# systemd knows programs, not threads: all {} threads on these CPUs\nsystemd-run --scope -p AllowedCPUs={all} {}\n# or in a unit:\n# [Service]\n# AllowedCPUs={all}\n",
                found.threads.len(),
                command(found)
            )
        }
        Form::Omp => {
            let places: Vec<String> = workers(found, arm).iter().map(|cpus| format!("{{{cpus}}}")).collect();
            format!(
                "# thread i of the team on place i, the first thread of the program included\nOMP_NUM_THREADS={} OMP_PLACES='{}' OMP_PROC_BIND=true {}\n",
                places.len(),
                places.join(","),
                command(found)
            )
        }
        Form::Likwid => likwid(found, arm),
        Form::Slurm => slurm(found, arm),
    }
}

fn command(found: &PlaceOutcome) -> String {
    found.subject.clone()
}

fn union(arm: &PlaceArm) -> CpuSet {
    arm.cpus
        .iter()
        .filter_map(|list| CpuSet::from_list(list).ok())
        .fold(CpuSet::new(), |all, set| all.union(&set))
}

/// CPUs of the threads of the first process, in the order of creation.
fn workers(found: &PlaceOutcome, arm: &PlaceArm) -> Vec<String> {
    let of_first = found.threads.iter().zip(&arm.cpus).filter(|(thread, _)| thread.process == 0);
    of_first.map(|(_, cpus)| cpus.clone()).collect()
}

/// likwid-pin takes each CPU once and hands them out in turns, to the first thread of the program as well.
fn likwid(found: &PlaceOutcome, arm: &PlaceArm) -> String {
    let mut distinct: Vec<&String> = arm.cpus.iter().collect();
    distinct.sort();
    distinct.dedup();
    let mut turns: Vec<Option<&String>> = vec![None; distinct.len()];
    let of_first = found.threads.iter().zip(&arm.cpus).filter(|(thread, _)| thread.process == 0);
    for (thread, cpus) in of_first {
        let turn = &mut turns[thread.order % distinct.len()];
        if turn.is_some_and(|taken| taken != cpus) {
            return "# likwid-pin hands out each CPU in turns, which cannot make this placement; use taskset or omp\n"
                .to_owned();
        }
        *turn = Some(cpus);
    }
    let free: Vec<&String> = distinct.iter().copied().filter(|cpus| !turns.contains(&Some(cpus))).collect();
    let mut free = free.into_iter();
    let turns: Vec<&str> =
        turns.into_iter().filter_map(|turn| turn.or_else(|| free.next())).map(String::as_str).collect();
    format!("# threads in the order of creation\nlikwid-pin -c {} {}\n", turns.join(","), command(found))
}

/// A word for sh, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A function that finds the threads of a process by name and order, and what to call for each.
fn each_thread(
    found: &PlaceOutcome,
    of_thread: impl Fn(&PlacedThread, usize) -> Option<String>,
    act: &str,
) -> String {
    let calls: Vec<String> = found
        .threads
        .iter()
        .enumerate()
        .filter(|(_, thread)| thread.process == 0)
        .filter_map(|(index, thread)| {
            Some(format!("bind {} {} {}\n", quoted(&thread.name), thread.nth, of_thread(thread, index)?))
        })
        .collect();
    format!(
        "pid=${{1:?give the number of the process}}\n\
         # bind NAME NTH WHERE: the thread of that name that was created after NTH others of it\n\
         bind() {{\n  nth=0\n  for thread in $(ls \"/proc/$pid/task\" | sort -n); do\n    \
         [ \"$(cat \"/proc/$pid/task/$thread/comm\")\" = \"$1\" ] || continue\n    \
         [ \"$nth\" -eq \"$2\" ] && {act}\n    nth=$((nth + 1))\n  done\n}}\n{}",
        calls.concat()
    )
}

fn taskset(found: &PlaceOutcome, arm: &PlaceArm) -> String {
    let only = union(arm);
    if arm.cpus.iter().all(|cpus| *cpus == only.to_string()) {
        return format!("taskset -c {only} {}\n", command(found));
    }
    let body = each_thread(found, |_, index| arm.cpus.get(index).cloned(), "taskset -cp \"$3\" \"$thread\"");
    format!("#!/bin/sh\n# sh FILE PID, once its threads run: {}\n{body}", command(found))
}

fn cpuset(found: &PlaceOutcome, arm: &PlaceArm) -> String {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for cpus in &arm.cpus {
        let next = groups.len();
        groups.entry(cpus).or_insert(next);
    }
    let folders: Vec<String> = groups
        .iter()
        .map(|(cpus, group)| {
            format!(
                "mkdir -p \"$top/g{group}\"\necho threaded > \"$top/g{group}/cgroup.type\"\necho {cpus} > \"$top/g{group}/cpuset.cpus\"\n"
            )
        })
        .collect();
    let group_of =
        |_: &PlacedThread, index: usize| Some(format!("g{}", groups.get(arm.cpus.get(index)?.as_str())?));
    let body = each_thread(found, group_of, "echo \"$thread\" > \"$top/$3/cgroup.threads\"");
    format!(
        "#!/bin/sh\n# as root: sh FILE PID, on cgroup v2 with the cpuset controller\ntop=/sys/fs/cgroup/sidestep-$1\n\
         was=$(sed -n 's/^0:://p' \"/proc/$1/cgroup\")\n\
         mkdir -p \"$top\"\necho +cpuset > /sys/fs/cgroup/cgroup.subtree_control\necho \"$1\" > \"$top/cgroup.procs\"\n\
         echo +cpuset > \"$top/cgroup.subtree_control\"\n{}{body}\
         echo \"to undo: echo $1 > /sys/fs/cgroup${{was%/}}/cgroup.procs; rmdir $top/g* $top\"\n",
        folders.concat()
    )
}

/// Slurm binds tasks, which are processes: one CPU mask each.
fn slurm(found: &PlaceOutcome, arm: &PlaceArm) -> String {
    let processes = found.threads.iter().map(|thread| thread.process).max().unwrap_or(0) + 1;
    let mask = |process: usize| {
        let lists = found.threads.iter().zip(&arm.cpus).filter(|(thread, _)| thread.process == process);
        let all = lists
            .filter_map(|(_, cpus)| CpuSet::from_list(cpus).ok())
            .fold(CpuSet::new(), |all, set| all.union(&set));
        let words = all.iter().next_back().map_or(1, |cpu| cpu.0 as usize / 4 + 1);
        let mut digits = vec![0_u8; words];
        for cpu in all.iter() {
            digits[words - 1 - cpu.0 as usize / 4] |= 1 << (cpu.0 % 4);
        }
        let hex: Vec<String> = digits.iter().map(|digit| format!("{digit:x}")).collect();
        format!("0x{}", hex.concat())
    };
    let masks: Vec<String> = (0..processes).map(mask).collect();
    format!(
        "# Slurm binds tasks, not threads: a mask per process, in the order of their start\nsrun -n {processes} --cpu-bind=mask_cpu:{} {}\n",
        masks.join(","),
        command(found)
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use experiments::place::arms::Arms;
    use experiments::place::outcome::{Setting, nothing_tried};
    use stats::Verdict;

    use super::*;

    /// Threads of a program whose first thread is idle, on these CPUs.
    fn found(cpus: &[&str]) -> PlaceOutcome {
        let setting = Setting { subject: "./prog -n 4".to_owned(), ..Setting::default() };
        let arms =
            Arms { plans: Vec::new(), decision: None, predicted_by: Err(String::new()), judged_by_s: None };
        let mut found = nothing_tried(&setting, &arms, "");
        let thread = |(nth, cpus): (usize, &&str)| PlacedThread {
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

    fn is_shell(script: &str) -> bool {
        let mut shell =
            Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().expect("every Linux has sh");
        shell.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("it reads");
        shell.wait().expect("it ends").success()
    }

    #[test]
    fn every_form_is_a_shell_script_whatever_threads_are_called() {
        for form in Form::value_variants() {
            let script = text(&found(&["0", "0", "1", "1"]), *form);
            assert!(is_shell(&script), "{form:?}: {script}");
            let mut unproven = found(&["0", "1"]);
            unproven.recommended = None;
            assert_eq!(text(&unproven, *form), "# nothing is recommended: leave it to the kernel\n");
        }
    }

    #[test]
    fn each_program_gets_what_it_can_express() {
        let pairs = found(&["0", "0", "1", "1"]);
        let has = |found: &PlaceOutcome, form, expected: &str| {
            let script = text(found, form);
            assert!(script.contains(expected), "{form:?}: {script}");
        };
        has(
            &pairs,
            Form::Omp,
            "OMP_NUM_THREADS=4 OMP_PLACES='{0},{0},{1},{1}' OMP_PROC_BIND=true ./prog -n 4",
        );
        has(&pairs, Form::Systemd, "systemd-run --scope -p AllowedCPUs=0-1 ./prog -n 4");
        has(&pairs, Form::Slurm, "--cpu-bind=mask_cpu:0x3 ./prog -n 4");
        has(&pairs, Form::Likwid, "cannot make this placement");
        has(&found(&["1", "0", "1", "0"]), Form::Likwid, "likwid-pin -c 0,1 ./prog -n 4");
        has(&pairs, Form::Taskset, "bind 'it'\\''s a worker' 2 1\n");
        has(&pairs, Form::Cpuset, "echo 1 > \"$top/g1/cpuset.cpus\"");
        has(&found(&["4", "4"]), Form::Taskset, "taskset -c 4 ./prog -n 4\n");
        has(&found(&["4", "4"]), Form::Slurm, "mask_cpu:0x10 ");
    }
}

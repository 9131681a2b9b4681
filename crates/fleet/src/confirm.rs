//! Suspects: the jobs that repeat them beside healthy nodes, what was found of each in one line, and the lines that take those that are
//! confirmed out of Slurm. Printed for an administrator to read; nothing is run.

use std::fmt::Write;

use record::{FleetCheck, FleetStatus, FleetSuspect, word};
use stats::Random;

use crate::check::HEALTHY;
use crate::node::NodeName;

/// Runs of each node beside a suspect: 5 against 10 can have a p of 0.0007.
const NODE_RUNS: usize = 5;
/// Runs of each node where a level is repeated on five nodes and five others.
const LEVEL_RUNS: usize = 3;
/// Minutes that a run may take, with its start.
const RUN_MINUTES: usize = 3;

/// What is repeated, where, and under which name.
struct Job {
    experiment: String,
    what: String,
    suspects: Vec<String>,
    healthy: Vec<String>,
    runs: usize,
    options: String,
}

/// Why no job can be printed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfirmError {
    /// Nothing is suspect, or all of it was repeated.
    #[error("nothing to repeat: no suspect of this check is open")]
    Nothing,
    /// A name that would be no word for a shell or for Slurm.
    #[error("cannot print the commands: {0}")]
    Unusable(String),
}

/// A script for sh that submits a job to Slurm for each suspect, into the drop directory `drop`, in an order drawn from `seed`.
///
/// # Errors
/// `ConfirmError`.
pub fn slurm(check: &FleetCheck, drop: &str, seed: u64) -> Result<String, ConfirmError> {
    let id = id(check)?;
    let (jobs, unusable) = jobs(check, id);
    if jobs.is_empty() {
        return Err(unusable.into_iter().next().map_or(ConfirmError::Nothing, ConfirmError::Unusable));
    }
    let count = machine::counted(jobs.len(), "job");
    let mut script = format!(
        "#!/bin/sh\n# sidestep fleet confirm: {count} of check {}, order drawn from seed {seed}.\n\
         # Each repeats a suspect and healthy nodes of the same kind in random order, one run at a time.\n\
         # Read it, then run it with sh. When the jobs have ended, sidestep fleet check says confirmed or not seen again.\n\
         DROP={}\nexport DROP\n",
        id,
        machine::shell_quoted(drop)
    );
    for why in unusable {
        let _ = writeln!(script, "# left out: {}", why.replace(char::is_control, " "));
    }
    let mut random = Random::new(seed);
    for job in &jobs {
        script += &submission(job, &mut random);
    }
    Ok(script)
}

/// The name of a check, which stands in scripts; documents come from elsewhere, and this one is ours.
fn id(check: &FleetCheck) -> Result<&str, ConfirmError> {
    let refused = || format!("{:?} is no name of a check; make it again with sidestep fleet check", check.id);
    is_word(&check.id).then_some(check.id.as_str()).ok_or_else(|| ConfirmError::Unusable(refused()))
}

/// The jobs of all open suspects, and what cannot be repeated.
fn jobs(check: &FleetCheck, id: &str) -> (Vec<Job>, Vec<String>) {
    let (mut jobs, mut unusable) = (Vec::new(), Vec::new());
    let mut add = |stratum: usize, experiment, what, [suspects, healthy]: [Vec<String>; 2], runs| {
        let preset = check.strata.get(stratum).map(|stratum| stratum.preset.as_str()).unwrap_or_default();
        match (options(preset), suspects.iter().chain(&healthy).find(|name| !is_word(name))) {
            (_, Some(name)) => unusable.push(format!("{name:?} is no name that Slurm takes")),
            (None, _) => unusable.push(format!("{what}: no way to repeat preset {preset:?}")),
            _ if suspects.is_empty() || healthy.is_empty() => {
                unusable.push(format!("{what}: no healthy node of the same kind"));
            }
            (Some(options), None) => jobs.push(Job { experiment, what, suspects, healthy, runs, options }),
        }
    };
    let is_open = |status: FleetStatus| status == FleetStatus::Suspect;
    for (index, one) in check.suspects.iter().enumerate().filter(|(_, one)| is_open(one.status)) {
        let (name, what) = (format!("confirm-{id}-n{index}"), format!("node {}", one.node));
        add(one.stratum, name, what, [vec![one.node.clone()], one.matched.clone()], NODE_RUNS);
    }
    for (index, one) in check.levels.iter().enumerate().filter(|(_, one)| is_open(one.status)) {
        let (name, what) = (format!("confirm-{id}-l{index}"), format!("{}={}", one.factor, one.level));
        add(one.stratum, name, what, one.repeat_on.clone(), LEVEL_RUNS);
    }
    (jobs, unusable)
}

fn submission(job: &Job, random: &mut Random) -> String {
    let nodes: Vec<(&str, &str)> = job
        .suspects
        .iter()
        .map(|node| (node.as_str(), "suspect"))
        .chain(job.healthy.iter().map(|node| (node.as_str(), HEALTHY)))
        .collect();
    let names: Vec<&str> = nodes.iter().map(|(node, _)| *node).collect();
    let minutes = job.runs * nodes.len() * RUN_MINUTES;
    let mut text = format!(
        "\n# {}\nsbatch --job-name={} --nodes={} --nodelist={} --ntasks-per-node=1 --exclusive --no-kill --time={minutes} <<'END'\n\
         #!/bin/sh\n\
         run() {{\n  \
         srun --nodes=1 --ntasks=1 --nodelist=\"$1\" --kill-on-bad-exit=0 \\\n    \
         sidestep run {}--drop \"$DROP\" --experiment {} --arm \"$2\" || echo \"$1 failed\" >&2\n\
         }}\n",
        job.what.replace(char::is_control, " "),
        job.experiment,
        nodes.len(),
        names.join(","),
        job.options,
        job.experiment,
    );
    for _ in 0..job.runs {
        let mut round = nodes.clone();
        random.shuffle(&mut round);
        for (node, arm) in round {
            let _ = writeln!(text, "run {node} {arm}");
        }
    }
    text + "END\n"
}

/// The options that make a run of this preset, with a blank behind them.
fn options(preset: &str) -> Option<String> {
    let (depth, only) =
        preset.split_once("+only=").map_or((preset, None), |(depth, only)| (depth, Some(only)));
    let depth = match depth.split_once('-') {
        _ if depth == "standard" => String::new(),
        _ if depth == "quick" || depth == "full" => format!("--{depth} "),
        Some(("budget", time)) if is_word(time) => format!("--budget {time} "),
        _ => return None,
    };
    let is_list = |only: &str| !only.is_empty() && only.split(',').all(is_word);
    match only {
        Some(only) if is_list(only) => Some(format!("{depth}--only {only} ")),
        Some(_) => None,
        None => Some(depth),
    }
}

/// Whether a shell, a list of nodes and a list of names take it as it is.
pub(crate) fn is_word(text: &str) -> bool {
    NodeName::parse(text).is_ok()
}

/// How far a node stands out, and how far that is known.
pub fn suspect_text(one: &FleetSuspect) -> String {
    let FleetSuspect { worse_percent, metrics, of_metrics, status, .. } = one;
    format!("{}: {worse_percent:+.1} % on {metrics} of {of_metrics} metrics", word(status))
}

/// Lines that take confirmed nodes out of Slurm, for an administrator to run. What is only suspect stands as a comment.
///
/// # Errors
/// `ConfirmError::Unusable`: the check has a name that would be no word.
pub fn slurm_drain(check: &FleetCheck) -> Result<String, ConfirmError> {
    let id = id(check)?;
    let mut text = String::new();
    for one in &check.suspects {
        let reason = format!("sidestep {id}: {}", suspect_text(one));
        // What is no word stands in a comment, and breaks no line of it.
        let name = one.node.replace(char::is_control, " ");
        let _ = match one.status {
            FleetStatus::Confirmed if is_word(&one.node) => {
                let reason = machine::shell_word(&reason);
                writeln!(text, "scontrol update nodename={name} state=drain reason={reason}")
            }
            FleetStatus::Confirmed => writeln!(text, "# {name} is no name that Slurm takes; {reason}"),
            FleetStatus::Suspect => {
                writeln!(text, "# {name} is not confirmed: sidestep fleet confirm; {reason}")
            }
            FleetStatus::NotSeenAgain => Ok(()),
        };
    }
    Ok(if text.is_empty() { "# no node is suspect\n".to_owned() } else { text })
}

#[cfg(test)]
mod tests {
    use record::{FleetLevel, FleetStratum};

    use super::*;

    fn check() -> FleetCheck {
        FleetCheck {
            id: "20261126T045412Z".to_owned(),
            strata: vec![FleetStratum {
                preset: "quick+only=memory,cores".to_owned(),
                ..FleetStratum::default()
            }],
            suspects: vec![FleetSuspect {
                node: "n1".to_owned(),
                matched: vec!["n2".to_owned(), "n3".to_owned()],
                ..FleetSuspect::default()
            }],
            ..FleetCheck::default()
        }
    }

    #[test]
    fn a_suspect_and_both_healthy_nodes_run_five_times_each_in_random_order() {
        let script = slurm(&check(), "/drop it's", 7).expect("a job");
        assert!(
            script.contains("--nodes=3 --nodelist=n1,n2,n3 --ntasks-per-node=1 --exclusive --no-kill"),
            "{script}"
        );
        assert!(script.contains("DROP='/drop it'\\''s'\n"), "{script}");
        assert!(
            script.contains(
                "run --quick --only memory,cores --drop \"$DROP\" --experiment confirm-20261126T045412Z-n0"
            ),
            "{script}"
        );
        let runs: Vec<&str> = script.lines().filter(|line| line.starts_with("run n")).collect();
        assert_eq!(runs.len(), 15);
        for round in runs.chunks(3) {
            let mut round = round.to_vec();
            round.sort_unstable();
            assert_eq!(round, ["run n1 suspect", "run n2 healthy", "run n3 healthy"]);
        }
        assert!(runs.chunks(3).any(|round| round != &runs[..3]), "{runs:?}");
        assert_eq!(script, slurm(&check(), "/drop it's", 7).expect("the same"));
    }

    #[test]
    fn a_level_is_repeated_on_its_nodes_and_others_and_what_was_cleared_is_not() {
        let five = |from: usize| (from..from + 5).map(|n| format!("n{n}")).collect::<Vec<_>>();
        let level = FleetLevel {
            factor: "slot".to_owned(),
            level: "0\nrm".to_owned(),
            repeat_on: [five(0), five(10)],
            ..FleetLevel::default()
        };
        let mut found = FleetCheck { levels: vec![level], ..check() };
        found.suspects[0].status = FleetStatus::NotSeenAgain;
        let script = slurm(&found, "drop", 1).expect("a job");
        assert_eq!(script.lines().filter(|line| line.starts_with("run n")).count(), 30);
        assert!(script.contains("# slot=0 rm\n") && !script.contains("-n0 "), "{script}");
        found.levels.clear();
        assert_eq!(slurm(&found, "drop", 1), Err(ConfirmError::Nothing));
    }

    #[test]
    fn what_a_shell_would_run_is_left_out() {
        let mut found = check();
        found.suspects[0].matched[0] = "n2; rm -rf $HOME".to_owned();
        assert!(matches!(slurm(&found, "drop", 1), Err(ConfirmError::Unusable(_))));
        for (preset, expected) in [
            ("quick", Some("--quick ")),
            ("standard", Some("")),
            ("budget-30s", Some("--budget 30s ")),
            ("standard+only=memory", Some("--only memory ")),
            ("quick+only=", None),
            ("quick+only=$(x)", None),
            ("", None),
            ("other", None),
        ] {
            assert_eq!(options(preset).as_deref(), expected, "{preset}");
        }
    }

    fn repeated() -> FleetCheck {
        let suspect = |name: &str, status: FleetStatus| FleetSuspect {
            node: name.to_owned(),
            status,
            metrics: 3,
            of_metrics: 9,
            ..FleetSuspect::default()
        };
        FleetCheck {
            id: "1".to_owned(),
            suspects: vec![
                suspect("n1", FleetStatus::Confirmed),
                suspect("n\"2\n<", FleetStatus::Confirmed),
                suspect("n4", FleetStatus::Suspect),
            ],
            ..FleetCheck::default()
        }
    }

    #[test]
    fn only_confirmed_nodes_are_drained_and_no_name_is_run() {
        let text = slurm_drain(&repeated()).expect("a name");
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("scontrol update nodename=n1 state=drain reason='sidestep 1: confirmed:"),
            "{text}"
        );
        assert!(
            lines[1].starts_with("# n\"2 < is no name") && lines[2].starts_with("# n4 is not confirmed"),
            "{text}"
        );
        assert_eq!(lines.len(), 3);
        let nothing = FleetCheck { suspects: Vec::new(), ..repeated() };
        assert_eq!(slurm_drain(&nothing).as_deref(), Ok("# no node is suspect\n"));
        for id in ["", "1 --wrap=id; touch P", "1\nEND\ntouch P", "$(touch P)", "-x"] {
            let hostile = |check: FleetCheck| FleetCheck { id: id.to_owned(), ..check };
            assert!(matches!(slurm_drain(&hostile(repeated())), Err(ConfirmError::Unusable(_))), "{id}");
            assert!(matches!(slurm(&hostile(check()), "drop", 1), Err(ConfirmError::Unusable(_))), "{id}");
        }
    }
}

//! What `--help` adds to the options: commands by what they are for, and examples that work as they stand.

use std::fmt::Write;

use clap::Command;

/// Commands by what a user wants, in the order of the help.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Check this machine", &["run", "flaws", "clock", "sockets", "guard", "history"]),
    ("Check many nodes", &["fleet"]),
    ("Prove an effect", &["bill", "ab", "compare", "place", "workloads"]),
    ("Model a machine", &["simulate"]),
    ("Tools", &["machine", "show", "toggles", "completions"]),
];

/// Examples under their command: a command line after `sidestep`, and what it is for.
const EXAMPLES: &str = "\
sidestep
  # check this machine: 90 s at most, no root needed
  flaws # which CPU flaws it has, and which of them are mitigated
  ab --toggle thp -- ./program # what huge pages change for a program
  compare before after # what differs between two check-ups
sidestep run
  run --quick # 20 s in place of 90
  run --only memory,cores --cpus 0-3 # a part of it
  run --record before # choose the folder, to compare it later
  run --repeat 5 --every 10m # five in a row, with the spread between them
  run --plan # what would be measured, and how long it takes
  run --quick --drop /shared/drop # one record for a fleet, under the node's name
sidestep flaws
  flaws # this machine, by kernel, registers and timing
  flaws --long # all rows, and what each source says
  flaws --gate # exit with 1 where the kernel says vulnerable
  flaws show srso # one flaw explained
  flaws --lscpu reports/ # count over the lscpu reports of many machines
sidestep clock
  clock check # do the counters of all CPUs agree, in 12 s
  clock cost # what each way to read the time costs
  clock watch --budget 1h # report every drift and step for an hour
sidestep clock check
  clock check # 12 s
  clock check --budget 10m --stress load,idle # longer, while CPUs work and sleep in turns
  clock check --gate # exit with 1 when time is unsafe
  clock check --inject 1:rate=100 # see what a drift of 100 ppb on CPU 1 would look like
sidestep clock cost
  clock cost # the clock source in use
  clock cost --threads 1..8 # does the cost grow with the number of threads
sidestep clock watch
  clock watch # until Ctrl-C, a probe each second
  clock watch --metrics-file sidestep.prom # for the textfile collector of node_exporter
  clock watch --json --budget 1h # one JSON document per event
sidestep sockets
  sockets # latency and bandwidth from each CPU to each node
  sockets --per core --budget 1m # every core, in more time
  sockets explain sockets.json # why each socket gets what it gets
  sockets firmware # the links that firmware reports
sidestep sockets infer
  sockets infer matrix.csv # groups and links from a matrix of latencies
  sockets infer matrix.csv --html links.html # as a page, with the graph
sidestep guard
  guard init --every 1h # a baseline of 20 check-ups, spread over a day
  guard check --gate # exit with 1 when the machine changed
  guard unit # a systemd timer that checks once a day
sidestep fleet
  fleet check /shared/drop --inventory nodes.csv # which nodes are odd, which rack, slot or firmware explains it
  fleet check /shared/drop --json # the document that confirm and export read
  fleet confirm check.json --drop drop # jobs that repeat suspects beside healthy nodes
  fleet export check.json --slurm-drain # lines that take confirmed nodes out of Slurm
  fleet plan --engine slurm --nodes 'n[001-128]' --drop /shared/drop # a script that measures each
  fleet rows /shared/drop -o rows # its records as rows for DuckDB, Spark, pandas
sidestep fleet check
  fleet check /shared/drop --inventory nodes.csv --html fleet.html # with a map of the fleet
  fleet check /shared/drop --name-pattern 'r(?<rack>[0-9]+)s(?<slot>[0-9]+)' # racks and slots from names
  fleet check /shared/drop --gate # exit with 1 when something stands out
sidestep history
  history # earlier check-ups of this machine
  history --row rdtsc # one row over time, and which facts changed with it
  history --trend # rows that changed
sidestep fleet plan
  fleet plan --engine slurm --partition batch --drop /shared/drop # every node of a partition
  fleet plan --engine slurm --inventory nodes.csv --at-once 2 --drop /shared/drop # at most two nodes of a rack at a time
  fleet plan --engine kubernetes --nodes 'n[1-8]' --image registry/sidestep:0.1 --drop /var/lib/sidestep # a Job for each node
  fleet plan --engine ansible --drop /shared/drop -- --full # with options of run
sidestep fleet rows
  fleet rows /shared/drop -o rows # metrics, nodes and states as NDJSON
  fleet rows /shared/drop --table nodes # one table on standard output
sidestep ab
  ab --toggle thp # huge pages on and off, by the probes they can move
  ab --toggle thp -- ./program # the same by the time of a program
  ab --toggle thp --metric 'score ([0-9.]+)' --better higher -- ./program # by a number it prints
  ab --a ./old --b ./new # two programs
  ab --across-reboot --a mitigations=auto --b mitigations=off # boot options, five boots of each
sidestep bill
  bill -- ./program # each setting that can be switched here, in 10 minutes
  bill --metric 'score ([0-9.]+)' --better higher -- ./program # by a number it prints
  bill --suite article --for 40m # of each program of a suite, with averages
  bill --dry-run -- ./program # what would be switched, and what is skipped
  bill --resume # go on after Ctrl-C, a crash or a power cut
sidestep compare
  compare before after # two check-ups; the history gives the spread between runs
  compare old=a1,a2,a3 new=b1,b2,b3 # three of each
  compare before after --gate=2% # exit with 1 when something is slower by more than 2 %
  compare a.json b.json --html page.html # results of hyperfine, as a page
sidestep place
  place -- ./program # profile it, place its threads, prove the gain
  place --metric 'ops: ([0-9]+)' --better higher -- ./server # by a number it prints
  place --export taskset -- ./program # also print a script that binds the threads
  place --pid 4242 --metric-command 'COMMAND' # a process that runs; COMMAND prints a number that rises with its work
sidestep simulate
  simulate phenom-9600 # what the erratum-298 workaround costs
  simulate x6440-8380 # why two of four sockets are 15 % slower
  simulate fx-8150 --threads 1..8 # what filling empty modules first gains
  simulate k8-opteron --html page.html # drifting counters, as a page
sidestep machine
  machine # CPUs, caches, nodes, limits
  machine --sysroot machine.tar.gz # of a recorded machine
  machine --save machine.tar.gz # record this one, for a bug report or a test
sidestep show
  show sidestep-20261124T030000Z # the summary of a record again
  show before --csv # every number as CSV
  show before --svg bandwidth # one figure
sidestep toggles
  toggles # what can be switched here
  toggles show thp # what one does, requires and risks
  toggles set thp=always --for 30s # switch it; it is restored after 30 s, even after a crash
  toggles revert # restore now
sidestep workloads
  workloads --suite server # what there is, what it stresses, what is missing here
  workloads check x264-pass-1 --turns 5 # turns of one, and how they vary";

/// A command line after `sidestep`, and what it is for.
type Example = (&'static str, &'static str);

/// The words of each command with its examples; no words for the command without.
fn examples() -> Vec<(Vec<&'static str>, Vec<Example>)> {
    let mut all: Vec<(Vec<_>, Vec<Example>)> = Vec::new();
    for line in EXAMPLES.lines() {
        match (line.split_once('#'), all.last_mut()) {
            (Some((line, purpose)), Some((_, examples))) => examples.push((line.trim(), purpose.trim())),
            _ => all.push((line.split_whitespace().skip(1).collect(), Vec::new())),
        }
    }
    all
}

/// The definition of the command line with groups and examples.
pub(crate) fn explained(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n  The check-up's own: sidestep run --help\n{{options}}{{after-help}}",
        groups(&command)
    );
    let examples =
        examples().iter().fold(command, |command, (words, examples)| with_examples(command, words, examples));
    // They are those of `run`, and hide the commands on a first screen.
    let own: Vec<_> =
        examples.get_arguments().filter(|one| !one.is_global_set()).map(|one| one.get_id().clone()).collect();
    own.into_iter()
        .fold(examples, |command, id| command.mut_arg(id, |one| one.hide(true)))
        .help_template(template)
}

fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{heading}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(text, "  {name:<12} {}", about.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

fn with_examples(command: Command, words: &[&'static str], examples: &[Example]) -> Command {
    if let Some((first, rest)) = words.split_first() {
        return command.mut_subcommand(first, |below| with_examples(below, rest, examples));
    }
    let after = command.get_after_help().map_or_else(String::new, |after| format!("\n{after}"));
    command.after_help(example_lines(examples) + &after)
}

fn example_lines(examples: &[Example]) -> String {
    let mut text = "Examples:\n".to_owned();
    for (line, purpose) in examples {
        let _ = writeln!(text, "  {}\n      {purpose}", format!("sidestep {line}").trim_end());
    }
    text
}

#[cfg(test)]
mod pages_test;

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::arguments;
    use crate::arguments::Arguments;

    /// Words as a shell would split them: single quotes only.
    fn words(line: &str) -> Vec<OsString> {
        let mut words = vec!["sidestep".to_owned()];
        for (index, part) in line.split('\'').enumerate() {
            match index % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words.into_iter().map(OsString::from).collect()
    }

    #[test]
    fn every_example_is_a_command_line() {
        for (_, examples) in examples() {
            for (line, _) in examples {
                if let Err(why) = Arguments::parsed(words(line)) {
                    panic!("sidestep {line}: {why}");
                }
            }
        }
    }

    #[test]
    fn every_command_stands_in_one_group_and_every_line_fits() {
        let command = arguments::definition();
        let hidden = ["man", "help"];
        for one in command.get_subcommands().filter(|one| !hidden.contains(&one.get_name())) {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&one.get_name()));
            assert_eq!(groups.count(), 1, "{}", one.get_name());
        }
        let groups = groups(&command);
        assert!(groups.lines().all(|line| line.chars().count() <= 80), "{groups}");
        let help = arguments::definition().render_help().to_string();
        assert!(help.contains("Prove an effect:\n  bill"), "{help}");
    }
}

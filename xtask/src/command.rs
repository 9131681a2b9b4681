//! The table of tasks: a new task is a new row here and a file beside this one.

use crate::totals::Totals;
use crate::{
    ab_evidence, bench, bench_clock, between_runs, bill_evidence, browser, clock_evidence, dist, estimators, flaws_coverage,
    fuzz, golden, guard_evidence, kill_toggles, links_evidence, numa_guest, placement_evidence,
    placement_programs, promise, pts_coverage, schema, sharing_evidence, sockets_evidence, steps, tidy,
};

/// One task of `cargo xtask`.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// What is typed after `cargo xtask`.
    pub name: &'static str,
    /// One line for the overview.
    pub summary: &'static str,
    /// The rest of `--help`.
    pub help: &'static str,
    /// Does the task with the arguments after its name.
    pub run: fn(&[String]) -> anyhow::Result<Totals>,
}

/// All tasks, in the order a newcomer meets them.
pub const COMMANDS: &[Command] = &[
    Command { name: "test", summary: "everything a change has to pass", help: steps::HELP, run: steps::run },
    Command { name: "tidy", summary: "the house rules alone", help: tidy::HELP, run: tidy::run },
    Command {
        name: "golden",
        summary: "command lines against their transcripts",
        help: golden::HELP,
        run: golden::run,
    },
    Command {
        name: "browser",
        summary: "the report in headless Chromium",
        help: browser::HELP,
        run: browser::run,
    },
    Command {
        name: "bench",
        summary: "our kernels against STREAM, likwid-bench, multichase",
        help: bench::HELP,
        run: bench::run,
    },
    Command {
        name: "bench-one",
        summary: "our side of one run of bench",
        help: bench::ONE_HELP,
        run: bench::run_own,
    },
    Command {
        name: "bench-clock",
        summary: "the clock against its peers, and its preload library under real programs",
        help: bench_clock::HELP,
        run: bench_clock::run,
    },
    Command {
        name: "promise",
        summary: "false alarms and power of comparisons, simulated and on this machine",
        help: promise::HELP,
        run: promise::run,
    },
    Command {
        name: "kill-toggles",
        summary: "experiments killed at random points, and who mends",
        help: kill_toggles::HELP,
        run: kill_toggles::run,
    },
    Command {
        name: "fuzz",
        summary: "every parser against inputs that nobody meant",
        help: fuzz::HELP,
        run: fuzz::run,
    },
    Command {
        name: "flaws-coverage",
        summary: "the catalogue of flaws against a kernel tree",
        help: flaws_coverage::HELP,
        run: flaws_coverage::run,
    },
    Command {
        name: "pts-coverage",
        summary: "the reader of Phoronix profiles against the public collection",
        help: pts_coverage::HELP,
        run: pts_coverage::run,
    },
    Command {
        name: "ab-evidence",
        summary: "sidestep ab on a loaded machine: claims from nothing, and a planted 1 %",
        help: ab_evidence::HELP,
        run: ab_evidence::run_all,
    },
    Command {
        name: "bill-evidence",
        summary: "bills of programs with known costs: named, ranked, added up; and of nothing",
        help: bill_evidence::HELP,
        run: bill_evidence::run,
    },
    Command {
        name: "clock-evidence",
        summary: "sidestep clock check with drift put in, and ten minutes without",
        help: clock_evidence::HELP,
        run: clock_evidence::run,
    },
    Command {
        name: "guard-evidence",
        summary: "a guard on recorded check-ups: alarms from nothing, and planted changes",
        help: guard_evidence::HELP,
        run: guard_evidence::run,
    },
    Command {
        name: "placement-evidence",
        summary: "the optimiser of placements on every family: gaps, proofs, times",
        help: placement_evidence::HELP,
        run: placement_evidence::run,
    },
    Command {
        name: "estimators",
        summary: "which estimator of each class is steady between runs, on records or an extract",
        help: estimators::HELP,
        run: estimators::run,
    },
    Command {
        name: "sharing-evidence",
        summary: "hidden pairs of threads found by samples of their registers",
        help: sharing_evidence::HELP,
        run: sharing_evidence::run,
    },
    Command {
        name: "sharing-subject",
        summary: "the program that sharing-evidence watches",
        help: sharing_evidence::subject::HELP,
        run: sharing_evidence::subject::run,
    },
    Command {
        name: "sockets-evidence",
        summary: "sidestep sockets on a busy machine: equal CPUs, 5 % put in, a thief",
        help: sockets_evidence::HELP,
        run: sockets_evidence::run,
    },
    Command {
        name: "links-evidence",
        summary: "links inferred from simulated and published matrices: shares, fits, times",
        help: links_evidence::HELP,
        run: links_evidence::run,
    },
    Command {
        name: "between-runs",
        summary: "what compare claims of unchanged and of changed runs, from saved windows",
        help: between_runs::HELP,
        run: between_runs::run,
    },
    Command {
        name: "numa-guest",
        summary: "machines of several nodes in QEMU: tables read, every command of sockets run, no link invented",
        help: numa_guest::HELP,
        run: numa_guest::run,
    },
    Command {
        name: "spin",
        summary: "the program that ab-evidence runs",
        help: ab_evidence::SPIN_HELP,
        run: ab_evidence::spin,
    },
    Command {
        name: "threads",
        summary: "the programs that placement-evidence runs",
        help: placement_programs::HELP,
        run: placement_programs::run,
    },
    Command {
        name: "dist",
        summary: "the static binary and what ships with it",
        help: dist::HELP,
        run: dist::run,
    },
    Command {
        name: "schema",
        summary: "rewrite the committed JSON Schema",
        help: schema::HELP,
        run: schema::run,
    },
];

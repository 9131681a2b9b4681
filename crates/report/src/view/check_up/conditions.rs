//! Under which conditions the check-up measured: what disturbed it, what it had to do without; and how to repeat it.

use machine::Hertz;
use record::{Provenance, Record};

use crate::escape::shell_word;
use crate::number;
use crate::page::{Block, Section, Statement, Tone};
use crate::plan;

/// Version, time and seed: what a reader looks up.
pub(super) fn run(record: &Record) -> String {
    let origin = &record.provenance;
    let cpus = if origin.cpus.is_empty() { String::new() } else { format!(", CPUs {}", origin.cpus) };
    format!(
        "sidestep {}, started {}, took {} s of {} s{cpus}, {}, seed {}",
        origin.tool_version,
        origin.started_utc,
        number::short(record.elapsed_s),
        number::short(origin.budget_s),
        if origin.root { "as root" } else { "without root" },
        origin.seed
    )
}

/// What disturbed the run, doubts about it, who else was at work, and what was not available.
pub(super) fn conditions(record: &Record) -> Section {
    Section::new("conditions", "Measurement conditions")
        .facts(disturbances(record))
        .stating(record.guards.doubts.iter().map(Statement::doubt))
        .list(record.neighbours.iter().flat_map(plan::beside))
        .list(record.provenance.without.clone())
        .saying(
            Tone::Faint,
            "Behind a number stands its 95 % interval: ±x %, or [low, high] where it is wide. ~ marks an interval wider than \
             aimed for, * a value with several states or mappings that disagree.",
        )
}

fn disturbances(record: &Record) -> [(&'static str, String); 8] {
    let guards = &record.guards;
    let dropped = (guards.windows > 0).then(|| {
        let share = number::percent(guards.windows_dropped as f64 / guards.windows as f64);
        format!("{} of {} ({share})", guards.windows_dropped, guards.windows)
    });
    let load = guards
        .load_average
        .map(|[before, after]| format!("{} before, {} after", number::short(before), number::short(after)));
    let range =
        |[low, high]: [Hertz; 2]| format!("{} to {}", number::frequency(low), number::frequency(high));
    let core = record.core_clocks().map(|clocks| match guards.core_hz.filter(|seen| *seen != clocks) {
        Some(seen) => format!("{}; single epochs {}", range(clocks), range(seen)),
        None => range(clocks),
    });
    let counter = guards.counter_hz.map(|hertz| {
        let error = guards.counter_error_ppm.map(|ppm| format!(" ±{} ppm", number::short(ppm)));
        format!("{}{}", number::frequency(hertz), error.unwrap_or_default())
    });
    let counter_name =
        if record.machine.identity.is_x86() { "time-stamp counter" } else { "counter of the clock" };
    let throttled = guards.throttle_events.map(|events| format!("{events} events"));
    [
        ("steal by the hypervisor", guards.steal_share.map(number::percent)),
        ("used by other programs", guards.others_share.map(number::percent)),
        ("load average", load),
        ("pre-emptions", Some(guards.involuntary_switches.to_string())),
        ("windows set aside", dropped),
        ("core clock", core),
        (counter_name, counter),
        ("thermal throttling", throttled),
    ]
    .map(|(name, text)| (name, text.unwrap_or_else(|| number::UNKNOWN.to_owned())))
}

/// The command that repeats the run, and the name of the record, which lies beside the page.
pub(super) fn repeat(record: &Record, path: Option<&str>) -> Section {
    // Of all that writes a record, only the check-up has a plan, and takes a seed.
    let command = repeating(&record.provenance, !record.plan.entries.is_empty());
    let name = path.and_then(|path| path.rsplit('/').next()).unwrap_or("record.json");
    let name = name.trim_matches('\'');
    Section::new("repeat", "")
        .saying(Tone::Plain, "To repeat this run:")
        .with(Block::Command(command))
        .saying(
            Tone::Plain,
            format!("All results and raw windows are in {name}, beside this page. To list the numbers:"),
        )
        .with(Block::Command(format!("sidestep show --csv {}", shell_word(name))))
        .of_report()
}

/// The command that does the same again, with the same random choices if it takes a seed.
fn repeating(provenance: &Provenance, takes_seed: bool) -> String {
    let given = &provenance.arguments;
    let (options, program) =
        given.split_at(given.iter().position(|word| word == "--").unwrap_or(given.len()));
    let is_seeded = options.iter().any(|word| word == "--seed" || word.starts_with("--seed="));
    let seed = [String::from("--seed"), provenance.seed.to_string()];
    let seed = if is_seeded || !takes_seed { &[][..] } else { &seed };
    let words = options.iter().chain(seed).chain(program).map(|word| shell_word(word));
    number::joined([String::from("sidestep")].into_iter().chain(words), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_repeats_a_run_holds_its_seed() {
        for (given, expected) in [
            ("", "sidestep --seed 7"),
            ("run --quick", "sidestep run --quick --seed 7"),
            ("--seed 9", "sidestep --seed 9"),
            ("run --seed=9", "sidestep run --seed=9"),
            ("ab -- ./p --seed 1", "sidestep ab --seed 7 -- ./p --seed 1"),
        ] {
            let arguments = given.split_whitespace().map(str::to_owned).collect();
            let provenance = Provenance { arguments, seed: 7, ..Provenance::default() };
            assert_eq!(repeating(&provenance, true), expected);
        }
        let arguments = vec!["clock".to_owned(), "check".to_owned()];
        let provenance = Provenance { arguments, seed: 7, ..Provenance::default() };
        assert_eq!(repeating(&provenance, false), "sidestep clock check");
    }
}

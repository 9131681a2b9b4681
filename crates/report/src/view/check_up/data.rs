//! Where the data of a check-up lies, and how to repeat it.

use record::{Provenance, Record};

use crate::escape::shell_word;
use crate::page::{Block, Section, Tone};

/// The command that repeats the run, and the name of the record, which lies beside the page.
pub(super) fn section(record: &Record, path: Option<&str>) -> Section {
    // Of all that writes a record, only the check-up has a plan, and takes a seed.
    let command = repeating(&record.provenance, !record.plan.entries.is_empty());
    let name = path.and_then(|path| path.rsplit('/').next()).unwrap_or("record.json");
    let name = name.trim_matches('\'');
    Section::new("repeat", "")
        .saying(Tone::Plain, "To repeat this run:")
        .with(Block::Command(command))
        .saying(
            Tone::Plain,
            format!("All results and raw windows are in {name}, beside this page. To list the results:"),
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
    [String::from("sidestep")].into_iter().chain(words).collect::<Vec<_>>().join(" ")
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

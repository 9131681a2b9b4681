//! What differs of what is known of platform and run.

use record::{FactDifference, IDENTITY};

use super::Configuration;

/// Facts that not all configurations share. What a source of another kind cannot know is no difference: a fact counts
/// only if at least two configurations tell it, or the sources are all of one kind.
pub(super) fn differences(configurations: &[Configuration]) -> Vec<FactDifference> {
    let mut names: Vec<&str> = Vec::new();
    for fact in configurations.iter().flat_map(|one| &one.facts) {
        if !names.contains(&fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    let one_kind = configurations.windows(2).all(|pair| pair[0].kind == pair[1].kind);
    let differing = differing(names, |name| configurations.iter().map(|one| value(one, name)).collect());
    let counts = |one: &FactDifference| one_kind || one.values.iter().flatten().count() > 1;
    differing.filter(counts).collect()
}

/// Of named facts those whose values differ.
pub(crate) fn differing<'n>(
    names: impl IntoIterator<Item = &'n str>,
    values: impl Fn(&str) -> Vec<Option<String>>,
) -> impl Iterator<Item = FactDifference> {
    let all =
        names.into_iter().map(move |name| FactDifference { fact: name.to_owned(), values: values(name) });
    all.filter(|one| one.values.windows(2).any(|pair| pair[0] != pair[1]))
}

/// True if what differs includes the identity of the machine.
pub(super) fn are_different_machines(differences: &[FactDifference]) -> bool {
    differences.iter().any(|difference| {
        let described: Vec<&String> = difference.values.iter().flatten().collect();
        IDENTITY.contains(&difference.fact.as_str()) && described.windows(2).any(|pair| pair[0] != pair[1])
    })
}

/// True unless a fact of identity that both tell differs.
pub(super) fn are_of_one_machine(one: &Configuration, other: &Configuration) -> bool {
    IDENTITY.iter().all(|name| value(one, name).zip(value(other, name)).is_none_or(|(a, b)| a == b))
}

fn value(of: &Configuration, name: &str) -> Option<String> {
    of.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone())
}

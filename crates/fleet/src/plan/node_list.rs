//! Lists of nodes as Slurm and others write them: `n[001-128,130],gpu-[1-4]`.

use super::NodeName;
use crate::node::NodeNameError;

/// More nodes than any fleet, so that `n[0-99999999999]` fills no memory.
const NODES_MAX: usize = 200_000;

/// Why a text is no list of nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeListError {
    /// A bracket without its partner, or nothing that counts between them.
    #[error("{0:?} is no list of nodes; write n1,n2 or n[001-128,130]")]
    Shape(String),
    /// Too many.
    #[error("the list names more than {NODES_MAX} nodes; give a shorter one")]
    TooMany,
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] NodeNameError),
}

/// The nodes of a list, in its order, each once.
///
/// # Errors
/// `NodeListError` says what is wrong with it.
pub fn node_list(text: &str) -> Result<Vec<NodeName>, NodeListError> {
    let mut names = Vec::new();
    for part in parts(text) {
        expand("", part.trim(), &mut names)?;
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.iter().map(|name| Ok(NodeName::parse(name)?)).collect()
}

/// The parts between commas that stand in no bracket.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(|letter: char| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        depth == 0 && letter == ','
    })
    .filter(|part| !part.trim().is_empty())
    .collect()
}

/// Adds every name that begins with `before` and goes on as `rest` says.
fn expand(before: &str, rest: &str, names: &mut Vec<String>) -> Result<(), NodeListError> {
    let wrong = || NodeListError::Shape(rest.chars().take(40).collect());
    let Some((plain, bracket)) = rest.split_once('[') else {
        if names.len() >= NODES_MAX {
            return Err(NodeListError::TooMany);
        }
        names.push(format!("{before}{rest}"));
        return Ok(());
    };
    let (ranges, after) = bracket.split_once(']').ok_or_else(wrong)?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| -> Result<u64, NodeListError> {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_number).ok_or_else(wrong)
        };
        let (from, to) = (number(first)?, number(last)?);
        if from > to {
            return Err(wrong());
        }
        for count in from..=to {
            // Leading zeros of the first say how wide all are.
            expand(&format!("{before}{plain}{count:0width$}", width = first.len()), after, names)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    #[test]
    fn lists_are_expanded_as_slurm_expands_them() {
        for (text, expected) in [
            ("n1", "n1"),
            ("n1, n2,n1", "n1 n2"),
            ("n[1-3]", "n1 n2 n3"),
            ("n[09-11,2]", "n09 n10 n11 n2"),
            ("r[1-2]n[1-2],gpu-4", "r1n1 r1n2 r2n1 r2n2 gpu-4"),
            ("n[1-2]-ib", "n1-ib n2-ib"),
            ("", ""),
        ] {
            let names = node_list(text).expect(text);
            assert_eq!(names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn what_is_no_list_is_refused_before_it_fills_memory() {
        for text in ["n[1-", "n[a-b]", "n[3-1]", "n[]", "n[1--2]", "n]1[", "../x", "a b", "$(x)"] {
            assert!(node_list(text).is_err(), "{text}");
        }
        assert_eq!(node_list("n[0-18446744073709551615]"), Err(NodeListError::TooMany));
        assert_eq!(node_list("n[1-9999]m[1-9999]"), Err(NodeListError::TooMany));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(9), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_makes_it_panic_and_every_name_is_one(text in "[n0-9,\\[\\]. -]{0,14}") {
            if let Ok(names) = node_list(&text) {
                prop_assert!(names.iter().all(|name| NodeName::parse(name.as_str()).is_ok()));
            }
        }
    }
}

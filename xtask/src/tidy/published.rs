//! The weight of the published binary: how many crates are compiled into it or to build it.

use std::collections::BTreeSet;

use super::Violation;
use crate::cargo::{self, PLATFORM};

/// The binary is made of at most this many crates, ours included. Source: CONTRIBUTING.md, "A new dependency".
const PUBLISHED_CRATES: usize = 120;

/// The crates that `cli` needs on the published platform, tests aside, each as name and version.
///
/// Asked of `cargo tree`, as the resolve graph of `cargo metadata` also holds optional crates nobody switched on.
pub fn published_crates() -> anyhow::Result<BTreeSet<String>> {
    let words = format!("tree --locked --package=cli --edges=normal,build --prefix=none --target {PLATFORM}");
    let text = cargo::output(&mut cargo::cargo(&words))?;
    Ok(names(&text))
}

/// The breach that `count` crates in the binary are, if they are too many.
pub fn too_many(count: usize) -> Option<Violation> {
    (count > PUBLISHED_CRATES).then(|| Violation {
        path: "Cargo.lock".to_owned(),
        line: 0,
        reason: format!("the binary needs {count} crates; at most {PUBLISHED_CRATES}"),
    })
}

/// Name and version of each line; cargo marks what it printed before, and where own crates lie.
fn names(tree: &str) -> BTreeSet<String> {
    let name = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    tree.lines().map(name).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_counted_once_per_version() {
        let tree = "cli v0.1.0 (some/where)\nserde v1.0.1\nserde v1.0.1 (*)\nsyn v2.0.0 (proc-macro)\nsyn v3.0.0\n\n";
        let found: Vec<String> = names(tree).into_iter().collect();
        assert_eq!(found, ["cli v0.1.0", "serde v1.0.1", "syn v2.0.0", "syn v3.0.0"]);
    }

    #[test]
    fn too_many_crates_are_named() {
        assert!(too_many(PUBLISHED_CRATES + 1).is_some());
        assert!(too_many(PUBLISHED_CRATES).is_none());
    }
}

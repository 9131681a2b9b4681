//! Everything foreign that we link or test with, held against deny.toml without a network: its licence, that it names versions of what it
//! needs, and where it is from; and folders of ours that have a licence of their own.
//!
//! `cargo deny check advisories` needs the list of the day; the workflow of releases runs it.

use anyhow::Context;
use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::cargo;
use crate::texts::texts;
use crate::totals::Totals;

/// Where packages may be from, as Cargo.lock writes it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Folders under a licence of their own, which is none of those in deny.toml: artefacts of tests that nothing of ours links.
const SEPARATE: &[(&str, &str)] = &[("lab/silicon", "GPL-2.0-or-later")];
/// What links a library to a crate, in pieces so that this file passes its own check.
const LINK: &str = concat!("#[", "link(");

/// Checks every package that the published platform uses by its licence and its requirements, every one of Cargo.lock by where it is
/// from, and each separate folder.
///
/// # Errors
/// deny.toml, Cargo.lock or `cargo metadata` cannot be read.
pub fn check() -> anyhow::Result<Totals> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(cargo::root().join(name));
        text.with_context(|| format!("cannot read {name}"))
    };
    let allowed = allow_list(&read("deny.toml")?)?;
    let metadata = cargo::metadata(cargo::PLATFORM)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let mut refused: Vec<String> = packages.iter().filter_map(|package| refusal(package, &allowed)).collect();
    refused.extend(packages.iter().flat_map(wildcards));
    refused.extend(strangers(&read("Cargo.lock")?));
    refused.extend(separate(&texts(&cargo::root())?));
    println!("{} packages, {} refused, allowed: {}", packages.len(), refused.len(), allowed.join(", "));
    let mut totals = Totals::one(refused.is_empty(), "licences, requirements and sources of packages");
    totals.failures = refused;
    Ok(totals)
}

/// What a package requires of a registry without naming a version.
fn wildcards(package: &Value) -> Vec<String> {
    let required = package["dependencies"].as_array().into_iter().flatten();
    let any = required.filter(|one| one["req"] == "*" && !one["source"].is_null());
    let name = package["name"].as_str().unwrap_or_default();
    any.map(|one| format!("{name} requires any version of {}", one["name"])).collect()
}

/// Lines of Cargo.lock that name another source than the one that is allowed.
fn strangers(lock: &str) -> Vec<String> {
    let sources = lock.lines().filter_map(|line| line.strip_prefix("source = "));
    let other = sources.filter(|source| source.trim_matches('"') != REGISTRY);
    other.map(|source| format!("Cargo.lock has a package from {source}")).collect()
}

fn allow_list(text: &str) -> anyhow::Result<Vec<String>> {
    let table: toml::Table = text.parse().context("deny.toml is not TOML")?;
    let list =
        table.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    let list = list.context("deny.toml has no [licenses] allow = [...]")?;
    Ok(list.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect())
}

fn refusal(package: &Value, allowed: &[String]) -> Option<String> {
    let name = package["name"].as_str().unwrap_or("a package without a name");
    match package["license"].as_str() {
        None => Some(format!("licence of {name}: it names none; look at it and decide")),
        Some(text) if is_allowed(text, allowed) => None,
        Some(text) => Some(format!("licence of {name}: {text} is not in the allow list of deny.toml")),
    }
}

/// May we use something under the SPDX expression `text`? Old crates write `/` for `OR`.
fn is_allowed(text: &str, allowed: &[String]) -> bool {
    Expression::parse_mode(text, ParseMode::LAX)
        .is_ok_and(|parsed| parsed.evaluate(|one| allowed.contains(&one.to_string())))
}

/// What is wrong with the separate folders among these files: a source that does not name its licence, a folder without the text of
/// it, a manifest, build script or link attribute that would make it a part of something of ours.
fn separate(texts: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (folder, licence) in SEPARATE {
        let own = format!("SPDX-License-Identifier: {licence}");
        let is_inside = |path: &str| path.starts_with(&format!("{folder}/"));
        let is_source = |path: &str| matches!(path.rsplit('.').next(), Some("c" | "h"));
        for (path, text) in texts {
            let names_it = text.lines().next().is_some_and(|line| line.contains(&own));
            let builds = path.ends_with("Cargo.toml") || path.ends_with("build.rs");
            if is_inside(path) && is_source(path) && !names_it {
                wrong.push(format!("{path}: the first line does not say {own}"));
            } else if !is_inside(path) && (builds || text.contains(LINK)) && text.contains(folder) {
                wrong.push(format!("{path}: {folder} has a licence of its own and is linked to nothing"));
            }
        }
        if !texts.iter().any(|(path, text)| *path == format!("{folder}/LICENSE") && text.contains(licence)) {
            wrong.push(format!("{folder}: no LICENSE that names {licence}"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separate_folder_names_its_licence_and_is_linked_nowhere() {
        let licence = ("lab/silicon/LICENSE", "SPDX: GPL-2.0-or-later");
        let source = ("lab/silicon/a.c", "// SPDX-License-Identifier: GPL-2.0-or-later\nint a;\n");
        let check = |files: &[(&str, &str)]| {
            separate(
                &files
                    .iter()
                    .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(check(&[licence, source]), [""; 0]);
        for (files, says) in [
            (vec![source], "lab/silicon: no LICENSE"),
            (vec![licence, ("lab/silicon/b.h", "int b;")], "lab/silicon/b.h: the first line"),
            (
                vec![licence, ("crates/a/build.rs", "cc(\"lab/silicon/a.c\")")],
                "crates/a/build.rs: lab/silicon has",
            ),
        ] {
            let wrong = check(&files);
            assert!(wrong.len() == 1 && wrong[0].starts_with(says), "{wrong:?}");
        }
    }

    #[test]
    fn a_stranger_and_a_requirement_without_version_are_named() {
        let lock = format!("name = \"a\"\nsource = \"{REGISTRY}\"\nsource = \"git+https://example.org/a\"\n");
        assert_eq!(strangers(&lock), ["Cargo.lock has a package from \"git+https://example.org/a\""]);
        let one = |req: &str, source: Value| serde_json::json!({"name": "b", "req": req, "source": source});
        let package = |one: Value| serde_json::json!({"name": "a", "dependencies": [one]});
        assert_eq!(wildcards(&package(one("*", REGISTRY.into()))).len(), 1);
        assert_eq!(wildcards(&package(one("^1", REGISTRY.into()))), [""; 0]);
        assert_eq!(wildcards(&package(one("*", Value::Null))), [""; 0], "a crate of ours");
    }

    #[test]
    fn expressions_are_read_as_spdx_means_them() {
        let allowed =
            ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for (text, expected) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("MIT AND GPL-3.0-only", false),
            ("MIT/Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-2.0", false),
            ("GPL-2.0 AND Unicode-3.0 OR MIT", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("MIT WITH novelty", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(text, &allowed), expected, "{text}");
        }
    }

    #[test]
    fn a_package_without_a_licence_is_refused_by_name() {
        let package = serde_json::json!({"name": "nameless", "license": null});
        assert!(refusal(&package, &[]).is_some_and(|line| line.contains("nameless")));
    }
}

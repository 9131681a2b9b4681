//! The layer table: which crate stands on which, read from every manifest.

use std::path::Path;

use anyhow::Context;

use super::Violation;
use super::words::EMPTY_NAMES;

/// Layer of each crate, lowest first. Source: ARCHITECTURE.md, "Layers". `xtask` and `evidence` stand outside: `xtask`
/// uses none of the others.
const LAYERS: &[(&str, u8)] = &[
    ("machine", 0),
    ("stats", 0),
    ("record", 1),
    ("kernels", 1),
    ("clock", 1),
    ("host", 2),
    ("clock-c", 2),
    ("clock-preload", 2),
    ("flaws", 2),
    ("models", 2),
    ("placement", 2),
    ("workloads", 2),
    ("probes", 3),
    ("sharing", 3),
    ("toggles", 3),
    ("diagnosis", 4),
    ("experiments", 4),
    ("fleet", 4),
    ("report", 4),
    ("cli", 5),
    ("xtask", 0),
    ("evidence", 6),
];

/// Crates that may use `anyhow`: those that talk to a person.
const ANYHOW_CRATES: &[&str] = &["cli", "evidence", "xtask"];

/// Packages that stand alone are published under the name of the whole.
const PUBLISHED_PREFIX: &str = "sidestep-";

/// One crate's manifest, as far as the rules ask.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Path from the repository's root.
    pub path: String,
    /// The folder's name.
    pub folder: String,
    /// The package's name, without the prefix of those that are published.
    pub name: String,
    /// Names of all dependencies, of all kinds and targets.
    pub dependencies: Vec<String>,
}

/// Reads the manifests of all crates below `root`.
pub fn manifests(root: &Path) -> anyhow::Result<Vec<Manifest>> {
    let crates = root.join("crates");
    let mut folders = ["evidence", "xtask"].map(str::to_owned).to_vec();
    for entry in std::fs::read_dir(&crates).with_context(|| format!("cannot list {}", crates.display()))? {
        let name = entry.context("cannot list crates")?.file_name();
        folders.push(format!("crates/{}", name.to_string_lossy()));
    }
    folders.sort();
    folders.iter().map(|folder| read(root, folder)).collect()
}

fn read(root: &Path, folder: &str) -> anyhow::Result<Manifest> {
    let path = format!("{folder}/Cargo.toml");
    let text = std::fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
    parse(&path, &text)
}

fn parse(path: &str, text: &str) -> anyhow::Result<Manifest> {
    let table: toml::Table = text.parse().with_context(|| format!("{path} is not TOML"))?;
    let name = table.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let name = name.unwrap_or("");
    let folder = path.rsplit('/').nth(1).unwrap_or("");
    Ok(Manifest {
        path: path.to_owned(),
        folder: folder.to_owned(),
        name: name.strip_prefix(PUBLISHED_PREFIX).unwrap_or(name).to_owned(),
        dependencies: dependencies(&table),
    })
}

/// Dependencies of all kinds, those of `[target.*]` tables included.
fn dependencies(table: &toml::Table) -> Vec<String> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let here =
        kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()).flat_map(|table| table.keys().cloned());
    let targets = table.get("target").and_then(toml::Value::as_table);
    let inner = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    here.chain(inner.flat_map(dependencies)).collect()
}

/// What breaks the layer rule: unknown crates, arrows up or sideways, `anyhow` below the top, empty names.
pub(super) fn layers(manifests: &[Manifest]) -> Vec<Violation> {
    manifests
        .iter()
        .flat_map(|manifest| reasons(manifest).into_iter().map(|reason| breach(manifest, reason)))
        .collect()
}

fn reasons(manifest: &Manifest) -> Vec<String> {
    let name = &manifest.name;
    let mut found = Vec::new();
    if *name != manifest.folder {
        found.push(format!("the crate is called {name} but its folder {}", manifest.folder));
    }
    if EMPTY_NAMES.contains(&name.as_str()) {
        found.push(format!("{name}: a crate is named by a noun of the field"));
    }
    let Some(own) = layer(name) else {
        found.push(format!("{name} has no layer: add it to the table in xtask/src/tidy/layers.rs"));
        return found;
    };
    for dependency in &manifest.dependencies {
        if let Some(other) = layer(dependency).filter(|other| *other >= own) {
            found.push(format!("{name} (layer {own}) may not use {dependency} (layer {other})"));
        }
        if dependency == "anyhow" && !ANYHOW_CRATES.contains(&name.as_str()) {
            found.push(format!("{name} may not use anyhow: a library names its errors"));
        }
    }
    found
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

fn breach(manifest: &Manifest, reason: String) -> Violation {
    Violation { path: manifest.path.clone(), line: 0, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{name}\"\n{rest}");
        reasons(&parse(&format!("crates/{name}/Cargo.toml"), &text).unwrap())
    }

    #[test]
    fn arrows_up_and_sideways_are_named() {
        assert_eq!(
            check("stats", "[dependencies]\nrecord.workspace = true\n"),
            ["stats (layer 0) may not use record (layer 1)"]
        );
        assert_eq!(
            check("report", "[dev-dependencies]\ndiagnosis = { path = \"../diagnosis\" }\n"),
            ["report (layer 4) may not use diagnosis (layer 4)"]
        );
        assert_eq!(check("clock", "[target.'cfg(unix)'.dependencies]\nhost.workspace = true\n").len(), 1);
        assert_eq!(check("report", "[dependencies]\nrecord.workspace = true\nserde = \"1\"\n"), [""; 0]);
    }

    #[test]
    fn unknown_crates_empty_names_and_anyhow_are_named() {
        assert_eq!(check("novelty", "").len(), 1);
        assert_eq!(check("util", "").len(), 2);
        assert_eq!(check("host", "[dependencies]\nanyhow = \"1\"\n").len(), 1);
        assert_eq!(check("cli", "[dependencies]\nanyhow = \"1\"\n").len(), 0);
    }

    #[test]
    fn a_folder_is_its_crates_name() {
        let manifest = parse("crates/numbers/Cargo.toml", "[package]\nname = \"stats\"\n").unwrap();
        assert_eq!(reasons(&manifest).len(), 1);
        let published = parse("crates/clock/Cargo.toml", "[package]\nname = \"sidestep-clock\"\n").unwrap();
        assert_eq!(reasons(&published), [""; 0]);
    }
}

//! What the program is made of: a software bill of materials in CycloneDX 1.5, from `cargo metadata`.

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::{Value, json};

use super::Release;
use crate::cargo;

/// Writes `sidestep-VERSION-ARCHITECTURE-linux.cdx.json`.
pub(super) fn write(release: &Release) -> anyhow::Result<()> {
    let metadata = cargo::metadata(&cargo::triple(&release.architecture))?;
    let text = serde_json::to_string_pretty(&document(&metadata, &release.version)?)
        .context("the SBOM is no JSON")?;
    super::write(&release.file("cdx.json"), text)
}

/// Packages that the program links, directly or through others; what only tests and builds need is left out.
fn document(metadata: &Value, version: &str) -> anyhow::Result<Value> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata has no graph")?;
    let program =
        packages.iter().find(|package| package["name"] == "cli").context("the program is no package")?;
    let mut linked = BTreeSet::new();
    let mut waiting = vec![program["id"].as_str().context("a package without an id")?];
    while let Some(id) = waiting.pop() {
        if linked.insert(id) {
            let node = nodes.iter().find(|node| node["id"] == id).context("a package outside the graph")?;
            waiting.extend(
                node["deps"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|edge| is_linked(edge))
                    .filter_map(|edge| edge["pkg"].as_str()),
            );
        }
    }
    let of_others = |package: &&Value| {
        package["id"].as_str().is_some_and(|id| linked.contains(id)) && !package["source"].is_null()
    };
    let mut components: Vec<Value> = packages.iter().filter(of_others).map(component).collect();
    components.sort_by_key(|one| one["purl"].to_string());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "name": "sidestep", "version": version, "bom-ref": "sidestep",
            "licenses": [{ "expression": "MIT OR Apache-2.0" }] } },
        "components": components,
    }))
}

/// Whether a dependency is needed when the program runs.
fn is_linked(edge: &Value) -> bool {
    edge["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
}

fn component(package: &Value) -> Value {
    let [name, version, licence] =
        ["name", "version", "license"].map(|key| package[key].as_str().unwrap_or_default());
    let purl = format!("pkg:cargo/{name}@{version}");
    json!({ "type": "library", "name": name, "version": version, "purl": purl, "bom-ref": purl,
        "licenses": [{ "expression": licence.replace('/', " OR ") }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_what_tests_need_is_not() {
        let package = |name: &str, source: Value| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source });
        let edge = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("cli", Value::Null), package("ours", Value::Null), package("serde", json!("registry")), package("proptest", json!("registry"))],
            "resolve": { "nodes": [
                { "id": "cli", "deps": [edge("ours", Value::Null), edge("proptest", json!("dev"))] },
                { "id": "ours", "deps": [edge("serde", Value::Null)] },
                { "id": "serde", "deps": [] },
            ] },
        });
        let found = document(&metadata, "0.1.0").expect("a document");
        assert_eq!(found["components"].as_array().map(Vec::len), Some(1));
        assert_eq!(found["components"][0]["purl"], "pkg:cargo/serde@1.0.0");
        assert_eq!(found["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}

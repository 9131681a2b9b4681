//! The licences of everything we link or test with, held against the list in deny.toml.
//!
//! `cargo deny` checks more, but is not on every machine; this check needs only cargo itself and always runs.

use anyhow::Context;
use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::cargo;
use crate::totals::Totals;

/// Checks the licence of every package in the lock file that the published platform uses.
pub fn check() -> anyhow::Result<Totals> {
    let path = cargo::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let allowed = allow_list(&text)?;
    let metadata = cargo::metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let refused: Vec<String> = packages.iter().filter_map(|package| refusal(package, &allowed)).collect();
    println!("{} packages, {} refused, allowed: {}", packages.len(), refused.len(), allowed.join(", "));
    if refused.is_empty() {
        return Ok(Totals::one_passed());
    }
    let mut totals = Totals::default();
    for line in refused {
        totals.add(Totals::one_failed(line));
    }
    Ok(totals)
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

#[cfg(test)]
mod tests {
    use super::*;

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

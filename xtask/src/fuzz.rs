//! `cargo xtask fuzz`: every parser against inputs that nobody meant, for a given time.
//!
//! Targets are built by cargo-fuzz without a sanitizer: the parsers hold no unsafe code, so what can go wrong is a panic, an overflow
//! (checked here), or an input that takes too long. That needs no nightly compiler.

use std::process::Command;

use anyhow::Context;

use crate::cargo;
use crate::totals::Totals;

/// Every parser against inputs that nobody meant
///
/// Builds the targets of fuzz/ with cargo-fuzz and gives each an equal share of the time. Inputs that were found to reach new code are
/// kept below the target folder and used again; an input that fails is kept beside them and named. Without cargo-fuzz or a C++ compiler
/// the task is counted as skipped.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// For all targets together
    #[arg(long, default_value_t = 60)]
    seconds: usize,
    /// One target alone
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
}

/// An input that takes longer than seconds, or more memory than the largest archive that is read takes, has failed; a real report has
/// 3 KiB, a description of a machine 20 KiB.
const LIMITS: &str = "-timeout=5 -rss_limit_mb=1024 -max_len=32768 -verbosity=0 -print_final_stats=1";

/// `cargo xtask fuzz`.
///
/// # Errors
/// The targets do not build, or there is none of that name.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    // libFuzzer comes as C++.
    if let Some(program) = ["cargo-fuzz", "c++"].into_iter().find(|program| cargo::find(program).is_none()) {
        return Ok(Totals::one_skipped(format!("fuzz: no {program} here (cargo install cargo-fuzz; g++)")));
    }
    let text = std::fs::read_to_string(cargo::root().join("fuzz/Cargo.toml"))?;
    let manifest: toml::Table = text.parse().context("fuzz/Cargo.toml is not TOML")?;
    let targets = manifest["bin"].as_array().context("fuzz/Cargo.toml has no targets")?;
    let mut names: Vec<&str> = targets.iter().filter_map(|target| target["name"].as_str()).collect();
    if let Some(name) = &arguments.target {
        anyhow::ensure!(names.contains(&name.as_str()), "--target {name}: there are {}", names.join(", "));
        names.retain(|other| other == name);
    }
    let place = cargo::target().join("fuzz");
    let mut build = cargo::cargo("fuzz build --sanitizer=none --debug-assertions");
    build.args(arguments.target.iter()).env("CARGO_TARGET_DIR", &place);
    anyhow::ensure!(cargo::succeeds(&mut build)?, "the targets of fuzz/ do not build; see above");
    let seconds = (arguments.seconds / names.len()).max(1);
    let mut totals = Totals::default();
    for name in names {
        println!("\n== {name}");
        let (kept, failed) = (place.join("corpus").join(name), place.join("failed"));
        std::fs::create_dir_all(&kept).and_then(|()| std::fs::create_dir_all(&failed))?;
        let mut target = Command::new(place.join(cargo::PLATFORM).join("release").join(name));
        target.current_dir(cargo::root()).arg(kept).args(LIMITS.split(' '));
        // Folders of the repository whose files it begins with.
        let seeds = &manifest["package"]["metadata"]["seeds"];
        match seeds.get(name).and_then(toml::Value::as_array) {
            Some(folders) => target.args(folders.iter().filter_map(toml::Value::as_str)),
            None => target.arg(format!("fuzz/seeds/{name}")),
        };
        target.arg(format!("-max_total_time={seconds}"));
        target.arg(format!("-artifact_prefix={}/{name}-", failed.display()));
        totals.add(Totals::one(cargo::succeeds(&mut target)?, format!("fuzz {name}: see above")));
    }
    Ok(totals)
}

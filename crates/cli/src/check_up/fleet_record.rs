//! A record for a fleet: under which name a node drops it, where, and what started the run.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fleet::node::NodeName;
use fleet::rows::{Origin, flatten};
use host::live::{create_atomically, host_name};
use host::{Root, smbios};
use machine::counted;
use record::{Engine, Provenance, Record, Severity};

use super::arguments::{DropArguments, WORD_LETTERS_MAX};
use crate::options::Global;
use crate::output;
use crate::store;
use crate::store::Folder;

/// Where schedulers say the name of the node: srun(1) of Slurm, and what is usual in pods of Kubernetes (`spec.nodeName`).
const NAME_VARIABLES: [&str; 2] = ["SLURMD_NODENAME", "NODE_NAME"];
/// What the variables below say in place of what the engine is known by.
const ENGINE_VARIABLE: &str = "SIDESTEP_ENGINE";
const JOB_VARIABLE: &str = "SIDESTEP_JOB";
/// The key of the serial numbers, beside the folders of the nodes: a secret of who may read and write here.
const KEY_NAME: &str = "serials.key";
const KEY_MODE: u32 = 0o600;
/// 32 digits and the end of their line.
const KEY_BYTES_MAX: u64 = 64;

/// Where the record of this node goes, and what it says of the fleet.
pub(crate) struct FleetRecord {
    drop: PathBuf,
    node: NodeName,
    arguments: DropArguments,
}

impl FleetRecord {
    /// Nothing, unless the run is for a fleet.
    ///
    /// # Errors
    /// Nothing says what the node is called, or it is called as no node may be.
    pub(crate) fn of(arguments: &DropArguments, takes_host_name: bool) -> anyhow::Result<Option<Self>> {
        let Some(drop) = &arguments.drop else { return Ok(None) };
        // Below a file system that is not mounted the record would be lost without a word.
        anyhow::ensure!(
            drop.is_dir(),
            "{} is no folder that is there; mount the drop directory, or make it once for all nodes with mkdir",
            drop.display()
        );
        if let Some(node) = &arguments.node {
            return Ok(Some(Self { drop: drop.clone(), node: node.clone(), arguments: arguments.clone() }));
        }
        let variable = |name| variable_text(name).map(|text| (name, text));
        let from_host = || Some(("the host name", host_name().filter(|_| takes_host_name)?));
        let found = NAME_VARIABLES.into_iter().find_map(variable).or_else(from_host);
        let (source, text) = found.with_context(|| {
            let names = NAME_VARIABLES.join(" and ");
            format!("this node has no name: {names} are unset; give --node NAME or --host-name")
        })?;
        let node = NodeName::parse(&text).with_context(|| format!("cannot use {source}"))?;
        Ok(Some(Self { drop: drop.clone(), node, arguments: arguments.clone() }))
    }

    /// Writes into the provenance what is of the fleet.
    pub(crate) fn describe(&self, provenance: &mut Provenance) {
        provenance.node = Some(self.node.to_string());
        provenance.engine = engine();
        provenance.experiment.clone_from(&self.arguments.experiment);
        provenance.arm.clone_from(&self.arguments.arm);
        match self.serials_hash() {
            Ok(hash) => provenance.serials_hash = hash,
            Err(why) => provenance.without.push(format!("no hash of serial numbers: {why:#}")),
        }
    }

    /// The folder of this node, with the record as it was begun.
    ///
    /// # Errors
    /// It cannot be made or written.
    pub(crate) fn folder(&self, begun: &Record) -> anyhow::Result<Folder> {
        Folder::in_drop(&self.drop, &self.node.folder(), &begun.provenance.run_name(), begun)
    }

    /// Prints what is to be known of a record that was dropped.
    ///
    /// # Errors
    /// A record that is no JSON, or stdout takes no more.
    pub(crate) fn print(&self, path: &Path, record: Record, global: &Global) -> anyhow::Result<()> {
        if global.json {
            return output::print_json(&record.without_raw());
        }
        if global.quiet {
            return Ok(());
        }
        let numbers = flatten(&record, Origin { file: "", node: "" }).map_or(0, |rows| rows.metrics.len());
        let warnings = record.findings.iter().filter(|one| one.severity == Severity::Warning).count();
        let mut remarks = vec![counted(numbers, "number"), counted(warnings, "warning")];
        remarks.extend((!record.guards.doubts.is_empty()).then(|| "noisy".to_owned()));
        remarks.extend(record.partial.map(|why| format!("partial: {why}")));
        output::print_lines(&format!("record {}  {}  ({})", self.node, path.display(), remarks.join(", ")))
    }

    /// A hash of serial numbers under the fleet's key, which the first node that can read any makes.
    fn serials_hash(&self) -> anyhow::Result<Option<String>> {
        let root = Root::live();
        if smbios::table(&root).is_empty() {
            return Ok(None);
        }
        Ok(smbios::serials_hash(&root, key_of(&self.drop)?))
    }
}

/// The key of a drop directory, made if it has none. Whoever may write there may have put anything in its place.
fn key_of(drop: &Path) -> anyhow::Result<[u64; 2]> {
    let path = drop.join(KEY_NAME);
    let random = random_key();
    create_atomically(&path, format!("{:016x}{:016x}\n", random[0], random[1]).as_bytes(), KEY_MODE)?;
    let text = store::read_text(&path, KEY_BYTES_MAX, "key of serial numbers")?;
    parse_key(text.trim()).with_context(|| format!("{} is no key", path.display()))
}

/// A variable of the environment that says something.
fn variable_text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.trim().is_empty())
}

/// What started this process, as far as its environment says.
fn engine() -> Option<Engine> {
    let word =
        |name| variable_text(name).map(|text| text.trim().chars().take(WORD_LETTERS_MAX).collect::<String>());
    let known = if variable_text("SLURM_JOB_ID").is_some() {
        Some(Engine {
            name: "slurm".to_owned(),
            job: word("SLURM_JOB_ID"),
            step: word("SLURM_STEP_ID"),
            task: word("SLURM_PROCID"),
        })
    } else if variable_text("KUBERNETES_SERVICE_HOST").is_some() {
        Some(Engine { name: "kubernetes".to_owned(), ..Engine::default() })
    } else {
        None
    };
    let named = word(ENGINE_VARIABLE).map(|name| Engine { name, ..known.clone().unwrap_or_default() });
    named.or(known).map(|engine| Engine { job: word(JOB_VARIABLE).or(engine.job), ..engine })
}

/// 128 bits from the kernel: the standard library keys its hash tables with them.
fn random_key() -> [u64; 2] {
    use std::hash::{BuildHasher, RandomState};
    let state = RandomState::new();
    [state.hash_one(0_u8), state.hash_one(1_u8)]
}

/// Reads 32 hexadecimal digits.
fn parse_key(text: &str) -> Option<[u64; 2]> {
    let is_key = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let key = u128::from_str_radix(text, 16).ok().filter(|_| is_key)?;
    Some([(key >> 64) as u64, key as u64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written_and_nothing_else_is_one() {
        let key = random_key();
        assert_eq!(parse_key(&format!("{:016x}{:016x}", key[0], key[1])), Some(key));
        for text in
            ["", "0", &"g".repeat(32), &"ä".repeat(16), &"0".repeat(33), "+0000000000000000000000000000000"]
        {
            assert_eq!(parse_key(text), None, "{text}");
        }
        assert_ne!(random_key(), random_key());
    }

    #[test]
    fn a_key_that_is_a_pipe_a_device_or_a_long_file_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(KEY_NAME);
        let key = key_of(folder.path()).expect("writable");
        assert_eq!(key_of(folder.path()).expect("it stays"), key);
        std::fs::write(&path, "0".repeat(65)).expect("writable");
        assert!(key_of(folder.path()).expect_err("too long").to_string().contains("larger than any key"));
        std::fs::remove_file(&path).expect("ours");
        std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
        assert!(key_of(folder.path()).expect_err("a device").to_string().contains("not a regular file"));
        std::fs::remove_file(&path).expect("ours");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("coreutils").success());
        assert!(key_of(folder.path()).expect_err("a pipe").to_string().contains("not a regular file"));
    }

    #[test]
    fn a_run_that_is_for_no_fleet_needs_no_name_and_a_named_one_gets_its_folder() {
        assert!(FleetRecord::of(&DropArguments::default(), false).expect("nothing to name").is_none());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let arguments = DropArguments {
            drop: Some(folder.path().to_owned()),
            node: Some(NodeName::parse("n1").expect("a name")),
            experiment: Some("e".to_owned()),
            arm: Some("a".to_owned()),
        };
        let dropped = FleetRecord::of(&arguments, false).expect("a name").expect("for a fleet");
        let mut record = Record { schema: record::SCHEMA, ..Record::default() };
        record.provenance.started_utc = "2026-11-26T04:54:12Z".to_owned();
        dropped.describe(&mut record.provenance);
        let provenance = &record.provenance;
        let said = [&provenance.node, &provenance.experiment, &provenance.arm].map(|text| text.as_deref());
        assert_eq!(said, [Some("n1"), Some("e"), Some("a")]);
        let paths: Vec<PathBuf> =
            (0..2).map(|_| dropped.folder(&record).expect("writable").record_path()).collect();
        assert!(paths[0].ends_with("n1/20261126T045412Z-00000000.json.zst"), "{paths:?}");
        assert!(paths[1].ends_with("n1/20261126T045412Z-00000000-2.json.zst"), "{paths:?}");
        for path in &paths {
            assert_eq!(crate::store::load(path).expect("a record"), record);
        }
    }
}

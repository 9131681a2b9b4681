//! The small hand-written machines of `tests/machines`, each against its golden description.
//!
//! A golden is the whole `Machine` as JSON beside the view; `UPDATE_EXPECT=1` rewrites it.

use std::path::{Path, PathBuf};

use host::{Root, describe};
use machine::{Machine, View};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines")
}

fn read(name: &str) -> Machine {
    describe(&Root::open(&folder().join(name)).expect("a hand-written machine"), None)
}

#[test]
fn every_hand_written_machine_is_described_as_its_golden_says() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of machines")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("synthetic-") && !name.contains('.'))
        .collect();
    names.sort();
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let machine = read(&name);
        let shown = serde_json::json!({"view": View::of(&machine), "machine": machine});
        let text = serde_json::to_string_pretty(&shown).expect("a description is JSON") + "\n";
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::create_dir_all(golden.parent().expect("a folder")).expect("the folder of goldens");
            std::fs::write(&golden, &text).expect("a golden");
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(
            text == expected,
            "{name} differs from {}; UPDATE_EXPECT=1 rewrites it:\n{text}",
            golden.display()
        );
    }
}

#[test]
fn a_folder_and_tarballs_of_it_give_the_same_machine() {
    let name = "synthetic-hybrid";
    let expected = read(name);
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_dir_all("another-name", folder().join(name)).expect("a tarball");
    let plain = builder.into_inner().expect("a tarball");
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &plain).expect("compressed");
        encoder.finish().expect("compressed")
    };
    let bzip2 = {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &plain).expect("compressed");
        encoder.finish().expect("compressed")
    };
    let zstd =
        ruzstd::encoding::compress_to_vec(plain.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    for (kind, bytes) in [("tar", plain), ("gz", gzip), ("bz2", bzip2), ("zst", zstd)] {
        // The name says nothing: the kind is determined by the content.
        let path = scratch.path().join(kind);
        std::fs::write(&path, bytes).expect("a tarball");
        let machine = describe(&Root::open(&path).expect("a recorded machine"), None);
        assert_eq!(machine, expected, "{kind}");
    }
}

#[test]
fn this_machine_can_be_described() {
    let machine = describe(&Root::live(), host::Cpuid::live().as_ref());
    assert!(!machine.topology.cpus.is_empty(), "{:?}", machine.missing);
    assert!(!machine.topology.allowed.is_empty());
    assert!(
        machine.topology.cores.iter().map(|core| core.cpus.len()).sum::<usize>()
            == machine.topology.cpus.len()
    );
    assert!(machine.environment.kernel.is_some());
}

/// A dump of one CPU: GenuineIntel, family 6, model 85, stepping 4; L1d 32 KiB, L2 1 MiB, each its own.
const DUMP: &str = "1 0 0 0 0 => 4 756e6547 6c65746e 49656e69\n1 1 0 0 0 => 50654 800 80000000 0\n\
    5 4 0 0 0 => 121 1c0003f 3f 0\n5 4 0 1 0 => 143 3c0003f 3ff 0\n1 80000000 0 0 0 => 80000000 0 0 0\n";

#[test]
fn cpuid_fills_what_sysfs_leaves_out_and_contradictions_are_kept() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(scratch.path().join("pu0"), DUMP).expect("a dump");
    let cpuid = host::Cpuid::open(scratch.path()).expect("a dump");
    let root = Root::open(&folder().join("synthetic-one-cpu")).expect("a hand-written machine");
    let machine = describe(&root, Some(&cpuid));
    // The tree says stepping 7; it has no caches.
    let subjects: Vec<&str> = machine.disagreements.iter().map(|found| found.subject.as_str()).collect();
    assert_eq!(subjects, ["stepping"], "{:?}", machine.disagreements);
    assert_eq!(machine.identity.stepping, Some(7));
    let caches: Vec<(String, Option<u64>)> = machine
        .topology
        .caches
        .iter()
        .map(|cache| (cache.name(), cache.size_bytes.map(|size| size.0)))
        .collect();
    assert_eq!(caches, [("L1d".to_owned(), Some(32 << 10)), ("L2".to_owned(), Some(1 << 20))]);
}

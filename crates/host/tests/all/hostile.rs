//! Damaged and hostile recordings: whatever a tree, a tarball or a CPUID dump holds, reading it never panics.
//!
//! The seeds are fixed, so that a failure comes back.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use host::{Cpuid, Root, describe};
use machine::View;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// How many damaged recordings each test reads; all of them take a few seconds in a debug build.
const CASES: u32 = 48;

fn runner() -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn machines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines")
}

/// The files of a hand-written machine, by path, with their bytes.
fn files(name: &str) -> Vec<(String, Vec<u8>)> {
    fn walk(base: &Path, folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(base, &path, found);
            } else {
                let inside = path.strip_prefix(base).expect("below the base").to_string_lossy().into_owned();
                found.push((inside, std::fs::read(&path).expect("a file")));
            }
        }
    }
    let base = machines().join(name);
    let mut found = Vec::new();
    walk(&base, &base, &mut found);
    found
}

fn tarball(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("top/{path}"), bytes.as_slice()).expect("a tarball");
    }
    builder.into_inner().expect("a tarball")
}

/// Reads the recording in `bytes` as everything it could be; the outcome does not matter, only that there is one.
fn read(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    if let Ok(root) = Root::open(file.path()) {
        let machine = describe(&root, None);
        let _view = View::of(&machine);
    }
    if let Ok(cpuid) = Cpuid::open(file.path()) {
        let _view = View::of(&cpuid.describe());
    }
}

/// What a file of sysfs may hold instead of what it should.
fn damage() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"\0\n".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"0-4294967295".to_vec()),
        Just(b"0-65535".to_vec()),
        Just(b"18446744073709551615".to_vec()),
        Just(b"9223372036854775807K".to_vec()),
        Just(b"ffffffff,ffffffff,ffffffff".to_vec()),
        Just(b"processor : 4294967295\nprocessor: 3\nflags:".to_vec()),
        Just(b"10 20 30 40 50 60".to_vec()),
        Just(vec![b'9'; 5000]),
        prop::collection::vec(any::<u8>(), 0..64),
    ]
}

#[test]
fn a_tree_with_damaged_values_is_read_without_panic() {
    let machines: Vec<_> =
        ["synthetic-hybrid", "synthetic-sparse-offline", "synthetic-container", "synthetic-memory-only-node"]
            .into_iter()
            .map(files)
            .collect();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..40);
    runner()
        .run(&(0..machines.len(), changes), |(machine, changes)| {
            let mut files = machines[machine].clone();
            for (index, bytes) in changes {
                let index = index.index(files.len());
                files[index].1 = bytes;
            }
            read(&tarball(&files));
            Ok(())
        })
        .expect("no panic");
}

#[test]
fn a_tarball_with_damaged_bytes_is_read_without_panic() {
    let plain = tarball(&files("synthetic-sparse-offline"));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&plain).expect("compressed");
    let gzip = encoder.finish().expect("compressed");
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(&plain).expect("compressed");
    let bzip2 = encoder.finish().expect("compressed");
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(plain.as_slice(), level);
    let archives = [plain, gzip, bzip2, zstd];
    let flips = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12);
    runner()
        .run(&(0..archives.len(), flips, any::<prop::sample::Index>()), |(archive, flips, end)| {
            let mut bytes = archives[archive].clone();
            for (index, byte) in flips {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            // One in four is cut off as well.
            if end.index(4) == 0 {
                bytes.truncate(end.index(bytes.len()));
            }
            read(&bytes);
            Ok(())
        })
        .expect("no panic");
}

/// The questions that describing a machine asks: leaf and subleaf.
fn questions() -> Vec<(u32, u32)> {
    let deep = [4, 7, 0xb, 0x18, 0x1f, 0x8000_001d, 0x8000_0026];
    let flat = [1, 2, 0x1a, 0x4000_0000, 0x8000_0001, 0x8000_0002, 0x8000_0003, 0x8000_0004];
    let more = [0x8000_0005, 0x8000_0006, 0x8000_0007, 0x8000_0008, 0x8000_0019, 0x8000_001e];
    let deep = deep.into_iter().flat_map(|leaf| (0..5).map(move |subleaf| (leaf, subleaf)));
    flat.into_iter().chain(more).map(|leaf| (leaf, 0)).chain(deep).collect()
}

#[test]
fn a_dump_with_any_answers_is_read_without_panic() {
    // The letters of leaf 0 in EBX, ECX, EDX: GenuineIntel, AuthenticAMD, and nobody.
    const VENDORS: [&str; 3] = ["756e6547 6c65746e 49656e69", "68747541 444d4163 69746e65", "0 ffffffff 1"];
    let questions = questions();
    let answer = prop_oneof![any::<[u32; 4]>(), Just([0; 4]), Just([u32::MAX; 4])];
    let cpu = prop::collection::vec(answer, questions.len());
    let root = Root::open(&machines().join("synthetic-one-cpu")).expect("a hand-written machine");
    runner()
        .run(&(0..VENDORS.len(), prop::collection::vec(cpu, 1..5)), |(vendor, cpus)| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            for (number, answers) in cpus.iter().enumerate() {
                let mut text = format!(
                    "# synthetic\n1 0 0 0 0 => 1f {}\n1 80000000 0 0 0 => 80000026 0 0 0\n",
                    VENDORS[vendor]
                );
                for ((leaf, subleaf), [a, b, c, d]) in questions.iter().zip(answers) {
                    writeln!(text, "5 {leaf:x} 0 {subleaf:x} 0 => {a:x} {b:x} {c:x} {d:x}")
                        .expect("a String takes all");
                }
                std::fs::write(folder.path().join(format!("pu{number}")), text).expect("written");
            }
            let cpuid = Cpuid::open(folder.path()).expect("a dump");
            let _view = View::of(&cpuid.describe());
            let _view = View::of(&describe(&root, Some(&cpuid)));
            Ok(())
        })
        .expect("no panic");
}

#[test]
fn an_archive_that_unpacks_to_more_than_the_limit_is_refused() {
    // 300 MiB of zeros compress to 300 kB: more than is ever decoded.
    const DECODED_BYTES: u64 = 300 << 20;
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let encoder =
        flate2::write::GzEncoder::new(file.reopen().expect("a handle"), flate2::Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    let mut header = tar::Header::new_ustar();
    header.set_size(DECODED_BYTES);
    header.set_mode(0o644);
    let zeros = std::io::Read::take(std::io::repeat(0), DECODED_BYTES);
    builder.append_data(&mut header, "top/sys/zeros", zeros).expect("a tarball");
    builder.into_inner().expect("a tarball").finish().expect("compressed");
    let message = Root::open(file.path()).expect_err("too large").to_string();
    assert!(message.contains("256 MiB when unpacked"), "{message}");
}

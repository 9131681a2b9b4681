//! Machine files that come with sidestep are possible; those that are wrong are refused with the file, the place and what to do.

use models::memory::parse;
use models::{interconnect, memory, scheduling, tsc};
use proptest::prelude::*;

const TEXT: &str = include_str!("../../../../machines/phenom-9600.toml");

fn refused(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "{from}");
    parse(&TEXT.replacen(from, to, 1), "own.toml").expect_err(to).to_string()
}

#[test]
fn an_unknown_key_is_named_with_file_and_line() {
    let line = TEXT.lines().position(|line| line.starts_with("[prefetch]")).unwrap() + 2;
    let text = refused("[prefetch]\n", "[prefetch]\ndepth = 3\n");
    assert!(text.starts_with(&format!("own.toml, line {line}: unknown field `depth`")), "{text}");
    let text = refused("page_bytes = 4096", "page_bytes = \"4 KiB\"");
    assert!(text.contains("own.toml, line ") && text.contains("expected u64"), "{text}");
    assert!(parse("", "own.toml").expect_err("empty").to_string().contains("missing field"));
    assert!(parse("name = ", "own.toml").expect_err("cut").to_string().starts_with("own.toml, line 1"));
}

#[test]
fn what_no_machine_can_be_is_named_with_its_place() {
    for (from, to, said) in [
        ("line_bytes = 64", "line_bytes = 48", "line_bytes is 48"),
        ("ways = { value = 2,", "ways = { value = 0,", "cache L1 has size_bytes 65536 and ways 0"),
        ("value = 65536", "value = 65535", "cache L1"),
        (
            "first_ways = { value = 48",
            "first_ways = { value = 7",
            "translation.first_entries is 48 in 7 ways",
        ),
        ("walker_reads_from_level = { value = 2", "walker_reads_from_level = { value = 9", "is 9"),
        ("dram_ns = { value = 27.63", "dram_ns = { value = nan", "dram_ns is NaN"),
        ("core_hz = { value = 2.3e9", "core_hz = { value = 0.0", "core_hz is 0"),
        ("core_hz = { value = 2.3e9", "core_hz = { value = 1e-300", "give 1e6 to 1e11"),
        ("page_table_levels = { value = 4", "page_table_levels = { value = 6", "is 6; give 1 to 5"),
        ("off = \"phenom-9600\"", "off = \"elsewhere\"", "names the board elsewhere"),
        ("stride_bytes = { value = 512", "stride_bytes = { value = 0", "steps by 0"),
        ("block_bytes = 33554432", "block_bytes = 18446744073709551615", "steps by 512"),
        ("test = \"latency_ns\"", "test = \"nothing\"", "published nothing is of no test"),
        ("off = 59.0", "off = -59.0", "has the value -59"),
        ("name = \"stream_mb_per_s\"", "name = \"latency_ns\"", "stands twice"),
    ] {
        let text = refused(from, to);
        assert!(text.starts_with("own.toml") && text.contains(said), "{to}: {text}");
    }
}

#[test]
fn the_machines_that_come_with_sidestep_are_possible_and_of_one_kind() {
    let names = |known: &[(&'static str, &str)]| known.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    for (name, text) in memory::KNOWN {
        assert_eq!(parse(text, name).expect(name).machine.name, *name);
    }
    for (name, text) in interconnect::KNOWN {
        let machine = interconnect::parse(text, name).expect(name);
        assert_eq!((machine.name.as_str(), kinds(text)), (*name, [true, false, false, false]));
        assert!(machine.siblings.iter().all(|name| names(interconnect::KNOWN).contains(&name.as_str())));
    }
    for (name, text) in interconnect::KNOWN_CLUSTERS {
        let machine = interconnect::parse_clusters(text, name).expect(name);
        assert_eq!((machine.name.as_str(), kinds(text)), (*name, [false, true, false, false]));
    }
    for (name, file, text) in tsc::KNOWN {
        let machine = tsc::parse(text, file).expect(name);
        assert_eq!((machine.name.as_str(), kinds(text)), (*name, [false, false, true, false]));
    }
    for (name, file, text) in scheduling::KNOWN {
        let machine = scheduling::parse(text, file).expect(name);
        assert_eq!((machine.name.as_str(), kinds(text)), (*name, [false, false, false, true]));
    }
}

/// What a text says that it describes.
fn kinds(text: &str) -> [bool; 4] {
    [
        interconnect::is_described(text),
        interconnect::is_of_clusters(text),
        tsc::is_described(text),
        scheduling::is_described(text),
    ]
}

/// Reads a text as each kind of machine.
fn read(text: &str) {
    let _ = parse(text, "f.toml");
    let _ = interconnect::parse(text, "f.toml");
    let _ = interconnect::parse_clusters(text, "f.toml");
    let _ = tsc::parse(text, "f.toml");
    let _ = scheduling::parse(text, "f.toml");
    let _ = kinds(text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_makes_a_reader_panic(text in ".{0,200}") {
        read(&text);
    }

    #[test]
    fn no_change_of_a_machine_makes_its_reader_panic(
        at in 0_usize..4000, text in "[ -~\n]{0,20}", cut in 0_usize..20,
    ) {
        for known in models::known_machines() {
            let mut broken = known.text.to_owned();
            let at = broken.floor_char_boundary(at.min(broken.len()));
            let end = broken.floor_char_boundary((at + cut).min(broken.len())).max(at);
            broken.replace_range(at..end, &text);
            read(&broken);
        }
    }
}

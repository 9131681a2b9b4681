//! Machine files that come with sidestep are possible; those that are wrong are refused with the file, the place and what to do.

use models::interconnect::SocketMachine;
use models::memory::MemoryMachine;
use models::scheduling::SchedulingMachine;
use models::tsc::TscMachine;
use models::{KNOWN_MACHINES, MachineKind};
use proptest::prelude::*;

const TEXT: &str = include_str!("../../../../machines/phenom-9600.toml");

fn parse(text: &str, file: &str) -> Result<MemoryMachine, models::DescriptionError> {
    models::parse(text, file)
}

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
        ("dram_ns = { value = 27.63", "dram_ns = { value = nan", "nan stands for no quantity"),
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
fn the_machines_that_come_with_sidestep_are_possible_and_of_the_kind_that_they_state() {
    for known in KNOWN_MACHINES {
        let name = match MachineKind::of(known.text) {
            MachineKind::Memory => models::known::<MemoryMachine>(known.name).map(|machine| machine.name),
            MachineKind::Sockets => models::known::<SocketMachine>(known.name).map(|machine| machine.name),
            MachineKind::Counters => models::known::<TscMachine>(known.name).map(|machine| machine.name),
            MachineKind::Threads => {
                models::known::<SchedulingMachine>(known.name).map(|machine| machine.name)
            }
        };
        assert_eq!(name.as_deref(), Some(known.name));
    }
}

/// Reads a text as each kind of machine.
fn read(text: &str) {
    let _ = MachineKind::of(text);
    let _ = parse(text, "f.toml");
    let _ = models::parse::<SocketMachine>(text, "f.toml");
    let _ = models::parse::<TscMachine>(text, "f.toml");
    let _ = models::parse::<SchedulingMachine>(text, "f.toml");
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
        for known in KNOWN_MACHINES {
            let mut broken = known.text.to_owned();
            let at = broken.floor_char_boundary(at.min(broken.len()));
            let end = broken.floor_char_boundary((at + cut).min(broken.len())).max(at);
            broken.replace_range(at..end, &text);
            read(&broken);
        }
    }
}

#[test]
fn a_kind_that_is_mistyped_or_not_there_is_not_taken_for_a_memory() {
    for (text, said) in [
        ("kind = \"shedulling\"\n", "kind is \"shedulling\"; give one of memory, linked-sockets"),
        ("name = \"x\"\n[[level]]\n", "kind is not there, and without caches it is no memory"),
    ] {
        let error = MachineKind::judged(text, "f.toml").expect_err(text).to_string();
        assert!(error.starts_with("f.toml: ") && error.contains(said), "{error}");
    }
    assert_eq!(MachineKind::judged("[[cache]]\n", "f.toml"), Ok(MachineKind::Memory));
    assert_eq!(MachineKind::judged("kind = \"scheduling\"\n", "f.toml"), Ok(MachineKind::Threads));
}

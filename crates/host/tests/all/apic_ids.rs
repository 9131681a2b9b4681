//! APIC ids of many CPUs and of dies of six cores, from CPUID alone: made-up dumps after AMD's description of the leaves.
//!
//! What is made up: which leaves answer, how many CPUs there are, and all caches but the third level. The layouts of ids are those
//! of two packages with 96 cores and two threads (8 cores in a complex fill 4 bits, 12 complexes the 8 bits below the package) and
//! of two Opterons with two dies of six cores (as Magny-Cours has them, hwloc/topology-x86.c: 0 to 5, 6 to 11).

use std::fmt::Write as _;

use host::Cpuid;
use machine::Machine;

/// Vendor letters of leaf 0 in EBX, ECX, EDX.
const AMD: &str = "68747541 444d4163 69746e65";
const HYGON: &str = "6f677948 656e6975 6e65476e";
/// Family 19h model 11h, 15h model 2, 18h model 4: leaf 1 EAX.
const ZEN_4: u32 = 0x00a1_0f11;
const PILEDRIVER: u32 = 0x0060_0f20;
const HYGON_MODEL_4: u32 = 0x0090_0f41;

/// Which leaves a made-up CPU answers.
#[derive(Clone, Copy)]
struct Answers {
    vendor: &'static str,
    signature: u32,
    leaf_b: bool,
    leaf_26: bool,
    extensions: bool,
    /// Added to the id that Fn8000_001E tells.
    spoilt: u32,
}

const ALL: Answers =
    Answers { vendor: AMD, signature: ZEN_4, leaf_b: true, leaf_26: true, extensions: true, spoilt: 0 };

/// The dump of one of 384 CPUs.
fn zen_4(apic: u32, answers: Answers) -> String {
    let Answers { vendor, signature, leaf_b, leaf_26, extensions, spoilt } = answers;
    let mut text = format!(
        "1 0 0 0 0 => b {vendor}\n1 1 0 0 0 => {signature:x} {:x} 0 10000000\n",
        apic << 24 | 192 << 16 | 0x800
    );
    let mut level = |leaf: &str, index: u32, shift: u32, cpus: u32, kind: u32| {
        let _ =
            writeln!(text, "5 {leaf} 0 {index:x} 0 => {shift:x} {cpus:x} {:x} {apic:x}", kind << 8 | index);
    };
    if leaf_b {
        level("b", 0, 1, 2, 1);
        level("b", 1, 8, 192, 2);
    }
    if leaf_26 {
        for (index, shift, cpus) in [(0, 1, 2), (1, 4, 16), (2, 4, 16), (3, 8, 192)] {
            level("80000026", index, shift, cpus, index + 1);
        }
    }
    let _ = writeln!(text, "1 80000000 0 0 0 => 80000026 0 0 0\n1 80000008 0 0 0 => 0 0 80bf 0");
    if extensions {
        let _ = writeln!(
            text,
            "1 80000001 0 0 0 => 0 0 400000 0\n5 8000001d 0 0 0 => 3c163 3c0003f 7fff 1\n\
             1 8000001e 0 0 0 => {:x} {:x} {:x} 0",
            apic + spoilt,
            0x100 | (apic & 0xff) >> 1,
            apic >> 8
        );
    }
    text
}

/// Two packages of twelve complexes of eight cores; first all first threads, as Linux numbers them.
fn two_sockets(answers: Answers) -> Machine {
    let ids = (0..2).flat_map(|thread| {
        (0..2).flat_map(move |package| (0..96).map(move |core| package << 8 | core << 1 | thread))
    });
    machine(&(0..).zip(ids.map(|apic| zen_4(apic, answers))).collect::<Vec<_>>())
}

fn machine(texts: &[(u32, String)]) -> Machine {
    Cpuid::of_texts(texts.iter().map(|(cpu, text)| (*cpu, text.as_str()))).expect("a dump").describe()
}

/// Packages, cores, CPUs and caches of the third level.
fn counts(machine: &Machine) -> [usize; 4] {
    let topology = &machine.topology;
    let thirds = topology.caches.iter().filter(|cache| cache.level == 3).count();
    [topology.packages().len(), topology.cores.len(), topology.cpus.len(), thirds]
}

#[test]
fn ids_from_256_on_are_read_from_whichever_leaf_has_room_for_them() {
    for (name, answers) in [
        ("all leaves", ALL),
        ("Fn8000_0026", Answers { leaf_b: false, ..ALL }),
        ("0BH", Answers { leaf_26: false, ..ALL }),
        ("Fn8000_001E", Answers { leaf_b: false, leaf_26: false, ..ALL }),
        ("Hygon", Answers { vendor: HYGON, signature: HYGON_MODEL_4, ..ALL }),
    ] {
        let machine = two_sockets(answers);
        assert_eq!(counts(&machine), [2, 192, 384, 24], "{name}");
        assert_eq!(machine.disagreements, [], "{name}");
        let third = machine.topology.data_cache(machine::CpuId(96), 3).expect("a third level");
        assert_eq!(third.shared_by.to_string(), "96-103,288-295", "{name}");
        let nodes: Vec<String> = machine.topology.nodes.iter().map(|node| node.cpus.to_string()).collect();
        assert_eq!(nodes, ["0-95,192-287", "96-191,288-383"], "{name}");
    }
}

#[test]
fn ids_that_wrap_or_contradict_each_other_are_never_silent() {
    let wrapped = Answers { leaf_b: false, leaf_26: false, extensions: false, ..ALL };
    for (name, answers, expected) in [
        ("wrapped", wrapped, "number of CPUs: the dump says 384 (CPUs 0,96 all have APIC id 0;"),
        ("spoilt", Answers { spoilt: 2, ..ALL }, "CPUID leaf 8000001EH says 2, and 383 more are unlike"),
        // The initial ids are believed then, and these wrap.
        ("others in use", Answers { spoilt: 2, leaf_b: false, leaf_26: false, ..ALL }, "all have APIC id 0;"),
    ] {
        let machine = two_sockets(answers);
        let sentences: Vec<String> =
            machine.disagreements.iter().map(machine::Disagreement::sentence).collect();
        assert!(sentences.iter().any(|sentence| sentence.contains(expected)), "{name}: {sentences:#?}");
    }
}

#[test]
fn a_package_with_more_cpus_than_a_leaf_counts_is_reported() {
    let mut texts: Vec<(u32, String)> = (0..4).map(|cpu| (cpu, zen_4(cpu, ALL))).collect();
    for (_, text) in &mut texts {
        *text = text.replace(" c0 ", " 2 ");
    }
    let sentences: Vec<String> =
        machine(&texts).disagreements.iter().map(machine::Disagreement::sentence).collect();
    assert_eq!(
        sentences,
        [
            "CPUs of a package: the dump says 4 in package 0, CPUID leaf 80000026H says 2",
            "CPUs of a package: CPUID leaf 80000026H says 2 in package 0, CPUID leaf 80000008H says 192",
        ]
    );
}

#[test]
fn dies_of_six_cores_share_what_their_nodes_share() {
    let opteron = |(cpu, apic): (u32, u32)| {
        let die = apic >> 4 << 1 | u32::from(apic & 0xf >= 6);
        let text = format!(
            "1 0 0 0 0 => d {AMD}\n1 1 0 0 0 => {PILEDRIVER:x} {:x} 0 10000000\n1 80000000 0 0 0 => 8000001e 0 0 0\n\
             1 80000001 0 0 0 => 0 0 400000 0\n1 80000008 0 0 0 => 0 0 400b 0\n\
             5 8000001d 0 0 0 => 14163 fc0003f 7ff 1\n1 8000001e 0 0 0 => {apic:x} {:x} {:x} 0\n",
            apic << 24 | 12 << 16 | 0x800,
            0x100 | (apic & 0xf) >> 1,
            0x100 | die
        );
        (cpu, text)
    };
    let ids = (0..12).chain(16..28);
    let machine = machine(&(0..).zip(ids).map(opteron).collect::<Vec<_>>());
    let members: Vec<String> =
        machine.topology.caches.iter().map(|cache| cache.shared_by.to_string()).collect();
    assert_eq!(members, ["0-5", "6-11", "12-17", "18-23"]);
    let nodes: Vec<String> = machine.topology.nodes.iter().map(|node| node.cpus.to_string()).collect();
    assert_eq!(nodes, members);
    assert_eq!(machine.disagreements, []);
}

#[test]
fn initial_ids_that_are_not_those_in_use_or_have_the_core_on_top_or_are_absent_are_no_contradiction() {
    // Phenom, Piledriver and Pentium III: leaf 1 EAX; Fn8000_0008 ECX; what Fn8000_001E says, if it does; the initial ids.
    for (name, signature, size, in_use, ids, expected) in [
        ("core on top", 0x0010_0f43, "2003", None, [0, 0x40, 0xc0, 0x80], 1),
        ("four packages", 0x0010_0f43, "2003", None, [0, 4, 8, 12], 4),
        ("others in use", PILEDRIVER, "4007", Some([16, 17, 18, 19]), [0, 1, 2, 3], 1),
        ("others in use, and in another order", PILEDRIVER, "4007", Some([0, 2, 1, 3]), [0, 1, 2, 3], 1),
        ("one for two", PILEDRIVER, "4007", Some([16, 16, 18, 19]), [0, 1, 2, 3], 1),
        ("no ids", 0x673, "0", None, [0; 4], 4),
    ] {
        let cpu = |cpu: u32| {
            let (initial, has_ids) = (ids[cpu as usize], size != "0");
            let ebx = if has_ids { initial << 24 | 4 << 16 | 0x800 } else { 0 };
            let vendor = if has_ids { AMD } else { "756e6547 6c65746e 49656e69" };
            let mut text =
                format!("1 0 0 0 0 => 2 {vendor}\n1 1 0 0 0 => {signature:x} {ebx:x} 0 10000000\n");
            if has_ids {
                let _ =
                    writeln!(text, "1 80000000 0 0 0 => 8000001e 0 0 0\n1 80000008 0 0 0 => 0 0 {size} 0");
            }
            if let Some(in_use) = in_use {
                let apic = in_use[cpu as usize];
                let _ =
                    writeln!(text, "1 80000001 0 0 0 => 0 0 400000 0\n1 8000001e 0 0 0 => {apic:x} 100 0 0");
            }
            (cpu, text)
        };
        let machine = machine(&(0..4).map(cpu).collect::<Vec<_>>());
        assert_eq!(machine.topology.packages().len(), expected, "{name}: {:?}", machine.disagreements);
        let sentences: Vec<String> =
            machine.disagreements.iter().map(machine::Disagreement::sentence).collect();
        let known: &[&str] = match name {
            "one for two" => &["APIC ids: CPUID leaf 1 says 1 for CPU 1, CPUID leaf 8000001EH says 16"],
            _ => &[],
        };
        assert_eq!(sentences, known, "{name}");
    }
}

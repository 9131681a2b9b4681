//! Register toggles on recorded machines: bits of every CPU, and refused wherever they do not belong.

use std::path::Path;

use host::{FlawSources, MachineWriter, Root, SystemWriter};
use machine::{Machine, Vendor};
use record::{Answer, WorkaroundState};
use toggles::{Availability, Consent, Experiment, Intent, Owner, Switch, SystemState, find};

const PHENOM: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 16\nmodel\t\t: 2\nstepping\t: 2\n\n\
                      processor\t: 1\nvendor_id\t: AuthenticAMD\ncpu family\t: 16\nmodel\t\t: 2\nstepping\t: 2\n\n";

/// A recorded Phenom 9500 with two of its CPUs and the workaround for erratum 298 on.
fn phenom() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (path, text) in [
        ("proc/cpuinfo", PHENOM),
        ("msr/0", "c0010015 = 1000018\nc0011023 = 22\n"),
        ("msr/1", "c0010015 = 1000018\nc0011023 = 22\n"),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

fn described(folder: &tempfile::TempDir) -> (Root, Machine) {
    let root = Root::open(folder.path()).expect("a recording");
    let machine = host::describe(&root, None);
    (root, machine)
}

#[test]
fn erratum_298_is_switched_on_every_cpu_in_its_bits_alone_and_put_back() {
    let folder = phenom();
    let (root, machine) = described(&folder);
    let system = SystemState::of(&root, &machine);
    let toggle = find("erratum-298").unwrap();
    assert_eq!(toggle.now(&system).as_deref(), Some("on"), "{:?}", toggle.availability(&system));
    let off = toggle.value(&system, "off").expect("available");
    let refusal = Consent::default().allows("erratum-298", off.risk, toggle.about().opens).unwrap_err();
    assert!(refusal.to_string().contains("--accept-data-corruption"), "{refusal}");
    let Switch::System(changes) = toggle.switch(&system, "off").expect("available") else {
        panic!("not of the machine")
    };
    assert_eq!(changes.len(), 4, "two registers of two CPUs");
    let place = toggles::Place { state: folder.path().join("state"), tree: Some(folder.path().to_owned()) };
    let _lock = place.folder().try_lock().expect("nobody has it");
    let owner = Owner { boot_id: String::new(), pid: 1, start_ticks: 1 };
    let intent = Intent { label: "erratum-298=off", states: &[&changes], kept: false };
    let begun = Experiment::begin(place.writer(), place.folder(), owner, &intent, "now".to_owned());
    let mut experiment = begun.expect("nothing is in the way");
    experiment.switch(&changes).expect("writable");
    let text = |cpu: u32| std::fs::read_to_string(folder.path().join(format!("msr/{cpu}"))).expect("a file");
    for cpu in [0, 1] {
        assert_eq!(text(cpu), "c0010015 = 1000010\nc0011023 = 20\n");
    }
    experiment.end();
    for cpu in [0, 1] {
        assert_eq!(text(cpu), "c0010015 = 1000018\nc0011023 = 22\n");
    }
}

#[test]
fn registers_are_refused_on_other_cpus_in_guests_under_lockdown_and_where_one_cpu_cannot_be_read() {
    let folder = phenom();
    let (root, machine) = described(&folder);
    let check = |root: &Root, change: &dyn Fn(&mut Machine), expected: &str| {
        let mut machine = machine.clone();
        change(&mut machine);
        let toggle = find("erratum-298").unwrap();
        let error = toggle.switch(&SystemState::of(root, &machine), "off").expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&root, &|machine| machine.identity.stepping = Some(3), "not on its list");
    check(&root, &|machine| machine.identity.family = Some(15), "not on its list");
    check(&root, &|machine| machine.identity.vendor = Some(Vendor::Intel), "not on its list");
    check(&root, &|machine| machine.identity.stepping = None, "not on its list");
    check(&root, &|machine| machine.identity.hypervisor = Some("KVM".to_owned()), "a guest of KVM");
    std::fs::write(folder.path().join("msr/1"), "c0010015 = 1000018\n").expect("a file");
    check(&root, &|_| {}, "CPU 1 MSR 0xc0011023 mask 0x2 cannot be read");
    let lockdown = folder.path().join("sys/kernel/security");
    std::fs::create_dir_all(&lockdown).expect("folders");
    std::fs::write(lockdown.join("lockdown"), "none [integrity] confidentiality\n").expect("a file");
    check(&root, &|_| {}, "the kernel is locked down");
}

/// The synthetic K8 in a folder of its own, with the power-management word of both nodes set.
fn opterons(words: [u32; 2]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines/synthetic-k8-two-sockets");
    let devices = "sys/bus/pci/devices";
    for path in ["proc/cpuinfo", "msr/0", "msr/1"] {
        copy(&source, folder.path(), path);
    }
    for (node, word) in [0x18, 0x19].into_iter().zip(words) {
        for function in [0, 3] {
            copy(&source, folder.path(), &format!("{devices}/0000:00:{node:x}.{function}/config"));
        }
        let path = folder.path().join(format!("{devices}/0000:00:{node:x}.3/config"));
        let mut config = std::fs::read(&path).expect("a file");
        config[0x84..0x88].copy_from_slice(&word.to_le_bytes());
        std::fs::write(path, config).expect("a file");
    }
    folder
}

fn copy(from: &Path, to: &Path, path: &str) {
    let to = to.join(path);
    std::fs::create_dir_all(to.parent().expect("below the folder")).expect("folders");
    std::fs::copy(from.join(path), to).expect("a file");
}

/// What the detector says of clock ramping: affected, and the state of the workaround.
fn ramping(root: &Root) -> (Answer, WorkaroundState) {
    let catalogue = flaws::catalogue();
    let evidence = FlawSources::of(root, None).read(&catalogue.registers());
    let verdicts = flaws::judge(&catalogue, &evidence);
    let verdict = verdicts.iter().find(|verdict| verdict.id == "k8-c1-ramping").expect("in the catalogue");
    (verdict.affected, verdict.workaround)
}

#[test]
fn clock_ramping_is_seen_and_switched_in_the_bits_of_every_node() {
    use WorkaroundState::{Off, On, Partial};
    for (words, workaround, now) in [
        ([0x0000_0023, 0x0000_0023], On, Some("off")),
        ([0x0100_0023, 0x0100_0023], Off, Some("on")),
        ([0x0000_0023, 0x0100_0023], Partial, None),
    ] {
        let folder = opterons(words);
        let (root, machine) = described(&folder);
        assert_eq!(ramping(&root), (Answer::Yes, workaround), "{words:x?}");
        let toggle = find("k8-c1-ramping").unwrap();
        assert_eq!(toggle.now(&SystemState::of(&root, &machine)).as_deref(), now, "{words:x?}");
        for (value, shown, state) in [("off", 0x23, On), ("on", 0x0100_0023, Off)] {
            let system = SystemState::of(&root, &machine);
            let Ok(Switch::System(changes)) = toggle.switch(&system, value) else {
                panic!("not of the machine")
            };
            let mut writer = MachineWriter::tree(folder.path());
            for change in &changes {
                writer.write(&change.target, &change.value).expect("writable");
            }
            for node in ["0000:00:18.3", "0000:00:19.3"] {
                assert_eq!(root.configuration_word(node, 0x84), Some(shown), "{node} {value}");
            }
            assert_eq!(ramping(&root), (Answer::Yes, state), "{value}");
        }
    }
}

#[test]
fn a_node_that_is_counted_must_be_read_and_one_that_answers_all_ones_is_none() {
    let folder = opterons([0x23, 0x23]);
    let config = |name: &str| folder.path().join(format!("sys/bus/pci/devices/{name}/config"));
    std::fs::write(config("0000:00:19.3"), [0xff; 256]).expect("a file");
    let (root, machine) = described(&folder);
    let switched = |root: &Root| {
        let system = SystemState::of(root, &machine);
        find("k8-c1-ramping").unwrap().switch(&system, "off").map_err(|error| error.to_string())
    };
    // Function 0 of the first node counts two: the second one hides.
    assert_eq!(ramping(&root), (Answer::Yes, WorkaroundState::Unknown));
    let refusal = switched(&root).expect_err("one node would keep its ramp");
    assert!(refusal.contains("PCI 0000:00:19.3 register 0x084 mask 0x03000000 cannot be read"), "{refusal}");
    let mut first = std::fs::read(config("0000:00:18.0")).expect("a file");
    first[0x60] = 0;
    std::fs::write(config("0000:00:18.0"), first).expect("a file");
    // It counts one: what answers all ones is no node.
    assert_eq!(ramping(&root), (Answer::Yes, WorkaroundState::On));
    let Ok(Switch::System(changes)) = switched(&root) else { panic!("available") };
    assert_eq!(changes.len(), 1);
}

#[test]
fn what_only_x86_has_is_refused_elsewhere_without_advice() {
    let folder = phenom();
    let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\
               CPU revision\t: 1\n";
    std::fs::write(folder.path().join("proc/cpuinfo"), arm).expect("a file");
    let (root, machine) = described(&folder);
    let system = SystemState::of(&root, &machine);
    for name in ["erratum-298", "turbo", "split-lock", "energy-bias", "uncore-frequency", "l3-subcaches"] {
        let toggle = find(name).unwrap();
        let expected = Availability::missing("only x86 has it; this is aarch64", "");
        assert_eq!(toggle.availability(&system), expected, "{name}");
    }
}

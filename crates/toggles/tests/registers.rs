//! Register toggles on recorded machines: bits of every CPU, and refused wherever they do not belong.

use host::Root;
use machine::{Machine, Vendor};
use toggles::{Consent, Experiment, Intent, Owner, Surroundings, Switch, find};

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
    let around = Surroundings::of(&root, &machine);
    let toggle = find("erratum-298").unwrap();
    assert_eq!(toggle.now(&around).as_deref(), Some("on"), "{:?}", toggle.availability(&around));
    let off = toggle.value(&around, "off").expect("available");
    let refusal = Consent::default().allows("erratum-298", off.risk, toggle.about().opens).unwrap_err();
    assert!(refusal.to_string().contains("--accept-data-corruption"), "{refusal}");
    let Switch::System(changes) = toggle.switch(&around, "off").expect("available") else {
        panic!("not of the machine")
    };
    assert_eq!(changes.len(), 4, "two registers of two CPUs");
    let place = toggles::Place { state: folder.path().join("state"), tree: Some(folder.path().to_owned()) };
    let _lock = place.folder().try_lock().expect("nobody has it");
    let owner = Owner { boot_id: String::new(), pid: 1, start_ticks: 1 };
    let intent = Intent { label: "erratum-298=off", states: &[&changes], kept: false };
    let begun = Experiment::begin(place.door(), place.folder(), owner, &intent, "now".to_owned());
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
        let error = toggle.switch(&Surroundings::of(root, &machine), "off").expect_err(expected).to_string();
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

//! A tree of which half is missing is heard as far as it goes, and says what could not be read.

use host::{FlawSources, Root};
use record::{PciWord, Reading, RegistersAsked};

const VULNERABILITIES: &str = "sys/devices/system/cpu/vulnerabilities";

#[test]
fn a_half_present_tree_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let base = folder.path();
    let files = base.join(VULNERABILITIES);
    // A folder where a file should be cannot be read as one, by root neither.
    std::fs::create_dir_all(files.join("l1tf")).expect("folders");
    std::fs::create_dir_all(base.join("proc")).expect("a folder");
    std::fs::create_dir_all(base.join("sys/bus/pci/devices/0000:00:18.3")).expect("folders");
    std::fs::write(files.join("mds"), "Mitigation: Clear CPU buffers; SMT disabled\n").expect("a file");
    std::fs::write(files.join("taa"), "M".repeat(1 << 20)).expect("a file");
    std::fs::write(files.join("meltdown"), "").expect("a file");
    std::fs::write(files.join("srbds"), [0xff, 0xfe, b'x']).expect("a file");
    let cpuinfo = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: six\n\nprocessor\t: 1\n";
    std::fs::write(base.join("proc/cpuinfo"), cpuinfo).expect("a file");
    std::fs::write(base.join("proc/version"), "Linux version 6.1.0-13-amd64 (x)").expect("a file");
    let root = Root::open(base).expect("a recording");
    let asked = RegistersAsked {
        msr: [0x10a].into(),
        pci: [PciWord { function: 3, offset: 0x84 }].into(),
        cpuid: [(7, 0)].into(),
        ..RegistersAsked::default()
    };
    let sources = FlawSources::of(&root, None);
    let evidence = sources.read(&asked);
    assert_eq!(evidence.kernel_release.as_deref(), Some("6.1.0-13-amd64"));
    let reported = evidence.vulnerabilities.expect("the folder is there");
    assert_eq!(reported["mds"], Reading::Is("Mitigation: Clear CPU buffers; SMT disabled".to_owned()));
    assert_eq!(reported["meltdown"], Reading::Is(String::new()));
    assert!(matches!(&reported["l1tf"], Reading::Missing(reason) if !reason.is_empty()), "{reported:?}");
    assert!(reported.contains_key("srbds"), "{reported:?}");
    assert!(matches!(&reported["taa"], Reading::Missing(reason) if reason.starts_with("1048576 bytes")));
    assert!(matches!(&evidence.msr["10a"][0].value, Reading::Missing(reason) if reason.contains("msr/")));
    assert!(evidence.pci["3.84"].is_empty() && evidence.cpuid.is_empty());
    assert!(evidence.cpus.iter().all(|cpu| cpu.family.is_none()), "{:?}", evidence.cpus);
}

#[test]
fn nothing_at_all_is_read_of_an_empty_root() {
    let root = Root::empty();
    let evidence = FlawSources::of(&root, None).read(&RegistersAsked::default());
    assert_eq!((evidence.vulnerabilities, evidence.bugs, evidence.command_line), (None, None, None));
    assert!(evidence.cpus.is_empty() && evidence.task_status.is_empty());
}

#[test]
fn a_whole_machine_of_a_cloud_is_no_guest() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let base = folder.path();
    let names = base.join("sys/class/dmi/id");
    std::fs::create_dir_all(&names).expect("folders");
    std::fs::create_dir_all(base.join("proc")).expect("a folder");
    std::fs::write(names.join("sys_vendor"), "Amazon EC2\n").expect("a file");
    std::fs::write(base.join("proc/cpuinfo"), "processor\t: 0\nflags\t\t: fpu vme\n").expect("a file");
    for (product, hypervisor) in [("m5.metal", None), ("m5.large", Some("KVM"))] {
        std::fs::write(names.join("product_name"), product).expect("a file");
        let root = Root::open(base).expect("a recording");
        let evidence = FlawSources::of(&root, None).read(&RegistersAsked::default());
        assert_eq!(evidence.hypervisor.as_deref(), hypervisor, "{product}");
    }
}

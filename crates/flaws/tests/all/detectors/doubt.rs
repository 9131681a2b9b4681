//! What witnesses leave open: words nobody knows, files and registers that cannot be read, CPUs that go away.

use flaws::catalogue;
use record::WorkaroundState::{On, Unknown};
use record::{Answer, Protection, Reading, RegisterReading};

use super::evidence::{machine_of, of, with_file, with_msr, with_time};

/// Registers of erratum 298: HWCR and BU_CFG.
const E298: [(u32, u64); 2] = [(0xc001_0015, 0x8), (0xc001_1023, 0x2)];

#[test]
fn words_that_nobody_knows_are_shown_as_they_are_and_not_judged() {
    let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
    with_file(&mut evidence, "mds", "Purple: frobnicated on Tuesdays");
    let verdict = of(&catalogue(), &evidence, "mds");
    assert_eq!(verdict.workaround, Unknown, "{verdict:?}");
    assert_eq!((verdict.protected, verdict.paid), (Protection::Unknown, Answer::Unknown));
    assert!(verdict.evidence.kernel.says.contains("Purple: frobnicated on Tuesdays"), "{verdict:?}");
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let mut evidence = machine_of("GenuineIntel", 6, 0x55, 7);
    let missing =
        Reading::Missing("/sys/devices/system/cpu/vulnerabilities/mds: permission denied".to_owned());
    evidence.vulnerabilities = Some([("mds".to_owned(), missing)].into());
    let verdict = of(&catalogue(), &evidence, "mds");
    assert_eq!(verdict.workaround, Unknown);
    assert!(verdict.evidence.kernel.says.contains("permission denied"), "{verdict:?}");
}

#[test]
fn a_cpu_that_went_away_leaves_its_registers_open() {
    let mut evidence = machine_of("AuthenticAMD", 0x10, 2, 2);
    for (number, value) in E298 {
        with_msr(&mut evidence, number, value);
        let readings = evidence.msr.get_mut(&format!("{number:x}")).expect("just added");
        readings[1] =
            RegisterReading { unit: 1, value: Reading::Missing("CPU 1: No such device or address".into()) };
    }
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, Unknown), "{verdict:?}");
    assert!(verdict.evidence.registers.says.contains("1 not readable"), "{verdict:?}");
}

#[test]
fn registers_without_permission_say_who_may_read_them() {
    let mut evidence = machine_of("AuthenticAMD", 0x10, 2, 2);
    for (number, _) in E298 {
        let reason = "/dev/cpu/0/msr: permission denied; run as root".to_owned();
        let reading = RegisterReading { unit: 0, value: Reading::Missing(reason) };
        evidence.msr.insert(format!("{number:x}"), vec![reading]);
    }
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!((verdict.affected, verdict.workaround), (Answer::Yes, Unknown));
    assert!(verdict.evidence.registers.says.contains("run as root"), "{verdict:?}");
}

#[test]
fn contradictions_between_time_and_registers_are_both_told() {
    let mut evidence = machine_of("AuthenticAMD", 0x10, 2, 2);
    for (number, _) in E298 {
        with_msr(&mut evidence, number, 0);
    }
    with_time(&mut evidence, "page_walk_4k_ns", "ns", 253.0);
    let verdict = of(&catalogue(), &evidence, "amd-298");
    assert_eq!(verdict.workaround, On, "a price that is measured is being paid");
    let [told] = verdict.disagreements.as_slice() else { panic!("{:?}", verdict.disagreements) };
    assert!(told.contains("253") && told.contains("MSR c0010015"), "{told}");
}

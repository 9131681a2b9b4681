//! The catalogue on the machine that runs the tests: what ends with a process is switched in threads and children of
//! ours and seen there; nothing else is switched.

use std::process::Command;

use host::Root;
use host::live::{self, SettingGuard};
use machine::Machine;
use stats::Arm;
use toggles::{Availability, Pair, Switch, SystemState, catalogue, find};

fn live<T>(work: impl FnOnce(&SystemState) -> T) -> T {
    let root = Root::live();
    let machine = host::describe(&root, None);
    work(&SystemState::of(&root, &machine))
}

/// The lines of `/proc/self/status` of a child that runs with a switch.
fn status_of_child(switch: &Switch) -> String {
    let Switch::Process(settings) = switch else { panic!("{switch:?} is not of a process") };
    let mut command = Command::new("cat");
    command.arg("/proc/self/status");
    live::prepare(&mut command, settings);
    String::from_utf8(command.output().expect("cat runs").stdout).expect("text")
}

fn field(status: &str, name: &str) -> Option<String> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}

#[test]
fn every_toggle_is_available_here_or_says_why_not() {
    live(|system| {
        for toggle in catalogue() {
            let name = toggle.about().name;
            match toggle.availability(system) {
                Availability::Available => {
                    let (a, b) = toggle.default_values(system).expect(name);
                    assert_ne!(a, b, "{name}");
                    assert!(toggle.switch(system, &a).is_ok() && toggle.switch(system, &b).is_ok(), "{name}");
                }
                Availability::Missing { reason, .. } | Availability::Unknown { reason } => {
                    assert!(!reason.is_empty(), "{name}");
                    let error = toggle.switch(system, "x").expect_err(name).to_string();
                    assert!(error.contains(&reason) && !error.ends_with('.'), "{error}");
                }
            }
        }
    });
}

#[test]
fn store_bypass_and_indirect_branches_are_switched_in_a_child_where_the_kernel_lets_us() {
    let cases = [
        ("ssbd", "Speculation_Store_Bypass:", "thread vulnerable", "thread mitigated"),
        ("indirect-branch", "SpeculationIndirectBranch:", "conditional enabled", "conditional disabled"),
    ];
    live(|system| {
        for (name, line, off, on) in cases {
            match Pair::parse(name, system) {
                Ok(pair) => {
                    let off_now = field(&status_of_child(pair.switch(Arm::A)), line);
                    let on_now = field(&status_of_child(pair.switch(Arm::B)), line);
                    assert_eq!((off_now.as_deref(), on_now.as_deref()), (Some(off), Some(on)), "{name}");
                }
                Err(error) => assert!(error.to_string().contains("cannot be switched here"), "{error}"),
            }
        }
    });
}

#[test]
fn huge_pages_are_forbidden_to_a_child_and_to_this_process_only_as_long_as_asked() {
    live(|system| {
        let Ok(pair) = Pair::parse("thp", system) else { return };
        let allowed = |switch| field(&status_of_child(switch), "THP_enabled:");
        if let (Some(off), Some(on)) = (allowed(&pair.switches[0]), allowed(&pair.switches[1])) {
            assert_eq!((off.as_str(), on.as_str()), ("0", "1"));
        }
        let Switch::Process(settings) = &pair.switches[0] else { panic!("thp is a process toggle") };
        let guard = SettingGuard::make(settings).expect("it needs no privilege");
        assert!(live::huge_pages_forbidden().expect("the kernel has it"));
        drop(guard);
        assert!(!live::huge_pages_forbidden().expect("the kernel has it"));
    });
}

#[test]
fn a_recording_cannot_tell_what_only_a_kernel_knows_and_switches_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir_all(folder.path().join("sys/kernel/mm/transparent_hugepage")).expect("folders");
    let file = folder.path().join("sys/kernel/mm/transparent_hugepage/enabled");
    std::fs::write(file, "always [madvise] never\n").expect("a file");
    let root = Root::open(folder.path()).expect("a recording");
    let machine = Machine::default();
    let system = SystemState::of(&root, &machine);
    assert!(matches!(find("ssbd").unwrap().availability(&system), Availability::Unknown { .. }));
    let thp = find("thp-system").unwrap();
    assert_eq!(thp.now(&system).as_deref(), Some("madvise"));
    let pair = Pair::parse("thp-system=always", &system).expect("two values");
    assert_eq!((pair.values[0].name.as_str(), pair.values[1].name.as_str()), ("madvise", "always"));
    for (text, expected) in [
        ("thp-system=madvise", "is madvise in both states; name another value: thp-system=never|always"),
        ("thp-system=sometimes", "has no value \"sometimes\" here; choose among never, madvise, always"),
        ("clocksource", "current_clocksource is absent; boot a kernel"),
        ("microcode", "never switched: microcode cannot be taken back"),
        ("tph", "did you mean thp? "),
    ] {
        let error = Pair::parse(text, &system).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

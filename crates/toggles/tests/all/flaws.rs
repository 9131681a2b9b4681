//! The catalogue of flaws against the toggles it names: they exist, for CPUs that have the flaw, with the same bits.

use std::collections::BTreeSet;

use flaws::{Flaw, Means};
use host::{Root, Target};
use machine::{Machine, Vendor};
use record::CpuSignature;
use toggles::{Availability, Switch, SystemState, Toggle, find};

const VENDORS: [(Vendor, &str); 2] = [(Vendor::Amd, "AuthenticAMD"), (Vendor::Intel, "GenuineIntel")];
const FAMILIES: [u32; 12] = [0x6, 0xf, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a];

/// A recorded machine of one CPU whose registers are all zero.
fn recording(flaws: &[Flaw]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let numbers: BTreeSet<u32> = flaws.iter().flat_map(|flaw| &flaw.msr).map(|bits| bits.number).collect();
    let registers: Vec<String> = numbers.iter().map(|number| format!("{number:x} = 0")).collect();
    let registers = registers.join("\n");
    for (path, text) in [("proc/cpuinfo", "processor\t: 0\n\n"), ("msr/0", &registers)] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

/// Every toggle that a flaw names, with the flaw.
fn named(flaws: &[Flaw]) -> Vec<(&Flaw, &'static dyn Toggle)> {
    let switches = |flaw: &Flaw| -> Vec<String> {
        flaw.workaround.iter().filter_map(|workaround| workaround.switch.toggle.clone()).collect()
    };
    let found = |flaw: &str, name: &str| find(name).unwrap_or_else(|error| panic!("{flaw}: {error}"));
    flaws
        .iter()
        .flat_map(|flaw| switches(flaw).into_iter().map(move |name| (flaw, found(&flaw.id, &name))))
        .collect()
}

/// False if the toggle is not there because the CPU is not on its list.
fn is_listed(toggle: &dyn Toggle, root: &Root, machine: &Machine) -> bool {
    match toggle.availability(&SystemState::of(root, machine)) {
        Availability::Missing { reason, .. } => !reason.contains("not on its list"),
        Availability::Available | Availability::Unknown { .. } => true,
    }
}

/// Calls `see` with every vendor, family, model and stepping, as a machine and as a signature.
fn each_cpu(machine: &Machine, mut see: impl FnMut(&Machine, &CpuSignature)) {
    let mut machine = machine.clone();
    for ((vendor, name), family) in VENDORS.iter().flat_map(|vendor| FAMILIES.map(|family| (vendor, family)))
    {
        machine.identity.vendor = Some(vendor.clone());
        machine.identity.family = Some(family);
        for (model, stepping) in (0..=0xff).flat_map(|model| (0..=0xf).map(move |stepping| (model, stepping)))
        {
            (machine.identity.model, machine.identity.stepping) = (Some(model), Some(stepping));
            let cpu = CpuSignature {
                vendor: Some((*name).to_owned()),
                family: Some(family),
                model: Some(model),
                stepping: Some(stepping),
                ..CpuSignature::default()
            };
            see(&machine, &cpu);
        }
    }
}

#[test]
fn every_toggle_that_a_flaw_names_exists() {
    let catalogue = flaws::catalogue();
    assert!(named(&catalogue.flaws).len() >= 15);
}

#[test]
fn a_fix_by_a_toggle_names_a_toggle_and_a_value_of_it() {
    let catalogue = flaws::catalogue();
    let folder = recording(&catalogue.flaws);
    let root = Root::open(folder.path()).expect("a recording");
    let machine = host::describe(&root, None);
    let mut seen = 0;
    for fix in catalogue.flaws.iter().flat_map(|flaw| &flaw.workaround).filter_map(|way| way.fix.as_ref()) {
        let Some(words) = fix.strip_prefix("sidestep toggles set ") else { continue };
        let (name, value) = words.split_once('=').unwrap_or_else(|| panic!("{fix} names no value"));
        let toggle = find(name).unwrap_or_else(|error| panic!("{fix}: {error}"));
        let values = toggle.values(&SystemState::of(&root, &machine));
        assert!(values.iter().any(|known| known.name == value), "{fix}");
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn what_only_root_or_a_module_lacks_is_within_reach() {
    for (remedy, is_out) in
        [("run as root", false), ("modprobe msr", false), ("use a machine with SMT", true), ("", true)]
    {
        assert_eq!(Availability::missing("why", remedy).out_of_reach().is_some(), is_out, "{remedy}");
    }
    assert_eq!(Availability::Available.out_of_reach(), None);
}

#[test]
fn a_register_toggle_is_for_cpus_that_have_the_flaw_and_sets_the_bits_that_tell() {
    let catalogue = flaws::catalogue();
    let folder = recording(&catalogue.flaws);
    let root = Root::open(folder.path()).expect("a recording");
    let machine = host::describe(&root, None);
    let mut compared = 0;
    for (flaw, toggle) in named(&catalogue.flaws) {
        let name = toggle.about().name;
        if is_listed(toggle, &root, &machine) {
            // No list: it is no register.
            continue;
        }
        let mut bits = None;
        each_cpu(&machine, |machine, cpu| {
            if !is_listed(toggle, &root, machine) {
                return;
            }
            assert!(flaw.may_affect(cpu), "{name} is for {cpu:?}, {} is not", flaw.id);
            bits.get_or_insert_with(|| written(toggle, &SystemState::of(&root, machine)));
        });
        let reported: BTreeSet<(u32, u64, String)> = flaw
            .msr
            .iter()
            .filter(|bits| bits.means == Means::Workaround)
            .map(|bits| (bits.number, bits.mask, format!("{:#x}", bits.on)))
            .collect();
        // The toggle of clock ramping is named after the ramping, and its bits are of a node.
        if name != "k8-c1-ramping" {
            assert_eq!(bits, Some(reported), "{name} and {}", flaw.id);
            compared += 1;
        }
    }
    assert!(compared >= 10, "{compared}");
}

/// Registers, masks and values of a toggle that is switched on.
fn written(toggle: &dyn Toggle, system: &SystemState) -> BTreeSet<(u32, u64, String)> {
    let Ok(Switch::System(changes)) = toggle.switch(system, "on") else { return BTreeSet::new() };
    let register = |change: toggles::Change| match change.target {
        Target::Msr { register, mask, .. } => Some((register, mask, change.value)),
        _ => None,
    };
    changes.into_iter().filter_map(register).collect()
}

//! A board whose CPUs are those of a guest: described, judged and switched by what its instructions answer.

use std::fmt::Write as _;
use std::sync::Arc;

use host::{Cpuid, FlawSources, MachineWriter, Root, StateFolder};
use machine::Machine;
use record::{FlawVerdict, RegistersAsked};
use toggles::{Change, Experiment, ExperimentError, Intent, Owner, Switch, SystemState, find};

use super::guest::{Guest, Part};

/// The flaw and its toggle.
const FLAW: &str = "amd-298";
const TOGGLE: &str = "erratum-298";

pub(crate) struct Board {
    pub(crate) guest: Arc<Guest>,
    pub(crate) root: Root,
    machine: Machine,
    cpuid: Cpuid,
    folder: tempfile::TempDir,
}

impl Board {
    /// A board of these CPUs; `None`, with a line that says so, where no guest can be had.
    pub(crate) fn of(parts: &[Part]) -> Option<Self> {
        let guest = match Guest::new(parts) {
            Ok(guest) => Arc::new(guest),
            Err(reason) => {
                println!(
                    "skipped: no KVM guest: erratum 298 was not read from or written by a CPU ({reason})"
                );
                return None;
            }
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut info = String::new();
        for cpu in 0..u32::try_from(parts.len()).expect("a few CPUs") {
            write(&folder, &format!("cpuid/pu{cpu}"), &dump(&guest, cpu));
            info.push_str(&reported_by_kernel(&guest, cpu));
        }
        write(&folder, "proc/cpuinfo", &info);
        let cpuid = Cpuid::open(folder.path()).expect("a dump");
        let root = Root::open(folder.path()).expect("a machine").with_registers(guest.clone());
        let machine = host::describe(&root, Some(&cpuid));
        Some(Self { guest, root, machine, cpuid, folder })
    }

    /// What our detector says.
    pub(crate) fn verdict(&self) -> FlawVerdict {
        let catalogue = flaws::catalogue();
        let sources = FlawSources::of(&self.root, Some(&self.cpuid));
        let verdicts = flaws::judge(&catalogue, &sources.read(&catalogue.registers()));
        verdicts.into_iter().find(|verdict| verdict.id == FLAW).expect("it is in the catalogue")
    }

    /// Differences between the CPUs.
    pub(crate) fn uneven(&self) -> Vec<String> {
        let catalogue = flaws::catalogue();
        let asked = RegistersAsked { msr: catalogue.registers().msr, ..RegistersAsked::default() };
        let sources = FlawSources::of(&self.root, Some(&self.cpuid));
        flaws::uneven(&catalogue, &sources.read(&asked))
    }

    /// What our toggle says the state is.
    pub(crate) fn now(&self) -> Option<String> {
        find(TOGGLE).expect("a toggle").now(&SystemState::of(&self.root, &self.machine))
    }

    /// What our toggle would write, or why it refuses.
    pub(crate) fn changes(&self, value: &str) -> Result<Vec<Change>, String> {
        let toggle = find(TOGGLE).expect("a toggle");
        match toggle.switch(&SystemState::of(&self.root, &self.machine), value) {
            Ok(Switch::System(changes)) => Ok(changes),
            Ok(_) => panic!("registers are of the machine"),
            Err(error) => Err(error.to_string()),
        }
    }

    /// An experiment that may switch the toggle so.
    pub(crate) fn begin(&self, changes: &[Change]) -> Experiment<MachineWriter, StateFolder> {
        let writer = MachineWriter::tree(self.folder.path()).with_registers(self.guest.clone());
        let disk = StateFolder::new(&self.folder.path().join("state"));
        std::fs::create_dir_all(self.folder.path().join("state")).expect("a folder");
        let owner = Owner { boot_id: String::new(), pid: 1, start_ticks: 1 };
        let intent = Intent { label: TOGGLE, states: &[changes], kept: false };
        Experiment::begin(writer, disk, owner, &intent, "now".to_owned()).expect("nothing is in the way")
    }

    /// Switches and expects to be refused, with everything put back and nothing left to revert.
    pub(crate) fn fails(&self, value: &str) -> ExperimentError {
        let changes = self.changes(value).expect("available");
        let mut experiment = self.begin(&changes);
        let error = experiment.switch(&changes).expect_err("a register refuses");
        assert!(experiment.end().iter().all(toggles::Restored::is_settled));
        assert!(!self.folder.path().join("state").join(toggles::JOURNAL_NAME).exists());
        error
    }
}

fn write(folder: &tempfile::TempDir, path: &str, text: &str) {
    let path = folder.path().join(path);
    std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
    std::fs::write(path, text).expect("a file");
}

/// The answers of a CPU as the lines of a dump.
fn dump(guest: &Guest, cpu: u32) -> String {
    let mut text = String::new();
    for first in [0, 0x8000_0000] {
        for leaf in first..=guest.cpuid(cpu, first, 0)[0] {
            let [eax, ebx, ecx, edx] = guest.cpuid(cpu, leaf, 0);
            writeln!(text, "1 {leaf:x} 0 0 0 => {eax:x} {ebx:x} {ecx:x} {edx:x}").expect("text grows");
        }
    }
    text
}

/// What a kernel on that CPU would say in /proc/cpuinfo: Linux, arch/x86/lib/cpu.c, `x86_family` and its neighbours.
fn reported_by_kernel(guest: &Guest, cpu: u32) -> String {
    let [_, ebx, ecx, edx] = guest.cpuid(cpu, 0, 0);
    let letters = [ebx, edx, ecx].map(u32::to_le_bytes).concat();
    let vendor = String::from_utf8(letters).expect("twelve letters");
    let [signature, ..] = guest.cpuid(cpu, 1, 0);
    let family = (signature >> 8 & 0xf) + (signature >> 20 & 0xff);
    let model = signature >> 4 & 0xf | (signature >> 16 & 0xf) << 4;
    format!(
        "processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n\
         stepping\t: {}\nflags\t\t: msr osvw\n\n",
        signature & 0xf
    )
}

//! Journals as earlier versions wrote them, frozen: they are read and put back. Those of other versions are refused and
//! stay where they are.

use std::fs;

use host::{MachineWriter, StateFolder};
use toggles::{
    Experiment, ExperimentError, Found, Intent, JOURNAL_NAME, Owner, Place, Revert, Reverted, Unreadable,
    decode, encode, find_state, revert, revert_on,
};

const PCI_CONFIG: &str = "sys/bus/pci/devices/0000:00:18.3/config";

/// One frozen journal, and the files of a machine that it left switched: before, and while switched.
struct Frozen {
    name: &'static str,
    bytes: &'static [u8],
    files: &'static [(&'static str, &'static str, &'static str)],
}

/// Never change one: add the next.
const FROZEN: [Frozen; 2] = [
    Frozen {
        name: "before affinities were remembered",
        bytes: include_bytes!("../journals/format-1-before-affinities.journal"),
        files: &[
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
                "always madvise [never]\n",
            ),
            ("proc/sys/kernel/numa_balancing", "1\n", "2\n"),
            ("sys/kernel/debug/sched/features", "A TTWU_QUEUE NO_B\n", "A NO_TTWU_QUEUE NO_B\n"),
            ("sys/fs/resctrl/schemata", "MB:0=100\nL3:0=fff\n", "MB:0=100\nL3:0=f\n"),
            ("msr/0", "c0010015 = 1000018\n", "c0010015 = 1000010\n"),
            (PCI_CONFIG, "12345678901234567890!xyz", "12345678901234567890\0xyz"),
        ],
    },
    Frozen {
        name: "with affinities",
        bytes: include_bytes!("../journals/format-1.journal"),
        files: &[
            ("sys/devices/system/cpu/cpu3/online", "1\n", "0\n"),
            // As the kernel leaves them once the CPU is back.
            ("proc/irq/7/smp_affinity_list", "3\n", "0-2\n"),
            ("proc/101/task/101/stat", STAT, STAT),
            ("proc/101/task/101/status", "Cpus_allowed_list:\t3\n", "Cpus_allowed_list:\t0-3\n"),
        ],
    },
];

/// A thread that started at tick 5.
const STAT: &str = "101 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 5 0\n";

/// A tree and a state folder with a journal.
fn place(folder: &tempfile::TempDir, journal: &[u8]) -> Place {
    let place = Place { state: folder.path().join("state"), tree: Some(folder.path().join("tree")) };
    fs::create_dir_all(&place.state).expect("a folder");
    fs::write(place.state.join(JOURNAL_NAME), journal).expect("a file");
    let boot = folder.path().join("tree/proc/sys/kernel/random/boot_id");
    fs::create_dir_all(boot.parent().expect("below the folder")).expect("folders");
    fs::write(boot, "boot\n").expect("a file");
    fs::create_dir_all(folder.path().join("tree/sys/devices/system/cpu")).expect("folders");
    place
}

#[test]
fn a_frozen_journal_is_read_and_puts_everything_back() {
    for Frozen { name, bytes, files } in FROZEN {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(&folder, bytes);
        let tree = folder.path().join("tree");
        for (path, _, switched) in files {
            let path = tree.join(path);
            fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            fs::write(path, switched).expect("a file");
        }
        assert_eq!(decode(bytes).map(|journal| encode(&journal)).as_deref(), Ok(bytes), "{name}");
        let found = find_state(&place).expect("readable");
        assert!(matches!(found, Found::Kept(_)), "{name}: {found:?}");
        let reverted = revert(&place, Revert::default()).expect("the tree can be written");
        assert!(
            matches!(reverted, Reverted::Done(..)) && !reverted.is_left_changed(),
            "{name}: {reverted:?}"
        );
        for (path, before, _) in files {
            assert_eq!(fs::read_to_string(tree.join(path)).expect("a file"), *before, "{name}: {path}");
        }
        assert!(!place.state.join(JOURNAL_NAME).exists(), "{name}");
    }
}

/// A journal of today with another number, and one with a field that this version does not know.
fn of_other_formats() -> [Vec<u8>; 2] {
    let text = String::from_utf8(FROZEN[1].bytes.to_vec()).expect("text");
    let (_, body) = text.split_once('\n').expect("two lines");
    let body = body.trim_end().replacen('{', "{\n  \"tomorrow\": 1,", 1);
    // FNV-1a, as the module of the journal has it.
    let sum = body.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let unknown_field = format!("sidestep journal 1 {sum:016x} {}\n{body}\n", body.len());
    [b"sidestep journal 2 in any shape\n".to_vec(), unknown_field.into_bytes()]
}

#[test]
fn a_journal_of_another_format_is_refused_with_what_to_do_and_stays() {
    for bytes in of_other_formats() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = place(&folder, &bytes);
        let stays = || {
            let names: Vec<_> = fs::read_dir(&place.state)
                .expect("a folder")
                .map(|entry| entry.expect("an entry").file_name())
                .filter(|name| name.to_string_lossy().starts_with(JOURNAL_NAME))
                .collect();
            names == [JOURNAL_NAME] && fs::read(place.state.join(JOURNAL_NAME)).is_ok_and(|now| now == bytes)
        };
        let found = find_state(&place).expect("readable");
        let Found::Unreadable(other @ Unreadable::OtherFormat(_)) = found else { panic!("{found:?}") };
        let text = other.to_string();
        assert!(text.contains("the version that wrote it") && text.contains("a reboot"), "{text}");
        for how in [Revert::default(), Revert { force: true, forget: true }] {
            let reverted = revert(&place, how).expect("nothing fails");
            assert!(matches!(reverted, Reverted::Refused(_)) && reverted.is_left_changed(), "{reverted:?}");
            let later = revert_on(&mut place.writer(), &mut place.folder(), "another boot", how);
            assert!(matches!(later, Ok(Reverted::Refused(_))), "{later:?}");
            assert!(stays());
        }
        let (writer, disk) =
            (MachineWriter::tree(&folder.path().join("tree")), StateFolder::new(&place.state));
        let owner = Owner { boot_id: "boot".to_owned(), pid: 1, start_ticks: 1 };
        let intent = Intent { label: "test", states: &[], kept: false };
        let begun = Experiment::begin(writer, disk, owner, &intent, "now".to_owned());
        assert!(matches!(begun, Err(ExperimentError::OtherFormat(_))), "{begun:?}");
        assert!(stays());
    }
}

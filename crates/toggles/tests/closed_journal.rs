//! A user to whom root's journal is closed: what cannot be read is never nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use host::live::effective_root;
use toggles::{Found, Place, find_state_of_user};

/// The user `nobody` of every distribution.
const OTHER: u32 = 65_534;
/// Where the other user's process finds the folder of the test.
const FOLDER: &str = "SIDESTEP_TEST_CLOSED_JOURNAL";
const NAME: &str = "what_root_has_switched_is_unknown_to_a_user_and_never_nothing";

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

fn place(folder: &Path, name: &str) -> Place {
    Place { state: folder.join(name), tree: Some(folder.join("tree")) }
}

fn check(folder: &Path) {
    let own = place(folder, "own");
    let found = find_state_of_user(&own, &place(folder, "machine")).expect("his own is readable");
    assert_eq!(found, Found::Unseen(folder.join("machine")));
    let found = find_state_of_user(&own, &place(folder, "absent")).expect("readable");
    assert_eq!(found, Found::Nothing, "root has never switched anything");
    assert_eq!(find_state_of_user(&own, &own).expect("readable"), Found::Nothing);
}

#[test]
fn what_root_has_switched_is_unknown_to_a_user_and_never_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return check(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let base = folder.path();
    fs::create_dir_all(base.join("tree/proc/sys/kernel/random")).expect("folders");
    fs::write(base.join("tree/proc/sys/kernel/random/boot_id"), "boot\n").expect("a file");
    fs::create_dir(base.join("machine")).expect("a folder");
    fs::write(base.join("machine/journal.json"), "what root has switched").expect("a file");
    if !effective_root() {
        set_mode(&base.join("machine"), 0);
        check(base);
        return set_mode(&base.join("machine"), 0o700);
    }
    set_mode(base, 0o755);
    set_mode(&base.join("machine"), 0o700);
    let program = base.join("test");
    fs::copy(std::env::current_exe().expect("this test runs"), &program).expect("a copy for the other user");
    let mut other = Command::new(program);
    other.args(["--exact", NAME]).env(FOLDER, base).current_dir("/").uid(OTHER).gid(OTHER);
    let output = other.output().expect("the copy can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

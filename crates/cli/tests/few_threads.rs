//! Commands where no further thread can be started: they say so and end, and none waits for a thread that never came.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What ends without threads after this hangs.
const PATIENCE: Duration = Duration::from_secs(120);

const COMMANDS: [&[&str]; 6] = [
    &["clock", "check", "--budget", "1s"],
    &["clock", "watch", "--budget", "1s"],
    &["clock", "cost", "--budget", "1s"],
    &["sockets", "--budget", "3s"],
    // A shell that has to start its program: where it cannot, no run works.
    &["ab", "--budget", "3s", "--a", "/bin/true; true", "--b", "/bin/true; true"],
    &["place", "--budget", "3s", "--", "true"],
];

/// What a single thread cannot measure in whole.
const NEED_THREADS: [&str; 2] = ["sockets", "ab"];

/// The end of a command, which is killed if it does not come.
fn ended(child: Child, reported: &str) -> Output {
    let process = child.id();
    let (end, ends) = mpsc::channel();
    thread::spawn(move || end.send(child.wait_with_output()));
    let Ok(output) = ends.recv_timeout(PATIENCE) else {
        Command::new("kill").args(["-KILL", &process.to_string()]).status().expect("kill is there");
        panic!("{reported} hangs");
    };
    output.expect("a child of ours")
}

fn check(output: &Output, reported: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("panicked"), "{reported}: {errors}");
    assert!(output.status.code().is_some_and(|code| code <= 4), "{reported}: {output:?}");
    if output.status.code() == Some(3) {
        assert!(!errors.trim().is_empty(), "{reported}: ends with 3 and does not say why");
    }
    if errors.contains("cannot start") {
        assert_eq!(output.status.code(), Some(3), "{reported}: {errors}");
        assert!(errors.contains("Resource temporarily unavailable"), "{reported}: {errors}");
    }
}

/// A shell that does something and becomes the command: nothing else counts as a task.
fn after(preparation: &str, binary: &Path, arguments: &[&str], state: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{preparation} && exec \"$0\" \"$@\"")).arg(binary).args(arguments);
    shell.env("HOME", state).env("XDG_STATE_HOME", state);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// A control group with room for so many tasks, gone when it is dropped.
struct Group(PathBuf);

impl Group {
    fn with_room_for(tasks: u32) -> Option<Self> {
        let parents = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(Path::new);
        let name = format!("sidestep-test-{}-{tasks}", std::process::id());
        parents.into_iter().find_map(|parent| {
            let group = Self(parent.join(&name));
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join("pids.max"), tasks.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What is left in it would be ended with the test.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_without_room_for_threads_ends_every_command_with_words() {
    let state = tempfile::tempdir().expect("a folder");
    for tasks in [1, 2, 3] {
        for arguments in COMMANDS {
            let Some(group) = Group::with_room_for(tasks) else {
                println!("skipped: control groups with pids.max can only be made as root");
                return;
            };
            let join = format!("echo $$ > {}/cgroup.procs", group.0.display());
            let mut command =
                after(&join, Path::new(env!("CARGO_BIN_EXE_sidestep")), arguments, state.path());
            let reported = format!("{arguments:?} with pids.max={tasks}");
            let output = ended(command.spawn().expect("a shell"), &reported);
            check(&output, &reported);
            // Alone a command has no result, or lacks a part of it.
            if tasks == 1 && NEED_THREADS.contains(&arguments[0]) {
                assert_eq!(output.status.code(), Some(3), "{reported}: {output:?}");
            }
        }
    }
}

#[test]
fn a_user_who_may_start_no_more_threads_is_reported() {
    /// The user `nobody`: root is not bound by its limit.
    const NOBODY: u32 = 65_534;
    let state = tempfile::tempdir().expect("a folder");
    let binary = state.path().join("sidestep");
    let ready = fs::copy(env!("CARGO_BIN_EXE_sidestep"), &binary)
        .and_then(|_| Command::new("chown").arg("-R").arg(NOBODY.to_string()).arg(state.path()).status());
    if !ready.is_ok_and(|status| status.success()) {
        println!("skipped: only root can run a command as another user");
        return;
    }
    for tasks in [0, 1] {
        for arguments in COMMANDS {
            let reported = format!("{arguments:?} with ulimit -u {tasks}");
            // The letter is another in dash.
            let limit = format!("{{ ulimit -u {tasks} || ulimit -p {tasks}; }} 2>/dev/null");
            let mut command = after(&limit, &binary, arguments, state.path());
            command.uid(NOBODY).gid(NOBODY);
            check(&ended(command.spawn().expect("a shell"), &reported), &reported);
        }
    }
}

//! `cargo xtask numa-guest`: machines of several nodes in QEMU, emulated: does the real binary read their tables, does every command of
//! `sidestep sockets` run, and does it invent no links where emulation has no distances?

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::Value;

use crate::cargo;
use crate::totals::Totals;

/// Machines of several nodes in QEMU: tables read, every command of sockets run, no link invented
///
/// Boots each machine with qemu-system-x86_64 (no KVM) from a folder that holds target/release/sidestep, its libraries and busybox;
/// needs busybox and cpio. What is missing is named, and the task is counted as skipped.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A Linux kernel for x86-64 with NUMA and a serial console built in, such as Debian's cloud kernel; else the newest
    /// /boot/vmlinuz-*
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Budget of each measurement in the guest
    #[arg(long, default_value_t = 15)]
    seconds: usize,
}

/// A guest that has not ended by then hangs: emulation on a loaded machine boots in half a minute.
const PATIENCE: Duration = Duration::from_secs(420);
/// Marks in what the guest prints.
const BEGIN: &str = "@@begin ";
const END: &str = "@@end ";

/// One machine.
struct Machine {
    name: &'static str,
    /// CPUs of each node; 0 is memory alone.
    cpus_of_nodes: &'static [u32],
    /// Distance from the first to the second; 20 where not given.
    distances: &'static [(u32, u32, u32)],
    /// Whether to tell latencies by HMAT as well.
    has_hmat: bool,
}

const MACHINES: &[Machine] = &[
    Machine {
        name: "four nodes, distances that differ by direction",
        cpus_of_nodes: &[1, 1, 1, 1],
        distances: &[
            (0, 1, 16),
            (1, 0, 17),
            (0, 2, 16),
            (2, 0, 17),
            (0, 3, 22),
            (3, 0, 24),
            (1, 2, 16),
            (2, 1, 17),
            (1, 3, 16),
            (3, 1, 17),
            (2, 3, 16),
            (3, 2, 17),
        ],
        has_hmat: false,
    },
    Machine {
        name: "two nodes with CPUs and one of memory alone, HMAT",
        cpus_of_nodes: &[2, 2, 0],
        distances: &[(0, 1, 21), (1, 0, 21), (0, 2, 30), (2, 0, 30), (1, 2, 31), (2, 1, 31)],
        has_hmat: true,
    },
    Machine {
        name: "eight nodes in a ring",
        cpus_of_nodes: &[1; 8],
        distances: &[
            (0, 1, 16),
            (1, 2, 16),
            (2, 3, 16),
            (3, 4, 16),
            (4, 5, 16),
            (5, 6, 16),
            (6, 7, 16),
            (0, 7, 16),
            (1, 0, 16),
            (2, 1, 16),
            (3, 2, 16),
            (4, 3, 16),
            (5, 4, 16),
            (6, 5, 16),
            (7, 6, 16),
            (7, 0, 16),
        ],
        has_hmat: false,
    },
];

/// MiB of a node.
const NODE_MIB: u32 = 256;
/// Distance where the table above is silent: ACPI's usual one.
const FAR: u32 = 20;
/// Distance of a node to itself: ACPI 6.5, 5.2.17.
const NEAR: u32 = 10;

/// A command in the guest: its name, its arguments, the exit codes that are right.
struct Step {
    name: &'static str,
    arguments: &'static str,
    codes: &'static [i32],
}

const STEPS: &[Step] = &[
    Step { name: "machine", arguments: "machine --json", codes: &[0] },
    Step { name: "infer", arguments: "sockets infer --sysroot / --json", codes: &[0] },
    Step { name: "firmware", arguments: "sockets firmware --json", codes: &[0] },
    Step {
        name: "measure",
        arguments: "sockets --budget $BUDGET --json --quiet --record /tmp/record",
        codes: &[0],
    },
    Step { name: "explain", arguments: "sockets explain /tmp/record --json", codes: &[0] },
    Step { name: "text", arguments: "sockets explain /tmp/record", codes: &[0] },
    Step { name: "gate", arguments: "sockets explain /tmp/record --gate --json", codes: &[0, 1] },
    Step { name: "export", arguments: "sockets export / --machine /", codes: &[0] },
    Step { name: "measured for hwloc", arguments: "sockets export /tmp/record", codes: &[0] },
    Step { name: "infer measured", arguments: "sockets infer /tmp/record --json", codes: &[0] },
    Step { name: CONFINED, arguments: "sockets --budget $BUDGET --json --quiet", codes: &[0] },
];

/// The step that runs in a cpuset which forbids the memory of every node but the first.
const CONFINED: &str = "confined";
/// How it gets there (cgroup v2).
const CONFINE: &str = "/bin/busybox mkdir /group; /bin/busybox mount -t cgroup2 none /group
echo +cpuset > /group/cgroup.subtree_control; /bin/busybox mkdir /group/one; echo 0 > /group/one/cpuset.mems
echo $$ > /group/one/cgroup.procs
";

/// `cargo xtask numa-guest`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let binary = cargo::sidestep();
    let kernel = arguments.kernel.clone().or_else(newest_kernel);
    let missing = ["qemu-system-x86_64", "busybox", "cpio"].into_iter().find(|program| !is_there(program));
    let missing = missing.map(|program| format!("{program} is absent"));
    let missing = missing.or_else(|| kernel.is_none().then(|| "no kernel; give --kernel FILE".to_owned()));
    let (Some(kernel), None) = (kernel, &missing) else {
        let why = format!("numa-guest: {}", missing.unwrap_or_default());
        println!("skipped: {why}");
        return Ok(Totals::one_skipped(why));
    };
    anyhow::ensure!(
        binary.exists(),
        "{} is absent; build it with cargo build --release -p cli",
        binary.display()
    );
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let initrd = initrd(folder.path(), &binary, arguments.seconds)?;
    let mut totals = Totals::default();
    for machine in MACHINES {
        let told = boot(machine, &kernel, &initrd)?;
        let wrong = judge(machine, &told);
        println!("{}: {}", machine.name, if wrong.is_empty() { "as it should be" } else { "wrong" });
        for line in &wrong {
            println!("  {line}");
        }
        totals.add(Totals::one(
            wrong.is_empty(),
            format!("numa-guest: {}: {}", machine.name, wrong.join("; ")),
        ));
    }
    Ok(totals)
}

fn is_there(program: &str) -> bool {
    let asked =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

fn newest_kernel() -> Option<PathBuf> {
    let files = std::fs::read_dir("/boot").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    files.filter(|path| path.to_string_lossy().contains("vmlinuz-")).max()
}

/// A file system in memory: busybox, sidestep and its libraries, and what the guest does.
fn initrd(folder: &Path, binary: &Path, seconds: usize) -> anyhow::Result<PathBuf> {
    let root = folder.join("root");
    let put = |from: &Path, to: &Path| -> anyhow::Result<()> {
        let place = root.join(to.strip_prefix("/").unwrap_or(to));
        std::fs::create_dir_all(place.parent().expect("below the root"))?;
        std::fs::copy(from, &place).with_context(|| format!("cannot copy {}", from.display()))?;
        Ok(())
    };
    let busybox = cargo::output(Command::new("sh").args(["-c", "command -v busybox"]))?;
    put(Path::new(busybox.trim()), Path::new("/bin/busybox"))?;
    put(binary, Path::new("/bin/sidestep"))?;
    // A static binary has none, and ldd then ends with an error.
    let libraries = Command::new("ldd").arg(binary).output().map(|done| done.stdout).unwrap_or_default();
    for word in String::from_utf8_lossy(&libraries).split_whitespace().filter(|word| word.starts_with('/')) {
        put(Path::new(word), Path::new(word))?;
    }
    let init = root.join("init");
    std::fs::write(&init, script(seconds)).context("cannot write the guest's script")?;
    let file = folder.join("initrd.cpio");
    let pack = format!(
        "chmod 755 '{0}/init' '{0}/bin/'* && cd '{0}' && find . | cpio --quiet -o -H newc > '{1}'",
        root.display(),
        file.display()
    );
    cargo::output(Command::new("sh").args(["-c", &pack]))?;
    Ok(file)
}

fn script(seconds: usize) -> String {
    let mut text = String::from(
        "#!/bin/busybox sh\n/bin/busybox mkdir -p /proc /sys /dev /tmp\n/bin/busybox mount -t proc proc /proc\n/bin/busybox mount -t sysfs sys /sys\n/bin/busybox mount -t devtmpfs dev /dev\nexec >/dev/ttyS0 2>&1 </dev/null\nexport PATH=/bin NO_COLOR=1\n",
    );
    let _ = writeln!(text, "BUDGET={seconds}s");
    for step in STEPS {
        if step.name == CONFINED {
            text += CONFINE;
        }
        let _ = writeln!(text, "echo \"{BEGIN}{0}\"\nsidestep {1}", step.name, step.arguments);
        let _ = writeln!(text, "echo \"{END}{} $?\"", step.name);
    }
    text + "/bin/busybox poweroff -f\n"
}

/// What the guest printed until it ended.
fn boot(machine: &Machine, kernel: &Path, initrd: &Path) -> anyhow::Result<String> {
    let cpus: u32 = machine.cpus_of_nodes.iter().sum();
    let memory = NODE_MIB * machine.cpus_of_nodes.len() as u32;
    let board = if machine.has_hmat { "q35,hmat=on" } else { "q35" };
    let mut command = Command::new("qemu-system-x86_64");
    command.args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio", "-monitor", "none"]);
    command.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-machine", board, "-m", &memory.to_string()]);
    command.args(["-smp", &format!("{cpus},sockets={cpus},cores=1")]);
    command.args(nodes(machine));
    command.arg("-kernel").arg(kernel).arg("-initrd").arg(initrd);
    command.args(["-append", "console=ttyS0 quiet panic=-1 cryptomgr.notests"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start qemu-system-x86_64")?;
    let started = Instant::now();
    let output = child.stdout.take().expect("standard output was asked to be a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut { output }, &mut text).map(|_| text)
    });
    while child.try_wait().context("cannot wait for the guest")?.is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().context("the guest hangs and cannot be ended")?;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let text = reader.join().expect("reading does not panic").context("cannot read what the guest prints")?;
    Ok(String::from_utf8_lossy(&text).replace('\r', ""))
}

/// Nodes, distances and HMAT as QEMU takes them.
fn nodes(machine: &Machine) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut numa = |text: String| arguments.extend(["-numa".to_owned(), text]);
    let mut first_cpu = 0;
    let initiator = |node: usize| if machine.cpus_of_nodes[node] > 0 { node } else { 0 };
    for (node, &cpus) in machine.cpus_of_nodes.iter().enumerate() {
        let mut text = format!("node,nodeid={node},memdev=m{node}");
        if cpus > 0 {
            let _ = write!(text, ",cpus={first_cpu}-{}", first_cpu + cpus - 1);
        }
        if machine.has_hmat {
            let _ = write!(text, ",initiator={}", initiator(node));
        }
        numa(text);
        first_cpu += cpus;
    }
    let count = machine.cpus_of_nodes.len() as u32;
    for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))).filter(|(a, b)| a != b)
    {
        numa(format!("dist,src={from},dst={to},val={}", distance(machine, from, to)));
    }
    if machine.has_hmat {
        let with_cpus = (0..count).filter(|&node| machine.cpus_of_nodes[node as usize] > 0);
        for (from, to) in with_cpus.flat_map(|from| (0..count).map(move |to| (from, to))) {
            let ns = 8 * distance(machine, from, to);
            let lb = format!("hmat-lb,initiator={from},target={to},hierarchy=memory");
            numa(format!("{lb},data-type=access-latency,latency={ns}"));
            numa(format!("{lb},data-type=access-bandwidth,bandwidth=20G"));
        }
    }
    let memories = (0..count)
        .flat_map(|node| ["-object".to_owned(), format!("memory-backend-ram,id=m{node},size={NODE_MIB}M")]);
    memories.chain(arguments).collect()
}

fn distance(machine: &Machine, from: u32, to: u32) -> u32 {
    let given = machine.distances.iter().find(|(a, b, _)| (*a, *b) == (from, to));
    given.map_or(if from == to { NEAR } else { FAR }, |(.., distance)| *distance)
}

/// What is not as it should be.
fn judge(machine: &Machine, told: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for step in STEPS {
        match part(told, step.name) {
            None => {
                wrong.push(format!(
                    "{} did not end; the guest's last words: {}",
                    step.name,
                    last_words(told)
                ));
            }
            Some((_, code)) if !step.codes.contains(&code) => {
                let text = part(told, step.name).map_or("", |(text, _)| text);
                wrong.push(format!("{} ended with {code}: {}", step.name, last_words(text)));
            }
            Some(_) => {}
        }
    }
    let document = |name: &str| -> Option<Value> {
        let (text, _) = part(told, name)?;
        // The kernel may have a word in between on the same line as the first brace.
        serde_json::from_str(text.get(text.find('{')?..)?).ok()
    };
    let count = machine.cpus_of_nodes.len() as u32;
    let expected: Vec<Vec<u32>> =
        (0..count).map(|from| (0..count).map(|to| distance(machine, from, to)).collect()).collect();
    let distances = document("machine").map(|document| document["view"]["distances"].to_string());
    let wanted: Vec<String> = expected.iter().map(|row| format!("{row:?}").replace(' ', "")).collect();
    if !distances.as_ref().is_some_and(|text| wanted.iter().all(|row| text.contains(row.as_str()))) {
        wrong.push(format!("distances are not those of the table: {}", distances.unwrap_or_default()));
    }
    wrong.extend(confined(document(CONFINED)));
    match document("explain") {
        None => wrong.push("explain prints no document".to_owned()),
        Some(account) => {
            let is_told = account["inference"]["verdict"] == "identified";
            if is_told || !account["graph"].is_null() {
                wrong.push(format!("links where there are none: {}", account["graph"]));
            }
            if account["inference"].is_null() {
                wrong.push("no matrix was measured".to_owned());
            }
        }
    }
    wrong
}

/// What is wrong with a measurement that may use the memory of the first node alone.
fn confined(document: Option<Value>) -> Option<String> {
    let Some(document) = document else { return Some("nothing was measured in a cpuset".to_owned()) };
    let rows = document["latency"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_first = |row: &Value| row["node"] == 0;
    let names_the_rest = document["without"].to_string().contains("node 1");
    let fine = !rows.is_empty() && rows.iter().all(is_first) && names_the_rest;
    (!fine).then(|| {
        format!("in a cpuset of node 0: latencies {}, without {}", document["latency"], document["without"])
    })
}

/// What one step printed, and its exit code.
fn part<'t>(told: &'t str, name: &str) -> Option<(&'t str, i32)> {
    let (_, rest) = told.split_once(&format!("{BEGIN}{name}\n"))?;
    let (text, rest) = rest.split_once(&format!("{END}{name} "))?;
    Some((text, rest.lines().next()?.trim().parse().ok()?))
}

fn last_words(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_guest_prints_is_cut_into_its_steps() {
        let told = "noise\n@@begin machine\n{\"a\": 1}\n@@end machine 0\n@@begin infer\nx\n@@end infer 2\n";
        assert_eq!(part(told, "machine"), Some(("{\"a\": 1}\n", 0)));
        assert_eq!(part(told, "infer"), Some(("x\n", 2)));
        assert_eq!(part(told, "gate"), None);
        let wrong = judge(&MACHINES[0], told);
        assert!(wrong.iter().any(|line| line.starts_with("infer ended with 2: x")), "{wrong:?}");
    }

    #[test]
    fn every_machine_is_told_to_qemu_whole() {
        for machine in MACHINES {
            let told = nodes(machine);
            let count = machine.cpus_of_nodes.len();
            let of = |what: &str| told.iter().filter(|text| text.starts_with(what)).count();
            assert_eq!((of("node,"), of("dist,"), of("memory-backend")), (count, count * (count - 1), count));
        }
    }
}

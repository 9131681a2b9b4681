//! What is bound to CPUs: affinities of tasks and interrupts, CPUs of cpusets. A CPU that goes away changes them, and
//! the kernel does not put them back when it returns.
//!
//! Limits: a thread's identity is its process, its number and its start time, so a number that was given anew is never
//! taken for the old thread; between that check and the system call a few microseconds remain. Kernel threads that the
//! kernel itself binds (`PF_NO_SETAFFINITY`) come back by themselves and are left out, as is the own process. So are the
//! threads of interrupts: the kernel binds each to where its interrupt goes (`irq_thread_check_affinity`, kernel/irq/manage.c).

use std::io;
use std::path::Path;

use machine::{CpuId, CpuSet};

use super::{Target, text};
use crate::Root;
use crate::live;
use crate::live::process_tree::{affinity_of, task};
use crate::task_stat::{Field, TaskStat};

/// More threads than this are not remembered, so nothing is switched: the journal would pass 3 MB.
const TASKS_MAX: usize = 100_000;
/// Cpusets of containers in pods in slices are some five deep.
const CPUSET_DEPTH_MAX: usize = 16;
/// `PF_NO_SETAFFINITY`, include/linux/sched.h: user space is not allowed to change the affinity.
const NO_SETAFFINITY: u64 = 0x0400_0000;
/// What the kernel calls the thread of an interrupt, before its number (`setup_irq_thread`, kernel/irq/manage.c).
const INTERRUPT_THREAD: &str = "irq/";
/// Where cpusets are: cgroup v2, cgroup v1, both mounted together.
const CPUSET_TOPS: [&str; 3] = ["sys/fs/cgroup", "sys/fs/cgroup/cpuset", "sys/fs/cgroup/unified"];

/// One thing that is bound, with the canonical text of the CPUs it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// What.
    pub target: Target,
    /// Where to, as the kernel prints it.
    pub cpus: String,
}

/// All that is bound on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bindings {
    /// The CPUs that are there.
    pub online: CpuSet,
    /// The second and further threads of each core: what SMT off takes away.
    pub second_threads: CpuSet,
    /// The CPUs of every cpuset that names some, parents first.
    pub cpusets: Vec<Bound>,
    /// Every interrupt, and the default of new ones.
    pub interrupts: Vec<Bound>,
    /// Every thread of a program that may be bound.
    pub tasks: Vec<Bound>,
    /// Every thread of the kernel that may be bound.
    pub kernel_tasks: Vec<Bound>,
    /// The different sets of CPUs that cpusets let their tasks use.
    pub confines: Vec<CpuSet>,
}

/// Reads everything that is bound.
pub(super) fn read(root: &Root, own_process: Option<u32>) -> io::Result<Bindings> {
    let mut bindings = Bindings { online: online(root)?, ..Bindings::default() };
    bindings.second_threads = second_threads(root);
    for folder in CPUSET_TOPS {
        read_cpusets(root, folder, CPUSET_DEPTH_MAX, &mut bindings);
    }
    bindings.interrupts = interrupts(root);
    read_tasks(root, own_process, &mut bindings)?;
    Ok(bindings)
}

fn online(root: &Root) -> io::Result<CpuSet> {
    let text = root.read("sys/devices/system/cpu/online").map_err(io::Error::other)?;
    CpuSet::from_list(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn second_threads(root: &Root) -> CpuSet {
    let cores = |cpu: CpuId| {
        let path = format!("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu.0);
        CpuSet::from_list(&root.read(&path).ok()?).ok()
    };
    let siblings = online(root).unwrap_or_default().iter().filter_map(cores).collect::<Vec<_>>();
    siblings.iter().flat_map(|core| core.iter().skip(1)).collect()
}

fn read_cpusets(root: &Root, folder: &str, depth_left: usize, bindings: &mut Bindings) {
    let text = |name: &str| root.read(&format!("{folder}/{name}")).ok();
    let (cpus, effective) = (text("cpuset.cpus"), text("cpuset.cpus.effective"));
    if cpus.is_none() && effective.is_none() {
        return;
    }
    for set in [&cpus, &effective].into_iter().flatten().filter_map(|list| CpuSet::from_list(list).ok()) {
        if !set.is_empty() && !bindings.confines.contains(&set) {
            bindings.confines.push(set);
        }
    }
    // The cpuset at the top follows the machine by itself and takes no writes.
    let is_top = CPUSET_TOPS.contains(&folder);
    if let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty() && !is_top) {
        let target = Target::File { path: format!("{folder}/cpuset.cpus") };
        bindings.cpusets.push(Bound { target, cpus });
    }
    if depth_left == 0 {
        return;
    }
    let below = root.list(folder).into_iter().map(|name| format!("{folder}/{name}"));
    for folder in below.filter(|path| !CPUSET_TOPS.contains(&path.as_str())) {
        read_cpusets(root, &folder, depth_left - 1, bindings);
    }
}

fn interrupts(root: &Root) -> Vec<Bound> {
    let lists =
        root.numbers("proc/irq", "").into_iter().map(|irq| format!("proc/irq/{irq}/smp_affinity_list"));
    let paths = lists.chain(["proc/irq/default_smp_affinity".to_owned()]);
    let bound = |path: String| {
        let cpus = root.read(&path).ok()?;
        Some(Bound { target: Target::File { path }, cpus })
    };
    paths.filter_map(bound).collect()
}

fn read_tasks(root: &Root, own_process: Option<u32>, bindings: &mut Bindings) -> io::Result<()> {
    for process in root.numbers("proc", "").into_iter().filter(|process| Some(*process) != own_process) {
        for thread in root.numbers(&format!("proc/{process}/task"), "") {
            // A thread that ends meanwhile has nothing to be put back.
            let Some(stat) = task(root, process, thread).filter(may_be_bound) else { continue };
            let Some(start_ticks) = stat.number(Field::StartTicks) else { continue };
            let target = Target::Task { process, thread, start_ticks };
            let Ok(cpus) = affinity_of(root, process, thread, start_ticks) else { continue };
            let found = if stat.is_of_kernel() { &mut bindings.kernel_tasks } else { &mut bindings.tasks };
            found.push(Bound { target, cpus });
            if bindings.tasks.len() + bindings.kernel_tasks.len() > TASKS_MAX {
                return Err(io::Error::other(format!("there are more than {TASKS_MAX} threads")));
            }
        }
    }
    Ok(())
}

fn may_be_bound(stat: &TaskStat) -> bool {
    let is_of_interrupt = stat.is_of_kernel() && stat.name.starts_with(INTERRUPT_THREAD);
    stat.number::<u64>(Field::Flags).is_some_and(|flags| flags & NO_SETAFFINITY == 0) && !is_of_interrupt
}

/// Binds a thread, if it still is that thread; in a recorded tree, writes what its status would then say.
pub(super) fn write_task(
    tree: Option<&Path>,
    root: &Root,
    (process, thread, start_ticks): (u32, u32, u64),
    cpus: &str,
) -> io::Result<()> {
    let before = affinity_of(root, process, thread, start_ticks)?;
    let set = CpuSet::from_list(cpus).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let Some(tree) = tree else { return live::set_task_affinity(thread, &set) };
    let path = tree.join(format!("proc/{process}/task/{thread}/status"));
    let (old, new) = (format!("Cpus_allowed_list:\t{before}\n"), format!("Cpus_allowed_list:\t{cpus}\n"));
    text::replace(&path, &text::read_text(&path)?.replace(&old, &new))
}

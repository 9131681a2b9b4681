//! What a CPU that goes away takes with it: affinities of tasks and interrupts and CPUs of cpusets, remembered before
//! the first write, compared when the CPU is back, and put back where that is possible.
//!
//! A task or interrupt whose CPUs all go away is given others by the kernel, and a cpuset of cgroup v1 loses the CPU for
//! good (kernel/sched/core.c `select_fallback_rq`, kernel/irq/cpuhotplug.c `migrate_one_irq`, kernel/cgroup/cpuset-v1.c).
//! Only what looks like the kernel's doing is put back. Any other difference was made by somebody else: it is listed and
//! left alone, as for every value that is switched.
//!
//! Interrupts that the kernel manages come back by themselves, and then show no difference. The kernel binds some threads of
//! its own anew whenever a CPU goes or comes: what it did to them is not reported, and only a binding that it lost is put back.
//!
//! SMT that goes on brings every CPU of the machine, also those that were away before (`cpuhp_smt_enable`, kernel/cpu.c). So the CPUs that
//! were there are remembered too, and are the same afterwards.

use host::{Bindings, Bound, SystemWriter, SystemWriterError, Target};
use machine::{CpuId, CpuSet};

use crate::journal::{Affinities, Entry, FileAffinity, Journal, TaskGroup, ThreadId};
use crate::restore::{Fate, Restored, is_gone, refusal_code, restore, restore_one, unpin};

/// The default of new interrupts: a mask where all else is a list.
const DEFAULT_INTERRUPT: &str = "proc/irq/default_smp_affinity";
const ONLINE_CPUS: &str = "sys/devices/system/cpu/online";
const SMT_CONTROL: &str = "sys/devices/system/cpu/smt/control";

/// What has to be remembered before these entries are switched; `None` if no CPU that is there can go away, and none come
/// but those that are named.
///
/// # Errors
/// What is bound cannot be read.
pub fn remember(
    writer: &mut impl SystemWriter,
    entries: &[Entry],
) -> Result<Option<Affinities>, SystemWriterError> {
    if !entries.iter().any(switches_cpus) {
        return Ok(None);
    }
    let bindings = writer.bindings()?;
    let leaving = leaving(entries, &bindings).intersection(&bindings.online);
    if leaving.is_empty() {
        let Bindings { online, .. } = bindings;
        return Ok(entries.iter().any(switches_smt).then(|| Affinities::of_cpus(online)));
    }
    let Bindings { online, cpusets, interrupts, tasks, kernel_tasks, confines, .. } = bindings;
    let file = |bound: Bound| match bound.target {
        Target::File { path } => Some(FileAffinity { path, cpus: bound.cpus }),
        _ => None,
    };
    let files = cpusets.into_iter().chain(interrupts).filter_map(file).collect();
    let (tasks, kernel_tasks) = (grouped(tasks), grouped(kernel_tasks));
    Ok(Some(Affinities { online, leaving, confines, files, tasks, kernel_tasks }))
}

fn grouped(tasks: Vec<Bound>) -> Vec<TaskGroup> {
    let thread = |Bound { target, cpus }| match target {
        Target::Task { process, thread, start_ticks } => {
            Some((ThreadId { process, thread, start_ticks }, cpus))
        }
        _ => None,
    };
    TaskGroup::of(tasks.into_iter().filter_map(thread))
}

/// The CPU of `cpuN/online`.
fn cpu_of(path: &str) -> Option<CpuId> {
    let number = path.strip_prefix("sys/devices/system/cpu/cpu")?.strip_suffix("/online")?;
    number.parse().ok().map(CpuId)
}

/// The file of a CPU.
fn online_file(cpu: CpuId) -> Target {
    Target::File { path: format!("sys/devices/system/cpu/cpu{}/online", cpu.0) }
}

/// True of the list of CPUs that are there.
pub(crate) fn is_list_of_cpus(target: &Target) -> bool {
    matches!(target, Target::File { path } if path == ONLINE_CPUS)
}

/// True of the file that says whether a CPU is there.
pub(crate) fn is_online_file(target: &Target) -> bool {
    matches!(target, Target::File { path } if cpu_of(path).is_some())
}

/// True if the entry takes CPUs away, or brings them.
fn switches_cpus(entry: &Entry) -> bool {
    is_online_file(&entry.target) || is_smt(&entry.target)
}

fn is_smt(target: &Target) -> bool {
    matches!(target, Target::File { path } if path == SMT_CONTROL)
}

/// True if the entry may change SMT.
pub(crate) fn switches_smt(entry: &Entry) -> bool {
    is_smt(&entry.target) && entry.ours.iter().any(|value| *value != entry.old)
}

fn leaving(entries: &[Entry], bindings: &Bindings) -> CpuSet {
    let mut all = CpuSet::new();
    for entry in entries.iter().filter(|entry| entry.ours.iter().any(|value| *value != entry.old)) {
        let Target::File { path } = &entry.target else { continue };
        let cpus = match cpu_of(path) {
            Some(cpu) => [cpu].into_iter().collect(),
            None if path == SMT_CONTROL => bindings.second_threads.clone(),
            None => CpuSet::new(),
        };
        all = all.union(&cpus);
    }
    all
}

/// One binding that is remembered.
struct Remembered<'a> {
    target: Target,
    cpus: &'a str,
    is_kernel_thread: bool,
}

fn of_threads(groups: &[TaskGroup], is_kernel_thread: bool) -> impl Iterator<Item = Remembered<'_>> {
    groups.iter().flat_map(move |group| {
        let cpus = group.cpus.as_str();
        group.thread_ids().map(move |thread| Remembered { target: thread.target(), cpus, is_kernel_thread })
    })
}

impl Affinities {
    /// Which CPUs were there, where none of them can go away.
    fn of_cpus(online: CpuSet) -> Self {
        Self {
            online,
            leaving: CpuSet::new(),
            confines: Vec::new(),
            files: Vec::new(),
            tasks: Vec::new(),
            kernel_tasks: Vec::new(),
        }
    }

    /// Everything that is remembered with its text, in the order of putting back: cpusets, as a change of one changes
    /// its tasks, then interrupts, then threads.
    fn all(&self) -> impl Iterator<Item = Remembered<'_>> {
        let file = |file: &FileAffinity| Target::File { path: file.path.clone() };
        let files = self.files.iter().map(move |have| Remembered {
            target: file(have),
            cpus: have.cpus.as_str(),
            is_kernel_thread: false,
        });
        files.chain(of_threads(&self.tasks, false)).chain(of_threads(&self.kernel_tasks, true))
    }

    /// How many threads, and how many files of cpusets and interrupts.
    pub fn counts(&self) -> (usize, usize) {
        let groups = self.tasks.iter().chain(&self.kernel_tasks);
        let threads = groups.map(|group| group.threads.split_whitespace().count()).sum();
        (threads, self.files.len())
    }

    /// Only what is still to be put back; `None` if nothing is.
    pub(crate) fn only(&self, open: &[&Target]) -> Option<Self> {
        let is_open = |target: &Target| open.contains(&target);
        let open_of = |groups: &[TaskGroup]| {
            let of_group = |group: &TaskGroup| {
                let threads = group.thread_ids().filter(|thread| is_open(&thread.target()));
                threads.map(|thread| (thread, group.cpus.clone())).collect::<Vec<_>>()
            };
            TaskGroup::of(groups.iter().flat_map(of_group))
        };
        let is_open_file = |file: &&FileAffinity| is_open(&Target::File { path: file.path.clone() });
        let left = Self {
            files: self.files.iter().filter(is_open_file).cloned().collect(),
            tasks: open_of(&self.tasks),
            kernel_tasks: open_of(&self.kernel_tasks),
            ..self.clone()
        };
        (left.counts() != (0, 0)).then_some(left)
    }

    /// True if both texts name the same of the CPUs that were there: a mask may name more than the machine has.
    fn is_same(&self, target: &Target, old: &str, now: &str) -> bool {
        if old == now {
            return true;
        }
        let (Some(old), Some(now)) = (cpus(target, old), cpus(target, now)) else { return false };
        old.intersection(&self.online) == now.intersection(&self.online)
    }

    /// True if the kernel made `now` of `old` because CPUs went away.
    fn is_of_the_kernel(&self, target: &Target, old: &str, now: &str) -> bool {
        if matches!(target, Target::File { path } if path == DEFAULT_INTERRUPT) {
            return false;
        }
        let (Some(old), Some(now)) = (cpus(target, old), cpus(target, now)) else { return false };
        let (old, now) = (old.intersection(&self.online), now.intersection(&self.online));
        let stays = |cpus: &CpuSet| cpus.difference(&self.leaving);
        let went = |cpus: &CpuSet| !cpus.intersection(&self.leaving).is_empty();
        // The CPUs of a cpuset that loses one are given to all its tasks anew.
        let is_confine = self.confines.iter().any(|set| went(set) && (now == *set || now == stays(set)));
        let is_shrunk = went(&old) && now == stays(&old);
        let is_fallback = old.is_subset(&self.leaving) && stays(&self.online).is_subset(&now);
        let is_thread = matches!(target, Target::Task { .. });
        is_shrunk || is_fallback || (is_thread && is_confine)
    }
}

fn cpus(target: &Target, text: &str) -> Option<CpuSet> {
    match target {
        Target::File { path } if path == DEFAULT_INTERRUPT => CpuSet::from_mask(text).ok(),
        _ => CpuSet::from_list(text).ok(),
    }
}

/// Puts back all that a journal holds: first what was switched, then, if that is back, which CPUs are there and what was
/// bound to them, then threads that were pinned. Of CPUs and of what was bound only differences are reported.
pub fn put_back(writer: &mut impl SystemWriter, journal: &Journal, force: bool) -> Vec<Restored> {
    let mut results = restore(writer, &journal.entries, force);
    let with_smt = journal.entries.iter().any(switches_smt);
    // A CPU that SMT brought shows a value that nobody wrote, and is looked at next.
    let is_back =
        |result: &Restored| result.is_settled() || (with_smt && is_online_file(&result.entry.target));
    if let Some(affinities) = &journal.affinities
        && results.iter().all(is_back)
    {
        let cpus = if with_smt { bring_cpus_back(writer, affinities, force) } else { Vec::new() };
        results.retain(|result| cpus.iter().all(|cpu| cpu.entry.target != result.entry.target));
        results.extend(cpus);
        if results.iter().all(Restored::is_settled) {
            results.extend(rebind(writer, affinities, force));
        }
    }
    if let Some(pins) = &journal.pins {
        results.extend(unpin(writer, pins));
    }
    results
}

/// After SMT was switched: makes the CPUs that are there the ones that were. What SMT brought goes again, and what it took
/// comes; a CPU that somebody else took is reported. A machine that does not list its CPUs shows no difference.
fn bring_cpus_back(writer: &mut impl SystemWriter, affinities: &Affinities, force: bool) -> Vec<Restored> {
    let list = Target::File { path: ONLINE_CPUS.to_owned() };
    let unread = |why: String| {
        let entry = Entry { target: list.clone(), old: affinities.online.to_string(), ours: Vec::new() };
        vec![Restored { entry, fate: Fate::Failed(why) }]
    };
    let now = match writer.read(&list) {
        Err(error) if is_gone(&error) => return Vec::new(),
        Err(error) => return unread(error.to_string()),
        Ok(text) => match CpuSet::from_list(&text) {
            Err(error) => return unread(error.to_string()),
            Ok(now) => now,
        },
    };
    let came = now.difference(&affinities.online);
    let cpus = came.union(&affinities.online.difference(&now));
    let of_cpu = |cpu: CpuId| {
        let (old, new) = if came.contains(cpu) { ("0", "1") } else { ("1", "0") };
        let is_ours = came.contains(cpu) || affinities.leaving.contains(cpu);
        let ours = if is_ours { vec![new.to_owned()] } else { Vec::new() };
        let entry = Entry { target: online_file(cpu), old: old.to_owned(), ours };
        let fate = restore_one(writer, &entry, force);
        Restored { entry, fate }
    };
    cpus.iter().map(of_cpu).collect()
}

/// The same for a state in which everything shows its old value again.
pub(crate) fn all_as_before(writer: &mut impl SystemWriter, affinities: &Affinities, entries: &[Entry]) {
    if entries.iter().any(switches_smt) {
        bring_cpus_back(writer, affinities, false);
    }
    rebind(writer, affinities, false);
}

/// Compares what is bound now with what was, and puts back what the kernel changed; tells every difference.
pub fn rebind(writer: &mut impl SystemWriter, affinities: &Affinities, force: bool) -> Vec<Restored> {
    let mut differences = Vec::new();
    for remembered in affinities.all() {
        if let Some(fate) = rebind_one(writer, affinities, &remembered, force) {
            let Remembered { target, cpus: old, .. } = remembered;
            let entry = Entry { target, old: old.to_owned(), ours: Vec::new() };
            differences.push(Restored { entry, fate });
        }
    }
    differences
}

/// What became of one binding; `None` if it is as before, or what was bound is gone.
fn rebind_one(
    writer: &mut impl SystemWriter,
    affinities: &Affinities,
    remembered: &Remembered,
    force: bool,
) -> Option<Fate> {
    let Remembered { target, cpus: old, is_kernel_thread } = remembered;
    let now = match writer.read(target) {
        Ok(now) => now,
        Err(error) if is_gone(&error) => return None,
        Err(error) => return Some(Fate::Failed(error.to_string())),
    };
    if affinities.is_same(target, old, &now) {
        return None;
    }
    let is_of_the_kernel = affinities.is_of_the_kernel(target, old, &now);
    if *is_kernel_thread && !is_of_the_kernel {
        return None;
    }
    if !force && !is_of_the_kernel {
        return Some(Fate::Foreign(now));
    }
    if let Err(error) = writer.write(target, old) {
        // A thread of the kernel that takes no writes is bound by the kernel.
        return (!is_gone(&error) && !is_kernel_thread).then(|| Fate::Failed(refusal(target, &error)));
    }
    Some(match writer.read(target) {
        Ok(after) if !affinities.is_same(target, old, &after) => {
            if *is_kernel_thread {
                return None;
            }
            Fate::Failed(format!("{old} was written and {after} read back"))
        }
        Ok(_) if now.is_empty() => Fate::Failed(
            "its CPUs are back, but the kernel moved its tasks to the cpuset above; move them back by hand"
                .to_owned(),
        ),
        Ok(_) => Fate::Restored,
        Err(error) if is_gone(&error) => return None,
        Err(error) => Fate::Failed(error.to_string()),
    })
}

/// Why the kernel did not take an affinity.
fn refusal(target: &Target, error: &SystemWriterError) -> String {
    /// `EPERM`, include/uapi/asm-generic/errno-base.h, as the two below.
    const PERM: i32 = 1;
    /// `EIO`.
    const IO: i32 = 5;
    /// `EINVAL`.
    const INVAL: i32 = 22;
    let code = refusal_code(error);
    let is_interrupt = matches!(target, Target::File { path } if path.starts_with("proc/irq/"));
    let is_thread = matches!(target, Target::Task { .. });
    let why = match code {
        Some(PERM | IO) if is_interrupt => "the kernel manages this interrupt itself and takes no writes",
        Some(INVAL) if is_thread => "its cpuset holds none of these CPUs now, or the kernel binds it itself",
        _ => return error.to_string(),
    };
    format!("{error}: {why}")
}

//! What confines this process: control groups (both versions), cpusets and affinity; limits of memory and CPU time; its container.

use std::collections::BTreeSet;

use machine::{Bytes, Container, CpuSet, Limits, NodeId, Topology};

use super::source::{Source, meminfo_bytes, node_list};
use crate::root::value_of;

/// Where a hierarchy of control groups is mounted, and where in it this process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// The mount point, without a slash at its end.
    pub(super) mount: String,
    /// The group below it: empty or beginning with a slash.
    pub(super) path: String,
    /// Version 2, the unified hierarchy.
    pub(super) unified: bool,
}

impl Group {
    /// The folders of the group and of each group above it, up to the mount point.
    pub(super) fn folders(&self) -> Vec<String> {
        let mut folders = vec![format!("{}{}", self.mount, self.path)];
        let mut path = self.path.as_str();
        while let Some((above, _)) = path.rsplit_once('/') {
            folders.push(format!("{}{above}", self.mount));
            path = above;
        }
        folders
    }
}

/// The groups of this process in which a controller (`cpuset`, `memory`, `cpu`) may limit it.
pub(super) fn groups(source: &Source<'_>, controller: &str) -> Vec<Group> {
    let mounts = source.text("/proc/mounts").or_else(|| source.text("/proc/self/mounts")).unwrap_or_default();
    let membership = source.text("/proc/self/cgroup").unwrap_or_default();
    let cpuset = source.word("/proc/self/cpuset");
    let mut groups = Vec::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[_, mount, kind, options, ..] = fields.as_slice() else { continue };
        let unified = match kind {
            "cgroup2" => true,
            "cgroup" if options.split(',').any(|option| option == controller) => false,
            "cpuset" if controller == "cpuset" => false,
            _ => continue,
        };
        let listed = membership.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            let is_it = if unified {
                number == "0" && controllers.is_empty()
            } else {
                controllers.split(',').any(|name| name == controller)
            };
            is_it.then(|| path.to_owned())
        });
        let path = listed.or_else(|| cpuset.clone().filter(|_| controller == "cpuset")).unwrap_or_default();
        // A path that climbs is outside this process's cgroup namespace: only the mount itself can be seen.
        let path = if path.contains("..") { String::new() } else { path.trim_end_matches('/').to_owned() };
        groups.push(Group { mount: mount.trim_end_matches('/').to_owned(), path, unified });
    }
    groups
}

/// The narrowest of what control groups and the scheduler allow.
pub(super) fn fill(source: &Source<'_>, topology: &mut Topology) {
    let mut cpus = topology.online();
    let mut nodes: BTreeSet<NodeId> = topology.nodes.iter().map(|node| node.id).collect();
    let mut restrict = |allowed: Option<CpuSet>, allowed_nodes: Option<BTreeSet<NodeId>>| {
        if let Some(allowed) = allowed {
            cpus = cpus.intersection(&allowed);
        }
        if let Some(allowed) = allowed_nodes {
            nodes = nodes.intersection(&allowed).copied().collect();
        }
    };
    for group in groups(source, "cpuset") {
        let (cpu_files, node_files): (&[&str], &[&str]) = if group.unified {
            (&["cpuset.cpus.effective"], &["cpuset.mems.effective"])
        } else {
            (
                &["cpuset.effective_cpus", "cpuset.cpus", "effective_cpus", "cpus"],
                &["cpuset.effective_mems", "cpuset.mems", "effective_mems", "mems"],
            )
        };
        let nearest = |files: &[&str]| {
            group
                .folders()
                .iter()
                .find_map(|folder| files.iter().find_map(|file| source.word(&format!("{folder}/{file}"))))
        };
        let cpus = nearest(cpu_files).and_then(|list| CpuSet::from_list(&list).ok());
        let nodes = nearest(node_files).and_then(|list| node_list(&list));
        restrict(cpus, nodes);
    }
    let status = source.text("/proc/self/status").unwrap_or_default();
    restrict(
        value_of(&status, "Cpus_allowed_list").and_then(|list| CpuSet::from_list(list).ok()),
        value_of(&status, "Mems_allowed_list").and_then(node_list),
    );
    if cpus.is_empty() && !topology.cpus.is_empty() {
        source.note(
            "control groups and affinity leave no CPU that is online; all are taken as allowed".to_owned(),
        );
        cpus = topology.online();
    }
    topology.allowed = cpus;
    topology.allowed_nodes = nodes;
}

/// Reads the limits of the tightest control group, of the address space, and the memory still available.
pub(super) fn limits(source: &Source<'_>) -> Limits {
    let meminfo = source.text("/proc/meminfo").unwrap_or_default();
    Limits {
        cgroup_memory_bytes: memory(source),
        cgroup_millicpus: millicpus(source),
        available_memory_bytes: meminfo_bytes(&meminfo, "MemAvailable"),
        address_space_bytes: address_space(source),
    }
}

/// The least memory limit of this process's groups. Version 1 writes a huge number, near 2^63, for no limit.
fn memory(source: &Source<'_>) -> Option<Bytes> {
    const UNLIMITED_BYTES: u64 = 1 << 62;
    groups(source, "memory")
        .iter()
        .flat_map(|group| {
            let file = if group.unified { "memory.max" } else { "memory.limit_in_bytes" };
            group.folders().into_iter().filter_map(move |folder| source.word(&format!("{folder}/{file}")))
        })
        .filter_map(|text| text.parse::<u64>().ok())
        .filter(|limit| *limit < UNLIMITED_BYTES)
        .min()
        .map(Bytes)
}

/// The least CPU bandwidth of this process's groups, in thousandths of a CPU.
fn millicpus(source: &Source<'_>) -> Option<u64> {
    let share = |quota: &str, period: &str| -> Option<u64> {
        let (quota, period) = (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?);
        quota.checked_mul(1000)?.checked_div(period)
    };
    groups(source, "cpu")
        .iter()
        .flat_map(|group| group.folders().into_iter().map(|folder| (group.unified, folder)))
        .filter_map(|(unified, folder)| {
            if unified {
                let text = source.word(&format!("{folder}/cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                share(quota, period.trim())
            } else {
                let value = |name: &str| source.word(&format!("{folder}/{name}"));
                share(&value("cpu.cfs_quota_us")?, &value("cpu.cfs_period_us")?)
            }
        })
        .min()
}

/// The soft limit in the row `Max address space` of `/proc/self/limits`.
fn address_space(source: &Source<'_>) -> Option<Bytes> {
    let limits = source.text("/proc/self/limits")?;
    let row = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    row.split_whitespace().next()?.parse().ok().map(Bytes)
}

/// Files that an engine puts into each of its containers.
const MARKERS: [(&str, &str); 3] =
    [("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/run/systemd/container", "unknown")];

/// Parts of control group paths and the engine that makes them.
const GROUP_NAMES: [(&str, &str); 6] = [
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("/lxc", "lxc"),
    ("machine.slice/systemd-nspawn", "systemd-nspawn"),
    ("garden", "garden"),
];

/// The container this process is in, and what gave it away.
pub(super) fn container(source: &Source<'_>) -> Option<Container> {
    from_environment(source).or_else(|| from_markers(source)).or_else(|| from_groups(source))
}

/// systemd's convention: the first process of a container has `container=KIND` in its environment.
fn from_environment(source: &Source<'_>) -> Option<Container> {
    ["/proc/1/environ", "/proc/self/environ"].iter().find_map(|path| {
        // Not being allowed to read another process's environment is normal and worth no note.
        let environment = source.root().read(path).ok()?;
        let kind = environment.split('\0').find_map(|entry| entry.strip_prefix("container="))?;
        let kind = kind.chars().filter(|letter| !letter.is_control()).take(40).collect();
        Some(Container { kind, evidence: format!("container= in {path}") })
    })
}

fn from_markers(source: &Source<'_>) -> Option<Container> {
    MARKERS.iter().find(|(path, _)| source.root().exists(path)).map(|(path, kind)| {
        let named = source.word(path).filter(|text| *kind == "unknown" && text.len() <= 40);
        Container { kind: named.unwrap_or_else(|| (*kind).to_owned()), evidence: (*path).to_owned() }
    })
}

fn from_groups(source: &Source<'_>) -> Option<Container> {
    ["/proc/self/cgroup", "/proc/1/cgroup"].iter().find_map(|path| {
        let text = source.text(path)?;
        let (_, kind) = GROUP_NAMES.iter().find(|(name, _)| text.contains(name))?;
        Some(Container { kind: (*kind).to_owned(), evidence: (*path).to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::Group;

    #[test]
    fn a_group_is_searched_from_itself_up_to_the_mount_point() {
        let group = |path: &str| Group { mount: "/m".to_owned(), path: path.to_owned(), unified: true };
        assert_eq!(group("/a/b").folders(), ["/m/a/b", "/m/a", "/m"]);
        assert_eq!(group("").folders(), ["/m"]);
    }
}

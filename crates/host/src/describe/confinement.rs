//! Which CPUs and nodes this process may use: control groups (both versions), cpusets and affinity.

use std::collections::BTreeSet;

use machine::{CpuSet, NodeId, Topology};

use super::source::{Source, node_list};

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
    let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    restrict(
        value("Cpus_allowed_list:").and_then(|list| CpuSet::from_list(list).ok()),
        value("Mems_allowed_list:").and_then(node_list),
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

//! Telling whether this process runs in a container, and in which kind.

use machine::Container;

use super::source::Source;

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
pub(super) fn read(source: &Source<'_>) -> Option<Container> {
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

//! Kernels and busybox from a Debian archive, fetched and unpacked below the cache: nothing is installed, and no privilege is needed.
//!
//! The archive is the one that this host's own apt sources name; only the suite is another. Its index is checked with Debian's keys.
//! Kernels are asked for by meta package, as versions leave the archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::definition::Kernel;
use super::image;
use crate::cargo;

/// Keys of the Debian archive where a source names none. Package debian-archive-keyring.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Releases of Debian by which an entry of the apt sources is known to be Debian's own archive.
const RELEASES: &[&str] = &["bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable"];
/// The suite that busybox is from: a static program of any suite does.
const BUSYBOX_SUITE: &str = "bookworm";
/// How deep a meta package of a kernel refers to others: from 7.x on, image, then binary and modules.
const DEPTH: usize = 3;

/// A Debian archive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    uri: String,
    keyring: String,
}

/// A kernel that is unpacked.
#[derive(Debug, Clone)]
pub struct Unpacked {
    /// What QEMU boots.
    pub image: PathBuf,
    /// What `uname -r` will say.
    pub release: String,
    modules: PathBuf,
}

/// Suites of the archive for one architecture, with an apt of their own.
pub(super) struct Suite {
    folder: PathBuf,
    name: String,
    architecture: String,
}

/// The kernel that `asked` names, from the cache or the archive.
///
/// # Errors
/// Why it cannot be had, in one line.
pub fn kernel(cache: &Path, asked: &Kernel, architecture: &str) -> anyhow::Result<Unpacked> {
    let folder = cache.join("kernels").join(format!("{}-{}-{architecture}", asked.suite, asked.package));
    let tree = folder.join("tree");
    let stamp = folder.join("complete");
    if !stamp.exists() {
        let suite = Suite::open(cache, &[&asked.suite], architecture)?;
        let names = suite.parts_of(&asked.package)?;
        println!("fetching {} of {}", names.join(", "), asked.suite);
        let _ = fs::remove_dir_all(&folder);
        suite.unpack(&names, &tree)?;
    }
    let modules =
        ["lib/modules", "usr/lib/modules"].map(|path| tree.join(path)).into_iter().find(|path| path.is_dir());
    let modules =
        modules.and_then(|path| fs::read_dir(path).ok()?.find_map(Result::ok)).map(|entry| entry.path());
    let modules = modules.with_context(|| format!("{} has no lib/modules", asked.package))?;
    let release = modules.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packed = [tree.join(format!("boot/vmlinuz-{release}")), modules.join("vmlinuz")];
    let packed = packed.into_iter().find(|path| path.is_file());
    let packed = packed.with_context(|| format!("{} has no vmlinuz", asked.package))?;
    let elf = folder.join("vmlinux");
    if !stamp.exists() {
        if let Some(bytes) = image::unpacked(&fs::read(&packed)?)? {
            fs::write(&elf, bytes)?;
        }
        fs::write(&stamp, &release)?;
    }
    Ok(Unpacked { image: if elf.exists() { elf } else { packed }, release, modules })
}

impl Unpacked {
    /// The module `name`, decompressed; nothing where it is built in.
    ///
    /// # Errors
    /// The kernel has none.
    pub fn module(&self, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let file = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
        let module = format!("{}.ko", name.replace('-', "_"));
        let built_in = fs::read_to_string(self.modules.join("modules.builtin")).unwrap_or_default();
        if built_in.lines().any(|line| file(Path::new(line)) == module) {
            return Ok(None);
        }
        let path =
            find(&self.modules, &|path| file(path).strip_suffix(".xz").unwrap_or(&file(path)) == module);
        let path = path.with_context(|| format!("kernel {} has no module {name}", self.release))?;
        let bytes = fs::read(&path)?;
        let is_packed = path.extension().is_some_and(|ending| ending == "xz");
        Ok(Some(if is_packed { image::decompress("xz", &bytes)? } else { bytes }))
    }
}

/// busybox, from the cache or the archive.
///
/// # Errors
/// As for `kernel`.
pub fn busybox(cache: &Path, architecture: &str) -> anyhow::Result<PathBuf> {
    let tree = cache.join("busybox").join(architecture);
    let places = ["bin/busybox", "usr/bin/busybox"].map(|path| tree.join(path));
    if !places.iter().any(|path| path.exists()) {
        let suite = Suite::open(cache, &[BUSYBOX_SUITE], architecture)?;
        suite.unpack(&["busybox-static".to_owned()], &tree)?;
    }
    places.into_iter().find(|path| path.exists()).context("busybox-static has no busybox")
}

impl Suite {
    /// With its index; an index that is there is used as it is, as what it names is fetched once.
    pub(super) fn open(cache: &Path, names: &[&str], architecture: &str) -> anyhow::Result<Self> {
        for program in ["apt-get", "apt-cache", "dpkg-deb"] {
            anyhow::ensure!(cargo::find(program).is_some(), "cannot fetch packages: {program} is absent");
        }
        let format = "$(REPO_URI)|$(RELEASE)|$(SIGNED_BY)";
        let printed = cargo::output(Command::new("apt-get").args(["indextargets", "--format", format]))?;
        let source = source(&printed)
            .context("cannot fetch packages: no Debian archive in the apt sources of this host")?;
        let name = names.join("+");
        let folder = cache.join("apt").join(format!("{name}-{architecture}"));
        let suite = Self { folder, name, architecture: architecture.to_owned() };
        for part in ["lists/partial", "cache/archives/partial", "no-parts"] {
            fs::create_dir_all(suite.folder.join(part)).context("cannot make the folder of apt")?;
        }
        fs::write(suite.folder.join("status"), "")?;
        let line = |name: &&str| {
            format!("deb [arch={architecture} signed-by={}] {} {name} main\n", source.keyring, source.uri)
        };
        fs::write(suite.folder.join("sources.list"), names.iter().map(line).collect::<String>())?;
        cargo::output(suite.apt("apt-get").args(["update", "-qq"]))
            .with_context(|| format!("cannot read the index of {}", suite.name))?;
        Ok(suite)
    }

    pub(super) fn apt(&self, program: &str) -> Command {
        let own = |option: &str, file: &str| format!("{option}={}", self.folder.join(file).display());
        let mut command = Command::new(program);
        for option in [
            own("Dir::State::lists", "lists"),
            own("Dir::State::status", "status"),
            own("Dir::Cache", "cache"),
            own("Dir::Etc::SourceList", "sources.list"),
            own("Dir::Etc::SourceParts", "no-parts"),
            own("Dir::Etc::Preferences", "no-preferences"),
            own("Dir::Etc::PreferencesParts", "no-parts"),
            format!("APT::Architecture={}", self.architecture),
            // The folder is ours; the user that apt else downloads as cannot write there.
            "APT::Sandbox::User=root".to_owned(),
            "APT::Update::Error-Mode=any".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=2".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        command
    }

    /// The packages with image and modules that a meta package stands for.
    fn parts_of(&self, meta: &str) -> anyhow::Result<Vec<String>> {
        let mut found: Vec<String> = Vec::new();
        let mut ahead = vec![meta.to_owned()];
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for name in ahead.drain(..) {
                let printed =
                    cargo::output(self.apt("apt-cache").args(["depends", &name])).with_context(|| {
                        format!(
                            "{} has no package {name}; renamed? Mend kernel.package of the machine",
                            self.name
                        )
                    })?;
                next.extend(parts(&printed).into_iter().filter(|part| !found.contains(part)));
            }
            next.sort();
            next.dedup();
            found.extend(next.iter().cloned());
            ahead = next;
        }
        anyhow::ensure!(!found.is_empty(), "{meta} of {} stands for no kernel", self.name);
        Ok(found)
    }

    fn unpack(&self, names: &[String], tree: &Path) -> anyhow::Result<()> {
        const DOWNLOADED: &str = "debs";
        let folder = self.folder.join(DOWNLOADED);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let mut download = self.apt("apt-get");
        cargo::output(download.args(["download", "-qq"]).args(names).current_dir(&folder))
            .with_context(|| format!("cannot fetch {} of {}", names.join(", "), self.name))?;
        self.extract(DOWNLOADED, tree)
    }

    /// Unpacks the packages that lie in a folder of the suite into `tree`, and removes the folder.
    pub(super) fn extract(&self, folder: &str, tree: &Path) -> anyhow::Result<()> {
        let folder = self.folder.join(folder);
        fs::create_dir_all(tree).with_context(|| format!("cannot make {}", tree.display()))?;
        let files = fs::read_dir(&folder)?.filter_map(Result::ok).map(|entry| entry.path());
        for file in files.filter(|path| path.extension().is_some_and(|ending| ending == "deb")) {
            cargo::output(Command::new("dpkg-deb").arg("-x").arg(file).arg(tree))?;
        }
        fs::remove_dir_all(&folder).context("cannot remove the packages")
    }
}

/// What apt-cache says a package of a kernel needs, if it is a part of it.
fn parts(printed: &str) -> Vec<String> {
    let names = printed.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let is_part = |name: &&str| {
        ["linux-image-", "linux-binary-", "linux-modules-"].iter().any(|start| name.starts_with(start))
    };
    names.filter(is_part).map(str::to_owned).collect()
}

/// The first Debian archive among what apt knows of this host's sources: a line of URI, release and key each.
fn source(printed: &str) -> Option<Source> {
    let is_debian = |release: &str| RELEASES.contains(&release);
    let mut lines = printed.lines().map(|line| line.split('|').collect::<Vec<_>>());
    let found = lines.find(|parts| parts.get(1).is_some_and(|release| is_debian(release)))?;
    let keyring = found.get(2).filter(|key| key.starts_with('/')).unwrap_or(&KEYRING);
    Some(Source { uri: found[0].to_owned(), keyring: (*keyring).to_owned() })
}

/// The first file below `folder` that is asked for.
fn find(folder: &Path, is_asked_for: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| {
        if path.is_symlink() {
            None
        } else if path.is_dir() {
            find(&path, is_asked_for)
        } else {
            is_asked_for(&path).then_some(path)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_of_debian_is_found_among_others() {
        let own = |keyring: &str| Source { uri: "http://a/debian".to_owned(), keyring: keyring.to_owned() };
        let printed =
            "http://b/ubuntu|noble|/u.gpg\nhttp://a/debian-security|bookworm-security|$(SIGNED_BY)\n";
        assert_eq!(source(printed), None);
        assert_eq!(source(&format!("{printed}http://a/debian|bookworm|$(SIGNED_BY)\n")), Some(own(KEYRING)));
        assert_eq!(source(&format!("{printed}http://a/debian|trixie|/k.gpg\n")), Some(own("/k.gpg")));
    }

    #[test]
    fn a_meta_package_stands_for_images_and_modules_alone() {
        let printed =
            "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-50-cloud-amd64\n  Depends: linux-base\n";
        assert_eq!(parts(printed), ["linux-image-6.1.0-50-cloud-amd64"]);
        let printed = "x\n  Depends: linux-binary-7.2-cloud-amd64\n  Depends: linux-modules-7.2-cloud-amd64\n Suggests: linux-image-y\n";
        assert_eq!(parts(printed), ["linux-binary-7.2-cloud-amd64", "linux-modules-7.2-cloud-amd64"]);
    }
}

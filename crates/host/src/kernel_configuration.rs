//! What the kernel was built with: the options that are asked for, from /proc/config.gz or the file beside the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;

use crate::Root;

/// The most bytes of a configuration; that of a distribution's kernel has 300 KB.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The asked options that the configuration names: true if built in or a module. Empty where there is none to read.
pub(crate) fn options(
    root: &Root,
    release: Option<&str>,
    asked: &BTreeSet<String>,
) -> BTreeMap<String, bool> {
    if asked.is_empty() {
        return BTreeMap::new();
    }
    let built_in = || {
        let bytes = root.bytes("/proc/config.gz").ok()?;
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).take(TEXT_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+~-".contains(c);
    let release = release.filter(|release| release.chars().all(is_plain) && !release.starts_with('.'));
    let beside = || {
        let release = release?;
        let paths = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        paths.iter().find_map(|path| root.read(path).ok())
    };
    named(&built_in().or_else(beside).unwrap_or_default(), asked)
}

/// `CONFIG_X=y`, `CONFIG_X=m` and `# CONFIG_X is not set`, as scripts/kconfig of Linux writes them.
fn named(text: &str, asked: &BTreeSet<String>) -> BTreeMap<String, bool> {
    let option = |line: &str| {
        if let Some(name) = line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set")) {
            return Some((name.to_owned(), false));
        }
        let (name, value) = line.split_once('=')?;
        Some((name.to_owned(), matches!(value, "y" | "m")))
    };
    text.lines().filter_map(option).filter(|(name, _)| asked.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn options_are_read_compressed_and_plain_and_nothing_else_is() {
        let asked: BTreeSet<String> = ["CONFIG_A", "CONFIG_B", "CONFIG_C"].map(str::to_owned).into();
        let text = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=y\n#CONFIG_C=y\n";
        let expected = BTreeMap::from([("CONFIG_A".to_owned(), true), ("CONFIG_B".to_owned(), false)]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let base = folder.path();
        for name in ["proc", "boot"] {
            std::fs::create_dir_all(base.join(name)).expect("folders");
        }
        let root = Root::open(base).expect("a recording");
        assert!(options(&root, Some("6.18"), &asked).is_empty());
        std::fs::write(base.join("boot/config-6.18"), text).expect("a file");
        assert_eq!(options(&root, Some("6.18"), &asked), expected);
        // A release that would lead elsewhere is not followed.
        assert!(options(&root, Some("../boot/config-6.18"), &asked).is_empty());
        std::fs::write(base.join("proc/config.gz"), "nonsense").expect("a file");
        assert_eq!(options(&root, Some("6.18"), &asked), expected);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).expect("memory");
        std::fs::write(base.join("proc/config.gz"), packed.finish().expect("memory")).expect("a file");
        assert_eq!(options(&root, None, &asked), expected);
    }
}

//! What the kernel was built with: the options that are asked for, from /proc/config.gz or the file beside the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use flate2::read::GzDecoder;

use crate::Root;

/// The most bytes of a configuration; that of a distribution's kernel has 300 KB.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// What a configuration says of what was asked for; nothing where there is none to read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    /// The asked options that it names: true if built in or a module.
    pub(crate) options: BTreeMap<String, bool>,
    /// Words of the command line that are part of the kernel, those known to name nobody with their values.
    pub(crate) built_in_words: Option<String>,
}

/// Reads the configuration of a kernel.
pub(crate) fn read(root: &Root, release: Option<&str>, asked: &BTreeSet<String>) -> Configuration {
    if asked.is_empty() {
        return Configuration::default();
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

/// `CONFIG_X=y`, `CONFIG_X=m`, `# CONFIG_X is not set` and `CONFIG_CMDLINE="WORDS"`, as scripts/kconfig of Linux writes them.
fn named(text: &str, asked: &BTreeSet<String>) -> Configuration {
    let mut found = Configuration::default();
    for line in text.lines() {
        let unset = line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set"));
        let Some((name, value)) = unset.map(|name| (name, "n")).or_else(|| line.split_once('=')) else {
            continue;
        };
        if asked.contains(name) {
            found.options.insert(name.to_owned(), matches!(value, "y" | "m"));
        }
        let words = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        if let Some(words) = words.filter(|words| name == "CONFIG_CMDLINE" && !words.trim().is_empty()) {
            // Quotes of the words themselves are behind backslashes.
            found.built_in_words = Some(machine::shareable_command_line(&words.replace('\\', "")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn options_are_read_compressed_and_plain_and_nothing_else_is() {
        let asked: BTreeSet<String> = ["CONFIG_A", "CONFIG_B", "CONFIG_C"].map(str::to_owned).into();
        let text = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=y\n#CONFIG_C=y\nCONFIG_CMDLINE=\"mds=off root=/dev/sda\"\n";
        let expected = Configuration {
            options: BTreeMap::from([("CONFIG_A".to_owned(), true), ("CONFIG_B".to_owned(), false)]),
            built_in_words: Some("mds=off root=...".to_owned()),
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let base = folder.path();
        for name in ["proc", "boot"] {
            std::fs::create_dir_all(base.join(name)).expect("folders");
        }
        let root = Root::open(base).expect("a recording");
        assert_eq!(read(&root, Some("6.18"), &asked), Configuration::default());
        std::fs::write(base.join("boot/config-6.18"), text).expect("a file");
        assert_eq!(read(&root, Some("6.18"), &asked), expected);
        // A release that would lead elsewhere is not followed.
        assert_eq!(read(&root, Some("../boot/config-6.18"), &asked), Configuration::default());
        std::fs::write(base.join("proc/config.gz"), "nonsense").expect("a file");
        assert_eq!(read(&root, Some("6.18"), &asked), expected);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).expect("memory");
        std::fs::write(base.join("proc/config.gz"), packed.finish().expect("memory")).expect("a file");
        assert_eq!(read(&root, None, &asked), expected);
    }
}

//! What in-field scans of the kernel said last. Only files that are read are opened: a scan begins by a write alone.

use machine::FieldScan;

use super::source::Source;

/// Where the devices are. Source: Linux, Documentation/ABI/testing/sysfs-platform-intel-ifs.
pub(crate) const FOLDER: &str = "sys/devices/virtual/misc";
/// How their names begin; a number follows.
pub(crate) const DEVICE: &str = "intel_ifs_";
/// The files that say something. `run_test` is none of them.
pub(crate) const FILES: [&str; 3] = ["status", "details", "image_version"];
/// What a status can be.
const STATUSES: [&str; 3] = ["pass", "fail", "untested"];

/// The scans of a machine, by number.
pub(super) fn read(source: &Source<'_>) -> Vec<FieldScan> {
    let scan = |device: u32| {
        let [status, details, image_version] =
            FILES.map(|file| source.word(&format!("{FOLDER}/{DEVICE}{device}/{file}")));
        let status = status?;
        let status = if STATUSES.contains(&status.as_str()) {
            status
        } else {
            source.note(format!("{FOLDER}/{DEVICE}{device}/status is neither of {}", STATUSES.join(", ")));
            "unknown".to_owned()
        };
        Some(FieldScan { device, status, details, image_version })
    };
    source.numbered(FOLDER, DEVICE).into_iter().filter_map(scan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;
    use crate::capture::record_files;

    #[test]
    fn scans_are_read_and_recorded_and_the_file_that_begins_one_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(FOLDER).join(path);
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        };
        for (file, text) in [
            ("intel_ifs_0/status", "fail\n"),
            ("intel_ifs_0/details", "0x8000000000000001\n"),
            ("intel_ifs_0/image_version", "0x4b\n"),
            ("intel_ifs_0/run_test", "never read"),
            ("intel_ifs_1/status", "$(x)\n"),
            ("intel_ifs_2/details", "0x0\n"),
            ("uinput/status", "pass\n"),
        ] {
            write(file, text);
        }
        let root = Root::open(folder.path()).expect("a machine");
        let scans = read(&Source::new(&root));
        let some = |word: &str| Some(word.to_owned());
        let [first, second] = scans.as_slice() else { panic!("{scans:?}") };
        assert_eq!((first.device, first.status.as_str()), (0, "fail"));
        assert_eq!((&first.details, &first.image_version), (&some("0x8000000000000001"), &some("0x4b")));
        assert_eq!((second.status.as_str(), &second.image_version), ("unknown", &None));
        let recorded = record_files(folder.path(), false);
        let paths: Vec<&str> = recorded.iter().filter_map(|file| file.path.strip_prefix(FOLDER)).collect();
        let expected = ["0/details", "0/image_version", "0/status", "1/status", "2/details"];
        assert_eq!(paths, expected.map(|path| format!("/{DEVICE}{path}")));
    }
}

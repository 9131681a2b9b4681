//! Why a mitigation is off, and the fix that follows.

use serde_json::Value;

use super::{folder, sidestep};

/// Case, flaw, recording; whether it is affected, the state, the kind of its cause, and the fix.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
);

const ROWS: [Row; 2] = [
    (
        "27-mmio-never-assessed",
        "mmio-stale-data",
        "ivy-bridge-old-kernel.tar.gz",
        "unknown",
        "unknown",
        "",
        None,
    ),
    // Nothing shows what switched it off; what the kernel does by itself cannot be the fix.
    ("28-its-default-fix", "its", "i7-11700k.tar.gz", "yes", "not_protected", "unknown", None),
];

#[test]
fn a_fix_follows_from_a_cause_that_the_recording_shows() {
    for (case, flaw, file, affected, protected, kind, fix) in ROWS {
        let Some(folder) = folder(case) else { return };
        let said = sidestep(&folder, &format!("flaws show {flaw} --sysroot {file} --json"));
        assert_eq!(said.status, 0, "{case}: {}", said.stderr);
        let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let verdict = &document["verdict"];
        assert_eq!(verdict["affected"], affected, "{case}");
        assert_eq!(verdict["protected"], protected, "{case}");
        assert_eq!(verdict["cause"]["kind"].as_str().unwrap_or_default(), kind, "{case}");
        assert_eq!(verdict["fix"].as_str(), fix, "{case}");
        let page = sidestep(&folder, &format!("flaws show {flaw} --sysroot {file}")).stdout;
        assert!(!page.contains("does not have it") && !page.contains("fix "), "{case}: {page}");
    }
}

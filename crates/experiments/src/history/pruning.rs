//! Which entries go when the history is full: the oldest. The newest entry, and the one just written, never go.

use record::{Provenance, seconds_of_compact_utc, seconds_of_utc};

/// How every entry ends.
const ENDING: &str = ".json.zst";
/// How large a history may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub entries: usize,
    pub bytes: u64,
}

/// By default: a quick check-up has 20 to 40 kB, so that a thousand of them fit.
pub const BOUNDS: Bounds = Bounds { entries: 1_000, bytes: 50 << 20 };

/// The name of the file of a run's entry: `20261123T205500Z-1a2b3c4d-12345.json.zst`; `None` if its start is no time.
pub fn file_name(provenance: &Provenance, unique: u32) -> Option<String> {
    let name = format!("{}-{unique}{ENDING}", provenance.run_name());
    (seconds_of_utc(&provenance.started_utc).is_some() && is_entry(&name)).then_some(name)
}

/// Whether a file is called like an entry.
pub fn is_entry(name: &str) -> bool {
    let parts = name.strip_suffix(ENDING).map(|name| name.split('-').collect::<Vec<_>>());
    let Some([time, boot, unique]) = parts.as_deref() else { return false };
    seconds_of_compact_utc(time).is_some()
        && boot.len() == 8
        && boot.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !unique.is_empty()
        && unique.bytes().all(|byte| byte.is_ascii_digit())
}

/// The files that have to go so that the rest is within bounds; `files` are names and sizes, other files than entries
/// are neither counted nor touched. `written` stays.
pub fn to_prune(files: &[(String, u64)], written: &str, bounds: Bounds) -> Vec<String> {
    let mut kept: Vec<&(String, u64)> = files.iter().filter(|(name, _)| is_entry(name)).collect();
    // Names begin with their times, which have one width.
    kept.sort();
    let (mut entries, mut bytes) = (kept.len(), kept.iter().map(|(_, bytes)| bytes).sum::<u64>());
    kept.pop();
    let may_go = kept.into_iter().filter(|(name, _)| name != written);
    let is_too_many = |(_, size): &&(String, u64)| {
        let goes = entries > bounds.entries.max(1) || bytes > bounds.bytes;
        if goes {
            (entries, bytes) = (entries - 1, bytes - size);
        }
        goes
    };
    may_go.take_while(is_too_many).map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_hold_time_and_boot_and_other_files_are_none() {
        let mut provenance = Provenance {
            started_utc: "2026-11-23T20:55:00Z".to_owned(),
            boot_id: Some("1a2b3c4d-99".to_owned()),
            ..Provenance::default()
        };
        let name = file_name(&provenance, 77).expect("a time");
        assert_eq!(name, "20261123T205500Z-1a2b3c4d-77.json.zst");
        assert!(is_entry(&name));
        provenance.started_utc.clear();
        assert_eq!(file_name(&provenance, 1), None);
        for other in [
            "",
            "lock",
            "20261123T205500Z-1a2b3c4d-77.json.zst.new-12",
            "20261123T205500Z-1a2b3c4d-.json.zst",
            "20261123T205500Z-1a2b3c4-77.json.zst",
            "20261323T205500Z-1a2b3c4d-77.json.zst",
            "2026112ÄT20550Z-1a2b3c4d-77.json.zst",
        ] {
            assert!(!is_entry(other), "{other}");
        }
    }

    fn files(runs: &[(u32, u8, u16)]) -> Vec<(String, u64)> {
        let name = |(index, (minutes, boot, _)): (usize, &(u32, u8, u16))| {
            let (day, hour, minute) = (minutes / 1440 % 28 + 1, minutes / 60 % 24, minutes % 60);
            format!("202601{day:02}T{hour:02}{minute:02}00Z-{boot:08x}-{index}{ENDING}")
        };
        let mut files: Vec<(String, u64)> =
            runs.iter().enumerate().map(|run| (name(run), u64::from(run.1.2))).collect();
        files.push(("notes.txt".to_owned(), 1 << 40));
        files.sort();
        files
    }

    #[test]
    fn the_oldest_entries_go_first() {
        let runs: Vec<(u32, u8, u16)> = (0..240).map(|hour| (hour * 60, 0, 1)).collect();
        let all = files(&runs);
        let gone = to_prune(&all, &all[3].0, Bounds { entries: 24, bytes: 1 << 30 });
        let oldest: Vec<String> =
            (0..217).filter(|index| *index != 3).map(|index| all[index].0.clone()).collect();
        assert_eq!(gone, oldest, "all but the one that was written");
    }

    proptest! {
        #[test]
        fn pruning_keeps_its_rules(
            runs in proptest::collection::vec((0_u32..40_000, 0_u8..6, 1_u16..1000), 1..60),
            entries in 1_usize..50,
            bytes in 500_u64..20_000,
            chosen in 0_usize..60,
        ) {
            let all = files(&runs);
            let ours: Vec<&(String, u64)> = all.iter().filter(|(name, _)| is_entry(name)).collect();
            let written = &ours[chosen % ours.len()].0;
            let bounds = Bounds { entries, bytes };
            let gone = to_prune(&all, written, bounds);
            let left: Vec<&(String, u64)> = ours.iter().filter(|(name, _)| !gone.contains(name)).copied().collect();
            prop_assert!(!gone.contains(written));
            prop_assert!(!gone.contains(&"notes.txt".to_owned()));
            let newest = ours.iter().map(|(name, _)| name).max();
            let newest_left = left.iter().map(|(name, _)| name).max();
            prop_assert_eq!(newest, newest_left);
            // Within bounds, but for the newest and the one just written.
            let is_within = left.len() <= entries && left.iter().map(|(_, bytes)| bytes).sum::<u64>() <= bytes;
            prop_assert!(is_within || left.len() <= 2, "{} left", left.len());
            let wide = Bounds { entries: 100, bytes: 1 << 30 };
            prop_assert!(to_prune(&all, written, wide).is_empty());
        }
    }
}

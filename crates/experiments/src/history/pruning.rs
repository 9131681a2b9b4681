//! Which entries go when the history is full: the oldest. The newest entry, and the one just written, never go.

use stats::Order;

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

/// The name of an entry's file: `20261123T205500Z-1a2b3c4d-12345.json.zst`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName {
    /// When the run began, in seconds since 1970.
    pub started_s: u64,
    /// The first digits of the boot's name.
    pub boot: String,
}

impl FileName {
    /// The name for a run; `None` if its start is no time.
    pub fn text(started_utc: &str, boot: Option<&str>, unique: u32) -> Option<String> {
        seconds_of_utc(started_utc)?;
        let time: String = started_utc.chars().filter(|c| !matches!(c, '-' | ':')).collect();
        let digits: String =
            boot.unwrap_or_default().chars().filter(char::is_ascii_hexdigit).take(8).collect();
        let name = format!("{time}-{digits:0>8}-{unique}{ENDING}");
        Self::parse(&name).map(|_| name)
    }

    /// Reads a name; `None` for any other file.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(ENDING)?.split('-');
        let (time, boot, unique) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = !unique.is_empty() && unique.bytes().all(|byte| byte.is_ascii_digit());
        let is_boot = boot.len() == 8 && boot.bytes().all(|byte| byte.is_ascii_hexdigit());
        if parts.next().is_some() || !is_number || !is_boot || time.len() != 16 || !time.is_ascii() {
            return None;
        }
        let spaced = format!(
            "{}-{}-{}T{}:{}:{}Z",
            &time[0..4],
            &time[4..6],
            &time[6..8],
            time.get(9..11)?,
            &time[11..13],
            &time[13..15]
        );
        let is_shaped = time.as_bytes()[8] == b'T' && time.ends_with('Z');
        let started_s = seconds_of_utc(&spaced).filter(|_| is_shaped)?;
        Some(Self { started_s, boot: boot.to_owned() })
    }
}

/// Seconds since 1970 of `2026-11-21T02:18:46Z`; `None` for anything else.
///
/// H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
pub fn seconds_of_utc(text: &str) -> Option<u64> {
    let is_shaped = text.len() == 20
        && text
            .bytes()
            .zip(*b"0000-00-00T00:00:00Z")
            .all(|(byte, shape)| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape });
    if !is_shaped {
        return None;
    }
    let number = |from: usize, to: usize| text[from..to].parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if year < 1970
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// The files that have to go so that the rest is within bounds; `files` are names and sizes, other files than entries
/// are neither counted nor touched. `written` stays.
pub fn to_prune(files: &[(String, u64)], written: &str, bounds: Bounds) -> Vec<String> {
    let mut kept: Vec<(u64, &str, u64)> = files
        .iter()
        .filter_map(|(name, bytes)| Some((FileName::parse(name)?.started_s, name.as_str(), *bytes)))
        .collect();
    kept.order_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let (mut entries, mut bytes) = (kept.len(), kept.iter().map(|(.., bytes)| bytes).sum::<u64>());
    let newest = kept.pop().map(|(_, name, _)| name);
    let may_go = kept.into_iter().filter(|(_, name, _)| *name != written && Some(*name) != newest);
    let is_too_many = |(_, _, size): &(u64, &str, u64)| {
        let goes = entries > bounds.entries.max(1) || bytes > bounds.bytes;
        if goes {
            (entries, bytes) = (entries - 1, bytes - size);
        }
        goes
    };
    may_go.take_while(is_too_many).map(|(_, name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_hold_time_and_boot_and_other_files_are_none() {
        let name = FileName::text("2026-11-23T20:55:00Z", Some("1a2b3c4d-99"), 77).expect("a time");
        assert_eq!(name, "20261123T205500Z-1a2b3c4d-77.json.zst");
        let parsed = FileName::parse(&name).expect("ours");
        assert_eq!((parsed.started_s, parsed.boot.as_str()), (1_795_467_300, "1a2b3c4d"));
        assert_eq!(FileName::text("", None, 1), None);
        for other in [
            "",
            "lock",
            "20261123T205500Z-1a2b3c4d-77.json.zst.new-12",
            "20261123T205500Z-1a2b3c4d-.json.zst",
            "20261123T205500Z-1a2b3c4-77.json.zst",
            "20261323T205500Z-1a2b3c4d-77.json.zst",
            "2026112ÄT20550Z-1a2b3c4d-77.json.zst",
        ] {
            assert_eq!(FileName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn times_follow_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(seconds_of_utc(text), Some(seconds));
        }
        for wrong in
            ["1969-12-31T23:59:59Z", "2024-13-01T00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00"]
        {
            assert_eq!(seconds_of_utc(wrong), None, "{wrong}");
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
            let ours: Vec<&(String, u64)> = all.iter().filter(|(name, _)| FileName::parse(name).is_some()).collect();
            let written = &ours[chosen % ours.len()].0;
            let bounds = Bounds { entries, bytes };
            let gone = to_prune(&all, written, bounds);
            let left: Vec<&(String, u64)> = ours.iter().filter(|(name, _)| !gone.contains(name)).copied().collect();
            prop_assert!(!gone.contains(written));
            prop_assert!(!gone.contains(&"notes.txt".to_owned()));
            let newest = ours.iter().map(|(name, _)| FileName::parse(name).expect("ours").started_s).max();
            let newest_left = left.iter().map(|(name, _)| FileName::parse(name).expect("ours").started_s).max();
            prop_assert_eq!(newest, newest_left);
            // Within bounds, but for the newest and the one just written.
            let is_within = left.len() <= entries && left.iter().map(|(_, bytes)| bytes).sum::<u64>() <= bytes;
            prop_assert!(is_within || left.len() <= 2, "{} left", left.len());
            let wide = Bounds { entries: 100, bytes: 1 << 30 };
            prop_assert!(to_prune(&all, written, wide).is_empty());
        }
    }
}

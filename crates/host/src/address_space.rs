//! What is mapped where in a process: `/proc/PID/maps`.

use crate::Root;

/// One line of it; proc_pid_maps(5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MappedRange {
    /// First address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// It may be written to.
    pub is_writable: bool,
    /// It may be executed.
    pub is_executable: bool,
    /// What is written is seen by all who map it.
    pub is_shared: bool,
    /// Where in the file it begins.
    pub file_offset: u64,
    /// Device of the file, as `major:minor`; `00:00` without one.
    pub device: String,
    /// Inode of the file; 0 without one.
    pub inode: u64,
    /// The file, a name in brackets, or nothing.
    pub path: String,
}

impl MappedRange {
    /// True if the address lies in it.
    pub fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

/// All ranges of a process, by address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressSpace {
    ranges: Vec<MappedRange>,
}

impl AddressSpace {
    /// Of a process that runs; `None` if it is gone or another's.
    pub fn of_process(root: &Root, pid: u32) -> Option<Self> {
        let text = root.read(&format!("/proc/{pid}/maps")).ok()?;
        // A process that has ended and waits for its parent has an empty one.
        (!text.is_empty()).then(|| Self::parse(&text))
    }

    /// From the text of the kernel; lines that are none of it are left out.
    pub fn parse(text: &str) -> Self {
        let mut ranges: Vec<MappedRange> = text.lines().filter_map(parse_line).collect();
        ranges.sort_by_key(|range| range.start);
        Self { ranges }
    }

    /// The range that an address lies in.
    pub fn find(&self, address: u64) -> Option<&MappedRange> {
        let behind = self.ranges.partition_point(|range| range.start <= address);
        self.ranges[..behind].last().filter(|range| range.contains(address))
    }

    /// By address.
    pub fn ranges(&self) -> &[MappedRange] {
        &self.ranges
    }

    /// Puts a range in place of all that lay there.
    pub fn map(&mut self, range: MappedRange) {
        self.ranges.retain(|other| other.end <= range.start || range.end <= other.start);
        let place = self.ranges.partition_point(|other| other.start < range.start);
        self.ranges.insert(place, range);
    }
}

/// `7f00-7f01 rw-p 00001000 fd:00 1234   /path with blanks`.
fn parse_line(line: &str) -> Option<MappedRange> {
    let mut rest = line;
    let mut field = || {
        let (word, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = after;
        word
    };
    let (start, end) = field().split_once('-')?;
    let access = field();
    let file_offset = u64::from_str_radix(field(), 16).ok()?;
    let device = field().to_owned();
    let inode = field().parse().ok()?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let has = |place: usize, letter: u8| access.as_bytes().get(place) == Some(&letter);
    (start < end && access.len() == 4).then(|| MappedRange {
        start,
        end,
        is_writable: has(1, b'w'),
        is_executable: has(2, b'x'),
        is_shared: has(3, b's'),
        file_offset,
        device,
        inode,
        path: rest.trim_start().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    const TEXT: &str = "\
        55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]\n\
        7f0000000000-7f0000001000 r-xp 00002000 fd:01 99                         /opt/a b/lib.so (deleted)\n\
        7f0000001000-7f0000002000 rw-s 00000000 00:01 7                          /dev/shm/x\n\
        7f0000002000-7f0000003000 rw-p 00000000 00:00 0\n";

    #[test]
    fn an_address_is_found_with_its_file_and_its_rights() {
        let space = AddressSpace::parse(TEXT);
        let found = |address| space.find(address).map(|range| (range.path.as_str(), range.inode));
        assert_eq!(found(0x55d0_c001_0000), Some(("[heap]", 0)));
        assert_eq!(found(0x7f00_0000_0fff), Some(("/opt/a b/lib.so (deleted)", 99)));
        assert_eq!(found(0x7f00_0000_2000), Some(("", 0)));
        assert_eq!(found(0x7f00_0000_3000), None);
        assert_eq!(found(0), None);
        let code = &space.ranges()[1];
        assert!(code.is_executable && !code.is_writable && !code.is_shared && code.file_offset == 0x2000);
        assert!(space.ranges()[2].is_shared);
    }

    #[test]
    fn a_new_range_takes_the_place_of_what_it_covers() {
        let mut space = AddressSpace::parse(TEXT);
        let new = |path: &str| MappedRange {
            start: 0x7f00_0000_0800,
            end: 0x7f00_0000_1800,
            path: path.to_owned(),
            ..MappedRange::default()
        };
        space.map(new("new"));
        assert_eq!(space.ranges().len(), 3);
        assert_eq!(space.find(0x7f00_0000_1000), Some(&new("new")));
    }

    #[test]
    fn this_process_finds_its_own_code_and_stack() {
        let space = AddressSpace::of_process(&Root::live(), std::process::id()).expect("it runs");
        let local = 0_u8;
        assert!(space.find(std::ptr::from_ref(&local) as u64).is_some_and(|range| range.is_writable));
        let code = this_process_finds_its_own_code_and_stack as *const () as u64;
        assert!(space.find(code).is_some_and(|range| range.is_executable));
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_survived(text in "[0-9a-f rwxps:/\\-\n]{0,200}", address in any::<u64>()) {
            let space = AddressSpace::parse(&text);
            prop_assert!(space.find(address).is_none_or(|range| range.contains(address)));
        }
    }
}

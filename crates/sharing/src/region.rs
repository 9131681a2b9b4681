//! The memory that threads share, by name.

use std::collections::HashMap;

use record::{RegionKind, RegionUser, SharedRegion};

use crate::program::Programs;
use crate::segment::{LINE_BYTES, Segment};
use crate::touch::{Extent, Object, Touch, Touches};

/// More regions than this are not listed: the first hold nearly all that is shared.
const REGIONS_MAX: usize = 64;
/// A thread that touched a line less often than this may have touched other bytes of it unseen.
const LINE_TOUCHES_MIN: u64 = 4;

/// What a thread does with a line.
#[derive(Debug, Clone, Copy, Default)]
struct LineUse {
    /// A bit per byte.
    bytes: u64,
    touches: u64,
    writes: u64,
}

/// The stretches that more than one thread touches, most shared first.
pub(super) fn regions(segments: &[Segment], touches: &Touches, programs: &mut Programs) -> Vec<SharedRegion> {
    let shared = |segment: &&Segment| segment.uses.len() > 1;
    let mut shared: Vec<&Segment> = segments.iter().filter(shared).collect();
    shared.sort_by_key(|segment| std::cmp::Reverse(segment.common()));
    shared.truncate(REGIONS_MAX);
    let false_shared = false_shared_lines(touches);
    let region = |segment: &Segment| {
        let extent = &touches.extents[segment.extent];
        let address_of = |place: u64| extent.address.wrapping_add(place.wrapping_sub(extent.start));
        let (kind, name) = origin(extent, &touches.objects[extent.object], segment.start, programs);
        let mut users: Vec<RegionUser> = segment
            .uses
            .iter()
            .map(|one| RegionUser { thread: one.thread, reads: one.reads, writes: one.writes })
            .collect();
        users.sort_by_key(|user| (std::cmp::Reverse(user.reads + user.writes), user.thread));
        let inside = |line: &&(usize, u64)| {
            line.0 == extent.object
                && segment.start / LINE_BYTES <= line.1
                && line.1 * LINE_BYTES < segment.end
        };
        let lines = false_shared.iter().filter(inside).map(|line| address_of(line.1 * LINE_BYTES));
        SharedRegion {
            name,
            kind,
            pid: extent.pid,
            start: address_of(segment.start),
            bytes: segment.end - segment.start,
            users,
            false_shared_lines: lines.collect(),
        }
    };
    shared.into_iter().map(region).collect()
}

/// Lines that two threads touch at bytes of their own, one of them writing: by object and number, in order.
fn false_shared_lines(touches: &Touches) -> Vec<(usize, u64)> {
    let mut lines: HashMap<(usize, u64), Vec<(usize, LineUse)>> = HashMap::new();
    for touch in &touches.touches {
        let object = touches.extents[touch.extent].object;
        let users = lines.entry((object, touch.place / LINE_BYTES)).or_default();
        let place = users.iter().position(|user| user.0 == touch.thread).unwrap_or_else(|| {
            users.push((touch.thread, LineUse::default()));
            users.len() - 1
        });
        let line = &mut users[place].1;
        line.bytes |= byte_mask(touch);
        line.touches += 1;
        line.writes += u64::from(touch.writes);
    }
    let is_false = |users: &[(usize, LineUse)]| {
        let seen: Vec<&LineUse> =
            users.iter().map(|user| &user.1).filter(|line| line.touches >= LINE_TOUCHES_MIN).collect();
        let apart =
            |one: &LineUse, other: &LineUse| one.bytes & other.bytes == 0 && one.writes + other.writes > 0;
        seen.iter().enumerate().any(|(at, one)| seen[..at].iter().any(|other| apart(one, other)))
    };
    let mut found: Vec<(usize, u64)> =
        lines.iter().filter(|line| is_false(line.1)).map(|line| *line.0).collect();
    found.sort_unstable();
    found
}

/// The bytes of its first line that a touch covers.
fn byte_mask(touch: &Touch) -> u64 {
    let first = touch.place % LINE_BYTES;
    let count = u64::from(touch.bytes.max(1)).min(LINE_BYTES - first);
    (u64::MAX >> (LINE_BYTES - count)) << first
}

/// What an extent is, and the name of a place in it.
fn origin(extent: &Extent, object: &Object, place: u64, programs: &mut Programs) -> (RegionKind, String) {
    let is_private = !matches!(object, Object::File { .. });
    let plain = |kind, name: &str| (kind, name.to_owned());
    match extent.path.as_str() {
        "[heap]" => plain(RegionKind::Heap, "heap"),
        "[stack]" => plain(RegionKind::Stack, "stack of the first thread"),
        path if path.starts_with('[') => plain(RegionKind::Anonymous, path.trim_matches(['[', ']'])),
        path if !is_private && extent.is_writable => (
            RegionKind::SharedMemory,
            if path.is_empty() { "shared memory".to_owned() } else { path.to_owned() },
        ),
        path => {
            let address = extent.address.wrapping_add(place.wrapping_sub(extent.start));
            let file = programs.file_place(extent.pid, address);
            let path = file.as_ref().map_or(path, |file| file.path.as_str()).to_owned();
            if path.is_empty() {
                return plain(RegionKind::Anonymous, "anonymous memory");
            }
            let symbol = file.and_then(|file| programs.symbol(extent.pid, &file));
            let kind = if is_private { RegionKind::ProgramData } else { RegionKind::File };
            (kind, symbol.map_or(path.clone(), |symbol| format!("{symbol} in {path}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touches(list: &[(usize, u64, u32, bool)]) -> Touches {
        let touch = |(thread, place, bytes, writes): &(usize, u64, u32, bool)| Touch {
            thread: *thread,
            extent: 0,
            place: *place,
            bytes: *bytes,
            reads: !writes,
            writes: *writes,
        };
        let extent = Extent { end: u64::MAX, is_writable: true, ..Extent::default() };
        Touches {
            objects: vec![Object::Process(1)],
            extents: vec![extent],
            touches: list.iter().map(touch).collect(),
        }
    }

    #[test]
    fn counters_side_by_side_are_false_sharing_and_one_counter_is_not() {
        let mut list = Vec::new();
        for _ in 0..LINE_TOUCHES_MIN {
            // Side by side in one line; the same word in the next; only read in the third.
            list.extend([(0, 0x1000, 8, true), (1, 0x1008, 8, true)]);
            list.extend([(0, 0x1040, 8, true), (1, 0x1040, 8, true)]);
            list.extend([(0, 0x1080, 8, false), (1, 0x1088, 8, false)]);
        }
        assert_eq!(false_shared_lines(&touches(&list)), [(0, 0x1000 / LINE_BYTES)]);
        assert_eq!(false_shared_lines(&touches(&list[..12])), [], "too few to tell");
    }

    #[test]
    fn a_touch_covers_its_bytes_and_none_of_the_next_line() {
        let mask = |place, bytes| byte_mask(&touches(&[(0, place, bytes, true)]).touches[0]);
        assert_eq!((mask(0, 1), mask(8, 8), mask(60, 8), mask(0, 64)), (1, 0xff00, 0xf << 60, u64::MAX));
        assert_eq!(mask(63, 0), 1 << 63);
    }
}

//! Which pages are worth asking who writes to them: some of each stretch that several threads touch.

use std::collections::BTreeSet;

use host::live::page_bytes;

use crate::segment::Segment;
use crate::touch::{Extent, Object, Touches};

/// Pages of one stretch: the more, the less a page weighs that is on a border; the fewer, the sooner each is written to again, and only that
/// tells anything.
const PAGES_EACH: usize = 8;
/// Stretches, those with most touches in common first: their pages are written to in thousands of places.
const STRETCHES_MAX: usize = 32;

/// A page of a process that may be protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SharedPage {
    /// The process.
    pub(super) pid: u32,
    /// Its first address.
    pub(super) page: u64,
    /// Where the mapping begins that it lies in, as far as it is known.
    pub(super) start: u64,
    /// Where that ends.
    pub(super) end: u64,
}

/// Pages of stretches that several threads touch, those of `before` where they still serve: only a page that is protected again and again
/// tells anything.
pub(super) fn shared_pages(
    segments: &[Segment],
    touches: &Touches,
    before: &[SharedPage],
) -> Vec<SharedPage> {
    let can_be = |segment: &&Segment| {
        let extent = &touches.extents[segment.extent];
        segment.uses.len() > 1 && can_be_protected(extent, &touches.objects[extent.object])
    };
    let mut shared: Vec<&Segment> = segments.iter().filter(can_be).collect();
    shared.sort_by_key(|segment| std::cmp::Reverse(segment.common()));
    shared.truncate(STRETCHES_MAX);
    let mut found = BTreeSet::new();
    for segment in shared {
        let extent = &touches.extents[segment.extent];
        let page = |page: u64| SharedPage { pid: extent.pid, page, start: extent.start, end: extent.end };
        let is_inside =
            |known: &&SharedPage| known.pid == extent.pid && pages_of(segment).contains(&known.page);
        let kept: BTreeSet<u64> =
            before.iter().filter(is_inside).map(|known| known.page).take(PAGES_EACH).collect();
        let touched = touched(segment, touches);
        let fresh = evenly(&touched, PAGES_EACH - kept.len());
        found.extend(kept.into_iter().chain(fresh).map(page));
    }
    found.into_iter().collect()
}

/// The pages that a stretch lies in.
pub(super) fn pages_of(segment: &Segment) -> std::ops::Range<u64> {
    segment.start & !(page_bytes() as u64 - 1)..segment.end
}

/// Private memory without a file. Stacks are left out: each thread writes to its own all the time.
fn can_be_protected(extent: &Extent, object: &Object) -> bool {
    let is_plain = extent.path.is_empty() || extent.path == "[heap]" || extent.path.starts_with("[anon:");
    matches!(object, Object::Process(_)) && extent.is_writable && is_plain && extent.end < u64::MAX
}

/// The pages of a stretch that were touched, in order; those that lie in it as a whole, if there are any: others may be neighbours' too.
fn touched(segment: &Segment, touches: &Touches) -> Vec<u64> {
    let object = touches.extents[segment.extent].object;
    let is_inside = |place: u64| (segment.start..segment.end).contains(&place);
    let pages: BTreeSet<u64> = touches
        .touches
        .iter()
        .filter(|touch| touches.extents[touch.extent].object == object && is_inside(touch.place))
        .map(|touch| touch.place & !(page_bytes() as u64 - 1))
        .collect();
    let is_whole = |page: &u64| is_inside(*page) && is_inside(page + (page_bytes() as u64 - 1));
    let whole: Vec<u64> = pages.iter().copied().filter(is_whole).collect();
    if whole.is_empty() { pages.into_iter().collect() } else { whole }
}

/// So many of them, as far apart as can be.
fn evenly(pages: &[u64], most: usize) -> impl Iterator<Item = u64> {
    let count = most.min(pages.len());
    (0..count).map(move |index| pages[index * pages.len() / count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::segments;
    use crate::touch::Touch;

    const BASE: u64 = 0x10_0000;

    /// Two threads by turns on each of so many pages.
    fn touches(pages: u64, path: &str, is_writable: bool) -> Touches {
        let touch = |index: u64| Touch {
            thread: index as usize % 2,
            extent: 0,
            place: BASE + index / 2 * page_bytes() as u64 + index % 2 * 64,
            bytes: 8,
            reads: true,
            writes: true,
        };
        let extent = Extent {
            start: BASE,
            end: BASE + (pages + 8) * page_bytes() as u64,
            pid: 7,
            path: path.to_owned(),
            is_writable,
            ..Extent::default()
        };
        Touches {
            objects: vec![Object::Process(7)],
            extents: vec![extent],
            touches: (0..2 * pages).map(touch).collect(),
        }
    }

    fn chosen(touches: &Touches, before: &[SharedPage]) -> Vec<u64> {
        shared_pages(&segments(touches), touches, before).iter().map(|page| page.page).collect()
    }

    #[test]
    fn some_pages_of_a_shared_stretch_are_chosen_and_stay_when_more_is_known() {
        let few = touches(40, "", true);
        let first = shared_pages(&segments(&few), &few, &[]);
        assert_eq!(first.len(), PAGES_EACH);
        assert!(
            first
                .iter()
                .all(|page| page.pid == 7 && page.start == BASE && page.page % page_bytes() as u64 == 0)
        );
        let apart = first.windows(2).map(|pair| pair[1].page - pair[0].page).min();
        assert!(apart >= Some(2 * page_bytes() as u64), "spread over the stretch: {first:?}");
        let more = touches(200, "", true);
        assert_eq!(
            shared_pages(&segments(&more), &more, &first).iter().map(|page| page.page).collect::<Vec<_>>(),
            first.iter().map(|page| page.page).collect::<Vec<_>>()
        );
    }

    #[test]
    fn what_cannot_be_protected_or_is_of_one_thread_is_left_alone() {
        assert!(chosen(&touches(40, "[stack]", true), &[]).is_empty());
        assert!(chosen(&touches(40, "/lib/data", true), &[]).is_empty());
        assert!(chosen(&touches(40, "", false), &[]).is_empty());
        assert!(!chosen(&touches(40, "[anon:arena]", true), &[]).is_empty());
        let mut own = touches(40, "", true);
        own.touches.retain(|touch| touch.thread == 0);
        assert!(chosen(&own, &[]).is_empty());
        assert!(chosen(&Touches::default(), &[]).is_empty());
    }

    #[test]
    fn a_stretch_smaller_than_a_page_is_asked_for_by_the_page_it_lies_in() {
        let mut small = touches(1, "", true);
        small.touches[1].place = BASE + 8;
        assert_eq!(chosen(&small, &[]), [BASE]);
    }
}

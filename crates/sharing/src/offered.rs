//! Which sources there are: the one that was taken, and why the others were not, in a line each.

use host::Root;
use record::{SharingOffer, SharingSource};

/// What a processor that samples its own loads and stores has among the kernel's event sources: the sampler of micro-operations of AMD (IBS), and the
/// event of Intel's (PEBS), which hybrid processors have for each kind of core; arch/x86/events/amd/ibs.c and intel/core.c.
const MEMORY_SAMPLERS: [&str; 4] =
    ["ibs_op", "cpu/events/mem-loads", "cpu_core/events/mem-loads", "cpu_atom/events/mem-loads"];

pub(super) const OF_CLOCK: &str = "the kernel's clock, registers decoded";
pub(super) const OF_LIBRARY: &str = "a library in the program, registers decoded";
pub(super) const OF_WRITES: &str = "who writes to shared pages, by userfaultfd";
/// What tells who wakes whom, as a source is called among the offers of a document.
pub const OF_WAKES: &str = "who wakes whom, by sched_waking";

/// A source that was taken, or why it was not.
pub(super) fn offer(name: &str, refused: Option<String>) -> SharingOffer {
    SharingOffer { name: name.to_owned(), refused }
}

/// Says of the source of a profile without any sample that it brought nothing: that it served is not enough to have learnt by it.
pub(super) fn name_no_sample(offers: &mut [SharingOffer], kind: SharingSource) {
    let name = match kind {
        SharingSource::None => return,
        SharingSource::ClockRegisters => OF_CLOCK,
        SharingSource::SignalRegisters => OF_LIBRARY,
    };
    if let Some(taken) = offers.iter_mut().find(|offer| offer.name == name && offer.refused.is_none()) {
        taken.refused = Some("it served, but took no sample".to_owned());
    }
}

/// Memory samples by the processor, which would be the best: each names its address, cost and level without any decoding.
pub(super) fn of_processor(root: &Root) -> SharingOffer {
    let is_there = |name: &&&str| root.exists(&format!("/sys/bus/event_source/devices/{name}"));
    let found = MEMORY_SAMPLERS.iter().find(is_there);
    let refused = found.map_or_else(
        || "the kernel offers none here".to_owned(),
        |name| format!("the kernel offers {name}, but sidestep cannot read it yet"),
    );
    offer("memory samples of the processor (IBS, PEBS)", Some(refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_learnt_by_a_source_that_took_no_sample() {
        let check = |kind: SharingSource, expected: [bool; 3]| {
            let mut offers = [OF_CLOCK, OF_LIBRARY, OF_WAKES].map(|name| offer(name, None));
            name_no_sample(&mut offers, kind);
            assert_eq!(offers.map(|offer| offer.refused.is_none()), expected, "{kind:?}");
        };
        check(SharingSource::None, [true; 3]);
        check(SharingSource::ClockRegisters, [false, true, true]);
        check(SharingSource::SignalRegisters, [true, false, true]);
    }

    #[test]
    fn a_processor_that_samples_memory_is_named_and_said_not_to_be_used() {
        let refused = |sampler: Option<&str>| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let devices = folder.path().join("sys/bus/event_source/devices/software");
            std::fs::create_dir_all(&devices).expect("room");
            if let Some(sampler) = sampler {
                std::fs::create_dir_all(devices.with_file_name(sampler)).expect("room");
            }
            let root = Root::open(folder.path()).expect("a machine");
            of_processor(&root).refused.expect("it is never taken")
        };
        assert_eq!(refused(None), "the kernel offers none here");
        assert_eq!(refused(Some("ibs_op")), "the kernel offers ibs_op, but sidestep cannot read it yet");
        assert!(refused(Some("cpu_core/events/mem-loads")).contains("cpu_core/events/mem-loads"));
        assert_eq!(refused(Some("cpu/events/cycles")), "the kernel offers none here");
    }
}

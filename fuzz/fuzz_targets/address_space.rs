//! Texts of `/proc/PID/maps`, and ranges put over what they say.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use host::{AddressSpace, MappedRange};

fuzz_target!(|bytes: &[u8]| {
    let Some((address, text)) = bytes.split_first_chunk::<8>() else { return };
    let address = u64::from_le_bytes(*address);
    let mut space = AddressSpace::parse(&String::from_utf8_lossy(text));
    for place in [address, address.wrapping_add(1), u64::MAX] {
        assert!(space.find(place).is_none_or(|range| range.contains(place)));
    }
    let new = MappedRange { start: address, end: address.saturating_add(4096), ..MappedRange::default() };
    space.map(new.clone());
    if new.start < new.end {
        assert_eq!(space.find(address), Some(&new));
    }
});

//! Memory modules and serial numbers from firmware's own table (SMBIOS), which only root may read.
//!
//! Serial numbers never leave this file: they are hashed with a key that is secret to the fleet, or not read.
//! Source: DMTF DSP0134, System Management BIOS Reference Specification 3.7, sections 6.1, 7.2, 7.3, 7.18.

use machine::{Bytes, MemoryModule, keyed_hash};

use crate::Root;

/// Where the kernel shows the table as firmware left it (drivers/firmware/dmi_scan.c).
const TABLE: &str = "/sys/firmware/dmi/tables/DMI";
/// Type, length and handle.
const HEADER_BYTES: usize = 4;

/// Types of structures.
const SYSTEM: u8 = 1;
const BASEBOARD: u8 = 2;
const MEMORY_DEVICE: u8 = 17;
const END: u8 = 127;

/// Offsets of the string numbers of serial numbers.
const SYSTEM_SERIAL: usize = 0x07;
const BASEBOARD_SERIAL: usize = 0x07;
const MEMORY_SERIAL: usize = 0x18;

/// What firmware writes where it knows nothing.
const FILLERS: [&str; 9] = [
    "not specified",
    "unknown",
    "none",
    "n/a",
    "no dimm",
    "to be filled by o.e.m.",
    "default string",
    "not provided",
    "undefined",
];

/// The table of a machine; empty where there is none or it may not be read.
pub fn table(root: &Root) -> Vec<u8> {
    root.bytes(TABLE).unwrap_or_default()
}

/// The modules in a table, in its order, without empty slots.
pub fn memory_modules(table: &[u8]) -> Vec<MemoryModule> {
    structures(table).filter(|one| one.kind == MEMORY_DEVICE).filter_map(|one| module(&one)).collect()
}

/// A hash of the serial numbers of system, board and memory under a key of the fleet's; `None` where none can be read.
pub fn serials_hash(root: &Root, key: [u64; 2]) -> Option<String> {
    let table = table(root);
    let serials: Vec<&str> = structures(&table)
        .filter_map(|one| {
            let offset = match one.kind {
                SYSTEM => SYSTEM_SERIAL,
                BASEBOARD => BASEBOARD_SERIAL,
                MEMORY_DEVICE => MEMORY_SERIAL,
                _ => return None,
            };
            one.text(offset)
        })
        .collect();
    (!serials.is_empty()).then(|| format!("{:016x}", keyed_hash(key, serials.join("\n").as_bytes())))
}

/// One structure of the table.
struct Structure<'t> {
    kind: u8,
    /// Its formatted area, header included.
    fields: &'t [u8],
    /// Its strings, each ended by a zero.
    strings: &'t [u8],
}

impl<'t> Structure<'t> {
    fn byte(&self, offset: usize) -> Option<u8> {
        self.fields.get(offset).copied()
    }

    fn word(&self, offset: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.fields.get(offset..)?.first_chunk()?))
    }

    fn double_word(&self, offset: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.fields.get(offset..)?.first_chunk()?))
    }

    /// The string whose number stands at an offset, unless it says nothing.
    fn text(&self, offset: usize) -> Option<&'t str> {
        let number = usize::from(self.byte(offset)?).checked_sub(1)?;
        let bytes = self.strings.split(|byte| *byte == 0).nth(number)?;
        let text = std::str::from_utf8(bytes).ok()?.trim();
        let is_filler = FILLERS.contains(&text.to_lowercase().as_str()) || text.chars().all(|c| c == '0');
        (!text.is_empty() && !is_filler).then_some(text)
    }
}

/// The structures of a table until its end, or until it makes no sense.
fn structures(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let (kind, length) = (*rest.first()?, usize::from(*rest.get(1)?));
        if kind == END || length < HEADER_BYTES || length > rest.len() {
            return None;
        }
        let (fields, after) = rest.split_at(length);
        // Strings end with an empty one; a structure without strings has two zeros.
        let end = after.windows(2).position(|pair| pair == [0, 0])?;
        rest = &after[end + 2..];
        Some(Structure { kind, fields, strings: &after[..end] })
    })
}

/// A module; `None` of an empty slot.
fn module(one: &Structure<'_>) -> Option<MemoryModule> {
    /// The size is in `EXTENDED_SIZE`, in MiB.
    const IS_EXTENDED: u16 = 0x7fff;
    const UNKNOWN: u16 = 0xffff;
    const EXTENDED_SIZE: usize = 0x1c;
    /// The size is in KiB, not MiB.
    const IN_KIB: u16 = 0x8000;
    let bytes = match one.word(0x0c)? {
        0 => return None,
        UNKNOWN => None,
        IS_EXTENDED => one.double_word(EXTENDED_SIZE).map(|mib| u64::from(mib & 0x7fff_ffff) << 20),
        size if size & IN_KIB != 0 => Some(u64::from(size & !IN_KIB) << 10),
        size => Some(u64::from(size) << 20),
    };
    let text = |offset| one.text(offset).unwrap_or_default().to_owned();
    // Configured speed; 0 is unknown, and ffffh stands for more than fits.
    let speed = one.word(0x20).filter(|speed| !matches!(*speed, 0 | UNKNOWN)).map(u32::from);
    Some(MemoryModule {
        slot: text(0x10),
        channel: text(0x11),
        maker: text(0x17),
        part: text(0x1a),
        bytes: bytes.map(Bytes),
        megatransfers_per_s: speed,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    /// A structure with these fields behind its header, and these strings.
    fn structure(kind: u8, fields: &[(usize, &[u8])], strings: &[&str]) -> Vec<u8> {
        let mut formatted = vec![0_u8; 0x28];
        (formatted[0], formatted[1]) = (kind, 0x28);
        for (offset, bytes) in fields {
            formatted[*offset..*offset + bytes.len()].copy_from_slice(bytes);
        }
        for text in strings {
            formatted.extend(text.bytes());
            formatted.push(0);
        }
        formatted.extend(if strings.is_empty() { &[0, 0][..] } else { &[0] });
        formatted
    }

    fn memory(size: u16, serial: &str, part: &str) -> Vec<u8> {
        let fields: [(usize, &[u8]); 7] = [
            (0x0c, &size.to_le_bytes()),
            (0x10, &[1]),
            (0x11, &[2]),
            (0x17, &[3]),
            (0x18, &[4]),
            (0x1a, &[5]),
            (0x20, &3200_u16.to_le_bytes()),
        ];
        structure(MEMORY_DEVICE, &fields, &["DIMM_A1", "CHANNEL A", "Maker", serial, part])
    }

    fn whole(parts: &[Vec<u8>]) -> Vec<u8> {
        let end = structure(END, &[], &[]);
        [parts.concat(), end, vec![0xff; 40]].concat()
    }

    #[test]
    fn modules_are_read_in_every_form_of_size_and_empty_slots_are_not() {
        let extended = {
            let mut one = memory(0x7fff, "4", "P4 ");
            one[0x1c..0x20].copy_from_slice(&(64_u32 << 10).to_le_bytes());
            one
        };
        let table = whole(&[
            structure(SYSTEM, &[(0x07, &[1])], &["S1"]),
            memory(16 << 10, "1", "P1"),
            memory(0, "2", "P2"),
            memory(0x8200, "3", "Not Specified"),
            extended,
            memory(0xffff, "5", "P5"),
        ]);
        let found = memory_modules(&table);
        let facts: Vec<(&str, Option<u64>)> =
            found.iter().map(|one| (one.part.as_str(), one.bytes.map(|bytes| bytes.0))).collect();
        assert_eq!(
            facts,
            [("P1", Some(16 << 30)), ("", Some(512 << 10)), ("P4", Some(64 << 30)), ("P5", None)]
        );
        let first = &found[0];
        let texts = (first.slot.as_str(), first.channel.as_str(), first.maker.as_str());
        assert_eq!(texts, ("DIMM_A1", "CHANNEL A", "Maker"));
        assert_eq!(first.megatransfers_per_s, Some(3200));
        assert!(!serde_json::to_string(&found).expect("JSON").contains("\"1\""));
    }

    #[test]
    fn serials_are_one_hash_that_key_and_every_serial_change() {
        let of = |system: &str, serial: &str, key| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let file = folder.path().join(TABLE.trim_start_matches('/'));
            std::fs::create_dir_all(file.parent().expect("below the folder")).expect("folders");
            let parts = [structure(SYSTEM, &[(0x07, &[1])], &[system]), memory(8, serial, "P")];
            std::fs::write(file, whole(&parts)).expect("a file");
            serials_hash(&Root::open(folder.path()).expect("a machine"), key)
        };
        let first = of("S1", "1", [1, 2]).expect("there are serials");
        assert_eq!(first.len(), 16);
        assert_eq!(of("S1", "1", [1, 2]).as_ref(), Some(&first));
        for other in [of("S2", "1", [1, 2]), of("S1", "2", [1, 2]), of("S1", "1", [1, 3])] {
            assert_ne!(other.as_ref(), Some(&first));
        }
        assert_eq!(of("Not Specified", "00000000", [1, 2]), None);
        assert_eq!(serials_hash(&Root::empty(), [1, 2]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_table_makes_the_reader_panic(
            head in proptest::collection::vec(any::<u8>(), 0..80),
            size: u16,
            cut in 0_usize..200,
        ) {
            let mut table = [memory(size, "1", "P"), head, memory(size, "2", "Q")].concat();
            table.truncate(cut);
            let found = memory_modules(&table);
            prop_assert!(found.len() <= table.len() / HEADER_BYTES);
        }
    }
}

//! Symbols of the file of a program or library, by place in the file.

use object::{Object, ObjectSegment, ObjectSymbol};

type ObjectFile<'a> = object::File<'a>;

/// A part of the file that is loaded.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    file_offset: u64,
    address: u64,
    bytes: u64,
}

/// What the file says of its parts.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    loaded: Vec<Loaded>,
    /// By address: first address, length, name.
    symbols: Vec<(u64, u64, String)>,
}

impl Symbols {
    /// From the bytes of the file; empty if it is no ELF file or stripped.
    pub(super) fn read(file: &[u8]) -> Self {
        let Ok(file) = <ObjectFile<'_>>::parse(file) else { return Self::default() };
        let loaded = |segment: object::Segment<'_, '_>| Loaded {
            file_offset: segment.file_range().0,
            address: segment.address(),
            bytes: segment.size(),
        };
        let symbol = |symbol: object::Symbol<'_, '_>| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            (symbol.size() > 0).then(|| (symbol.address(), symbol.size(), name.to_owned()))
        };
        let mut symbols: Vec<_> = file.symbols().chain(file.dynamic_symbols()).filter_map(symbol).collect();
        symbols.sort();
        symbols.dedup();
        Self { loaded: file.segments().map(loaded).collect(), symbols }
    }

    /// The symbol at a place of the file; places behind its end are those of memory that begins as zeros.
    pub(super) fn at(&self, file_place: u64) -> Option<&str> {
        let holds = |part: &&Loaded| {
            file_place.checked_sub(part.file_offset).is_some_and(|inside| inside < part.bytes)
        };
        let part = self.loaded.iter().rev().find(holds)?;
        let address = part.address.checked_add(file_place - part.file_offset)?;
        let behind = self.symbols.partition_point(|symbol| symbol.0 <= address);
        // Symbols may hold others: the innermost that reaches so far is the last that begins before.
        let near = self.symbols[..behind].iter().rev().take(16);
        near.into_iter().find(|symbol| address - symbol.0 < symbol.1).map(|symbol| symbol.2.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_symbol_of_the_part_that_is_loaded_there() {
        let symbols = Symbols {
            loaded: vec![
                Loaded { file_offset: 0, address: 0x1000, bytes: 0x1000 },
                Loaded { file_offset: 0x1000, address: 0x5000, bytes: 0x3000 },
            ],
            symbols: vec![(0x5010, 0x100, "whole".to_owned()), (0x5020, 8, "inner".to_owned())],
        };
        assert_eq!(symbols.at(0x1024), Some("inner"));
        assert_eq!(symbols.at(0x1030), Some("whole"));
        assert_eq!(symbols.at(0x1200), None);
        assert_eq!(symbols.at(0x9000), None);
    }

    #[test]
    fn what_is_no_program_has_no_symbols() {
        for bytes in [&b""[..], b"\x7fELF", b"#!/bin/sh", &[0; 4096]] {
            assert_eq!(Symbols::read(bytes).at(0), None);
        }
    }
}

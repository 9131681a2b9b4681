//! Which cells a surface has, and which of them are neighbours.

use machine::Bytes;

/// A cell has at least so many elements: fewer are no permutation.
const ELEMENTS_MIN: usize = 4;

/// Block sizes by strides; cells with too few elements are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Block sizes in bytes, ascending.
    pub blocks: Vec<usize>,
    /// Strides in bytes, ascending.
    pub strides: Vec<usize>,
}

/// One cell of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Size of the block.
    pub block_bytes: usize,
    /// Distance of neighbouring elements.
    pub stride_bytes: usize,
}

impl Grid {
    /// Two blocks per octave from 4 KiB to 32 MiB, ten strides from 16 B to 8 KiB: 258 cells.
    pub fn check_up() -> Self {
        let octaves = (12..25).flat_map(|log2| [1 << log2, 3 << (log2 - 1)]);
        Self { blocks: octaves.chain([1 << 25]).collect(), strides: (4..14).map(|log2| 1 << log2).collect() }
    }

    /// One block per octave from 64 MiB to the largest given, strides from 64 B.
    pub fn large(largest: Bytes) -> Self {
        let blocks =
            (26..40).map(|log2| 1_usize << log2).filter(|&block| block as u64 <= largest.0).collect();
        Self { blocks, strides: (6..14).map(|log2| 1 << log2).collect() }
    }

    /// The cells, row by row.
    pub fn places(&self) -> Vec<Place> {
        self.blocks
            .iter()
            .flat_map(|&block_bytes| {
                self.strides.iter().map(move |&stride_bytes| Place { block_bytes, stride_bytes })
            })
            .filter(|place| place.block_bytes / place.stride_bytes >= ELEMENTS_MIN)
            .collect()
    }

    /// The cells next to this one, in block size or in stride.
    pub fn neighbours(&self, place: Place) -> Vec<Place> {
        let step = |list: &[usize], value: usize| -> Vec<usize> {
            let index = list.iter().position(|&have| have == value).unwrap_or(0);
            [index.checked_sub(1), Some(index + 1)]
                .into_iter()
                .flatten()
                .filter_map(|i| list.get(i).copied())
                .collect()
        };
        let blocks = step(&self.blocks, place.block_bytes);
        let strides = step(&self.strides, place.stride_bytes);
        let by_block = blocks.into_iter().map(|block_bytes| Place { block_bytes, ..place });
        let by_stride = strides.into_iter().map(|stride_bytes| Place { stride_bytes, ..place });
        by_block
            .chain(by_stride)
            .filter(|place| place.block_bytes / place.stride_bytes >= ELEMENTS_MIN)
            .collect()
    }

    /// The largest block.
    pub fn largest_bytes(&self) -> usize {
        self.blocks.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_up_surface_has_258_cells_from_4_kib_to_32_mib() {
        let grid = Grid::check_up();
        assert_eq!(grid.places().len(), 258);
        assert_eq!((grid.blocks[0], grid.largest_bytes()), (4 << 10, 32 << 20));
        assert_eq!((grid.strides[0], grid.strides[9]), (16, 8 << 10));
    }

    #[test]
    fn neighbours_are_cells_of_the_grid() {
        let grid = Grid::check_up();
        let places = grid.places();
        for &place in &places {
            let neighbours = grid.neighbours(place);
            assert!((1..=4).contains(&neighbours.len()), "{place:?}");
            assert!(neighbours.iter().all(|neighbour| places.contains(neighbour)));
        }
    }

    #[test]
    fn the_large_surface_has_one_block_per_octave() {
        assert_eq!(Grid::large(Bytes(512 << 20)).blocks, [64 << 20, 128 << 20, 256 << 20, 512 << 20]);
        assert!(Grid::large(Bytes(1 << 20)).places().is_empty());
    }
}

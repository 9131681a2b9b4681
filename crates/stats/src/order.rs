//! Rows in order. A sort of the standard library is a thousand lines of code for each kind of row and each comparison; this is one sort of
//! their places, and a loop for each kind.

use std::cmp::Ordering;

/// Sorts what is written and read, of which there is little: what is equal keeps its order.
pub trait Order<T> {
    /// As `sort_by` does.
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// As `sort_by_key` does.
    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        let mut places = places(self.len(), &|a, b| compare(&self[a], &self[b]));
        for at in 0..places.len() {
            while places[at] != at {
                let to = places[at];
                self.swap(at, to);
                places.swap(at, to);
            }
        }
    }
}

/// Where each of so many belongs.
fn places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    let mut places = vec![0; count];
    for (place, from) in order.into_iter().enumerate() {
        places[from] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_a_stable_sort(keys in proptest::collection::vec(0_u8..12, 0..70)) {
            let rows: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let (mut expected, mut by_key, mut compared) = (rows.clone(), rows.clone(), rows);
            expected.sort_by_key(|row| row.0);
            by_key.order_by_key(|row| row.0);
            compared.order_by(|a, b| a.0.cmp(&b.0));
            prop_assert_eq!(&by_key, &expected);
            prop_assert_eq!(&compared, &expected);
        }
    }
}

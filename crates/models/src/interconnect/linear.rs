//! Least squares on straight lines in a handful of unknowns.

use crate::memory::solved;

/// The unknowns that make rows x unknowns nearest to the values; none if the rows do not tell them.
pub(super) fn least_squares(rows: &[Vec<f64>], values: &[f64]) -> Option<Vec<f64>> {
    let unknowns = rows.first()?.len();
    if rows.len() < unknowns {
        return None;
    }
    let mut matrix = vec![vec![0.0; unknowns]; unknowns];
    let mut right = vec![0.0; unknowns];
    for (row, value) in rows.iter().zip(values) {
        for (at, factor) in row.iter().enumerate() {
            right[at] += factor * value;
            for (to, other) in matrix[at].iter_mut().zip(row) {
                *to += factor * other;
            }
        }
    }
    // Columns that are (nearly) sums of others would be solved by rounding errors alone.
    let scale = (0..unknowns).map(|at| matrix[at][at]).fold(0.0, f64::max);
    for (at, row) in matrix.iter_mut().enumerate() {
        if row[at] <= scale * f64::EPSILON {
            return None;
        }
    }
    solved(matrix, right).filter(|found| found.iter().all(|one| one.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_three_points() {
        let rows = [vec![1.0, 0.0], vec![1.0, 1.0], vec![1.0, 2.0]];
        let found = least_squares(&rows, &[1.0, 3.0, 5.0]).expect("told");
        assert!((found[0] - 1.0).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12);
        assert_eq!(least_squares(&rows[..1], &[1.0]), None);
        assert_eq!(least_squares(&[vec![1.0, 0.0], vec![1.0, 0.0]], &[1.0, 2.0]), None);
    }
}

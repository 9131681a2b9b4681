//! Least squares on straight lines in a handful of unknowns.

/// The unknowns that make rows x unknowns nearest to the values; none if the rows do not tell them.
pub fn on_lines(rows: &[Vec<f64>], values: &[f64]) -> Option<Vec<f64>> {
    let unknowns = rows.first()?.len();
    if rows.len() < unknowns {
        return None;
    }
    let matrix = normal(rows);
    let right = (0..unknowns).map(|at| rows.iter().zip(values).map(|(row, value)| row[at] * value).sum());
    // Columns that are (nearly) sums of others would be solved by rounding errors alone.
    let scale = (0..unknowns).map(|at| matrix[at][at]).fold(0.0, f64::max);
    if (0..unknowns).any(|at| matrix[at][at] <= scale * f64::EPSILON) {
        return None;
    }
    solved(matrix, right.collect()).filter(|found| found.iter().all(|one| one.is_finite()))
}

/// The transposed matrix times itself.
pub fn normal(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = rows.first().map_or(0, Vec::len);
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum();
    (0..count).map(|a| (0..count).map(|b| product(a, b)).collect()).collect()
}

/// Gauss's elimination with the largest pivot; `None` if the matrix is singular.
pub fn solved(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let count = right.len();
    for column in 0..count {
        let pivot =
            (column..count).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        if matrix[pivot][column].abs() < 1e-300 {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for row in 0..count {
            if row == column {
                continue;
            }
            let factor = matrix[row][column] / matrix[column][column];
            let source = matrix[column].clone();
            for (to, from) in matrix[row].iter_mut().zip(&source) {
                *to -= factor * from;
            }
            right[row] -= factor * right[column];
        }
    }
    Some((0..count).map(|row| right[row] / matrix[row][row]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_three_points() {
        let rows = [vec![1.0, 0.0], vec![1.0, 1.0], vec![1.0, 2.0]];
        let found = on_lines(&rows, &[1.0, 3.0, 5.0]).expect("determined");
        assert!((found[0] - 1.0).abs() < 1e-12 && (found[1] - 2.0).abs() < 1e-12);
        assert_eq!(on_lines(&rows[..1], &[1.0]), None);
        assert_eq!(on_lines(&[vec![1.0, 0.0], vec![1.0, 0.0]], &[1.0, 2.0]), None);
    }
}

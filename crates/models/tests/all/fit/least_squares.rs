//! Least squares of what is no straight line, and how well the errors determine the unknowns. Deterministic: no random starts.

use models::least_squares::{normal, solved};

/// Relative step for derivatives, of a logarithm.
const STEP: f64 = 1e-4;
/// Rounds of improvement; far more than needed, as the functions are almost straight.
const ROUNDS: usize = 200;
/// A direction along which all errors together move by less than this share of the best-determined direction is undetermined.
const DETERMINED_SHARE: f64 = 1e-2;

/// How well errors determine their unknowns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weighed {
    /// Directions that are determined.
    pub(super) rank: usize,
    /// One standard deviation of each unknown if each error has one of 1; none if nothing holds it.
    pub(super) deviations: Vec<Option<f64>>,
}

/// The unknowns with the least sum of squared errors, by damped Gauss-Newton steps (Levenberg-Marquardt).
pub(super) fn least_squares(start: &[f64], errors: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let squares = |at: &[f64]| errors(at).iter().map(|error| error * error).sum::<f64>();
    let (mut best, mut least) = (start.to_vec(), squares(start));
    let mut damping = 1e-3;
    for _ in 0..ROUNDS {
        let (slopes, here) = (jacobian(&best, &errors), errors(&best));
        let mut matrix = normal(&slopes);
        for (index, row) in matrix.iter_mut().enumerate() {
            row[index] += damping * (row[index] + 1e-9);
        }
        let downhill: Vec<f64> = (0..best.len())
            .map(|unknown| -slopes.iter().zip(&here).map(|(row, error)| row[unknown] * error).sum::<f64>())
            .collect();
        let Some(step) = solved(matrix, downhill) else { break };
        // A step in logarithms beyond a factor of e is outside what the slopes know.
        let tried: Vec<f64> = best.iter().zip(&step).map(|(at, by)| at + by.clamp(-1.0, 1.0)).collect();
        let there = squares(&tried);
        if there < least {
            let gain = least - there;
            (best, least) = (tried, there);
            damping = (damping / 5.0).max(1e-12);
            if gain < 1e-14 * (1.0 + least) {
                break;
            }
        } else {
            damping *= 5.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    best
}

/// Sensitivities of all errors to all unknowns, weighed.
pub(super) fn weigh(at: &[f64], errors: impl Fn(&[f64]) -> Vec<f64>) -> Weighed {
    let matrix = normal(&jacobian(at, &errors));
    let mut values = eigenvalues(matrix.clone());
    values.sort_by(|a, b| b.total_cmp(a));
    let largest = values.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let rank =
        values.iter().filter(|value| value.max(0.0).sqrt() > DETERMINED_SHARE * largest.sqrt()).count();
    let deviations = (0..at.len()).map(|unknown| {
        let mut unit = vec![0.0; at.len()];
        unit[unknown] = 1.0;
        let variance = solved(matrix.clone(), unit)?[unknown];
        (variance.is_finite() && variance > 0.0).then(|| variance.sqrt())
    });
    Weighed { rank, deviations: deviations.collect() }
}

/// One row per error, one column per unknown, by central differences.
fn jacobian(at: &[f64], errors: &impl Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
    let columns: Vec<Vec<f64>> = (0..at.len())
        .map(|unknown| {
            let beside = |by: f64| {
                let mut moved = at.to_vec();
                moved[unknown] += by;
                errors(&moved)
            };
            beside(STEP).iter().zip(beside(-STEP)).map(|(up, down)| (up - down) / (2.0 * STEP)).collect()
        })
        .collect();
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
}

/// Eigenvalues of a symmetric matrix by Jacobi's rotations.
fn eigenvalues(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let count = matrix.len();
    for _ in 0..100 {
        for p in 0..count {
            for q in p + 1..count {
                if matrix[p][q].abs() < 1e-300 {
                    continue;
                }
                let angle = 0.5 * (2.0 * matrix[p][q]).atan2(matrix[q][q] - matrix[p][p]);
                let (sine, cosine) = angle.sin_cos();
                for row in &mut matrix {
                    let (left, right) = (row[p], row[q]);
                    (row[p], row[q]) = (cosine * left - sine * right, sine * left + cosine * right);
                }
                let (before, behind) = matrix.split_at_mut(q);
                for (upper, lower) in before[p].iter_mut().zip(&mut behind[0]) {
                    (*upper, *lower) = (cosine * *upper - sine * *lower, sine * *upper + cosine * *lower);
                }
            }
        }
    }
    (0..count).map(|index| matrix[index][index]).collect()
}

#[test]
fn a_curve_gives_back_what_made_it() {
    let points: Vec<(f64, f64)> = (1..8).map(|x| (f64::from(x), 3.0 * f64::from(x).powf(0.7))).collect();
    let found = least_squares(&[0.0, 0.0], |at| {
        points.iter().map(|(x, y)| (at[0] + at[1] * x.ln()) - y.ln()).collect()
    });
    assert!((found[0] - 3.0_f64.ln()).abs() < 1e-6 && (found[1] - 0.7).abs() < 1e-6, "{found:?}");
}

#[test]
fn unknowns_that_only_count_together_have_one_rank_less() {
    let together = |at: &[f64]| vec![at[0] + at[1], 2.0 * (at[0] + at[1]), at[2]];
    let weighed = weigh(&[1.0, 2.0, 3.0], together);
    assert_eq!(weighed.rank, 2);
    let apart = |at: &[f64]| vec![at[0], 2.0 * at[1]];
    let weighed = weigh(&[1.0, 2.0], apart);
    assert_eq!(weighed.rank, 2);
    assert!((weighed.deviations[1].unwrap() - 0.5).abs() < 1e-6);
}

#[test]
fn eigenvalues_of_a_known_matrix() {
    let mut values = eigenvalues(vec![vec![2.0, 1.0], vec![1.0, 2.0]]);
    values.sort_by(f64::total_cmp);
    assert!((values[0] - 1.0).abs() < 1e-12 && (values[1] - 3.0).abs() < 1e-12, "{values:?}");
}

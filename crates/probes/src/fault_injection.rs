//! Differences planted on purpose, to see whether what judges records finds them.
//!
//! A window of a row that is named comes out longer by a factor where the sampler returns it. So all that follows, from the
//! choice of cells that are visited again to the epochs' estimator, sees a machine that is slower in that row, and no result is
//! touched. The rules are in the record's provenance: an epoch finds them in its task, and no record hides them.

use record::Planted;

use crate::estimator::{Estimator, TABLE};

/// What a rule begins with that names a class.
pub const CLASS: &str = "class:";

/// What a rule begins with that names a loop whose results shall come out wrong; its factor does not matter.
pub const WRONG: &str = "wrong:";

/// Whether results of this loop are to come out wrong.
pub fn is_wrong(rules: &[Planted], kernel: &str) -> bool {
    rules.iter().any(|rule| rule.row.strip_prefix(WRONG) == Some(kernel))
}

/// By how much the windows of the raw series of this name are to be longer: the product of all rules that name it.
pub fn factor(rules: &[Planted], series: &str) -> f64 {
    rules.iter().filter(|rule| names(rule, series)).map(|rule| rule.factor).product()
}

/// The classes that a rule can name.
pub fn classes() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(Estimator::name)
}

fn names(rule: &Planted, series: &str) -> bool {
    match rule.row.strip_prefix(CLASS) {
        Some(class) => Estimator::of_series(series).is_some_and(|own| own.name() == class),
        None => series.contains(&rule.row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(row: &str, factor: f64) -> Planted {
        Planted { row: row.to_owned(), factor }
    }

    #[test]
    fn a_part_of_a_name_and_a_class_name_their_series_and_no_other() {
        let rules = [rule("block 8 MiB", 2.0), rule("class:latency", 1.5)];
        for (series, expected) in [
            ("latency 4 KiB pages, block 8 MiB, stride 64 B", 2.0),
            ("latency, 4 KiB pages asked for, block 8 MiB, stride 64 B", 3.0),
            ("latency, 4 KiB pages asked for, block 4 MiB, stride 64 B", 1.5),
            ("loaded latency, 1 CPUs at read, block 4 MiB", 1.0),
            ("price of rdtsc, CPU 0", 1.0),
        ] {
            assert!((factor(&rules, series) - expected).abs() < 1e-12, "{series}");
        }
        assert!((factor(&[], "latency,") - 1.0).abs() < 1e-12);
    }
}

//! Simulated machines: what is claimed of unchanged ones, and what is found of changed ones.

use super::*;
use crate::Random;

/// A machine of classes whose rows share a factor and spread by unlike amounts, with tails heavier than the normal's.
struct Machine {
    rows: Vec<(RowClass, f64)>,
    common: f64,
}

const CLASSES: [(RowClass, usize, f64); 8] = [
    (RowClass::CoreLatency, 4, 0.005),
    (RowClass::ClockReads, 6, 0.001),
    (RowClass::CacheBandwidth, 8, 0.03),
    (RowClass::SharedCacheLatency, 3, 0.05),
    (RowClass::MemoryLatency, 6, 0.05),
    (RowClass::MemoryBandwidth, 8, 0.06),
    (RowClass::Stream, 4, 0.05),
    (RowClass::LineTransfer, 2, 0.25),
];

impl Machine {
    fn new(random: &mut Random) -> Self {
        let rows = CLASSES.iter().flat_map(|(class, rows, spread)| {
            (0..*rows).map(|_| (*class, spread * (0.7 * random.normal()).exp())).collect::<Vec<_>>()
        });
        Self { rows: rows.collect(), common: 1.0 }
    }

    /// One run: a factor for each class, and each row's own. Student's with 5 degrees: one run in fifty is far off.
    fn run(&self, random: &mut Random) -> Vec<f64> {
        let heavy = |random: &mut Random| {
            let spread = (0..5).map(|_| random.normal().powi(2)).sum::<f64>() / 5.0;
            random.normal() / spread.sqrt()
        };
        let factors: BTreeMap<RowClass, f64> =
            CLASSES.iter().map(|(class, _, spread)| (*class, self.common * spread * heavy(random))).collect();
        self.rows.iter().map(|(class, spread)| factors[class] + spread * heavy(random)).collect()
    }

    fn compared(
        &self,
        random: &mut Random,
        runs: usize,
        earlier: usize,
        shift: &dyn Fn(RowClass) -> f64,
    ) -> Differences {
        let taken: Vec<Vec<f64>> = (0..2 * runs + earlier).map(|_| self.run(random)).collect();
        let rows: Vec<RowRuns> = self
            .rows
            .iter()
            .enumerate()
            .map(|(index, (class, _))| {
                let of = |from: usize, to: usize, add: f64| {
                    taken[from..to].iter().map(|run| run[index] + add).collect()
                };
                RowRuns {
                    class: *class,
                    sides: [of(0, runs, 0.0), of(runs, 2 * runs, shift(*class))],
                    history: of(2 * runs, 2 * runs + earlier, 0.0),
                    within: [0.0; 2],
                    control: false,
                }
            })
            .collect();
        between_runs(&rows, Host::Guest)
    }
}

fn claims(found: &Differences) -> [usize; 2] {
    [
        found.rows.iter().filter(|row| row.q <= LEVEL_OF_ALARMS).count(),
        found.classes.iter().filter(|class| class.difference.q <= LEVEL_OF_ALARMS).count(),
    ]
}

#[test]
fn unchanged_machines_with_class_factors_and_heavy_tails_seldom_raise_a_claim() {
    const TRIES: usize = 200;
    for (runs, earlier) in [(1, 0), (1, 6), (1, 12), (3, 0), (5, 0)] {
        let mut random = Random::new(7);
        let (mut any, mut rows, mut of) = (0, 0, 0);
        for _ in 0..TRIES {
            let machine = Machine::new(&mut random);
            let found = machine.compared(&mut random, runs, earlier, &|_| 0.0);
            let [claimed, classes] = claims(&found);
            any += usize::from(claimed + classes > 0);
            rows += claimed;
            of += found.rows.len();
        }
        // 5 % of 200 is 10; at exactly 5 % more than 17 come about once in fifty.
        assert!(any <= 17, "{runs} against {runs}, {earlier} earlier: {any} of {TRIES}");
        assert!(rows * 200 <= 2 * of, "{runs} against {runs}, {earlier} earlier: {rows} of {of} rows");
    }
}

#[test]
fn a_class_that_moves_as_a_whole_is_found_though_no_row_shows_it_alone() {
    let mut random = Random::new(11);
    let slower = |class: RowClass| if class == RowClass::ClockReads { 0.02 } else { 0.0 };
    let found = (0..40)
        .filter(|_| {
            let differences = Machine::new(&mut random).compared(&mut random, 1, 12, &slower);
            let class = differences.classes.iter().find(|one| one.class == RowClass::ClockReads);
            class.is_some_and(|one| one.difference.q <= LEVEL_OF_ALARMS)
        })
        .count();
    assert!(found >= 34, "{found} of 40");
}

#[test]
fn each_row_names_what_it_knows() {
    let mut random = Random::new(2);
    let machine = Machine::new(&mut random);
    for (runs, earlier, expected) in [
        (1, 0, Knowledge::Prior),
        (1, 2, Knowledge::Prior),
        (1, 6, Knowledge::History),
        (2, 0, Knowledge::Replicates),
        (5, 0, Knowledge::Replicates),
    ] {
        let found = machine.compared(&mut random, runs, earlier, &|_| 0.0);
        assert!(
            found.rows.iter().all(|row| row.knowledge == expected),
            "{runs} {earlier}: {:?}",
            found.rows[0]
        );
        assert!(found.classes.iter().all(|class| class.difference.knowledge == expected));
    }
}

#[test]
fn a_difference_is_never_surer_than_its_runs_are_of_themselves() {
    let row = RowRuns {
        class: RowClass::CoreLatency,
        sides: [vec![0.0; 3], vec![0.1; 3]],
        history: Vec::new(),
        within: [0.01; 2],
        control: false,
    };
    let found = between_runs(&[row], Host::Guest);
    assert!((found.rows[0].standard_error - 0.02_f64.sqrt()).abs() < 1e-12, "{found:?}");
    assert!(found.classes.is_empty() && found.rows[0].q > 0.05);
}

#[test]
fn a_control_stays_out_of_the_family_and_of_its_class() {
    let row = |class, log: f64, control| RowRuns {
        class,
        sides: [vec![0.0], vec![log]],
        history: Vec::new(),
        within: [0.0; 2],
        control,
    };
    let rows = [
        row(RowClass::Arithmetic, 2.0, true),
        row(RowClass::Arithmetic, 2.0, true),
        row(RowClass::Stream, 0.0, false),
    ];
    let found = between_runs(&rows, Host::BareMetal);
    assert!(found.rows[0].q < 0.01 && found.rows[2].q > 0.9 && found.classes.is_empty(), "{found:?}");
}

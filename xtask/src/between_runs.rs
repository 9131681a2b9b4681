//! `cargo xtask between-runs`: what `sidestep compare` claims of runs with nothing changed between them, and what it finds of changes put
//! into the windows of one side.

mod precision;
mod saved;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use experiments::compare::{Configuration, Options, compare};
use record::{ComparisonRow, ComparisonTable};
use stats::{LEVEL_OF_ALARMS, Random, RowClass, Verdict};

use crate::table::{head, percent};
use crate::totals::Totals;
use saved::Saved;

/// What compare claims of unchanged and of changed runs, from saved windows
///
/// Prints Markdown tables: comparisons of unchanged runs that claim anything, rows claimed; rows and classes found of changes planted
/// into all memory rows of one side; rows called equivalent that differ by twice the margin; power against a test that knows the true
/// spread. Fails if more than 5 % of unchanged comparisons claim anything or 0.5 % of their rows, or if more than 5 % of rows that
/// differ by twice the margin are called equivalent.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Windows of many check-ups (quantiles by series, JSON packed by gzip), each check-up an epoch, three a run; or a folder of records
    /// of one unchanged machine
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Of every choice of runs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Comparisons of several runs a side, and of each planted change
    #[arg(long, default_value_t = 100)]
    splits: usize,
    /// Unchanged pairs at most, chosen by chance
    #[arg(long, default_value_t = usize::MAX)]
    most: usize,
}

/// Changes of the cost that are planted.
const PLANTED: [f64; 5] = [0.03, 0.05, 0.1, 0.2, 0.5];
/// Margins whose double is planted to see what is called equivalent.
const MARGINS_PERCENT: [f64; 3] = [5.0, 10.0, 20.0];
/// How far, in true standard errors of the difference, each row is moved for the power against the oracle.
const STANDARD_ERRORS: f64 = 5.0;
/// What all classes of memory are called here.
const MEMORY: &str = "memory as a whole";
/// What is to hold of unchanged runs.
const COMPARISONS_MOST: f64 = 0.05;
const ROWS_MOST: f64 = 0.005;

/// How runs are chosen.
#[derive(Clone, Copy)]
enum Design {
    /// One against one, all pairs, so many others at random as history.
    Pairs { history: usize },
    /// So many against as many, at random.
    Splits { runs: usize },
}

const DESIGNS: [Design; 5] = [
    Design::Pairs { history: 0 },
    Design::Pairs { history: 6 },
    Design::Pairs { history: 12 },
    Design::Splits { runs: 3 },
    Design::Splits { runs: 5 },
];

impl Design {
    fn name(self) -> String {
        match self {
            Self::Pairs { history: 0 } => "1 against 1, shipped table".to_owned(),
            Self::Pairs { history } => format!("1 against 1, {history} earlier"),
            Self::Splits { runs } => format!("{runs} against {runs}"),
        }
    }

    fn chosen(self, runs: usize, splits: usize, random: &mut Random) -> Vec<Chosen> {
        let mut shuffled = |without: &[usize]| {
            let mut left: Vec<usize> = (0..runs).filter(|run| !without.contains(run)).collect();
            random.shuffle(&mut left);
            left
        };
        match self {
            Self::Pairs { history } => (0..runs)
                .flat_map(|a| (a + 1..runs).map(move |b| [a, b]))
                .map(|[a, b]| Chosen {
                    sides: [vec![a], vec![b]],
                    history: shuffled(&[a, b]).into_iter().take(history).collect(),
                })
                .collect(),
            Self::Splits { runs: each } if 2 * each <= runs => (0..splits)
                .map(|_| {
                    let all = shuffled(&[]);
                    let sides = [all[..each].to_vec(), all[each..2 * each].to_vec()];
                    Chosen { sides, history: Vec::new() }
                })
                .collect(),
            Self::Splits { .. } => Vec::new(),
        }
    }

    /// At most so many of them.
    fn some(self, runs: usize, splits: usize, seed: u64) -> Vec<Chosen> {
        let mut chosen = self.chosen(runs, splits, &mut Random::new(seed));
        Random::new(seed).shuffle(&mut chosen);
        chosen.truncate(splits);
        chosen
    }
}

/// The runs of one comparison.
struct Chosen {
    sides: [Vec<usize>; 2],
    history: Vec<usize>,
}

impl Chosen {
    fn compared(&self, saved: &Saved, planted: saved::Planted<'_>, margin: Option<f64>) -> ComparisonTable {
        let sides = [saved.side("a", &self.sides[0], &|_, _| 1.0), saved.side("b", &self.sides[1], planted)];
        let history: Vec<Configuration> =
            self.history.iter().map(|run| saved.run(*run, &|_, _| 1.0)).collect();
        let options = Options { margin_percent: margin, ..Options::default() };
        compare(&sides, &history, &options).expect("runs of one file hold the same tests")
    }
}

/// `cargo xtask between-runs`.
pub fn run(arguments: &Arguments) -> anyhow::Result<Totals> {
    let Arguments { files, seed, splits, most } = arguments;
    let mut totals = Totals::default();
    for file in files {
        let saved = saved::read(file)?;
        println!("\n{}: {} runs\n", saved.name, saved.count());
        totals.add(unchanged(&saved, (*splits, *most), *seed));
        changed(&saved, *splits, *seed);
        totals.add(equivalence(&saved, *splits, *seed));
        power(&saved, *splits, *seed);
        precision::print(&saved);
    }
    Ok(totals)
}

fn is_claim(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn rows_claimed(table: &ComparisonTable) -> impl Iterator<Item = &ComparisonRow> {
    table.rows.iter().filter(|row| is_claim(row.verdict))
}

/// Nothing planted.
fn unchanged(saved: &Saved, (splits, most): (usize, usize), seed: u64) -> Totals {
    head("nothing changed | comparisons | claim anything | rows claimed | doubtful | claimed");
    let mut totals = Totals::default();
    for design in DESIGNS {
        let mut chosen = design.chosen(saved.count(), splits, &mut Random::new(seed));
        if chosen.len() > most {
            Random::new(seed).shuffle(&mut chosen);
            chosen.truncate(most);
        }
        let (mut any, mut claimed, mut of, mut doubtful) = (0, 0, 0, 0);
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for one in &chosen {
            let table = one.compared(saved, &|_, _| 1.0, None);
            let classes: Vec<String> = table
                .classes
                .iter()
                .filter(|class| is_claim(class.verdict))
                .map(|class| class.class.name().to_owned())
                .chain(table.memory.iter().filter(|one| is_claim(one.verdict)).map(|_| MEMORY.to_owned()))
                .collect();
            let rows: Vec<String> = rows_claimed(&table).map(|row| row.name.clone()).collect();
            any += usize::from(!rows.is_empty() || !classes.is_empty());
            claimed += rows.len();
            of += table.rows.len();
            doubtful += usize::from(table.drift.doubtful);
            rows.into_iter().chain(classes).for_each(|name| *names.entry(name).or_default() += 1);
        }
        let mut most: Vec<(String, usize)> = names.into_iter().collect();
        most.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let most: Vec<String> = most.iter().take(3).map(|(name, times)| format!("{name} {times}")).collect();
        let (name, count) = (design.name(), chosen.len());
        println!(
            "| {name} | {count} | {:.1} % | {:.2} % | {doubtful} | {} |",
            percent(any, count),
            percent(claimed, of),
            most.join(", ")
        );
        let holds = any as f64 <= COMPARISONS_MOST * count as f64 && claimed as f64 <= ROWS_MOST * of as f64;
        totals.add(Totals::one(holds, format!("between-runs: {}, unchanged, {name}", saved.name)));
    }
    totals
}

/// The same change of the cost in all memory rows of one side.
fn changed(saved: &Saved, splits: usize, seed: u64) {
    println!();
    head("all memory rows slower by | 3 % | 5 % | 10 % | 20 % | 50 %");
    for design in DESIGNS {
        let chosen = design.some(saved.count(), splits, seed);
        if chosen.is_empty() {
            continue;
        }
        let mut by_class: BTreeMap<RowClass, Vec<[usize; 2]>> = BTreeMap::new();
        let mut line = format!("| {}: rows found, median (classes) |", design.name());
        let mut headlines = format!("| - {MEMORY} |");
        for (column, planted) in PLANTED.into_iter().enumerate() {
            let (mut rows, mut of, mut classes, mut headline) = (Vec::new(), 0, 0, 0);
            for one in &chosen {
                let table = one.compared(
                    saved,
                    &|class, _| if class.is_memory() { 1.0 + planted } else { 1.0 },
                    None,
                );
                headline += table.memory.iter().filter(|one| one.verdict == Verdict::Slower).count();
                let memory = table.classes.iter().filter(|class| class.class.is_memory());
                let names: Vec<&String> = memory.clone().flat_map(|class| &class.rows).collect();
                rows.push(rows_claimed(&table).filter(|row| names.contains(&&row.name)).count() as f64);
                of = names.len();
                for class in memory {
                    let found = class.verdict == Verdict::Slower;
                    classes += usize::from(found);
                    let counts = by_class.entry(class.class).or_insert_with(|| vec![[0; 2]; PLANTED.len()]);
                    counts[column][0] += usize::from(found);
                    counts[column][1] += 1;
                }
            }
            let median = stats::median(&rows).unwrap_or(0.0);
            let classes = classes as f64 / chosen.len() as f64;
            write!(line, " {median:.0} of {of} ({classes:.1}) |").expect("text takes what is written");
            write!(headlines, " {:.0} % |", percent(headline, chosen.len()))
                .expect("text takes what is written");
        }
        println!("{line}\n{headlines}");
        for (class, counts) in by_class {
            let found: Vec<String> =
                counts.iter().map(|[found, of]| format!("{:.0} %", percent(*found, *of))).collect();
            println!("| - {} as a whole | {} |", class.name(), found.join(" | "));
        }
    }
}

/// Rows that differ by twice the margin: how many are called equivalent.
fn equivalence(saved: &Saved, splits: usize, seed: u64) -> Totals {
    println!();
    head("differ by twice the margin | margin 5 % | 10 % | 20 %");
    let mut totals = Totals::default();
    for design in DESIGNS {
        let chosen = design.some(saved.count(), splits, seed);
        let mut line = format!("| {}: called equivalent |", design.name());
        for margin in MARGINS_PERCENT {
            let (mut equivalent, mut of) = (0, 0);
            for one in &chosen {
                let table = one.compared(saved, &|_, _| 1.0 + 2.0 * margin / 100.0, Some(margin));
                equivalent += table.rows.iter().filter(|row| row.verdict == Verdict::Equivalent).count();
                of += table.rows.len();
            }
            let share = percent(equivalent, of);
            write!(line, " {share:.2} % |").expect("text takes what is written");
            let name = format!("between-runs: {}, equivalent, {}, {margin} %", saved.name, design.name());
            totals.add(Totals::one(share <= 100.0 * LEVEL_OF_ALARMS, name));
        }
        println!("{line}");
    }
    totals
}

/// Every row moved by five of its own true standard errors: found by us, and by a test that knows them.
fn power(saved: &Saved, splits: usize, seed: u64) {
    println!();
    head("5 true standard errors planted in every row | found | by the oracle | share");
    let truth = true_spreads(saved);
    for design in DESIGNS {
        let chosen = design.some(saved.count(), splits, seed);
        let mut by_class: BTreeMap<RowClass, [usize; 3]> = BTreeMap::new();
        for one in &chosen {
            let per_run: f64 = one.sides.iter().map(|side| 1.0 / side.len() as f64).sum();
            let error = |spread: f64| spread * per_run.sqrt();
            let shift = |class: RowClass, row: &str| {
                let moved = truth.get(row).map_or(0.0, |spread| STANDARD_ERRORS * error(*spread));
                if class == RowClass::Arithmetic { 1.0 } else { moved.exp() }
            };
            let table = one.compared(saved, &shift, None);
            let class_of = classes_of(&table);
            let rows: Vec<&ComparisonRow> = table.rows.iter().filter(|row| !row.control).collect();
            let p_values: Vec<f64> = rows
                .iter()
                .map(|row| {
                    let log = (row.b / row.a).ln().abs();
                    let spread = truth.get(&row.name).copied().unwrap_or(f64::INFINITY);
                    2.0 * stats::normal_cdf(-log / error(spread))
                })
                .collect();
            let oracle = stats::benjamini_hochberg(&p_values);
            for (row, q) in rows.iter().zip(oracle) {
                let Some(class) = class_of.get(row.name.as_str()) else { continue };
                let counts = by_class.entry(*class).or_default();
                counts[0] += usize::from(is_claim(row.verdict));
                counts[1] += usize::from(q <= LEVEL_OF_ALARMS);
                counts[2] += 1;
            }
        }
        let line = |name: &str, [found, by_oracle, of]: [usize; 3]| {
            let [ours, best] = [found, by_oracle].map(|part| percent(part, of));
            println!("| {name} | {ours:.0} % | {best:.0} % | {:.0} % |", percent(found, by_oracle));
        };
        let all = by_class.values().fold([0; 3], |sum, one| std::array::from_fn(|at| sum[at] + one[at]));
        line(&design.name(), all);
        for (class, counts) in by_class {
            line(&format!("- {}", class.name()), counts);
        }
    }
}

/// The class of each row.
fn classes_of(table: &ComparisonTable) -> BTreeMap<&str, RowClass> {
    let of = |class: &record::ComparisonClass| class.class;
    table
        .classes
        .iter()
        .flat_map(|class| class.rows.iter().map(move |row| (row.as_str(), of(class))))
        .collect()
}

/// Standard deviation of the logarithm of every row over all runs.
fn true_spreads(saved: &Saved) -> BTreeMap<String, f64> {
    let first = saved.run(0, &|_, _| 1.0);
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in 1..saved.count() {
        let sides = [first.clone(), saved.run(run, &|_, _| 1.0)];
        let table = compare(&sides, &[], &Options::default()).expect("runs of one file hold the same tests");
        for row in table.rows {
            let logs = values.entry(row.name).or_insert_with(|| vec![row.a.ln()]);
            logs.push(row.b.ln());
        }
    }
    values.iter().map(|(name, logs)| (name.clone(), stats::sample_variance(logs).sqrt())).collect()
}

//! What the programme over groups leaves open: a pair of threads is together or apart, and each case has a bound of its own.
//!
//! A pair that is to be together is worth much more, which is taken off again in the end; one that is to be apart is worth much
//! less. Placements that obey keep their value, so that the prices of the changed problem prove a bound for them.

use crate::bound::Prices;
use crate::certificate::{Branch, Price};
use crate::problem::PairValues;
use crate::programme::{self, Programme, Solved};

/// A pair is worth this many times more or less than all others of its threads could make up for.
const FORCE: f64 = 4.0;
/// Pairs nearer than this to wholly together or apart are not asked about.
const OPEN_MIN: f64 = 1e-3;

struct Node {
    together: Vec<[usize; 2]>,
    apart: Vec<[usize; 2]>,
    solved: Solved,
}

/// Splits the case with the highest bound until that is no higher than is good enough, or the work is done; says the bound, too.
pub(crate) fn split(whole: &Programme<'_>, root: Solved, work_max: u64, seed: u64) -> (f64, Vec<Branch>) {
    let force = FORCE * whole.pairs.largest() * whole.sizes.most as f64;
    let mut work = 0;
    let mut nodes = vec![Node { together: Vec::new(), apart: Vec::new(), solved: root }];
    loop {
        let highest = (0..nodes.len())
            .max_by(|one, other| {
                nodes[*one].solved.prices.bound.total_cmp(&nodes[*other].solved.prices.bound)
            })
            .expect("there is the root");
        let node = &nodes[highest];
        let bound = node.solved.prices.bound;
        let pair = open_pair(whole.pairs.threads(), node);
        let Some(pair) = pair.filter(|_| bound > whole.good_enough && work < work_max) else {
            return (bound, nodes.into_iter().map(|node| branch(node, whole.groups, force)).collect());
        };
        let children = [true, false].map(|is_together| {
            let (mut together, mut apart) = (node.together.clone(), node.apart.clone());
            if is_together { &mut together } else { &mut apart }.push(pair);
            let solved = solve(whole, &together, &apart, force, work_max.saturating_sub(work), seed);
            work += solved.work;
            Node { together, apart, solved }
        });
        if children.iter().any(|child| child.solved.prices.bound > bound) {
            // The work ran out before they were any use.
            return (bound, nodes.into_iter().map(|node| branch(node, whole.groups, force)).collect());
        }
        nodes.swap_remove(highest);
        nodes.extend(children);
    }
}

fn solve(
    whole: &Programme<'_>,
    together: &[[usize; 2]],
    apart: &[[usize; 2]],
    force: f64,
    work_max: u64,
    seed: u64,
) -> Solved {
    let pairs = PairValues::from_fn(whole.pairs.threads(), |one, other| {
        let more = if together.contains(&[one, other]) { force } else { 0.0 };
        let less = if apart.contains(&[one, other]) { force } else { 0.0 };
        whole.pairs.of(one, other) + more - less
    });
    let given = force * together.len() as f64;
    let start = whole.start.clone();
    let good_enough = whole.good_enough + given;
    let changed = Programme { pairs: &pairs, start, good_enough, work_max, ..*whole };
    let solved = programme::solve(&changed, seed);
    let bound = solved.prices.bound - given;
    Solved { prices: Prices { bound, ..solved.prices }, ..solved }
}

/// The pair that is most undecided in the groups that the programme chose in fractions.
fn open_pair(threads: usize, node: &Node) -> Option<[usize; 2]> {
    let mut of_pair = vec![0.0; threads * threads];
    for (amount, group) in &node.solved.chosen {
        for (at, one) in group.iter().enumerate() {
            for other in &group[at + 1..] {
                of_pair[one * threads + other] += amount;
            }
        }
    }
    let open = |pair: &[usize; 2]| {
        let amount: f64 = of_pair[pair[0] * threads + pair[1]];
        amount.min(1.0 - amount)
    };
    let pairs = (0..threads).flat_map(|one| (one + 1..threads).map(move |other| [one, other]));
    let undecided = pairs.filter(|pair| !node.together.contains(pair) && !node.apart.contains(pair));
    undecided.filter(|pair| open(pair) > OPEN_MIN).max_by(|one, other| open(one).total_cmp(&open(other)))
}

fn branch(node: Node, units: usize, force: f64) -> Branch {
    let Prices { of_thread, of_triple, .. } = node.solved.prices;
    let price = Price { units, of_thread, of_triple };
    Branch { together: node.together, apart: node.apart, force, price }
}

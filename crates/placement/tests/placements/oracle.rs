//! What the optimiser is held against: all placements one by one, and certificates checked by their definition.

use placement::{Branch, Certificate, Level, MatchingPrices, PairValues, Price, Problem, Triangle};

/// The best value over all placements; units of one level are alike.
pub(crate) fn best_value(problem: &Problem) -> f64 {
    let mut unit_of = vec![0; problem.threads()];
    place(problem, &mut unit_of, 0)
}

/// With more than one level units are not alike, and all are tried.
fn place(problem: &Problem, unit_of: &mut Vec<usize>, thread: usize) -> f64 {
    if thread == problem.threads() {
        return problem.value(unit_of).unwrap_or(f64::NEG_INFINITY);
    }
    let used = unit_of[..thread].iter().max().map_or(0, |unit| unit + 1);
    let alike = problem.levels().len() == 1;
    let last = if alike { (used + 1).min(problem.units()) } else { problem.units() };
    let mut best = f64::NEG_INFINITY;
    for unit in 0..last {
        if unit_of[..thread].iter().filter(|other| **other == unit).count() < problem.capacity() {
            unit_of[thread] = unit;
            best = best.max(place(problem, unit_of, thread + 1));
        }
    }
    best
}

/// The bound that a certificate proves, by its definition; none if it proves nothing.
pub(crate) fn proven(problem: &Problem, certificate: &Certificate) -> Option<f64> {
    match certificate {
        Certificate::Exhaustive => Some(best_value(problem)),
        Certificate::Matching(proofs) => by_matchings(problem, proofs),
        Certificate::Groups(prices) => by_groups(problem, prices),
        Certificate::Branches(branches) => by_branches(problem, &branches.iter().collect::<Vec<_>>(), 0),
        Certificate::Shares(shares) => by_shares(problem, shares),
        Certificate::Triangles { of_thread, triangles } => by_triangles(problem, of_thread, triangles),
        Certificate::Levels(levels) => {
            levels.iter().enumerate().map(|(index, one)| level(problem, index, one)).sum()
        }
    }
}

fn level(problem: &Problem, index: usize, certificate: &Certificate) -> Option<f64> {
    let level = &problem.levels()[index];
    let units = problem.units() * problem.capacity() / level.capacity;
    let awake = |units| if index == 0 { problem.awake_value(units) } else { 0.0 };
    let alone = Problem::new(problem.threads(), vec![level.clone()], units, (0..=units).map(awake).collect())
        .expect("alone");
    proven(&alone, certificate)
}

/// The sum that one set of duals proves for the best matching.
fn by_matching(problem: &Problem, proof: &MatchingPrices) -> Option<f64> {
    let items = proof.of_item.len();
    if items != 2 * proof.units.unwrap_or(problem.units()) {
        return None;
    }
    let mut of_pair = vec![0.0; items * items];
    let mut bound: f64 = proof.of_item.iter().sum();
    for (members, price) in &proof.of_set {
        if members.len() % 2 == 0 || *price < 0.0 {
            return None;
        }
        bound += price * ((members.len() - 1) / 2) as f64;
        for one in members {
            for other in members {
                of_pair[one * items + other] += price;
            }
        }
    }
    for one in 0..items {
        for other in one + 1..items {
            let both_empty = one >= problem.threads();
            let value =
                if other < problem.threads() { problem.levels()[0].pairs.of(one, other) } else { 0.0 };
            let covered = proof.of_item[one] + proof.of_item[other] + of_pair[one * items + other];
            if !(both_empty && proof.units.is_some()) && covered < value - 1e-9 * (1.0 + value.abs()) {
                return None;
            }
        }
    }
    Some(bound)
}

fn by_matchings(problem: &Problem, proofs: &[MatchingPrices]) -> Option<f64> {
    let mut known = Vec::new();
    for proof in proofs {
        let bound = by_matching(problem, proof)?;
        match proof.units {
            None => {
                let range = problem.usable_units();
                return Some(
                    bound + range.map(|units| problem.awake_value(units)).fold(f64::NEG_INFINITY, f64::max),
                );
            }
            Some(units) => known.push((units, bound)),
        }
    }
    // Numbers of units without a proof: by concavity, from two on one side.
    let ceiling = |units: usize| -> f64 {
        if let Some((_, bound)) = known.iter().find(|(have, _)| *have == units) {
            return *bound;
        }
        let lines = known.iter().flat_map(|one| known.iter().map(move |other| (one, other)));
        let outside = lines
            .filter(|(near, far)| (far.0 < near.0 && near.0 < units) || (far.0 > near.0 && near.0 > units));
        let along = outside.map(|(near, far)| {
            let slope = (near.1 - far.1) / (near.0 as f64 - far.0 as f64);
            near.1 + slope * (units as f64 - near.0 as f64)
        });
        along.fold(f64::INFINITY, f64::min)
    };
    Some(
        problem
            .usable_units()
            .map(|units| ceiling(units) + problem.awake_value(units))
            .fold(f64::NEG_INFINITY, f64::max),
    )
}

/// Of up to so many threads all groups are looked at.
const PLAIN_THREADS_MAX: usize = 30;

/// Every group by a plain recursion; where there are many, without those that cannot be the best.
fn by_groups(problem: &Problem, prices: &[Price]) -> Option<f64> {
    let full = problem.threads() == problem.units() * problem.capacity();
    let mut bound = f64::NEG_INFINITY;
    for units in problem.usable_units() {
        let price = prices.iter().find(|price| price.units == units)?;
        let least = if full { problem.capacity() } else { 1 };
        if price.of_triple.iter().any(|(_, price)| *price < 0.0) {
            return None;
        }
        let paid: f64 =
            price.of_thread.iter().sum::<f64>() + price.of_triple.iter().map(|(_, price)| price).sum::<f64>();
        let excess = if problem.threads() <= PLAIN_THREADS_MAX {
            largest_excess(problem, price, &mut Vec::new(), least)
        } else {
            let all: Vec<usize> = (0..problem.threads()).collect();
            largest_of_many(problem, price, &[], &all, least, f64::NEG_INFINITY)
        };
        bound = bound.max(paid + units as f64 * excess + problem.awake_value(units));
    }
    Some(bound)
}

fn largest_excess(problem: &Problem, price: &Price, members: &mut Vec<usize>, least: usize) -> f64 {
    let mut best = f64::NEG_INFINITY;
    if members.len() >= least {
        best = excess(problem, price, members);
    }
    if members.len() < problem.capacity() {
        for thread in members.last().map_or(0, |last| last + 1)..problem.threads() {
            members.push(thread);
            best = best.max(largest_excess(problem, price, members, least));
            members.pop();
        }
    }
    best
}

/// What a group is worth beyond what it pays.
fn excess(problem: &Problem, price: &Price, members: &[usize]) -> f64 {
    let pairs = &problem.levels()[0].pairs;
    let mut excess = 0.0;
    for (at, one) in members.iter().enumerate() {
        excess -= price.of_thread[*one];
        for other in &members[..at] {
            excess += pairs.of(*one, *other);
        }
    }
    for (triple, of_triple) in &price.of_triple {
        if triple.iter().filter(|thread| members.contains(thread)).count() >= 2 {
            excess -= of_triple;
        }
    }
    excess
}

/// The largest excess of the members with some of the candidates, or `known`, if that is larger.
///
/// No candidate brings more than its price, its pairs with members, half of its best pairs with other candidates, and half of
/// each triple with one member (of two that come, each pays half), while pairs of candidates pay a third of each triple without
/// a member (of three that come, there are three pairs).
fn largest_of_many(
    problem: &Problem,
    price: &Price,
    members: &[usize],
    candidates: &[usize],
    least: usize,
    known: f64,
) -> f64 {
    let so_far = excess(problem, price, members);
    let mut best = if members.len() >= least { known.max(so_far) } else { known };
    let room = problem.capacity() - members.len();
    if room == 0 || candidates.is_empty() {
        return best;
    }
    let is_free = least < problem.capacity();
    let pairs = &problem.levels()[0].pairs;
    let mut of_pair = vec![vec![0.0; problem.threads()]; problem.threads()];
    let mut brings: Vec<f64> = price.of_thread.iter().map(|price| -price).collect();
    for (one, brought) in brings.iter_mut().enumerate() {
        *brought += members.iter().map(|member| pairs.of(*member, one)).sum::<f64>();
        (0..problem.threads()).for_each(|other| of_pair[one][other] = pairs.of(one, other));
    }
    for (triple, of_triple) in &price.of_triple {
        let inside = triple.iter().filter(|thread| members.contains(thread)).count();
        for one in triple {
            match inside {
                0 => triple.iter().for_each(|other| of_pair[*one][*other] -= of_triple / 3.0),
                1 => brings[*one] -= of_triple / 2.0,
                _ => {}
            }
        }
    }
    let floor = |value: f64| if is_free { value.max(0.0) } else { value };
    let ceiling = |one: usize| {
        let others = candidates.iter().filter(|other| **other != one);
        let mut values: Vec<f64> = others.map(|other| floor(of_pair[one][*other])).collect();
        let best = (room - 1).min(values.len());
        if best < values.len() {
            values.select_nth_unstable_by(best, |one, other| other.total_cmp(one));
        }
        brings[one] + values[..best].iter().sum::<f64>() / 2.0
    };
    let mut order: Vec<(f64, usize)> = candidates.iter().map(|one| (ceiling(*one), *one)).collect();
    order.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (at, (first, thread)) in order.iter().enumerate() {
        let others: f64 = order[at + 1..].iter().take(room - 1).map(|(value, _)| floor(*value)).sum();
        if so_far + first + others <= best || !is_free && order.len() - at < room {
            break;
        }
        let more: Vec<usize> = members.iter().copied().chain([*thread]).collect();
        let rest: Vec<usize> = order[at + 1..].iter().map(|(_, thread)| *thread).collect();
        best = largest_of_many(problem, price, &more, &rest, least, best);
    }
    best
}

/// Cases that agree on so many decisions: a single one proves its bound, several are split by a pair that all of them decide.
fn by_branches(problem: &Problem, branches: &[&Branch], agreed: usize) -> Option<f64> {
    let first = branches.first()?;
    if branches.len() == 1 {
        let decided = first.together.len() + first.apart.len();
        return if decided == agreed { by_branch(problem, first) } else { None };
    }
    let decisions = first.together.iter().chain(&first.apart);
    let splits = |pair: &&[usize; 2]| {
        let sides = |branch: &&Branch| (branch.together.contains(pair), branch.apart.contains(pair));
        let all: Vec<(bool, bool)> = branches.iter().map(sides).collect();
        all.iter().all(|(together, apart)| together != apart)
            && all.iter().any(|one| one.0)
            && all.iter().any(|one| one.1)
    };
    let pair = decisions.copied().find(|pair| splits(&pair))?;
    let (together, apart): (Vec<&Branch>, Vec<&Branch>) =
        branches.iter().partition(|branch| branch.together.contains(&pair));
    Some(by_branches(problem, &together, agreed + 1)?.max(by_branches(problem, &apart, agreed + 1)?))
}

fn by_branch(problem: &Problem, branch: &Branch) -> Option<f64> {
    let pairs = &problem.levels()[0].pairs;
    let changed = PairValues::from_fn(problem.threads(), |one, other| {
        let raised = f64::from(u8::from(branch.together.contains(&[one, other])));
        let lowered = f64::from(u8::from(branch.apart.contains(&[one, other])));
        pairs.of(one, other) + branch.force * (raised - lowered)
    });
    let level = Level { capacity: problem.capacity(), pairs: changed };
    let awake = (0..=problem.units()).map(|units| problem.awake_value(units)).collect();
    let changed = Problem::new(problem.threads(), vec![level], problem.units(), awake).ok()?;
    let bound = by_groups(&changed, std::slice::from_ref(&branch.price))?;
    Some(bound - branch.force * branch.together.len() as f64)
}

fn by_shares(problem: &Problem, shares: &[Vec<f64>]) -> Option<f64> {
    let pairs = &problem.levels()[0].pairs;
    let mut bound = 0.0;
    for (one, own) in shares.iter().enumerate() {
        for (other, share) in own.iter().enumerate().take(one) {
            let value = pairs.of(one, other);
            if (share + shares[other][one] - value).abs() > 1e-9 * (1.0 + value.abs()) {
                return None;
            }
        }
        let mut sorted: Vec<f64> =
            own.iter().enumerate().filter(|(other, _)| *other != one).map(|one| *one.1).collect();
        sorted.sort_by(|one, other| other.total_cmp(one));
        bound += sorted.iter().take(problem.capacity() - 1).filter(|share| **share > 0.0).sum::<f64>();
    }
    let range = problem.usable_units();
    Some(bound + range.map(|units| problem.awake_value(units)).fold(f64::NEG_INFINITY, f64::max))
}

fn by_triangles(problem: &Problem, of_thread: &[f64], triangles: &[Triangle]) -> Option<f64> {
    let threads = problem.threads();
    let is_full = threads == problem.units() * problem.capacity();
    let is_negative = |price: &f64| *price < 0.0;
    let wrong_triangle = |one: &Triangle| {
        let [first, second] = one.others;
        one.price < 0.0 || first == second || first == one.middle || second == one.middle
    };
    let wrong_thread = !is_full && of_thread.iter().any(is_negative);
    if of_thread.len() != threads || wrong_thread || triangles.iter().any(wrong_triangle) {
        return None;
    }
    let mut worth = vec![vec![0.0; threads]; threads];
    for (one, row) in worth.iter_mut().enumerate() {
        for (other, worth) in row.iter_mut().enumerate() {
            *worth = problem.levels()[0].pairs.of(one, other) - of_thread[one] - of_thread[other];
        }
    }
    for Triangle { middle, others: [first, second], price } in triangles {
        for (one, other, change) in
            [(*middle, *first, -price), (*middle, *second, -price), (*first, *second, *price)]
        {
            worth[one][other] += change;
            worth[other][one] += change;
        }
    }
    let pairs = (0..threads).flat_map(|one| (0..one).map(move |other| (one, other)));
    let of_pairs: f64 = pairs.map(|(one, other)| worth[one][other].max(0.0)).sum();
    let others = problem.capacity().min(threads) as f64 - 1.0;
    let paid = others * of_thread.iter().sum::<f64>() + triangles.iter().map(|one| one.price).sum::<f64>();
    let awake = problem.usable_units().map(|units| problem.awake_value(units));
    Some(of_pairs + paid + awake.fold(f64::NEG_INFINITY, f64::max))
}

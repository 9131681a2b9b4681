//! A tree that joins the nearest first, by the mean of what is known between two parts (UPGMA).

/// The joins, in the order of their heights.
pub(super) struct Dendrogram {
    count: usize,
    joins: Vec<Join>,
}

/// Two parts become one.
struct Join {
    /// A member of each.
    ends: (usize, usize),
    /// The mean distance between them; never less than that of a join before.
    height: f64,
}

/// Sums over the pairs of two parts, so that the mean of joined parts is exact although some pairs are unknown.
#[derive(Clone, Copy, Default)]
struct Known {
    sum: f64,
    count: f64,
}

impl Known {
    /// Nothing known is farthest.
    fn mean(self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { f64::INFINITY }
    }
}

/// Parts that are still apart; a part is named by one of its members.
struct Parts {
    count: usize,
    known: Vec<Known>,
    alive: Vec<usize>,
    /// The nearest other part of each, and how far.
    nearest: Vec<(f64, usize)>,
}

impl Dendrogram {
    /// Joins all that is known to be joined, from the distances of pairs.
    pub(super) fn of(count: usize, distances: impl Iterator<Item = (usize, usize, f64)>) -> Self {
        let mut known = vec![Known::default(); count * count];
        for (one, other, distance) in distances {
            known[one * count + other] = Known { sum: distance, count: 1.0 };
            known[other * count + one] = Known { sum: distance, count: 1.0 };
        }
        let mut parts =
            Parts { count, known, alive: (0..count).collect(), nearest: vec![(f64::INFINITY, 0); count] };
        (0..count).for_each(|part| parts.look(part));
        let mut joins: Vec<Join> = Vec::new();
        while let Some((one, other, distance)) = parts.closest() {
            let height = joins.last().map_or(distance, |last| last.height.max(distance));
            joins.push(Join { ends: (one, other), height });
            parts.join(one, other);
        }
        Self { count, joins }
    }

    /// The groups before each join that is higher than the one before by at least `least`, and by how much it is, finest first.
    pub(super) fn steps(&self, least: f64) -> impl Iterator<Item = (f64, Vec<usize>)> + '_ {
        let mut group: Vec<usize> = (0..self.count).collect();
        self.joins.iter().zip(self.joins.iter().skip(1)).filter_map(move |(join, next)| {
            let (keep, drop) = (group[join.ends.0], group[join.ends.1]);
            group.iter_mut().filter(|name| **name == drop).for_each(|name| *name = keep);
            let step = next.height - join.height;
            (step >= least).then(|| (step, group.clone()))
        })
    }
}

impl Parts {
    fn mean(&self, one: usize, other: usize) -> f64 {
        self.known[one * self.count + other].mean()
    }

    /// Finds the nearest of one part again.
    fn look(&mut self, part: usize) {
        let others = self.alive.iter().filter(|other| **other != part);
        let nearest =
            others.map(|other| (self.mean(part, *other), *other)).min_by(|a, b| a.0.total_cmp(&b.0));
        self.nearest[part] = nearest.unwrap_or((f64::INFINITY, part));
    }

    /// The nearest two parts; none if nothing is known of those that are left.
    fn closest(&self) -> Option<(usize, usize, f64)> {
        let nearest = self.alive.iter().map(|part| (self.nearest[*part], *part));
        let ((distance, other), one) = nearest.min_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
        distance.is_finite().then_some((one, other, distance))
    }

    fn join(&mut self, one: usize, other: usize) {
        self.alive.retain(|part| *part != other);
        for index in 0..self.alive.len() {
            let third = self.alive[index];
            if third == one {
                continue;
            }
            let further = self.known[other * self.count + third];
            let joined = &mut self.known[one * self.count + third];
            *joined = Known { sum: joined.sum + further.sum, count: joined.count + further.count };
            let joined = *joined;
            self.known[third * self.count + one] = joined;
            let (distance, nearest) = self.nearest[third];
            if nearest == one || nearest == other {
                self.look(third);
            } else if joined.mean() < distance {
                self.nearest[third] = (joined.mean(), one);
            }
        }
        self.look(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_are_joined_first_and_what_is_unknown_is_never_joined() {
        let known = [(0, 1, 1.0), (2, 3, 1.5), (0, 2, 4.0), (1, 3, 6.0)];
        let tree = Dendrogram::of(5, known.into_iter());
        assert_eq!(tree.joins.iter().map(|join| join.height).collect::<Vec<_>>(), [1.0, 1.5, 5.0]);
        assert_eq!(tree.steps(1.0).collect::<Vec<_>>(), [(3.5, vec![0, 0, 2, 2, 4])]);
        assert_eq!(Dendrogram::of(0, std::iter::empty()).steps(0.0).count(), 0);
    }
}

//! A counter that runs at one rate, then at another.

/// From a time on, a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    from_ns: f64,
    ticks: f64,
    hz: f64,
}

/// What the counter of one core shows at each time. Ticks have fractions here: reading is for whoever rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// Ascending; the first begins at time 0.
    pieces: Vec<Piece>,
}

impl Counter {
    /// A counter that shows 0 at time 0 and runs at a rate.
    pub fn new(hz: f64) -> Self {
        Self { pieces: vec![Piece { from_ns: 0.0, ticks: 0.0, hz }] }
    }

    /// From a time on, not before the last change, it runs at another rate.
    pub fn change(&mut self, at_ns: f64, hz: f64) {
        let last = self.last();
        if hz.to_bits() == last.hz.to_bits() {
            return;
        }
        let piece = Piece { from_ns: at_ns, ticks: shown(last, at_ns), hz };
        self.pieces.push(piece);
    }

    /// What it shows at a time.
    pub fn at(&self, at_ns: f64) -> f64 {
        let place = self.pieces.partition_point(|piece| piece.from_ns <= at_ns).max(1);
        shown(self.pieces[place - 1], at_ns)
    }

    fn last(&self) -> Piece {
        self.pieces[self.pieces.len() - 1]
    }
}

fn shown(piece: Piece, at_ns: f64) -> f64 {
    piece.ticks + (at_ns - piece.from_ns) * piece.hz / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_add_up_over_changes_of_rate() {
        let mut counter = Counter::new(1e9);
        counter.change(100.0, 2e9);
        counter.change(200.0, 0.0);
        counter.change(300.0, 1e9);
        for (at, ticks) in [(50.0, 50.0), (100.0, 100.0), (150.0, 200.0), (250.0, 300.0), (400.0, 400.0)] {
            assert!((counter.at(at) - ticks).abs() < 1e-9, "{at}");
        }
    }
}

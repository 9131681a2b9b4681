//! Expected throughput by counting: every placement of threads on CPUs, one after the other, no events.

/// A chip of equal modules.
#[derive(Clone, Copy)]
pub(crate) struct Chip<'a> {
    pub(crate) modules: usize,
    pub(crate) size: usize,
    pub(crate) speed_of_two: f64,
    /// Clock with one module awake, with two, and so on.
    pub(crate) ghz: &'a [f64],
}

impl Chip<'_> {
    /// Throughput of the CPUs whose bits are set.
    fn throughput(&self, busy: u32) -> f64 {
        let in_module = |module: usize| (busy >> (module * self.size) & ((1 << self.size) - 1)).count_ones();
        let counts: Vec<f64> = (0..self.modules).map(|module| f64::from(in_module(module))).collect();
        let awake = counts.iter().filter(|count| **count > 0.0).count();
        let added = 1.0 / self.speed_of_two - 1.0;
        let of_module = |count: &f64| count / (1.0 + added * (count - 1.0).max(0.0));
        self.ghz[awake.clamp(1, self.ghz.len()) - 1] * counts.iter().map(of_module).sum::<f64>()
    }
}

/// What the emptiest modules first gain over the mean of all placements, or over the first CPUs.
pub(crate) fn gain_percent(chip: Chip<'_>, threads: usize, over_random: bool) -> f64 {
    let cpus = chip.modules * chip.size;
    let spread: u32 =
        (0..threads).map(|thread| 1 << (thread % chip.modules * chip.size + thread / chip.modules)).sum();
    let without = if over_random {
        let placements = (0..1_u32 << cpus).filter(|busy| busy.count_ones() as usize == threads);
        let (count, sum) =
            placements.fold((0.0, 0.0), |(count, sum), busy| (count + 1.0, sum + chip.throughput(busy)));
        sum / count
    } else {
        chip.throughput((1 << threads) - 1)
    };
    (chip.throughput(spread) / without - 1.0) * 100.0
}

//! When a machine that has just booted is quiet enough to be measured: services start late, and every boot should be
//! measured at about the same age.

/// No boot is measured before it is this old, so that all are of like age. Source: our choice; most services have
/// started by then.
pub const UPTIME_LEAST_S: f64 = 60.0;
/// How long the machine is watched for one reading.
pub const LOOK_S: f64 = 2.0;
/// So many readings in a row have to be quiet.
pub const QUIET_LOOKS: usize = 3;
/// A reading is quiet if others used at most this share of one CPU.
pub const BUSY_CPUS_MAX: f64 = 0.1;
/// How long it is waited for unless asked otherwise.
pub const PATIENCE_S: f64 = 120.0;

/// What was seen of the machine since it was first looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settling {
    quiet_looks: usize,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Look again.
    Wait,
    /// It is quiet.
    Settled,
    /// It did not within the time allowed; it is measured all the same, and that is noted.
    Unsettled,
}

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Age of the boot; `None` where the kernel does not say.
    pub uptime_s: Option<f64>,
    /// Seconds since the first look.
    pub waited_s: f64,
    /// CPUs that others kept busy since the last look.
    pub busy_cpus: f64,
}

impl Settling {
    /// Takes a reading in. A boot is waited for until it is old enough whatever the patience.
    pub fn look(&mut self, look: &Look, patience_s: f64) -> Next {
        let is_quiet = look.busy_cpus <= BUSY_CPUS_MAX;
        self.quiet_looks = if is_quiet { self.quiet_looks + 1 } else { 0 };
        if look.uptime_s.is_some_and(|uptime_s| uptime_s < UPTIME_LEAST_S) {
            Next::Wait
        } else if self.quiet_looks >= QUIET_LOOKS {
            Next::Settled
        } else if look.waited_s >= patience_s {
            Next::Unsettled
        } else {
            Next::Wait
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(busy: &[f64], uptime_s: f64) -> Vec<Next> {
        let mut settling = Settling::default();
        let look = |(index, busy_cpus): (usize, &f64)| {
            let waited_s = (index + 1) as f64 * LOOK_S;
            let look = Look { uptime_s: Some(uptime_s + waited_s), waited_s, busy_cpus: *busy_cpus };
            settling.look(&look, 12.0)
        };
        busy.iter().enumerate().map(look).collect()
    }

    #[test]
    fn three_quiet_looks_in_a_row_settle_and_an_unsettled_machine_is_not_waited_for_for_ever() {
        use Next::{Settled, Unsettled, Wait};
        assert_eq!(run(&[0.0, 0.1, 0.0], 100.0), [Wait, Wait, Settled]);
        assert_eq!(run(&[0.0, 0.0, 0.5, 0.0, 0.0, 0.0], 100.0), [Wait, Wait, Wait, Wait, Wait, Settled]);
        assert_eq!(run(&[1.0; 6], 100.0), [Wait, Wait, Wait, Wait, Wait, Unsettled]);
        assert_eq!(run(&[0.0; 3], 0.0), [Wait, Wait, Wait]);
    }
}

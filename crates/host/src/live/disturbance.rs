//! Signs of disturbance: steal, other load, thermal throttling, read before and after a run; how hot the CPUs are.

use crate::Root;
use crate::task_stat::{TaskStat, ran_and_waited_ns};

/// Counters of the moment; only differences mean anything, except for the load average.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Disturbance {
    /// CPU time of all CPUs in clock ticks, idle included.
    pub total_ticks: u64,
    /// CPU time in which a CPU had nothing to do.
    pub idle_ticks: u64,
    /// CPU time that the hypervisor gave to others; `None` where the kernel does not count it.
    pub steal_ticks: Option<u64>,
    /// CPU time of this process in clock ticks.
    pub own_ticks: u64,
    /// Nanoseconds that the main thread ran, and that it waited in the run queue; `None` where the kernel does not count them.
    pub ran_and_waited_ns: Option<[u64; 2]>,
    /// Load average over one minute.
    pub load_average: Option<f64>,
    /// Thermal throttle events of all CPUs; `None` where the machine does not count them.
    pub throttle_events: Option<u64>,
}

/// Reads all counters; what is missing stays `None` or zero.
pub fn snapshot() -> Disturbance {
    let root = Root::live();
    let text = |path| root.read(path).unwrap_or_default();
    let (stat, load) = (text("/proc/stat"), text("/proc/loadavg"));
    Disturbance {
        load_average: load.split_whitespace().next().and_then(|first| first.parse().ok()),
        own_ticks: TaskStat::read(&root, "self").and_then(|own| own.cpu_ticks()).unwrap_or(0),
        ran_and_waited_ns: ran_and_waited_ns(&text("/proc/self/schedstat")),
        throttle_events: throttle_events(&root),
        ..cpu_times(&stat)
    }
}

/// The first line of /proc/stat: user nice system idle iowait irq softirq steal. proc_stat(5).
fn cpu_times(stat: &str) -> Disturbance {
    let Some(line) = stat.lines().find(|line| line.starts_with("cpu ")) else {
        return Disturbance::default();
    };
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    Disturbance {
        total_ticks: ticks.iter().sum(),
        idle_ticks: ticks.iter().skip(3).take(2).sum(),
        steal_ticks: ticks.get(7).copied(),
        ..Disturbance::default()
    }
}

/// The sum over all CPUs that count; `None` if none does.
fn throttle_events(root: &Root) -> Option<u64> {
    const CPUS: &str = "/sys/devices/system/cpu";
    let count = |name: &String| {
        let text = root.read(&format!("{CPUS}/{name}/thermal_throttle/core_throttle_count")).ok()?;
        text.parse::<u64>().ok()
    };
    root.list(CPUS).iter().filter_map(count).reduce(u64::saturating_add)
}

impl Disturbance {
    /// Share of all CPU time since `earlier` that the hypervisor gave to others.
    pub fn steal_share(&self, earlier: &Self) -> Option<f64> {
        let stolen = self.steal_ticks?.checked_sub(earlier.steal_ticks?)?;
        let total = self.total_ticks.checked_sub(earlier.total_ticks).filter(|&total| total > 0)?;
        Some(stolen as f64 / total as f64)
    }

    /// Share of the time since `earlier` in which the main thread wanted to run that it waited.
    pub fn waited_share(&self, earlier: &Self) -> Option<f64> {
        let ([ran, waited], [ran_before, waited_before]) =
            (self.ran_and_waited_ns?, earlier.ran_and_waited_ns?);
        let (ran, waited) = (ran.checked_sub(ran_before)?, waited.checked_sub(waited_before)?);
        (ran + waited > 0).then(|| waited as f64 / (ran + waited) as f64)
    }

    /// Share of all CPU time since `earlier` that other processes used.
    pub fn others_share(&self, earlier: &Self) -> Option<f64> {
        let total = self.total_ticks.checked_sub(earlier.total_ticks).filter(|&total| total > 0)?;
        let idle = self.idle_ticks.checked_sub(earlier.idle_ticks)?;
        let steal = self.steal_ticks.unwrap_or(0).saturating_sub(earlier.steal_ticks.unwrap_or(0));
        let own = self.own_ticks.saturating_sub(earlier.own_ticks);
        Some(total.saturating_sub(idle + steal + own) as f64 / total as f64)
    }
}

const HWMON: &str = "/sys/class/hwmon";
/// Drivers of the sensors in CPUs. Source: Linux, Documentation/hwmon.
const CPU_SENSORS: [&str; 5] = ["coretemp", "k10temp", "k8temp", "zenpower", "cpu_thermal"];
/// Inputs are numbered from 1; packages have one for each core and some more.
const INPUTS_MAX: usize = 256;

/// Degrees Celsius of the hottest sensor of the CPUs; `None` where there is none, as in most guests.
pub fn cpu_temperature_c(root: &Root) -> Option<f64> {
    let is_of_cpu = |folder: &String| {
        let name = root.read(&format!("{HWMON}/{folder}/name")).unwrap_or_default();
        CPU_SENSORS.contains(&name.trim())
    };
    let folders = root.list(HWMON);
    let inputs = folders.iter().filter(|folder| is_of_cpu(folder)).flat_map(|folder| {
        (1..=INPUTS_MAX)
            .map_while(move |input| root.read(&format!("{HWMON}/{folder}/temp{input}_input")).ok())
    });
    let millidegrees = inputs.filter_map(|text| text.trim().parse::<f64>().ok());
    millidegrees.reduce(f64::max).map(|hottest| hottest / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_come_from_differences() {
        let earlier = cpu_times("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1 1 1 1\n");
        let later = Disturbance { own_ticks: 10, ..cpu_times("cpu  30 0 20 120 10 0 0 20 0 0\n") };
        assert_eq!(later.steal_share(&earlier), Some(0.1));
        assert_eq!(later.others_share(&earlier), Some(0.2));
    }

    #[test]
    fn waiting_is_counted_against_running_and_nonsense_is_none() {
        let at =
            |text: &str| Disturbance { ran_and_waited_ns: ran_and_waited_ns(text), ..Disturbance::default() };
        assert_eq!(at("400 110 7").waited_share(&at("100 10 3")), Some(0.25));
        for text in ["", "5", "a b", "50 5 1"] {
            assert_eq!(at(text).waited_share(&at("100 10 3")), None, "{text}");
        }
    }

    #[test]
    fn throttle_events_are_summed_over_the_cpus_that_count_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cpus = folder.path().join("sys/devices/system/cpu");
        std::fs::create_dir_all(cpus.join("cpu0")).expect("folders");
        let root = Root::open(folder.path()).expect("a recording");
        assert_eq!(throttle_events(&root), None);
        for (name, count) in [("cpu1", "3\n"), ("cpu2", "4\n"), ("cpu3", "many\n")] {
            let counters = cpus.join(name).join("thermal_throttle");
            std::fs::create_dir_all(&counters).expect("folders");
            std::fs::write(counters.join("core_throttle_count"), count).expect("a file");
        }
        assert_eq!(throttle_events(&root), Some(7));
    }

    #[test]
    fn nonsense_and_old_kernels_give_no_share() {
        assert_eq!(cpu_times("").steal_ticks, None);
        assert_eq!(cpu_times("cpu 1 2 3 4\n").steal_share(&cpu_times("cpu 1 2 3 4\n")), None);
    }

    #[test]
    fn the_hottest_sensor_of_the_cpus_counts_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        };
        let hottest = || cpu_temperature_c(&Root::open(folder.path()).expect("a root"));
        put("proc/version", "");
        assert_eq!(hottest(), None);
        put("sys/class/hwmon/hwmon0/name", "nvme\n");
        put("sys/class/hwmon/hwmon0/temp1_input", "90000\n");
        put("sys/class/hwmon/hwmon1/name", "k10temp\n");
        put("sys/class/hwmon/hwmon1/temp1_input", "55125\n");
        put("sys/class/hwmon/hwmon1/temp2_input", "61000\n");
        assert_eq!(hottest(), Some(61.0));
    }
}

//! How hot the CPUs are, where a sensor says.

use crate::Root;

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

//! The kernel's message buffer, and the messages in it that tell of flaws and workarounds, where dmesg is open.

use crate::Root;

/// The most messages kept.
const MESSAGES_MAX: usize = 100;
/// What the kernel calls flaws when it boots: arch/x86/kernel/cpu/{bugs,amd,intel}.c, arch/x86/kernel/tsc.c; of arm64,
/// arch/arm64/kernel/{cpufeature,proton-pack}.c, where errata are features by name.
const WORDS: [&str; 23] = [
    "enabled attack vectors",
    "spectre",
    "meltdown",
    "retbleed",
    "srso",
    "rsb",
    "mds:",
    "taa:",
    "mmio stale",
    "srbds",
    "gds:",
    "rfds",
    "its:",
    "tsa:",
    "vmscape",
    "zenbleed",
    "fpdss",
    "atom pse",
    "rdseed",
    "erratum",
    "firmware bug",
    "cpu features: detected:",
    "kernel page table isolation",
];

/// Where a recording has them.
pub(crate) const RECORDED: &str = "dmesg";

/// The messages; none where they may not be read.
pub(crate) fn of_flaws(root: &Root) -> Vec<String> {
    if root.is_live() { of_this_machine() } else { chosen(&root.read(RECORDED).unwrap_or_default()) }
}

/// The messages of the machine that this runs on.
pub(crate) fn of_this_machine() -> Vec<String> {
    chosen(&kernel_messages().unwrap_or_default())
}

fn chosen(text: &str) -> Vec<String> {
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        WORDS.iter().any(|word| is_word(&line, word)) && !record::repeats_command_line(&line)
    };
    text.lines().filter(tells).map(|line| message(line).to_owned()).take(MESSAGES_MAX).collect()
}

/// True if the text occurs and no letter or digit stands before it: `its:` is no part of `nr_cpumask_bits:`.
fn is_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric()))
}

/// A line without its level and time: `<6>[    0.123456] text`.
pub(crate) fn message(line: &str) -> &str {
    let line = line.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or(line, |(_, rest)| rest);
    let is_time = |text: &str| text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ' '));
    // `[Firmware Bug]` belongs to the message.
    let bracket = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    bracket.filter(|(time, _)| is_time(time)).map_or(line, |(_, rest)| rest).trim()
}

/// `SYSLOG_ACTION_READ_ALL`: read all messages without removing them. Linux, include/linux/syslog.h.
const READ_ALL: libc::c_int = 3;
/// The largest buffer asked for; a kernel's default is 128 KiB to 1 MiB (`CONFIG_LOG_BUF_SHIFT`).
const BUFFER_BYTES: usize = 1 << 20;

/// The messages of this boot that are still there; `None` where they may not be read (`kernel.dmesg_restrict`).
pub(crate) fn kernel_messages() -> Option<String> {
    let mut buffer = vec![0_u8; BUFFER_BYTES];
    // SAFETY: the kernel writes at most BUFFER_BYTES bytes into the buffer, which is as long.
    let length = unsafe {
        libc::klogctl(
            READ_ALL,
            buffer.as_mut_ptr().cast(),
            libc::c_int::try_from(BUFFER_BYTES).expect("a megabyte is a small number"),
        )
    };
    let length = usize::try_from(length).ok()?;
    buffer.truncate(length);
    Some(String::from_utf8_lossy(&buffer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tells_of_flaws_is_kept_without_level_and_time() {
        let text = "<6>[    0.101] GDS: Mitigation: Microcode\n<6>[ 1.0] usb 1-1: new device\n\
                    [Firmware Bug]: TSC\n<5>[ 0.2] AMD Zen1 FPDSS bug detected\nsetup_percpu: nr_cpumask_bits:2\n\
                    SRSO: plain\n<6>[    0.3] CPU features: detected: Broken broadcast TLBI completion\nKernel command line: spectre_v2=off user.key=secret\n";
        let kept = [
            "GDS: Mitigation: Microcode",
            "[Firmware Bug]: TSC",
            "AMD Zen1 FPDSS bug detected",
            "SRSO: plain",
            "CPU features: detected: Broken broadcast TLBI completion",
        ];
        assert_eq!(chosen(text), kept);
    }
}

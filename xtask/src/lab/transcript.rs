//! What a guest printed on its serial line, cut into its steps.

use std::fmt::Write;

use serde_json::Value;

use super::definition::Machine;

/// Marks that the guest prints around what a step prints; no command of sidestep prints them.
const BEGIN: &str = "@@begin ";
const ERRORS: &str = "@@errors ";
const END: &str = "@@end ";
/// Lines of a guest that stopped which are repeated.
const LAST_LINES: usize = 3;

/// The guest's init: file systems, modules, then each step with its marks, then power-off.
///
/// The output of a step goes to a file first: what the kernel says meanwhile cannot fall into it. From the first step on the kernel
/// keeps its messages to itself; they follow as the last step, `kernel-messages`.
pub fn init(machine: &Machine, console: &str) -> String {
    let mut text = format!(
        "#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /var/lib /bin /etc /steps
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t debugfs debug /sys/kernel/debug
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp TERM=dumb NO_COLOR=1
exec </dev/null >/dev/{console} 2>&1
for folder in /tmp /run /var/lib; do mount -t tmpfs tmpfs $folder; done
chmod 1777 /tmp
for module in $(cat /modules/order); do insmod /modules/$module.ko; done
dmesg -n 1
step() {{
  read begun rest </proc/uptime
  sh /steps/$1 >/tmp/.output 2>/tmp/.errors; code=$?
  read ended rest </proc/uptime
  echo; echo \"{BEGIN}$1\"; cat /tmp/.output; echo; echo \"{ERRORS}$1\"; cat /tmp/.errors; echo
  echo \"{END}$1 $code $(awk \"BEGIN{{print $ended-$begun}}\")\"
}}
"
    );
    for step in &machine.step {
        let _ = writeln!(text, "step {}", step.name);
    }
    text + "step kernel-messages\nsync\npoweroff -f\n"
}

/// The output of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Standard output.
    pub text: String,
    /// Standard error.
    pub errors: String,
    /// Exit code.
    pub code: i32,
    /// By the guest's clock, s.
    pub seconds: f64,
}

impl Output {
    /// The document that the step printed.
    ///
    /// # Errors
    /// It printed none.
    pub fn document(&self) -> Result<Value, String> {
        serde_json::from_str(&self.text).map_err(|error| {
            let is_json = self.text.trim_start().starts_with(['{', '[']);
            if is_json {
                format!("what it printed is no JSON: {error}")
            } else {
                "it printed no JSON".to_owned()
            }
        })
    }
}

/// Everything a guest printed.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    text: String,
    outputs: Vec<(String, Output)>,
}

impl Transcript {
    /// Cuts `printed`; a step that did not end is not among the outputs.
    pub fn read(printed: &str) -> Self {
        let text = printed.replace('\r', "");
        let mut outputs = Vec::new();
        let mut rest = text.as_str();
        while let Some((_, after)) = rest.split_once(BEGIN) {
            rest = after;
            let Some(output) = output(after) else { continue };
            outputs.push(output);
        }
        Self { text, outputs }
    }

    /// What the step `name` printed, if it ended.
    pub fn output(&self, name: &str) -> Option<&Output> {
        self.outputs.iter().find(|(found, _)| found == name).map(|(_, output)| output)
    }

    /// All steps that ended.
    pub fn outputs(&self) -> &[(String, Output)] {
        &self.outputs
    }

    /// The end of what the guest printed.
    pub fn last_words(&self) -> String {
        let lines = self.text.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_LINES);
        let mut lines: Vec<&str> = lines.map(str::trim).collect();
        lines.reverse();
        if lines.is_empty() {
            return "the guest printed nothing".to_owned();
        }
        format!("the guest's last words: {}", lines.join(" | "))
    }
}

/// The step that begins at `after` its mark.
fn output(after: &str) -> Option<(String, Output)> {
    let (name, rest) = after.split_once('\n')?;
    let (text, rest) = rest.split_once(&format!("\n{ERRORS}{name}\n"))?;
    let (errors, rest) = rest.split_once(&format!("{END}{name} "))?;
    let (code, seconds) = rest.split_once('\n')?.0.trim().split_once(' ')?;
    let output = Output {
        text: text.to_owned(),
        errors: errors.trim_end().to_owned(),
        code: code.parse().ok()?,
        seconds: seconds.parse().ok()?,
    };
    Some((name.to_owned(), output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::definition::tests::SMALL;

    #[test]
    fn what_the_guest_prints_is_cut_into_its_steps() {
        let printed = "[0.1] noise\r\n\r\n@@begin a\r\n{\"x\": 1}\r\n\r\n@@errors a\r\nwarning: w\r\n\r\n@@end a 0 1.25\r\n\
                    @@begin b\r\ntext\r\n\r\n@@errors b\r\n\r\n@@end b 137 0.5\r\n@@begin c\r\nlost";
        let transcript = Transcript::read(printed);
        let a = transcript.output("a").expect("it ended");
        assert_eq!((a.errors.as_str(), a.code, a.seconds), ("warning: w", 0, 1.25));
        assert_eq!(a.document(), Ok(serde_json::json!({"x": 1})));
        let b = transcript.output("b").expect("it ended");
        assert_eq!((b.text.as_str(), b.errors.as_str(), b.code), ("text\n", "", 137));
        assert_eq!(b.document(), Err("it printed no JSON".to_owned()));
        assert!(transcript.output("c").is_none());
        assert_eq!(transcript.last_words(), "the guest's last words: @@end b 137 0.5 | @@begin c | lost");
        assert_eq!(Transcript::default().last_words(), "the guest printed nothing");
    }

    #[test]
    fn a_step_may_be_cut_anywhere_without_harm() {
        let printed = "@@begin a\n{}\n\n@@errors a\n\n@@end a 0 1.25\n";
        for end in 0..printed.len() {
            assert!(Transcript::read(&printed[..end]).outputs().len() <= 1);
        }
    }

    #[test]
    fn every_step_is_run_in_its_order_and_the_kernel_has_the_last_word() {
        let machine = Machine::parse("a", SMALL).expect("it is right");
        let text = init(&machine, "ttyS0");
        let steps: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("step ")).collect();
        assert_eq!(steps, ["machine", "kernel-messages"]);
    }
}

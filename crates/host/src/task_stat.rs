//! What the kernel tells of a process or a thread in one line: `stat` in its folder below `/proc`; proc_pid_stat(5).

use std::str::FromStr;

use crate::Root;

/// Fields that are numbers, by their place in the manual.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    Parent = 4,
    Group = 5,
    Flags = 9,
    UserTicks = 14,
    SystemTicks = 15,
    Nice = 19,
    /// When it started, in clock ticks since boot: with the number it names a process for good.
    StartTicks = 22,
}

/// The place of the first field behind the name.
const STATE: usize = 3;
/// `PF_KTHREAD` of the flags, include/linux/sched.h: a thread of the kernel.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The line of one process or thread.
pub(crate) struct TaskStat {
    pub(crate) name: String,
    behind_name: String,
}

impl TaskStat {
    /// The line of a task: its folder below `/proc` is `PID`, `self` or `PID/task/TID`. `None` if it is gone.
    pub(crate) fn read(root: &Root, task: &str) -> Option<Self> {
        Self::parse(&root.read(&format!("/proc/{task}/stat")).ok()?)
    }

    /// The name may hold blanks and parentheses itself.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (before, behind) = text.rsplit_once(')')?;
        Some(Self { name: before.split_once('(')?.1.to_owned(), behind_name: behind.to_owned() })
    }

    fn field(&self, place: usize) -> Option<&str> {
        self.behind_name.split_whitespace().nth(place - STATE)
    }

    /// A field, if the line is long enough.
    pub(crate) fn number<T: FromStr>(&self, field: Field) -> Option<T> {
        self.field(field as usize)?.parse().ok()
    }

    /// True of one that has ended, also if it waits to be collected by its parent.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.field(STATE), Some("Z" | "X"))
    }

    /// True of one that a signal or a debugger has stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.field(STATE), Some("T" | "t"))
    }

    /// CPU time that it has used, in clock ticks: in user mode and in the kernel.
    pub(crate) fn cpu_ticks(&self) -> Option<u64> {
        Some(self.number::<u64>(Field::UserTicks)? + self.number::<u64>(Field::SystemTicks)?)
    }

    /// True of a thread of the kernel.
    pub(crate) fn is_of_kernel(&self) -> bool {
        self.number::<u64>(Field::Flags).is_some_and(|flags| flags & KERNEL_THREAD != 0)
    }
}

/// The first two numbers of `schedstat` of a task: how long it ran and waited in the run queue. Linux,
/// Documentation/scheduler/sched-stats.rst.
pub(crate) fn ran_and_waited_ns(schedstat: &str) -> Option<[u64; 2]> {
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat =
            TaskStat::parse("7 (a) b) R 1 2 3 4 5 2097158 7 8 9 10 100 23 13 14 20 5 1 0").expect("a line");
        assert_eq!((stat.name.as_str(), stat.number(Field::Parent)), ("a) b", Some(1)));
        assert_eq!((stat.cpu_ticks(), stat.number(Field::Nice)), (Some(123), Some(5)));
        assert_eq!(stat.number::<u64>(Field::StartTicks), None);
        assert!(stat.is_of_kernel() && !stat.has_ended() && !stat.is_stopped());
        assert!(TaskStat::parse("").is_none());
    }
}

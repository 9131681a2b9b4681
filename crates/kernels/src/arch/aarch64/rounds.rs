//! The frame of most loops, written once.

/// Repeats instructions so many times a round, and rounds as often as the operand `rounds` says, which ends as 0. The loop begins at
/// a multiple of 64 bytes, where its place in a line costs nothing.
macro_rules! rounds {
    ($times:literal, $($line:expr),+ $(,)?) => {
        concat!(
            ".p2align 6\n2:\n.rept ", $times, "\n", $($line, "\n",)+
            ".endr\nsubs {rounds}, {rounds}, #1\nb.ne 2b"
        )
    };
}

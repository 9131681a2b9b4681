//! Experiments on what only a boot can change: boots in random order, a journal between them, and the boot as the unit.
//!
//! | what | module |
//! |---|---|
//! | what a boot must have on its command line | [`condition`] |
//! | in which order, how often | [`plan`] |
//! | all that was measured, which boot counts, and why not | [`journal`] |
//! | what one boot is, and what else differs | [`facts`] |
//! | one boot measured once it is quiet, each trial kept at once | [`visit`] |
//! | what the boots amount to | [`mod@inference`] |
//!
//! All but [`visit`] is pure. Nothing here edits a boot loader or reboots: that is the user's.

pub mod condition;
pub mod facts;
pub mod inference;
pub mod journal;
pub mod plan;
pub mod visit;

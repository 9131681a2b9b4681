//! Every detector of the catalogue on and off: the kernel's words, register bits, microcode, time, and what leaves doubt.

mod arm;
mod evidence;
mod kernel_words;
mod register_bits;
mod whole;

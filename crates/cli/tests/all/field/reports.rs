//! Texts of lscpu, /proc/cpuinfo and vulnerability files.

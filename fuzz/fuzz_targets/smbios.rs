//! Firmware's table of memory modules and serial numbers.
#![cfg_attr(fuzzing, no_main)]

use fuzz::fuzz_target;
use host::smbios::memory_modules;

fuzz_target!(|bytes: &[u8]| {
    let _ = memory_modules(bytes);
});

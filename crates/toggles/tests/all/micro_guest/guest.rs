//! A virtual machine of a few instructions: its CPUs execute CPUID, RDMSR and WRMSR, and its registers are ours.
//!
//! Each CPU waits in real mode. A request puts operands into its registers, sets it before one of three snippets and
//! lets it run until it halts; where it halted tells whether the instruction was refused. KVM hands every access of a
//! model-specific register to this file (Linux, Documentation/virt/kvm/api.rst, `KVM_CAP_X86_USER_SPACE_MSR` and
//! `KVM_X86_SET_MSR_FILTER`), which serves it from a map of the CPU or refuses with a general-protection fault.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard};

use host::Registers;
use host::live::{Mapping, PageRequest};
use kvm_bindings::{CpuId, kvm_cpuid_entry2, kvm_enable_cap, kvm_userspace_memory_region};
use kvm_ioctls::{
    Cap, Kvm, MsrExitReason, MsrFilterDefaultAction, MsrFilterRange, MsrFilterRangeFlags, VcpuExit, VcpuFd,
    VmFd,
};

/// Guest memory: vectors, stack and snippets fit into the first page.
const MEMORY_BYTES: usize = 0x1000;
/// The real-mode vector of the general-protection fault: number 13, four bytes each. AMD64 APM vol. 2, 8.2.14.
const PROTECTION_VECTOR: usize = 13 * 4;
/// Top of the stack that a fault pushes to.
const STACK: u64 = 0x700;
/// Where the snippets are, and what they do before they halt.
const SNIPPETS: [(u64, [u8; 3]); 3] = [
    (Instruction::Cpuid as u64, [0x0f, 0xa2, HALT]),
    (Instruction::Rdmsr as u64, [0x0f, 0x32, HALT]),
    (Instruction::Wrmsr as u64, [0x0f, 0x30, HALT]),
];
/// A CPU that was refused goes here and halts.
const REFUSED: u64 = 0x840;
const HALT: u8 = 0xf4;
/// No request takes more exits than a register access and a halt.
const EXITS_MAX: usize = 8;
/// AMD's registers from C001_0000h on; all of them are ours.
const AMD_REGISTERS: u32 = 0xc001_0000;
const AMD_REGISTER_COUNT: u32 = 0x2000;
/// CPUID leaf 1 EBX, bits 31:24: the local APIC id.
const APIC_ID_SHIFT: u32 = 24;

/// What a CPU can be asked to execute, by the address of its snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Instruction {
    Cpuid = 0x800,
    Rdmsr = 0x810,
    Wrmsr = 0x820,
}

/// What a register does with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    /// It keeps it.
    Plain,
    /// It takes it and stays as it was.
    Deaf,
    /// The CPU raises a general-protection fault.
    Refusing,
}

/// A register of one CPU.
#[derive(Debug, Clone, Copy)]
struct Cell {
    value: u64,
    nature: Nature,
}

/// A write that a CPU executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// The CPU.
    pub(crate) cpu: u32,
    /// The register.
    pub(crate) register: u32,
    /// The whole value.
    pub(crate) value: u64,
}

/// What a CPU of the guest shall be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// CPUID Fn0000_0001 EAX, such as 0010_0F22h.
    pub(crate) signature: u32,
    /// Registers with their values; all others do not exist.
    pub(crate) registers: &'static [(u32, u64)],
}

#[derive(Debug)]
struct Cpu {
    vcpu: VcpuFd,
    cells: BTreeMap<u32, Cell>,
}

#[derive(Debug)]
struct Inside {
    cpus: Vec<Cpu>,
    written: Vec<Written>,
    // The guest's memory and the guest itself end after its CPUs.
    _vm: VmFd,
    _memory: Mapping,
}

/// The virtual machine.
#[derive(Debug)]
pub(crate) struct Guest {
    inside: Mutex<Inside>,
}

impl Guest {
    /// Builds it; an error says what this machine does not have.
    pub(crate) fn new(parts: &[Part]) -> Result<Self, String> {
        let reported = |what: &'static str| move |error: kvm_ioctls::Error| format!("{what}: {error}");
        let kvm = Kvm::new().map_err(reported("/dev/kvm cannot be opened"))?;
        let vm = kvm.create_vm().map_err(reported("no virtual machine"))?;
        take_registers(&vm).map_err(reported("KVM does not hand out register accesses"))?;
        let mut memory = Mapping::new(MEMORY_BYTES, PageRequest::Base).map_err(|error| error.to_string())?;
        fill(memory.as_mut_slice());
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: MEMORY_BYTES as u64,
            userspace_addr: memory.as_mut_slice().as_ptr() as u64,
        };
        // SAFETY: the mapping is ours alone, is as long as the region says, and is kept until the guest has ended.
        unsafe { vm.set_user_memory_region(region) }.map_err(reported("no guest memory"))?;
        let number = |index: usize| u32::try_from(index).expect("a few CPUs");
        let cpus = parts.iter().enumerate().map(|(index, part)| Cpu::new(&vm, number(index), part));
        let cpus = cpus.collect::<Result<_, kvm_ioctls::Error>>().map_err(reported("no virtual CPU"))?;
        Ok(Self { inside: Mutex::new(Inside { cpus, written: Vec::new(), _vm: vm, _memory: memory }) })
    }

    /// What CPUID answers on a CPU, as EAX, EBX, ECX, EDX.
    pub(crate) fn cpuid(&self, cpu: u32, leaf: u32, subleaf: u32) -> [u32; 4] {
        let operands = [leaf, 0, subleaf, 0];
        self.execute(cpu, Instruction::Cpuid, operands).expect("CPUID is never refused")
    }

    /// What a register holds, without asking the CPU.
    pub(crate) fn holds(&self, cpu: u32, register: u32) -> u64 {
        self.lock().cpus[cpu as usize].cells[&register].value
    }

    /// From now on the register of that CPU behaves so.
    pub(crate) fn make(&self, cpu: u32, register: u32, nature: Nature) {
        self.lock().cpus[cpu as usize].cells.get_mut(&register).expect("it exists").nature = nature;
    }

    /// From now on that CPU has no such register.
    pub(crate) fn remove(&self, cpu: u32, register: u32) {
        self.lock().cpus[cpu as usize].cells.remove(&register);
    }

    /// Every write that was executed, refused or not, in order.
    pub(crate) fn written(&self) -> Vec<Written> {
        self.lock().written.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().expect("no test panics inside")
    }

    /// Lets a CPU execute one instruction; `None` if it was refused.
    fn execute(&self, cpu: u32, instruction: Instruction, operands: [u32; 4]) -> Option<[u32; 4]> {
        let inside = &mut *self.lock();
        let one = &mut inside.cpus[cpu as usize];
        let set = one.vcpu.get_regs().and_then(|mut registers| {
            registers.rip = instruction as u64;
            registers.rsp = STACK;
            // Bit 1 of the flags is always set; interrupts are off. AMD64 APM vol. 1, 3.1.4.
            registers.rflags = 2;
            let [eax, ebx, ecx, edx] = operands.map(u64::from);
            (registers.rax, registers.rbx, registers.rcx, registers.rdx) = (eax, ebx, ecx, edx);
            one.vcpu.set_regs(&registers)
        });
        set.expect("a halted CPU takes registers");
        for _ in 0..EXITS_MAX {
            match one.vcpu.run().expect("the CPU runs") {
                VcpuExit::X86Rdmsr(exit) => match one.cells.get(&exit.index) {
                    Some(cell) => (*exit.data, *exit.error) = (cell.value, 0),
                    None => *exit.error = 1,
                },
                VcpuExit::X86Wrmsr(exit) => {
                    inside.written.push(Written { cpu, register: exit.index, value: exit.data });
                    *exit.error = match one.cells.get_mut(&exit.index) {
                        Some(Cell { nature: Nature::Refusing, .. }) | None => 1,
                        Some(Cell { nature: Nature::Deaf, .. }) => 0,
                        Some(cell) => {
                            cell.value = exit.data;
                            0
                        }
                    };
                }
                VcpuExit::Hlt => return one.result(instruction),
                exit => panic!("CPU {cpu} at {instruction:?}: {exit:?}"),
            }
        }
        panic!("CPU {cpu} does not halt");
    }
}

impl Registers for Guest {
    fn read(&self, cpu: u32, register: u32) -> io::Result<u64> {
        let [eax, _, _, edx] =
            self.execute(cpu, Instruction::Rdmsr, [0, 0, register, 0]).ok_or_else(refused)?;
        Ok(u64::from(edx) << 32 | u64::from(eax))
    }

    fn write(&self, cpu: u32, register: u32, value: u64) -> io::Result<()> {
        let (low, high) = (value as u32, (value >> 32) as u32);
        self.execute(cpu, Instruction::Wrmsr, [low, 0, register, high]).map(drop).ok_or_else(refused)
    }
}

/// As the kernel's device says it: msr(4).
fn refused() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}

impl Cpu {
    fn new(vm: &VmFd, number: u32, part: &Part) -> Result<Self, kvm_ioctls::Error> {
        let vcpu = vm.create_vcpu(number.into())?;
        vcpu.set_cpuid2(&CpuId::from_entries(&leaves(number, part.signature)).expect("a few entries"))?;
        // Out of reset code is at the top of memory: all segments at 0 instead.
        let mut segments = vcpu.get_sregs()?;
        (segments.cs.base, segments.cs.selector) = (0, 0);
        (segments.ss.base, segments.ss.selector) = (0, 0);
        vcpu.set_sregs(&segments)?;
        let cell = |&(register, value): &(u32, u64)| (register, Cell { value, nature: Nature::Plain });
        Ok(Self { vcpu, cells: part.registers.iter().map(cell).collect() })
    }

    /// What the halted CPU holds; `None` if it halted where refused CPUs go.
    fn result(&self, instruction: Instruction) -> Option<[u32; 4]> {
        let registers = self.vcpu.get_regs().expect("a halted CPU shows its registers");
        let after = |start: u64, length: u64| registers.rip == start + length;
        assert!(after(REFUSED, 1) || after(instruction as u64, 3), "halted at {:#x}", registers.rip);
        let low = [registers.rax, registers.rbx, registers.rcx, registers.rdx].map(|value| value as u32);
        (!after(REFUSED, 1)).then_some(low)
    }
}

/// Asks KVM to leave every access of AMD's registers, and of any that it does not know, to us.
fn take_registers(vm: &VmFd) -> Result<(), kvm_ioctls::Error> {
    let reasons = MsrExitReason::Unknown | MsrExitReason::Inval | MsrExitReason::Filter;
    let mut exits = kvm_enable_cap { cap: Cap::X86UserSpaceMsr as u32, ..kvm_enable_cap::default() };
    exits.args[0] = reasons.bits().into();
    vm.enable_cap(&exits)?;
    let none_allowed = [0; AMD_REGISTER_COUNT as usize / 8];
    let range = MsrFilterRange {
        flags: MsrFilterRangeFlags::READ | MsrFilterRangeFlags::WRITE,
        base: AMD_REGISTERS,
        msr_count: AMD_REGISTER_COUNT,
        bitmap: &none_allowed,
    };
    vm.set_msr_filter(MsrFilterDefaultAction::ALLOW, &[range])
}

fn fill(memory: &mut [u8]) {
    let mut put =
        |address: usize, bytes: &[u8]| memory[address..address + bytes.len()].copy_from_slice(bytes);
    put(PROTECTION_VECTOR, &(REFUSED as u32).to_le_bytes());
    put(REFUSED as usize, &[HALT]);
    for (address, bytes) in SNIPPETS {
        put(address as usize, &bytes);
    }
}

/// The leaves by which detectors know a CPU: vendor, signature, OSVW. AMD 31116, CPUID Fn0000_0000 to Fn8000_0001.
fn leaves(cpu: u32, signature: u32) -> Vec<kvm_cpuid_entry2> {
    const OSVW: u32 = 1 << 9;
    const MSR: u32 = 1 << 5;
    let letters = |four: &[u8; 4]| u32::from_le_bytes(*four);
    let vendor = [letters(b"Auth"), letters(b"cAMD"), letters(b"enti")];
    let entry = |function: u32, [eax, ebx, ecx, edx]: [u32; 4]| kvm_cpuid_entry2 {
        function,
        eax,
        ebx,
        ecx,
        edx,
        ..kvm_cpuid_entry2::default()
    };
    let of_vendor = |highest: u32| [highest, vendor[0], vendor[1], vendor[2]];
    vec![
        entry(0, of_vendor(1)),
        entry(1, [signature, cpu << APIC_ID_SHIFT, 0, MSR]),
        entry(0x8000_0000, of_vendor(0x8000_0001)),
        entry(0x8000_0001, [signature, 0, OSVW, 0]),
    ]
}

//! From reset to the program's loop.

use core::arch::global_asm;
use core::panic::PanicInfo;

use warpline_firmware::Firmware;
use warpline_regmap::processor::{CONTROL_PORT, IMAGE_MAX, NETWORK_PORT, RAM_OCTETS};

use crate::bus::Port;
use crate::network::NetworkPort;

/// Connections and listeners of the program.
const CONNECTIONS: usize = 16;
const LISTENERS: usize = 4;

type Program = Firmware<NetworkPort, CONNECTIONS, LISTENERS>;

/// Octets of the stack beside the program's tables, which lie on it as well.
const STACK: usize = 16 << 10;
const _: () = assert!(size_of::<Program>() + STACK <= (RAM_OCTETS - IMAGE_MAX) as usize);

// The stack pointer is set, .bss cleared, then `run` called: it does not return.
global_asm!(
    ".section .start, \"ax\"",
    ".globl _start",
    "_start:",
    "la sp, _stack",
    "la a0, _bss",
    "la a1, _bss_end",
    "1: bgeu a0, a1, 2f",
    "sw zero, 0(a0)",
    "addi a0, a0, 4",
    "j 1b",
    "2: call run",
    "3: j 3b",
);

/// The loop of the program: one turn, then a pause until the next one is due.
#[unsafe(no_mangle)]
extern "C" fn run() -> ! {
    // SAFETY: these are the ports of this processor's bus, and nothing else in the program uses them.
    let (mut control, mut network) = unsafe {
        (
            Port::at(CONTROL_PORT),
            NetworkPort::over(Port::at(NETWORK_PORT)),
        )
    };
    let mut firmware = Program::new();
    loop {
        let now = network.time();
        let next = firmware.poll(&mut control, &mut network, now);
        network.pause(next);
    }
}

/// The program has no panic path of its own; a bound that the compiler could not prove ends here, visibly: the processor traps.
#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        // SAFETY: the instruction stops the processor.
        unsafe { core::arch::asm!("ebreak") }
    }
}

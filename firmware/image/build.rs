//! Writes the linker script of the image, whose addresses are those of `warpline_regmap::processor`.

use std::path::PathBuf;
use std::{env, fs};

use warpline_regmap::processor::{IMAGE_MAX, RAM, RAM_OCTETS};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    // The image is what is loaded; behind it RAM is 0 or random, and the start clears what must be 0.
    let script = format!(
        "ENTRY(_start)
MEMORY {{
  IMAGE (rwx) : ORIGIN = {RAM:#x}, LENGTH = {IMAGE_MAX:#x}
  REST (rw) : ORIGIN = {:#x}, LENGTH = {:#x}
}}
SECTIONS {{
  .text : {{ KEEP(*(.start)) *(.text .text.*) }} > IMAGE
  .rodata : {{ *(.rodata .rodata.* .srodata .srodata.*) }} > IMAGE
  .data : {{ *(.data .data.* .sdata .sdata.*) . = ALIGN(4); }} > IMAGE
  .bss (NOLOAD) : {{ . = ALIGN(4); _bss = .; *(.bss .bss.* .sbss .sbss.*) . = ALIGN(4); _bss_end = .; }} > REST
  _stack = ORIGIN(REST) + LENGTH(REST);
  /DISCARD/ : {{ *(.eh_frame*) *(.comment) *(.riscv.attributes) }}
}}
",
        RAM + IMAGE_MAX,
        RAM_OCTETS - IMAGE_MAX,
    );
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    let path = folder.join("image.ld");
    fs::write(&path, script).expect("cargo's folder can be written");
    println!("cargo:rustc-link-arg-bins=-T{}", path.display());
    // What is loaded, as it lies in RAM.
    if env::var_os("ELF").is_none() {
        println!("cargo:rustc-link-arg-bins=--oformat=binary");
    }
}

//! What a capture holds, and what a receiver would get of it: `cargo run --example streams -- FILE`.

use std::error::Error;
use std::path::Path;

use warpline_capture::Capture;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1);
    let path = path.ok_or("name a capture: a pcap or pcapng file, packed or not, or a folder")?;
    show(path.as_ref())
}

fn show(path: &Path) -> Result<(), Box<dyn Error>> {
    let capture = Capture::open(path)?;
    let flow = capture.target_flow();
    let octets: usize = flow.segments.iter().map(|(_, octets)| octets.len()).sum();
    println!("{} segments with {octets} octets", flow.segments.len());
    for (sequence, octets) in flow.segments.iter().take(5) {
        println!("  {sequence:#010x} {} octets", octets.len());
    }
    Ok(())
}

#[test]
fn it_runs() {
    show("../testbenches/captures/crc1-rev2-writes".as_ref()).unwrap();
}

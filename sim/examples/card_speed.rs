//! Prints the speed of the simulated card on this machine: `cargo run --release -p warpline-sim --example card_speed [width]`.

use std::time::Instant;

use warpline_driver::{Context, DmaMemory, Options, Registration, StreamOptions, VfioUser};
use warpline_hdl::Config;
use warpline_sim::{Card, CardOptions};
use warpline_wire::send::{CrcField, FpduWriter, Message};

const MESSAGES: usize = 200;
const OCTETS: usize = 16 << 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let width = std::env::args()
        .nth(1)
        .map_or(Ok(64), |width| width.parse())?;
    let start = Instant::now();
    let card = Card::open(&Config::simulated(width), CardOptions::default())?;
    println!("open         {:>9.3?}", start.elapsed());

    let device = VfioUser::over(card.connect()?, VfioUser::TIMEOUT)?;
    let context = Context::open(Box::new(device), Options::default())?;
    let domain = context.protection_domain()?;
    let region = domain.register(DmaMemory::new(OCTETS)?, Registration::default())?;
    let _stream = domain.arm(0, StreamOptions::default())?;
    let (mut writer, mut octets) = (FpduWriter::new(false, CrcField::Computed), Vec::new());
    for _ in 0..MESSAGES {
        let (stag, to, rsvd_ulp) = (region.stag(), region.base(), 0);
        let message = Message::Tagged { stag, to, rsvd_ulp };
        writer.append_message(message, &[7; OCTETS], 1442, &mut octets)?;
    }
    for (i, segment) in octets.chunks(1460).enumerate() {
        card.feed(0, 1460 * i as u32, segment)?;
    }
    card.step(1000)?; // the window is known
    let (start, before) = (Instant::now(), card.timing().cycles);
    card.run_until_idle()?;
    let (seconds, timing) = (start.elapsed().as_secs_f64(), card.timing());
    let cycles = (timing.cycles - before) as f64;
    println!("cycles       {:>9.0} a second", cycles / seconds);
    if let (Some(first), Some(last)) = (timing.first_beat, timing.last_response) {
        let each = octets.len() as f64 / (last - first) as f64;
        println!(
            "octets       {each:>9.2} a cycle, of {} possible",
            width / 8
        );
    }
    Ok(())
}

//! A message becomes FPDUs with markers, and the reference receiver gets it back: `cargo run --example fpdu`.

use std::error::Error;

use warpline_wire::receive::{Event, Receiver, ReceiverConfig, StreamConfig};
use warpline_wire::send::{CrcField, FpduWriter, Message};

const STREAM: u32 = 7;
const MULPDU: u16 = 1442;

fn main() -> Result<(), Box<dyn Error>> {
    let payload: Vec<u8> = (0..3000_u32).map(|i| i as u8).collect();
    let message = Message::Untagged {
        qn: 0,
        msn: 1,
        rsvd_ulp: [0x43, 0, 0, 0, 0],
    };
    let mut octets = Vec::new();
    FpduWriter::new(true, CrcField::Computed).append_message(
        message,
        &payload,
        MULPDU,
        &mut octets,
    )?;
    println!(
        "{} octets of payload are {} of TCP",
        payload.len(),
        octets.len()
    );

    let mut receiver = Receiver::new(ReceiverConfig::default());
    let markers = StreamConfig {
        markers: true,
        ..StreamConfig::default()
    };
    receiver.open(STREAM, markers)?;
    receiver.enable_queue(STREAM, 0, 1)?;
    receiver.post(STREAM, 0, 4096)?;
    // TCP may cut them anywhere
    for segment in octets.chunks(700) {
        receiver.receive(STREAM, segment, &mut |event: Event<'_>| match event {
            Event::Place { target, octets, .. } => {
                println!("{} octets to {target:?}", octets.len());
            }
            other => println!("{other:?}"),
        })?;
    }
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}

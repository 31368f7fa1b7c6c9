//! What the block does in a cycle, compared with the model.

use warpline_hdl::host::send_queues::bursts::UNDER_WAY;
use warpline_regmap::transmit::slot_offset;
use warpline_testbenches::octets;

use crate::memory::Part;
use crate::model::{Held, Request, Stream, Wrong};
use crate::slots;
use crate::support::Rig;

impl<const W: usize, const K: usize, const S: usize> Rig<W, K, S> {
    pub fn check_bus(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        let b = &self.sim.block;
        let constants = [
            b.m_axi.arsize.val().to_u64(),
            b.m_axi.arburst.val().to_u64(),
            b.m_axi.arcache.val().to_u64(),
            b.m_axi.arprot.val().to_u64(),
        ];
        if constants != [u64::from(K.ilog2()), 1, 2, 2] {
            return Err(format!("AR has {constants:?}"));
        }
        let address = b
            .m_axi
            .arvalid
            .val()
            .then(|| (b.m_axi.araddr.val().to_u64(), b.m_axi.arlen.val().to_u8()));
        let rready = b.m_axi.rready.val();
        if !rready {
            return Err("R is not accepted".into());
        }
        if let Some((part, failed)) = self.memory.take(rready) {
            self.landed.push((now, part));
            let model = &mut self.streams[part.stream];
            let held = &mut model.held[(part.number - model.consumed) as usize];
            held.failed = failed;
            held.wants_rest = !failed && !part.rest && held.read > 64;
            if !held.wants_rest {
                held.landed = Some(now);
            }
        }
        if address.is_some() {
            self.valid_since.get_or_insert(now);
        }
        let Some((address, length)) = self.memory.accept(address)? else {
            return Ok(());
        };
        let valid = self.valid_since.take().unwrap_or(now);
        let part = self.part(address)?;
        let octets = self.due(part, length)?;
        self.requests.push(Request { valid, part });
        self.memory.answer(now, part, &octets, &mut self.rng);
        let under_way = self.streams.iter().flat_map(|model| &model.held);
        let under_way = under_way.filter(|held| held.landed.is_none()).count();
        if under_way > UNDER_WAY {
            return Err(format!("{under_way} slots are under way"));
        }
        Ok(())
    }

    /// Which slot an address belongs to.
    fn part(&self, address: u64) -> Result<Part, Wrong> {
        for (stream, model) in self.streams.iter().enumerate() {
            let Some(ring) = &model.ring else { continue };
            let Some(offset) = address.checked_sub(ring.base) else {
                continue;
            };
            if offset >= 256 * u64::from(ring.entries) {
                continue;
            }
            let place = |number: u64| slot_offset(number as u16, ring.entries);
            let first = Part {
                stream,
                number: model.fetched,
                rest: false,
            };
            if offset == place(model.fetched) {
                return Ok(first);
            }
            let held = model.held.iter().enumerate();
            let mut rest = held
                .filter(|(_, held)| held.wants_rest)
                .map(|(index, _)| Part {
                    stream,
                    number: model.consumed + index as u64,
                    rest: true,
                });
            let found = rest.find(|part| offset == place(part.number) + 64);
            return found.ok_or(format!("{stream} has no reason to read {address:#x}"));
        }
        Err(format!("{address:#x} is in no ring"))
    }

    /// What is read, if it is what is to be read.
    fn due(&mut self, part: Part, length: u8) -> Result<Vec<u8>, Wrong> {
        let model = &mut self.streams[part.stream];
        let octets = (usize::from(length) + 1) * K;
        if part.rest {
            let held = &mut model.held[(part.number - model.consumed) as usize];
            held.wants_rest = false;
            if octets != held.read - 64 {
                return Err(format!("{part:?}: {octets} of {}", held.read - 64));
            }
            return Ok(held.octets[64..held.read].to_vec());
        }
        if octets != 64 || !model.unread() || model.held.len() == self.slots {
            return Err(format!("{part:?}, {octets} octets: {model:?}"));
        }
        let Some(ring) = &model.ring else {
            return Err(format!("{part:?} has no ring"));
        };
        let octets = ring.memory[part.number as usize % ring.entries as usize];
        model.held.push_back(Held {
            octets,
            read: slots::needed(&octets).next_multiple_of(K),
            wants_rest: false,
            landed: None,
            failed: false,
        });
        model.fetched += 1;
        model.passed = 0;
        for (other, model) in self.streams.iter_mut().enumerate() {
            if other != part.stream && model.unread() && model.held.len() < self.slots {
                model.passed += 1;
                self.most_passed = self.most_passed.max(model.passed);
            }
        }
        if self.most_passed > 2 * S {
            return Err(format!("a stream was passed {} times", self.most_passed));
        }
        Ok(octets[..64].to_vec())
    }

    pub fn check_heads(&mut self) -> Result<(), Wrong> {
        let now = self.now();
        for (stream, model) in self.streams.iter().enumerate() {
            let (head, due) = (self.sim.block.head[stream].val(), model.head_is_due(now));
            if head != due {
                return Err(format!("head {stream} is {head}: {model:?}"));
            }
            let quiet = model.is_done() || now < model.rung_at + 2;
            if self.sim.block.idle[stream].val() && !quiet {
                return Err(format!("{stream} is idle: {model:?}"));
            }
        }
        Ok(())
    }

    pub fn check_rows(&mut self) -> Result<(), Wrong> {
        let Some(due) = self.shown.pop_front().flatten() else {
            return Ok(());
        };
        let b = &self.sim.block;
        let (consumed, failed) = (b.consumed.val().to_u16(), b.head_failed.val());
        let row = octets::octets(b.row_data.val());
        let same = due.failed || row[..due.octets.len()] == due.octets;
        if (consumed, failed) != (due.consumed, due.failed) || !same {
            return Err(format!(
                "{consumed}, {failed}, {row:02x?} is not {due:02x?}"
            ));
        }
        self.compared += 1;
        Ok(())
    }

    pub fn apply_set(&mut self) -> Result<(), Wrong> {
        if !self.sim.block.set_ready.val() {
            return Ok(());
        }
        let (stream, ring) = self.set.take().ok_or("set_ready without set")?;
        let refused = self.sim.block.set_failed.val();
        let model = self.streams.get_mut(usize::from(stream));
        let legal = ring.entries.is_power_of_two()
            && (4..=4096).contains(&ring.entries)
            && ring.base.is_multiple_of(256)
            && model.as_ref().is_some_and(|model| model.ring.is_none());
        if refused == legal {
            return Err(format!("ring of {stream} refused: {refused}"));
        }
        self.refused_sets += u32::from(refused);
        if let Some(model) = model.filter(|_| legal) {
            *model = Stream {
                ring: Some(ring),
                open: true,
                ..Stream::default()
            };
        }
        Ok(())
    }
}

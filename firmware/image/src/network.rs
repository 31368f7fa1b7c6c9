//! TCP connections and sessions of SCTP behind the network port.

use core::net::SocketAddr;

use warpline_firmware::{Answer, ConnectionError, Event, Network, OpenError, Sequences};
use warpline_regmap::Register;
use warpline_regmap::mailbox::Transport;
use warpline_regmap::processor::{
    CALL, CALL_ADDRESS, CallWords, NetworkCall, NetworkEvent, NetworkStatus, OCTETS, OCTETS_MAX,
    OPERAND, PAUSE, TIME, network_call as call,
};

use crate::bus::Port;

/// The network port; handles are numbers that it gives.
pub struct NetworkPort {
    port: Port,
}

const fn at(register: Register, index: u32) -> u32 {
    register
        .offset
        .wrapping_add(register.stride.wrapping_mul(index))
}

impl NetworkPort {
    /// The network behind `port`.
    pub const fn over(port: Port) -> Self {
        Self { port }
    }

    /// Milliseconds.
    pub fn time(&self) -> u64 {
        let low = self.port.word(at(TIME, 0));
        u64::from(self.port.word(at(TIME, 1))) << 32 | u64::from(low)
    }

    /// Stalls until `time`, or until the mailbox or the network has something.
    pub fn pause(&self, time: Option<u64>) {
        let time = time.unwrap_or(u64::MAX);
        self.port.set_word(at(PAUSE, 0), time as u32);
        self.port.set_word(at(PAUSE, 1), (time >> 32) as u32);
    }

    /// Makes a call: `words` are its operands, then its results.
    fn call(&self, number: NetworkCall, words: &mut CallWords) -> NetworkStatus {
        for (index, word) in (0..).zip(words.iter()) {
            self.port.set_word(at(OPERAND, index), *word);
        }
        self.port.set_word(CALL.offset, number as u32);
        for (index, word) in (0..).zip(words.iter_mut()) {
            *word = self.port.word(at(OPERAND, index));
        }
        NetworkStatus::parse(call::STATUS.get(words)).unwrap_or(NetworkStatus::Failed)
    }

    /// A call about a connection.
    fn ask(
        &self,
        number: NetworkCall,
        words: &mut CallWords,
        connection: u64,
    ) -> Result<(), ConnectionError> {
        call::CONNECTION.put(words, connection);
        match self.call(number, words) {
            NetworkStatus::Done => Ok(()),
            NetworkStatus::Lost => Err(ConnectionError::Lost),
            _ => Err(ConnectionError::Failed),
        }
    }

    /// A call that returns octets; how many of them.
    fn take(
        &self,
        number: NetworkCall,
        connection: u64,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError> {
        let mut words = CallWords::default();
        call::LENGTH.put(&mut words, octets.len().min(OCTETS_MAX) as u64);
        self.ask(number, &mut words, connection)?;
        let length = (call::LENGTH.get(&words) as usize).min(octets.len());
        for (index, room) in (0..).zip(octets.chunks_mut(4).take(length.div_ceil(4))) {
            let word = self.port.word(at(OCTETS, index)).to_le_bytes();
            for (to, from) in room.iter_mut().zip(word) {
                *to = from;
            }
        }
        Ok(length)
    }

    /// A call with octets; how many of them were accepted.
    fn give(
        &self,
        number: NetworkCall,
        connection: u64,
        octets: &[u8],
    ) -> Result<usize, ConnectionError> {
        let length = octets.len().min(OCTETS_MAX);
        for (index, octets) in (0..).zip(octets.chunks(4).take(length.div_ceil(4))) {
            let mut word = [0; 4];
            for (to, from) in word.iter_mut().zip(octets) {
                *to = *from;
            }
            self.port
                .set_word(at(OCTETS, index), u32::from_le_bytes(word));
        }
        let mut words = CallWords::default();
        call::LENGTH.put(&mut words, length as u64);
        self.ask(number, &mut words, connection)?;
        Ok((call::LENGTH.get(&words) as usize).min(length))
    }

    /// A call that opens something at an address.
    fn open(
        &self,
        number: NetworkCall,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<CallWords, OpenError> {
        let mut words = CallWords::default();
        call::TRANSPORT.put(&mut words, transport as u64);
        CALL_ADDRESS.put(&mut words, address);
        match self.call(number, &mut words) {
            NetworkStatus::Done => Ok(words),
            NetworkStatus::Address => Err(OpenError::Address),
            NetworkStatus::Full => Err(OpenError::Full),
            NetworkStatus::Transport => Err(OpenError::Transport),
            _ => Err(OpenError::Failed),
        }
    }
}

impl Network for NetworkPort {
    type Connection = u64;
    type Listener = u64;

    fn listen(
        &mut self,
        transport: Transport,
        address: SocketAddr,
    ) -> Result<(u64, u16), OpenError> {
        let words = self.open(NetworkCall::Listen, transport, address)?;
        Ok((call::LISTENER.get(&words), call::PORT.get(&words) as u16))
    }

    fn unlisten(&mut self, listener: u64) {
        let mut words = CallWords::default();
        call::LISTENER.put(&mut words, listener);
        self.call(NetworkCall::Unlisten, &mut words);
    }

    fn connect(&mut self, transport: Transport, address: SocketAddr) -> Result<u64, OpenError> {
        let words = self.open(NetworkCall::Connect, transport, address)?;
        Ok(call::CONNECTION.get(&words))
    }

    fn next_event(&mut self) -> Option<(u64, Event<u64>)> {
        let mut words = CallWords::default();
        self.call(NetworkCall::NextEvent, &mut words);
        let event = match NetworkEvent::parse(call::EVENT.get(&words))? {
            NetworkEvent::Accepted => Event::Accepted(call::LISTENER.get(&words)),
            NetworkEvent::Connected => Event::Connected,
            NetworkEvent::Refused => Event::Refused,
            NetworkEvent::Readable => Event::Readable,
            NetworkEvent::Writable => Event::Writable,
            NetworkEvent::HalfClosed => Event::HalfClosed,
            NetworkEvent::Lost => Event::Lost,
            NetworkEvent::Detached => Event::Detached,
            NetworkEvent::SegmentChanged => Event::SegmentChanged,
            NetworkEvent::SessionAccepted => Event::Answered(Answer::Accepted),
            NetworkEvent::SessionRejected => Event::Answered(Answer::Rejected),
            NetworkEvent::SessionTerminated => Event::Answered(Answer::Terminated),
        };
        Some((call::CONNECTION.get(&words), event))
    }

    fn peer(&mut self, connection: u64) -> Result<SocketAddr, ConnectionError> {
        let mut words = CallWords::default();
        self.ask(NetworkCall::Peer, &mut words, connection)?;
        Ok(CALL_ADDRESS.get(&words))
    }

    fn sequences(&mut self, connection: u64) -> Result<Sequences, ConnectionError> {
        let mut words = CallWords::default();
        self.ask(NetworkCall::Sequences, &mut words, connection)?;
        Ok(Sequences {
            receive: call::RECEIVE_SEQUENCE.get(&words) as u32,
            send: call::SEND_SEQUENCE.get(&words) as u32,
        })
    }

    fn segment(&mut self, connection: u64) -> Result<u16, ConnectionError> {
        let mut words = CallWords::default();
        self.ask(NetworkCall::Segment, &mut words, connection)?;
        Ok(call::EMSS.get(&words) as u16)
    }

    fn initiate(&mut self, connection: u64, private_data: &[u8]) -> Result<(), ConnectionError> {
        self.give(NetworkCall::Initiate, connection, private_data)
            .map(drop)
    }

    fn answer(
        &mut self,
        connection: u64,
        accepts: bool,
        private_data: &[u8],
    ) -> Result<(), ConnectionError> {
        let call = match accepts {
            true => NetworkCall::Accept,
            false => NetworkCall::Reject,
        };
        self.give(call, connection, private_data).map(drop)
    }

    fn private_data(
        &mut self,
        connection: u64,
        octets: &mut [u8],
    ) -> Result<usize, ConnectionError> {
        self.take(NetworkCall::PrivateData, connection, octets)
    }

    fn read(&mut self, connection: u64, octets: &mut [u8]) -> Result<usize, ConnectionError> {
        self.take(NetworkCall::Read, connection, octets)
    }

    fn write(&mut self, connection: u64, octets: &[u8]) -> Result<usize, ConnectionError> {
        self.give(NetworkCall::Write, connection, octets)
    }

    fn attach(
        &mut self,
        connection: u64,
        stream: u8,
        sequence: u32,
    ) -> Result<(), ConnectionError> {
        let mut words = CallWords::default();
        call::STREAM.put(&mut words, stream.into());
        call::RECEIVE_SEQUENCE.put(&mut words, sequence.into());
        self.ask(NetworkCall::Attach, &mut words, connection)
    }

    fn finish(&mut self, connection: u64) -> Result<(), ConnectionError> {
        self.ask(NetworkCall::Finish, &mut CallWords::default(), connection)
    }

    fn close(&mut self, connection: u64) {
        let _ = self.ask(NetworkCall::Close, &mut CallWords::default(), connection);
    }

    fn abort(&mut self, connection: u64) {
        let _ = self.ask(NetworkCall::Abort, &mut CallWords::default(), connection);
    }
}

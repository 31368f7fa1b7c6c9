//! Numbers in messages: kinds and reasons.

codes! {
    /// `message.KIND` of the host's messages.
    HostKind {
        /// Listens at an address; `LISTENING` or `LISTEN_FAILED` follows. Address, port (0: any), `BACKLOG`.
        Listen LISTEN = 1;
        /// Ends a listener; its connections that the host has not accepted are reset, without a message. No answer.
        Unlisten UNLISTEN = 2;
        /// Connects; `ARMED`, `REJECTED`, `FAILED` or `CLOSED` follows. Peer's address, depths, stream, private data.
        Connect CONNECT = 3;
        /// Accepts a request; `ARMED`, `FAILED` or `CLOSED` follows. Depths, stream, private data.
        Accept ACCEPT = 4;
        /// Rejects a request; no message follows. Depths, private data.
        Reject REJECT = 5;
        /// The host has attached the rings of an armed stream: the Reply is sent, and octets flow; `ESTABLISHED` or `CLOSED`
        /// follows.
        Proceed PROCEED = 6;
        /// Sends a FIN behind all requests of the send queue; `CLOSED` follows when the peer's FIN is there as well.
        Disconnect DISCONNECT = 7;
        /// Resets the connection; `CLOSED` follows.
        Abort ABORT = 8;
        /// The host has closed the stream and forgets the connection: its number and its stream are free. An open connection is
        /// reset. No message follows, but one that was on its way may arrive.
        Release RELEASE = 9;
        /// Changes the settings; `CONFIGURED` follows.
        Configure CONFIGURE = 10;
    }
}

codes! {
    /// `message.KIND` of the card's messages.
    CardKind {
        /// The listener is open. Port.
        Listening LISTENING = 1;
        /// The listener could not be opened: see `listen failure`. Its number is free.
        ListenFailed LISTEN_FAILED = 2;
        /// A valid Request is here: accept or reject. Listener, peer's address, depths, private data.
        Requested REQUESTED = 3;
        /// The stream is armed in both directions: attach rings, then `PROCEED`. Depths, what was settled; private data at the
        /// Initiator.
        Armed ARMED = 4;
        /// Full operation.
        Established ESTABLISHED = 5;
        /// The peer has rejected. Depths, private data.
        Rejected REJECTED = 6;
        /// Start-up has failed: see `failure cause`, and the MPA error number. A peer that fails before its Request is valid is
        /// reported as well: the number then is one that no `REQUESTED` has named, and it has no meaning.
        Failed FAILED = 7;
        /// The peer has sent its FIN. The host may still send, then `DISCONNECT`.
        HalfClosed HALF_CLOSED = 8;
        /// The TCP connection is gone: see `close reason`.
        Closed CLOSED = 9;
        /// A message of the host could not be carried out and has changed nothing: see `refusal`.
        Refused REFUSED = 10;
        /// The settings are in force.
        Configured CONFIGURED = 11;
    }
}

codes! {
    /// `message_transport.TRANSPORT`.
    Transport {
        /// MPA over TCP (RFC 5044). A connection is a TCP connection, and begins by MPA start-up.
        Tcp TCP = 0;
        /// SCTP (RFC 5043). A connection is a DDP stream session: Initiate and Accept are its start-up, without IRD, ORD and RTR
        /// indications; its FIN is the Terminate. Only a card whose `CAPABILITIES` has `SCTP` has it.
        Sctp SCTP = 1;
    }
}

codes! {
    /// `message.REASON` of `LISTEN_FAILED`.
    ListenFailure {
        /// The address is not the card's, or the port is in use.
        Address ADDRESS = 1;
        /// No room for one more listener.
        Full FULL = 2;
        /// The card's network side has failed.
        Network NETWORK = 3;
    }
}

codes! {
    /// `message.REASON` of `FAILED`.
    FailureCause {
        /// The peer's frame is malformed.
        Frame FRAME = 1;
        /// The peer sent a Request to an Initiator.
        TwoInitiators TWO_INITIATORS = 2;
        /// Octets follow the peer's frame although it may not send yet (AMB-28).
        EarlyOctets EARLY_OCTETS = 3;
        /// The peer's FIN cuts its frame.
        Truncated TRUNCATED = 4;
        /// Revision 2 was requested, and the Reply has no IRD/ORD block: connect with revision 1.
        NotEnhanced NOT_ENHANCED = 5;
        /// The Reply has an IRD/ORD block that was not requested.
        Unrequested UNREQUESTED = 6;
        /// The peer closed before start-up was complete.
        Closed CLOSED = 7;
        /// The peer has reset the connection, or the transport gave up, before start-up was complete.
        Lost LOST = 8;
        /// The peer did not answer in time.
        TimedOut TIMED_OUT = 9;
        /// The host neither accepted nor rejected in time.
        Undecided UNDECIDED = 10;
        /// The Responder's ORD exceeds the RDMA Reads that the card can take in.
        InsufficientIrd INSUFFICIENT_IRD = 11;
        /// No common RTR indication, or different connection models.
        NoRtr NO_RTR = 12;
        /// No connection: the peer refuses it, or cannot be reached.
        Unreachable UNREACHABLE = 13;
        /// All streams of the card are in use, or the stream was refused.
        NoStream NO_STREAM = 14;
        /// The card's network side has failed.
        Network NETWORK = 15;
    }
}

codes! {
    /// `message.REASON` of `CLOSED`.
    CloseReason {
        /// Both ends have ended it in order.
        Finished FINISHED = 1;
        /// The peer has reset the connection, or the transport gave up.
        Reset RESET = 2;
        /// A limit of time in the settings has passed; the connection was reset.
        TimedOut TIMED_OUT = 3;
        /// By the host's `ABORT`.
        Aborted ABORTED = 4;
        /// The card's network side has failed.
        Network NETWORK = 5;
    }
}

codes! {
    /// `message.REASON` of `REFUSED`.
    Refusal {
        /// The message is not one: its kind, or a value in it, does not exist.
        Message MESSAGE = 1;
        /// There is no such connection or listener.
        Unknown UNKNOWN = 2;
        /// The number is in use, or not one that the host may choose.
        Number NUMBER = 3;
        /// The connection is not in a state for this.
        State STATE = 4;
        /// No room for one more connection.
        Full FULL = 5;
        /// The protection domain has as many connections as it may have.
        Quota QUOTA = 6;
        /// A depth exceeds what the settings allow.
        Depth DEPTH = 7;
        /// Peer-to-peer model, or an answer to revision 2, without an RTR indication.
        Rtr RTR = 8;
        /// Revision 2 is switched off in the settings.
        Enhanced ENHANCED = 9;
        /// The address cannot be used.
        Address ADDRESS = 10;
        /// Too much private data: with revision 2, 508 octets at most.
        Private PRIVATE = 11;
        /// The card's network side has failed.
        Network NETWORK = 12;
        /// The card does not have that transport.
        Transport TRANSPORT = 13;
    }
}

//! The declarations in `src/ffi.rs` against the installed header: a C program says what it has.
//!
//! What functions take is compared by the C compiler: it is given their declarations again, as Rust has them.

#[allow(
    dead_code,
    reason = "the file is the crate's; here it is only measured"
)]
#[path = "../src/ffi.rs"]
mod ffi;

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use ffi::{change, event, field, option};

/// Compiles a C program and returns it, or what the compiler says.
fn compile(folder: &Path, source: &Path) -> Result<PathBuf, String> {
    let program = folder.join("layout");
    let compiler = ["cc", "clang", "gcc"].into_iter().find_map(|name| {
        let mut command = Command::new(name);
        command.args(["-std=gnu11", "-Wall", "-Werror", "-o"]);
        command.arg(&program).arg(source).output().ok()
    });
    let output = compiler.expect("a C compiler: run tools/setup.sh test");
    match output.status.success() {
        true => Ok(program),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// What Rust has, by the header's names.
fn ours() -> BTreeMap<&'static str, i64> {
    let mut all = BTreeMap::new();
    let mut add = |name, value: i64| assert!(all.insert(name, value).is_none(), "{name} twice");
    add("AF_CONN", ffi::AF_CONN.into());
    add("SOCK_STREAM", ffi::SOCK_STREAM.into());
    add("IPPROTO_SCTP", ffi::IPPROTO_SCTP.into());
    add("SOL_SOCKET", ffi::SOL_SOCKET.into());
    add("SHUT_WR", ffi::SHUT_WR.into());
    add("MSG_EOR", ffi::MSG_EOR.into());
    add("MSG_NOTIFICATION", ffi::MSG_NOTIFICATION.into());
    add("SCTP_SENDV_SNDINFO", ffi::SENDV_SNDINFO.into());
    add("SCTP_RECVV_RCVINFO", ffi::RECVV_RCVINFO.into());
    add("SCTP_UNORDERED", ffi::UNORDERED.into());
    add("SPP_HB_ENABLE", ffi::HB_ENABLE.into());
    add("SPP_PMTUD_DISABLE", ffi::PMTUD_DISABLE.into());
    add("EMSGSIZE", ffi::EMSGSIZE.into());
    add("EINPROGRESS", ffi::EINPROGRESS.into());
    add("SO_SNDBUF", option::SEND_BUFFER.into());
    add("SO_RCVBUF", option::RECEIVE_BUFFER.into());
    add("SO_LINGER", option::LINGER.into());
    add("SO_ERROR", option::ERROR.into());
    add("SCTP_RTOINFO", option::RTO.into());
    add("SCTP_ASSOCINFO", option::ASSOCIATION.into());
    add("SCTP_INITMSG", option::INIT.into());
    add("SCTP_NODELAY", option::NO_DELAY.into());
    add("SCTP_ADAPTATION_LAYER", option::ADAPTATION.into());
    add("SCTP_PEER_ADDR_PARAMS", option::PATH.into());
    add(
        "SCTP_FRAGMENT_INTERLEAVE",
        option::FRAGMENT_INTERLEAVE.into(),
    );
    add("SCTP_EVENT", option::EVENT.into());
    add("SCTP_RECVRCVINFO", option::RECEIVE_INFO.into());
    add("SCTP_STATUS", option::STATUS.into());
    add("SCTP_ASSOC_CHANGE", event::ASSOCIATION.into());
    add("SCTP_SHUTDOWN_EVENT", event::SHUTDOWN.into());
    add("SCTP_ADAPTATION_INDICATION", event::ADAPTATION.into());
    add(
        "SCTP_PARTIAL_DELIVERY_EVENT",
        event::PARTIAL_DELIVERY.into(),
    );
    add("SCTP_SENDER_DRY_EVENT", event::SENDER_DRY.into());
    add("SCTP_COMM_UP", change::UP.into());
    add("SCTP_COMM_LOST", change::LOST.into());
    add("SCTP_RESTART", change::RESTART.into());
    add("SCTP_SHUTDOWN_COMP", change::SHUT_DOWN.into());
    add("SCTP_CANT_STR_ASSOC", change::NOT_STARTED.into());
    add("SCTP_FUTURE_ASSOC", 0); // what options leave out

    let mut at = |name, octets: usize| add(name, octets as i64);
    at("struct sctp_assoc_change.sac_type", field::TYPE);
    at("struct sctp_assoc_change.sac_state", field::STATE);
    at(
        "struct sctp_assoc_change.sac_outbound_streams",
        field::OUTBOUND,
    );
    at(
        "struct sctp_assoc_change.sac_inbound_streams",
        field::INBOUND,
    );
    at(
        "struct sctp_adaptation_event.sai_adaptation_ind",
        field::ADAPTATION,
    );
    at("struct sockaddr_conn", size_of::<ffi::Address>());
    at(
        "struct sockaddr_conn.sconn_family",
        offset_of!(ffi::Address, family),
    );
    at(
        "struct sockaddr_conn.sconn_port",
        offset_of!(ffi::Address, port),
    );
    at(
        "struct sockaddr_conn.sconn_addr",
        offset_of!(ffi::Address, addr),
    );
    at("struct sctp_rcvinfo", size_of::<ffi::RcvInfo>());
    at("struct sctp_rcvinfo.rcv_sid", offset_of!(ffi::RcvInfo, sid));
    at(
        "struct sctp_rcvinfo.rcv_flags",
        offset_of!(ffi::RcvInfo, flags),
    );
    at(
        "struct sctp_rcvinfo.rcv_ppid",
        offset_of!(ffi::RcvInfo, ppid),
    );
    at("struct sctp_sndinfo", size_of::<ffi::SndInfo>());
    at("struct sctp_sndinfo.snd_sid", offset_of!(ffi::SndInfo, sid));
    at(
        "struct sctp_sndinfo.snd_flags",
        offset_of!(ffi::SndInfo, flags),
    );
    at(
        "struct sctp_sndinfo.snd_ppid",
        offset_of!(ffi::SndInfo, ppid),
    );
    at(
        "struct sctp_sndinfo.snd_assoc_id",
        offset_of!(ffi::SndInfo, assoc_id),
    );
    at("struct sctp_event", size_of::<ffi::EventOption>());
    at(
        "struct sctp_event.se_assoc_id",
        offset_of!(ffi::EventOption, assoc_id),
    );
    at(
        "struct sctp_event.se_type",
        offset_of!(ffi::EventOption, kind),
    );
    at("struct sctp_event.se_on", offset_of!(ffi::EventOption, on));
    at("struct sctp_initmsg", size_of::<ffi::InitOption>());
    at(
        "struct sctp_initmsg.sinit_num_ostreams",
        offset_of!(ffi::InitOption, num_ostreams),
    );
    at(
        "struct sctp_initmsg.sinit_max_instreams",
        offset_of!(ffi::InitOption, max_instreams),
    );
    at(
        "struct sctp_initmsg.sinit_max_attempts",
        offset_of!(ffi::InitOption, max_attempts),
    );
    at(
        "struct sctp_initmsg.sinit_max_init_timeo",
        offset_of!(ffi::InitOption, max_init_timeo),
    );
    at("struct sctp_rtoinfo", size_of::<ffi::RtoOption>());
    at(
        "struct sctp_rtoinfo.srto_initial",
        offset_of!(ffi::RtoOption, initial),
    );
    at(
        "struct sctp_rtoinfo.srto_max",
        offset_of!(ffi::RtoOption, max),
    );
    at(
        "struct sctp_rtoinfo.srto_min",
        offset_of!(ffi::RtoOption, min),
    );
    at(
        "struct sctp_assocparams",
        size_of::<ffi::AssociationOption>(),
    );
    at(
        "struct sctp_assocparams.sasoc_asocmaxrxt",
        offset_of!(ffi::AssociationOption, asocmaxrxt),
    );
    at("struct linger", size_of::<ffi::Linger>());
    at("struct linger.l_onoff", offset_of!(ffi::Linger, onoff));
    at("struct linger.l_linger", offset_of!(ffi::Linger, linger));
    at("struct sctp_paddrparams", size_of::<ffi::PathOption>());
    at(
        "struct sctp_paddrparams.spp_address",
        offset_of!(ffi::PathOption, address),
    );
    at(
        "struct sctp_paddrparams.spp_hbinterval",
        offset_of!(ffi::PathOption, hbinterval),
    );
    at(
        "struct sctp_paddrparams.spp_pathmtu",
        offset_of!(ffi::PathOption, pathmtu),
    );
    at(
        "struct sctp_paddrparams.spp_flags",
        offset_of!(ffi::PathOption, flags),
    );
    at(
        "struct sctp_paddrparams.spp_pathmaxrxt",
        offset_of!(ffi::PathOption, pathmaxrxt),
    );
    at("struct sctp_paddrinfo", size_of::<ffi::PathStatus>());
    at(
        "struct sctp_paddrinfo.spinfo_rto",
        offset_of!(ffi::PathStatus, rto),
    );
    at(
        "struct sctp_paddrinfo.spinfo_mtu",
        offset_of!(ffi::PathStatus, mtu),
    );
    at("struct sctp_status", size_of::<ffi::StatusOption>());
    at(
        "struct sctp_status.sstat_rwnd",
        offset_of!(ffi::StatusOption, rwnd),
    );
    at(
        "struct sctp_status.sstat_unackdata",
        offset_of!(ffi::StatusOption, unackdata),
    );
    at(
        "struct sctp_status.sstat_instrms",
        offset_of!(ffi::StatusOption, instrms),
    );
    at(
        "struct sctp_status.sstat_outstrms",
        offset_of!(ffi::StatusOption, outstrms),
    );
    at(
        "struct sctp_status.sstat_fragmentation_point",
        offset_of!(ffi::StatusOption, fragmentation_point),
    );
    at(
        "struct sctp_status.sstat_primary",
        offset_of!(ffi::StatusOption, primary),
    );
    at("struct sockaddr_storage", size_of::<ffi::Storage>());
    at("struct sctp_setadaptation", size_of::<u32>());
    all
}

#[test]
fn numbers_and_layouts_are_those_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layout.c"));
    let program = compile(folder.path(), source).unwrap();
    let output = Command::new(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs = text.lines().map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name, value.parse::<i64>().unwrap())
    });
    let theirs: BTreeMap<_, _> = theirs.collect();
    assert!(theirs.len() > 80, "{}", theirs.len());
    assert_eq!(ours(), theirs);
}

/// A declaration in C that says of a function what `ffi.rs` says; another one than the header's is an error to the compiler.
const FUNCTIONS: &str = "
#include <usrsctp.h>
void usrsctp_init_nothreads(uint16_t, int (*)(void *, void *, size_t, uint8_t, uint8_t), void (*)(const char *, ...));
int usrsctp_setsockopt(struct socket *, int, int, const void *, uint32_t);
int usrsctp_getsockopt(struct socket *, int, int, void *, uint32_t *);
ssize_t usrsctp_sendv(struct socket *, const void *, size_t, struct sockaddr *, int, void *, uint32_t, unsigned, int);
ssize_t usrsctp_recvv(struct socket *, void *, size_t, struct sockaddr *, uint32_t *, void *, uint32_t *, unsigned *, int *);
int usrsctp_bind(struct socket *, struct sockaddr *, uint32_t);
int usrsctp_listen(struct socket *, int);
struct socket *usrsctp_accept(struct socket *, struct sockaddr *, uint32_t *);
int usrsctp_connect(struct socket *, struct sockaddr *, uint32_t);
void usrsctp_close(struct socket *);
int usrsctp_shutdown(struct socket *, int);
void usrsctp_conninput(void *, const void *, size_t, uint8_t);
int usrsctp_set_non_blocking(struct socket *, int);
void usrsctp_register_address(void *);
void usrsctp_deregister_address(void *);
void usrsctp_handle_timers(uint32_t);
int usrsctp_sysctl_set_sctp_no_csum_on_loopback(uint32_t);
int usrsctp_sysctl_set_sctp_auto_asconf(uint32_t);
int usrsctp_sysctl_set_sctp_asconf_enable(uint32_t);
int usrsctp_sysctl_set_sctp_auth_enable(uint32_t);
int usrsctp_sysctl_set_sctp_ecn_enable(uint32_t);
int usrsctp_sysctl_set_sctp_pr_enable(uint32_t);
int usrsctp_sysctl_set_sctp_reconfig_enable(uint32_t);
int usrsctp_sysctl_set_sctp_nrsack_enable(uint32_t);
int usrsctp_sysctl_set_sctp_pktdrop_enable(uint32_t);
struct socket *usrsctp_socket(int, int, int,
    int (*)(struct socket *, union sctp_sockstore, void *, size_t, struct sctp_rcvinfo, int, void *),
    int (*)(struct socket *, uint32_t, void *), uint32_t, void *);
int main(void) { return 0; }
";

#[test]
fn functions_are_those_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("functions.c");
    std::fs::write(&source, FUNCTIONS).unwrap();
    compile(folder.path(), &source).unwrap();
    // All that are declared in Rust are in the list.
    let declared = include_str!("../src/ffi.rs");
    let names = declared
        .split("pub fn ")
        .skip(1)
        .map(|rest| rest.split('(').next().unwrap());
    for name in names {
        assert!(FUNCTIONS.contains(&format!("{name}(")), "{name}");
    }
    // The compiler finds another type.
    let wrong = FUNCTIONS.replace(
        "void usrsctp_conninput(void *, const void *, size_t",
        "void usrsctp_conninput(void *, const void *, int",
    );
    assert_ne!(wrong, FUNCTIONS);
    std::fs::write(&source, wrong).unwrap();
    let refused = compile(folder.path(), &source).unwrap_err();
    assert!(refused.contains("usrsctp_conninput"), "{refused}");
}

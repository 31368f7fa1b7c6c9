/* Sizes, offsets and numbers as the installed header has them: one a line, name and value. Read by layout.rs. */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <usrsctp.h>

#define NUMBER(name, value) printf("%s %lld\n", name, (long long)(value))
#define CONSTANT(name) NUMBER(#name, name)
#define SIZE(type) NUMBER(#type, sizeof(type))
#define FIELD(type, field) NUMBER(#type "." #field, offsetof(type, field))

int main(void)
{
    CONSTANT(AF_CONN); CONSTANT(SOCK_STREAM); CONSTANT(IPPROTO_SCTP); CONSTANT(SOL_SOCKET); CONSTANT(SHUT_WR);
    CONSTANT(MSG_EOR); CONSTANT(MSG_NOTIFICATION); CONSTANT(SCTP_SENDV_SNDINFO); CONSTANT(SCTP_RECVV_RCVINFO);
    CONSTANT(SCTP_UNORDERED); CONSTANT(SPP_HB_ENABLE); CONSTANT(SPP_PMTUD_DISABLE); CONSTANT(EMSGSIZE); CONSTANT(EINPROGRESS);
    CONSTANT(SO_SNDBUF); CONSTANT(SO_RCVBUF); CONSTANT(SO_LINGER); CONSTANT(SO_ERROR);
    CONSTANT(SCTP_RTOINFO); CONSTANT(SCTP_ASSOCINFO); CONSTANT(SCTP_INITMSG); CONSTANT(SCTP_NODELAY);
    CONSTANT(SCTP_ADAPTATION_LAYER); CONSTANT(SCTP_PEER_ADDR_PARAMS); CONSTANT(SCTP_FRAGMENT_INTERLEAVE);
    CONSTANT(SCTP_EVENT); CONSTANT(SCTP_RECVRCVINFO); CONSTANT(SCTP_STATUS);
    CONSTANT(SCTP_ASSOC_CHANGE); CONSTANT(SCTP_SHUTDOWN_EVENT); CONSTANT(SCTP_ADAPTATION_INDICATION);
    CONSTANT(SCTP_PARTIAL_DELIVERY_EVENT); CONSTANT(SCTP_SENDER_DRY_EVENT);
    CONSTANT(SCTP_COMM_UP); CONSTANT(SCTP_COMM_LOST); CONSTANT(SCTP_RESTART); CONSTANT(SCTP_SHUTDOWN_COMP);
    CONSTANT(SCTP_CANT_STR_ASSOC); CONSTANT(SCTP_FUTURE_ASSOC);

    FIELD(struct sctp_assoc_change, sac_type); FIELD(struct sctp_assoc_change, sac_state);
    FIELD(struct sctp_assoc_change, sac_outbound_streams); FIELD(struct sctp_assoc_change, sac_inbound_streams);
    FIELD(struct sctp_adaptation_event, sai_adaptation_ind);

    SIZE(struct sockaddr_conn); FIELD(struct sockaddr_conn, sconn_family); FIELD(struct sockaddr_conn, sconn_port);
    FIELD(struct sockaddr_conn, sconn_addr);
    SIZE(struct sctp_rcvinfo); FIELD(struct sctp_rcvinfo, rcv_sid); FIELD(struct sctp_rcvinfo, rcv_flags);
    FIELD(struct sctp_rcvinfo, rcv_ppid);
    SIZE(struct sctp_sndinfo); FIELD(struct sctp_sndinfo, snd_sid); FIELD(struct sctp_sndinfo, snd_flags);
    FIELD(struct sctp_sndinfo, snd_ppid); FIELD(struct sctp_sndinfo, snd_assoc_id);
    SIZE(struct sctp_event); FIELD(struct sctp_event, se_assoc_id); FIELD(struct sctp_event, se_type);
    FIELD(struct sctp_event, se_on);
    SIZE(struct sctp_initmsg); FIELD(struct sctp_initmsg, sinit_num_ostreams); FIELD(struct sctp_initmsg, sinit_max_instreams);
    FIELD(struct sctp_initmsg, sinit_max_attempts); FIELD(struct sctp_initmsg, sinit_max_init_timeo);
    SIZE(struct sctp_rtoinfo); FIELD(struct sctp_rtoinfo, srto_initial); FIELD(struct sctp_rtoinfo, srto_max);
    FIELD(struct sctp_rtoinfo, srto_min);
    SIZE(struct sctp_assocparams); FIELD(struct sctp_assocparams, sasoc_asocmaxrxt);
    SIZE(struct linger); FIELD(struct linger, l_onoff); FIELD(struct linger, l_linger);
    SIZE(struct sctp_paddrparams); FIELD(struct sctp_paddrparams, spp_address); FIELD(struct sctp_paddrparams, spp_hbinterval);
    FIELD(struct sctp_paddrparams, spp_pathmtu);
    FIELD(struct sctp_paddrparams, spp_flags); FIELD(struct sctp_paddrparams, spp_pathmaxrxt);
    SIZE(struct sctp_paddrinfo); FIELD(struct sctp_paddrinfo, spinfo_rto); FIELD(struct sctp_paddrinfo, spinfo_mtu);
    SIZE(struct sctp_status); FIELD(struct sctp_status, sstat_rwnd); FIELD(struct sctp_status, sstat_unackdata);
    FIELD(struct sctp_status, sstat_instrms); FIELD(struct sctp_status, sstat_outstrms);
    FIELD(struct sctp_status, sstat_fragmentation_point); FIELD(struct sctp_status, sstat_primary);
    SIZE(struct sockaddr_storage);
    SIZE(struct sctp_setadaptation);
    return 0;
}

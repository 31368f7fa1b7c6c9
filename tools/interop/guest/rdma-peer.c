// rdma-peer: the guest's end of the interoperability test, over librdmacm and Linux's soft-iWARP.
//
//   rdma-peer listen PORT COUNT [PRIVATE]        serves COUNT connections, one after the other
//   rdma-peer refuse PORT [PRIVATE]              rejects one connection
//   rdma-peer CASE ADDRESS PORT [PRIVATE]        connects, and performs CASE
//
// PRIVATE is the number of octets of private data to send, 0 to 255, which is what librdmacm can count; octet i of them is
// 7 i + 3. A listener puts its region in front of them: address and length of 8 octets each, rkey of 4, big-endian. The region has 1 MiB, octet i is 31 i + i / 256.
// Each line on standard output is one fact; the last is "done" unless something has failed.
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REGION = 1 << 20, MESSAGES = 32, MESSAGE = 4096, TIMEOUT = 100000 };

struct region {
    uint64_t address, length;
    uint32_t rkey;
} __attribute__((packed));

struct side {
    struct rdma_cm_id *id;
    struct ibv_cq *cq;
    uint8_t *region, *work, *messages;
    struct ibv_mr *region_mr, *work_mr, *messages_mr;
};

static struct rdma_event_channel *channel;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("failed: ");
    vprintf(format, arguments);
    printf(" (%s)\n", strerror(errno));
    exit(1);
}

static uint8_t region_octet(size_t i) { return (uint8_t)(31 * i + i / 256); }
static uint8_t work_octet(uint32_t seed, size_t i) { return (uint8_t)(131 * seed + 7 * i + i / 256); }

static void fill(struct side *side, uint32_t seed, size_t length) {
    for (size_t i = 0; i < length; i++) side->work[i] = work_octet(seed, i);
}

static size_t private_data(uint8_t *out, size_t length) {
    for (size_t i = 0; i < length; i++) out[i] = (uint8_t)(7 * i + 3);
    return length;
}

static struct rdma_cm_event *next_event(void) {
    struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
    if (poll(&ready, 1, TIMEOUT) != 1) fail("no event of the connection manager within %d ms", TIMEOUT);
    struct rdma_cm_event *event;
    if (rdma_get_cm_event(channel, &event)) fail("rdma_get_cm_event");
    return event;
}

static struct rdma_cm_event *expect(enum rdma_cm_event_type type) {
    struct rdma_cm_event *event = next_event();
    if (event->event != type) {
        printf("event: %s, status %d, %u octets of private data\n", rdma_event_str(event->event), event->status,
               event->param.conn.private_data_len);
        printf("failed: %s was due\n", rdma_event_str(type));
        exit(1);
    }
    return event;
}

static void print_private_data(const struct rdma_cm_event *event, size_t skip) {
    const uint8_t *octets = event->param.conn.private_data;
    size_t length = event->param.conn.private_data_len, good = 0;
    while (skip + good < length && octets[skip + good] == (uint8_t)(7 * good + 3)) good++;
    printf("private data: %zu octets, %zu as agreed\n", length, good);
}

static struct ibv_mr *memory(struct side *side, uint8_t **octets, size_t length, int access) {
    if (posix_memalign((void **)octets, 4096, length)) fail("memory of %zu octets", length);
    struct ibv_mr *mr = ibv_reg_mr(side->id->pd, *octets, length, access);
    if (!mr) fail("ibv_reg_mr");
    return mr;
}

static void set_up(struct side *side, struct rdma_cm_id *id) {
    memset(side, 0, sizeof *side);
    side->id = id;
    id->pd = ibv_alloc_pd(id->verbs);
    side->cq = ibv_create_cq(id->verbs, 512, NULL, NULL, 0);
    if (!id->pd || !side->cq) fail("protection domain and completion queue");
    struct ibv_qp_init_attr attributes = {
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 128, .max_recv_wr = MESSAGES, .max_send_sge = 2, .max_recv_sge = 1},
    };
    if (rdma_create_qp(id, id->pd, &attributes)) fail("rdma_create_qp");
    int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    side->region_mr = memory(side, &side->region, REGION, all);
    side->work_mr = memory(side, &side->work, REGION, all);
    side->messages_mr = memory(side, &side->messages, MESSAGES * MESSAGE, IBV_ACCESS_LOCAL_WRITE);
    for (size_t i = 0; i < REGION; i++) side->region[i] = region_octet(i);
    for (int i = 0; i < MESSAGES; i++) {
        struct ibv_sge element = {(uintptr_t)side->messages + i * MESSAGE, MESSAGE, side->messages_mr->lkey};
        struct ibv_recv_wr request = {.wr_id = i, .sg_list = &element, .num_sge = 1}, *bad;
        if (ibv_post_recv(id->qp, &request, &bad)) fail("ibv_post_recv");
    }
}

static void tear_down(struct side *side) {
    rdma_disconnect(side->id);
    rdma_destroy_qp(side->id);
    ibv_dereg_mr(side->region_mr);
    ibv_dereg_mr(side->work_mr);
    ibv_dereg_mr(side->messages_mr);
    ibv_destroy_cq(side->cq);
    ibv_dealloc_pd(side->id->pd);
    rdma_destroy_id(side->id);
    free(side->region);
    free(side->work);
    free(side->messages);
}

static bool next_completion(struct side *side, struct ibv_wc *completion, int milliseconds) {
    struct timespec pause = {.tv_nsec = 200000};
    for (int i = 0; i < milliseconds * 5; i++) {
        int count = ibv_poll_cq(side->cq, 1, completion);
        if (count < 0) fail("ibv_poll_cq");
        if (count) return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void print_receive(struct side *side, const struct ibv_wc *completion) {
    if (completion->status) {
        printf("receive: %s\n", ibv_wc_status_str(completion->status));
        return;
    }
    uint32_t sum = 0;
    for (uint32_t i = 0; i < completion->byte_len; i++)
        sum = 31 * sum + side->messages[completion->wr_id * MESSAGE + i];
    printf("receive: %u octets, sum %08x%s\n", completion->byte_len, sum,
           completion->wc_flags & IBV_WC_WITH_INV ? ", invalidates" : "");
}

// Posts one request and returns the status of its completion; receives that complete meanwhile are printed.
static int perform(struct side *side, struct ibv_send_wr request, size_t offset, uint32_t length) {
    struct ibv_sge element = {(uintptr_t)side->work + offset, length, side->work_mr->lkey};
    request.sg_list = &element;
    request.num_sge = length ? 1 : 0;
    request.send_flags |= IBV_SEND_SIGNALED;
    request.wr_id = MESSAGES;
    struct ibv_send_wr *bad;
    if (ibv_post_send(side->id->qp, &request, &bad)) return -1;
    struct ibv_wc completion;
    while (next_completion(side, &completion, TIMEOUT)) {
        if (completion.wr_id == MESSAGES) return completion.status;
        print_receive(side, &completion);
    }
    fail("no completion within %d ms", TIMEOUT);
    return -1;
}

static int write_to(struct side *side, uint64_t address, uint32_t rkey, uint32_t length) {
    struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = {address, rkey}};
    return perform(side, request, 0, length);
}

static int read_from(struct side *side, uint64_t address, uint32_t rkey, size_t offset, uint32_t length) {
    struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_READ, .wr.rdma = {address, rkey}};
    return perform(side, request, offset, length);
}

static int send_message(struct side *side, uint32_t length, bool solicited) {
    struct ibv_send_wr request = {.opcode = IBV_WR_SEND, .send_flags = solicited ? IBV_SEND_SOLICITED : 0};
    return perform(side, request, 0, length);
}

static const char *named(int status) { return status < 0 ? "refused" : ibv_wc_status_str(status); }

static const uint32_t SIZES[] = {1,    3,    4,    8,    63,   511,  512,  1023, 1024,  1408,  1428,
                                 1429, 1430, 1431, 1432, 1460, 2857, 4096, 9000, 20001, 65536, 65537};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

// Writes blocks of all sizes one behind the other, and reads each back.
static void blocks(struct side *side, struct region peer) {
    uint64_t offset = 0;
    for (int i = 0; i < SIZE_COUNT && offset + SIZES[i] <= peer.length; i++) {
        fill(side, i, SIZES[i]);
        int status = write_to(side, peer.address + offset, peer.rkey, SIZES[i]);
        if (status) fail("write of %u octets: %s", SIZES[i], named(status));
        status = read_from(side, peer.address + offset, peer.rkey, REGION / 2, SIZES[i]);
        if (status) fail("read of %u octets: %s", SIZES[i], named(status));
        if (memcmp(side->work, side->work + REGION / 2, SIZES[i])) fail("read of %u octets: other octets", SIZES[i]);
        offset += SIZES[i] + i % 5;
    }
    int status = write_to(side, peer.address, peer.rkey, 0);
    if (status) fail("write of 0 octets: %s", named(status));
    printf("blocks: %d sizes, up to octet %llu\n", SIZE_COUNT, (unsigned long long)offset);
}

// Writes the peer's whole region, a mebibyte after the other, each with octets of its own.
static void file(struct side *side, struct region peer) {
    uint64_t offset = 0;
    for (uint32_t i = 0; offset + REGION <= peer.length; i++, offset += REGION) {
        fill(side, i, REGION);
        int status = write_to(side, peer.address + offset, peer.rkey, REGION);
        if (status) fail("write at %llu: %s", (unsigned long long)offset, named(status));
    }
    int status = send_message(side, 0, true);
    if (status) fail("send: %s", named(status));
    printf("file: %llu octets\n", (unsigned long long)offset);
}

static void messages(struct side *side) {
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t length = 173 * i % 4097;
        fill(side, i, length);
        int status = send_message(side, length, i % 2);
        if (status) fail("send of %u octets: %s", length, named(status));
    }
    printf("messages: 24\n");
}

static void connect_to(const char *name, const char *address, int port, size_t private_length) {
    struct rdma_cm_id *id;
    if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) fail("rdma_create_id");
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) fail("address %s", address);
    if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 5000)) fail("rdma_resolve_addr");
    rdma_ack_cm_event(expect(RDMA_CM_EVENT_ADDR_RESOLVED));
    if (rdma_resolve_route(id, 5000)) fail("rdma_resolve_route");
    rdma_ack_cm_event(expect(RDMA_CM_EVENT_ROUTE_RESOLVED));
    struct side side;
    set_up(&side, id);
    uint8_t octets[512];
    struct rdma_conn_param parameters = {
        .responder_resources = 4,
        .initiator_depth = 4,
        .private_data = octets,
        .private_data_len = private_data(octets, private_length),
    };
    if (rdma_connect(id, &parameters)) fail("rdma_connect");
    if (!strcmp(name, "refused")) {
        struct rdma_cm_event *event = expect(RDMA_CM_EVENT_REJECTED);
        print_private_data(event, 0);
        rdma_ack_cm_event(event);
        return;
    }
    struct rdma_cm_event *event = expect(RDMA_CM_EVENT_ESTABLISHED);
    struct region peer;
    if (event->param.conn.private_data_len < sizeof peer) fail("the reply has no region");
    memcpy(&peer, event->param.conn.private_data, sizeof peer);
    print_private_data(event, sizeof peer);
    rdma_ack_cm_event(event);
    peer = (struct region){be64toh(peer.address), be64toh(peer.length), be32toh(peer.rkey)};
    uint64_t end = peer.address + peer.length;
    if (!strcmp(name, "blocks")) blocks(&side, peer);
    else if (!strcmp(name, "messages")) messages(&side);
    else if (!strcmp(name, "file")) file(&side, peer);
    else if (!strcmp(name, "invalidate")) {
        struct ibv_send_wr request = {.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = peer.rkey};
        printf("write: %s\n", named(write_to(&side, peer.address, peer.rkey, 64)));
        printf("send with invalidate: %s\n", named(perform(&side, request, 0, 64)));
        write_to(&side, peer.address, peer.rkey, 64); // ends the stream at the peer
    } else if (!strcmp(name, "bad-stag")) write_to(&side, peer.address, peer.rkey ^ 0x00010000, 64);
    else if (!strcmp(name, "out-of-bounds")) write_to(&side, end - 32, peer.rkey, 64);
    else if (!strcmp(name, "read-out-of-bounds")) read_from(&side, end - 32, peer.rkey, 0, 64);
    else if (!strcmp(name, "too-long")) send_message(&side, 65536, false);
    else if (!strcmp(name, "corrupted")) write_to(&side, peer.address, peer.rkey, 65536); // something on the way does that
    else fail("no case %s", name);
    if (strcmp(name, "blocks") && strcmp(name, "messages") && strcmp(name, "file")) {
        // The peer's Terminate, or the end of the connection, follows.
        event = expect(RDMA_CM_EVENT_DISCONNECTED);
        rdma_ack_cm_event(event);
        printf("disconnected\n");
    }
    tear_down(&side);
}

static struct rdma_cm_id *listen_at(int port) {
    struct rdma_cm_id *listener;
    if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP)) fail("rdma_create_id");
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (rdma_bind_addr(listener, (struct sockaddr *)&at)) fail("rdma_bind_addr");
    if (rdma_listen(listener, 4)) fail("rdma_listen");
    printf("listening\n");
    return listener;
}

static void serve(int port, int count, size_t private_length) {
    listen_at(port);
    for (int i = 0; i < count; i++) {
        struct rdma_cm_event *event = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
        print_private_data(event, 0);
        struct side side;
        set_up(&side, event->id);
        rdma_ack_cm_event(event);
        uint8_t octets[512];
        struct region region = {htobe64((uintptr_t)side.region), htobe64(REGION), htobe32(side.region_mr->rkey)};
        memcpy(octets, &region, sizeof region);
        struct rdma_conn_param parameters = {
            .responder_resources = 4,
            .initiator_depth = 4,
            .private_data = octets,
            .private_data_len = sizeof region + private_data(octets + sizeof region, private_length),
        };
        if (rdma_accept(side.id, &parameters)) fail("rdma_accept");
        do {
            event = next_event();
            printf("event: %s\n", rdma_event_str(event->event));
            bool over = event->event == RDMA_CM_EVENT_DISCONNECTED || event->event == RDMA_CM_EVENT_CONNECT_ERROR;
            rdma_ack_cm_event(event);
            if (over) break;
        } while (true);
        struct ibv_wc completion;
        while (next_completion(&side, &completion, 20)) {
            if (completion.status == IBV_WC_WR_FLUSH_ERR) continue;
            print_receive(&side, &completion);
        }
        uint32_t sum = 0;
        for (size_t j = 0; j < REGION; j++) sum = 31 * sum + side.region[j];
        printf("region: sum %08x\n", sum);
        tear_down(&side);
    }
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    channel = rdma_create_event_channel();
    if (!channel) fail("rdma_create_event_channel");
    if (count >= 4 && !strcmp(words[1], "listen"))
        serve(atoi(words[2]), atoi(words[3]), count > 4 ? strtoul(words[4], NULL, 10) : 0);
    else if (count >= 3 && !strcmp(words[1], "refuse")) {
        listen_at(atoi(words[2]));
        struct rdma_cm_event *event = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
        print_private_data(event, 0);
        uint8_t octets[512];
        size_t length = private_data(octets, count > 3 ? strtoul(words[3], NULL, 10) : 0);
        if (rdma_reject(event->id, octets, length)) fail("rdma_reject");
        rdma_ack_cm_event(event);
    } else if (count >= 4) connect_to(words[1], words[2], atoi(words[3]), count > 4 ? strtoul(words[4], NULL, 10) : 0);
    else {
        fprintf(stderr, "usage: rdma-peer listen PORT COUNT [PRIVATE] | refuse PORT [PRIVATE] | CASE ADDRESS PORT [PRIVATE]\n");
        return 2;
    }
    printf("done\n");
    return 0;
}

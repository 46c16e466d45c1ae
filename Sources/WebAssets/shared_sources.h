// The modules of shared/, which the widget packs and the console loads one by one.
#pragma once

static const unsigned char shared_protocol_js[] = {
#embed "shared/protocol.js"
};
static const unsigned char shared_backoff_js[] = {
#embed "shared/backoff.js"
};
static const unsigned char shared_uuid_js[] = {
#embed "shared/uuid.js"
};
static const unsigned char shared_store_js[] = {
#embed "shared/store.js"
};
static const unsigned char shared_socket_js[] = {
#embed "shared/socket.js"
};
static const unsigned char shared_shelf_js[] = {
#embed "shared/shelf.js"
};
static const unsigned char shared_outbox_js[] = {
#embed "shared/outbox.js"
};
static const unsigned char shared_marks_js[] = {
#embed "shared/marks.js"
};
static const unsigned char shared_typing_js[] = {
#embed "shared/typing.js"
};
static const unsigned char shared_conversation_js[] = {
#embed "shared/conversation.js"
};
static const unsigned char shared_dom_js[] = {
#embed "shared/dom.js"
};
static const unsigned char shared_thread_js[] = {
#embed "shared/thread.js"
};

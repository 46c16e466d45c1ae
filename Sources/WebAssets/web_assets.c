// Every file of the browser side, embedded at compile time and laid out once under its URL.

#include "web_assets.h"

#include <stdio.h>
#include <threads.h>

#include "pack.h"
#include "shorten.h"

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
static const unsigned char shared_tokens_css[] = {
#embed "shared/tokens.css"
};
static const unsigned char shared_pages_css[] = {
#embed "shared/pages.css"
};
static const unsigned char shared_base_css[] = {
#embed "shared/base.css"
};
static const unsigned char shared_icon_svg[] = {
#embed "shared/icon.svg"
};
static const unsigned char widget_widget_js[] = {
#embed "widget/widget.js"
};
static const unsigned char widget_visitor_js[] = {
#embed "widget/visitor.js"
};
static const unsigned char widget_status_js[] = {
#embed "widget/status.js"
};
static const unsigned char widget_panel_js[] = {
#embed "widget/panel.js"
};
static const unsigned char widget_app_js[] = {
#embed "widget/app.js"
};
static const unsigned char widget_widget_css[] = {
#embed "widget/widget.css"
};
static const unsigned char console_api_js[] = {
#embed "console/api.js"
};
static const unsigned char console_composer_js[] = {
#embed "console/composer.js"
};
static const unsigned char console_console_css[] = {
#embed "console/console.css"
};
static const unsigned char console_icons_js[] = {
#embed "console/icons.js"
};
static const unsigned char console_inbox_js[] = {
#embed "console/inbox.js"
};
static const unsigned char console_index_html[] = {
#embed "console/index.html"
};
static const unsigned char console_keys_js[] = {
#embed "console/keys.js"
};
static const unsigned char console_lines_js[] = {
#embed "console/lines.js"
};
static const unsigned char console_linkstate_js[] = {
#embed "console/linkstate.js"
};
static const unsigned char console_list_js[] = {
#embed "console/list.js"
};
static const unsigned char console_login_js[] = {
#embed "console/login.js"
};
static const unsigned char console_main_js[] = {
#embed "console/main.js"
};
static const unsigned char console_narrow_css[] = {
#embed "console/narrow.css"
};
static const unsigned char console_pane_js[] = {
#embed "console/pane.js"
};
static const unsigned char console_thread_css[] = {
#embed "console/thread.css"
};
static const unsigned char console_visitor_js[] = {
#embed "console/visitor.js"
};
static const unsigned char demo_bike_svg[] = {
#embed "demo/bike.svg"
};
static const unsigned char demo_demo_css[] = {
#embed "demo/demo.css"
};
static const unsigned char demo_hose_svg[] = {
#embed "demo/hose.svg"
};
static const unsigned char demo_index_html[] = {
#embed "demo/index.html"
};
static const unsigned char demo_lever_svg[] = {
#embed "demo/lever.svg"
};
static const unsigned char demo_pads_svg[] = {
#embed "demo/pads.svg"
};

#define PART(file) {file, sizeof file}

// The widget in two answers, each in the order of its dependencies: small matters more here than
// anywhere else. The styles come with the modules, as their export `css`.
static const chirrup_part loader_parts[] = {
    PART(widget_widget_js)};
static const chirrup_part app_parts[] = {
    PART(shared_protocol_js),
    PART(shared_backoff_js),
    PART(shared_uuid_js),
    PART(shared_store_js),
    PART(shared_socket_js),
    PART(shared_shelf_js),
    PART(shared_outbox_js),
    PART(shared_marks_js),
    PART(shared_typing_js),
    PART(shared_conversation_js),
    PART(shared_dom_js),
    PART(shared_thread_js),
    PART(widget_visitor_js),
    PART(widget_status_js),
    PART(widget_panel_js),
    PART(widget_app_js)};
static const chirrup_part style_parts[] = {
    PART(shared_tokens_css),
    PART(shared_base_css),
    PART(widget_widget_css)};

// Twice as much as the sources, as `chirrup_shorten` asks.
static unsigned char loader[
    2 * sizeof widget_widget_js];
static unsigned char app[
    2 * (sizeof shared_protocol_js + sizeof shared_backoff_js + sizeof shared_uuid_js +
    sizeof shared_store_js + sizeof shared_socket_js + sizeof shared_shelf_js +
    sizeof shared_outbox_js + sizeof shared_marks_js + sizeof shared_typing_js +
    sizeof shared_conversation_js + sizeof shared_dom_js + sizeof shared_thread_js +
    sizeof widget_visitor_js + sizeof widget_status_js + sizeof widget_panel_js +
    sizeof widget_app_js +
    sizeof shared_tokens_css + sizeof shared_base_css + sizeof widget_widget_css)];

#define HTML "text/html; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define STYLE "text/css; charset=utf-8"
#define IMAGE "image/svg+xml"
#define ASSET(file) file, sizeof file

static chirrup_asset assets[] = {
    {"/widget.js", SCRIPT, loader, 0},
    {"/assets/widget/app.js", SCRIPT, app, 0},
    {"/demo", HTML, ASSET(demo_index_html)},
    {"/console", HTML, ASSET(console_index_html)},
    {"/assets/shared/protocol.js", SCRIPT, ASSET(shared_protocol_js)},
    {"/assets/shared/backoff.js", SCRIPT, ASSET(shared_backoff_js)},
    {"/assets/shared/uuid.js", SCRIPT, ASSET(shared_uuid_js)},
    {"/assets/shared/store.js", SCRIPT, ASSET(shared_store_js)},
    {"/assets/shared/socket.js", SCRIPT, ASSET(shared_socket_js)},
    {"/assets/shared/shelf.js", SCRIPT, ASSET(shared_shelf_js)},
    {"/assets/shared/outbox.js", SCRIPT, ASSET(shared_outbox_js)},
    {"/assets/shared/marks.js", SCRIPT, ASSET(shared_marks_js)},
    {"/assets/shared/typing.js", SCRIPT, ASSET(shared_typing_js)},
    {"/assets/shared/conversation.js", SCRIPT, ASSET(shared_conversation_js)},
    {"/assets/shared/dom.js", SCRIPT, ASSET(shared_dom_js)},
    {"/assets/shared/thread.js", SCRIPT, ASSET(shared_thread_js)},
    {"/assets/shared/tokens.css", STYLE, ASSET(shared_tokens_css)},
    {"/assets/shared/pages.css", STYLE, ASSET(shared_pages_css)},
    {"/assets/shared/base.css", STYLE, ASSET(shared_base_css)},
    {"/assets/shared/icon.svg", IMAGE, ASSET(shared_icon_svg)},
    {"/assets/console/api.js", SCRIPT, ASSET(console_api_js)},
    {"/assets/console/composer.js", SCRIPT, ASSET(console_composer_js)},
    {"/assets/console/console.css", STYLE, ASSET(console_console_css)},
    {"/assets/console/icons.js", SCRIPT, ASSET(console_icons_js)},
    {"/assets/console/inbox.js", SCRIPT, ASSET(console_inbox_js)},
    {"/assets/console/keys.js", SCRIPT, ASSET(console_keys_js)},
    {"/assets/console/lines.js", SCRIPT, ASSET(console_lines_js)},
    {"/assets/console/linkstate.js", SCRIPT, ASSET(console_linkstate_js)},
    {"/assets/console/list.js", SCRIPT, ASSET(console_list_js)},
    {"/assets/console/login.js", SCRIPT, ASSET(console_login_js)},
    {"/assets/console/main.js", SCRIPT, ASSET(console_main_js)},
    {"/assets/console/narrow.css", STYLE, ASSET(console_narrow_css)},
    {"/assets/console/pane.js", SCRIPT, ASSET(console_pane_js)},
    {"/assets/console/thread.css", STYLE, ASSET(console_thread_css)},
    {"/assets/console/visitor.js", SCRIPT, ASSET(console_visitor_js)},
    {"/assets/demo/bike.svg", IMAGE, ASSET(demo_bike_svg)},
    {"/assets/demo/demo.css", STYLE, ASSET(demo_demo_css)},
    {"/assets/demo/hose.svg", IMAGE, ASSET(demo_hose_svg)},
    {"/assets/demo/lever.svg", IMAGE, ASSET(demo_lever_svg)},
    {"/assets/demo/pads.svg", IMAGE, ASSET(demo_pads_svg)},
};

static void pack(void) {
  static unsigned char packed[sizeof app / 2];
  unsigned long length = chirrup_pack_modules(loader_parts, 1, packed);
  assets[0].length = chirrup_shorten(packed, length, loader);
  length = chirrup_pack_modules(app_parts, sizeof app_parts / sizeof *app_parts, packed);
  unsigned char *end = app + chirrup_shorten(packed, length, app);
  end += sprintf((char *)end, "export let css=`");
  end += chirrup_pack_styles(style_parts, sizeof style_parts / sizeof *style_parts, end);
  end += sprintf((char *)end, "`\n");
  assets[1].length = (unsigned long)(end - app);
}

const chirrup_asset *chirrup_assets(unsigned long *count) {
  static once_flag packed = ONCE_FLAG_INIT;
  call_once(&packed, pack);
  *count = sizeof assets / sizeof *assets;
  return assets;
}

// Every file of the browser side, embedded at compile time and laid out once under its URL.

#include "shared_sources.h"
#include "web_assets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
static const unsigned char console_actions_js[] = {
#embed "console/actions.js"
};
static const unsigned char console_alerts_js[] = {
#embed "console/alerts.js"
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
static const unsigned char console_own_password_js[] = {
#embed "console/own-password.js"
};
static const unsigned char console_guard_js[] = {
#embed "console/guard.js"
};
static const unsigned char console_undo_js[] = {
#embed "console/undo.js"
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
static const unsigned char console_pages_js[] = {
#embed "console/pages.js"
};
static const unsigned char console_rest_js[] = {
#embed "console/rest.js"
};
static const unsigned char console_settings_appearance_js[] = {
#embed "console/settings/appearance.js"
};
static const unsigned char console_settings_fields_js[] = {
#embed "console/settings/fields.js"
};
static const unsigned char console_settings_form_js[] = {
#embed "console/settings/form.js"
};
static const unsigned char console_settings_preview_js[] = {
#embed "console/settings/preview.js"
};
static const unsigned char console_settings_rehearsal_css[] = {
#embed "console/settings/rehearsal.css"
};
static const unsigned char console_settings_rehearsal_js[] = {
#embed "console/settings/rehearsal.js"
};
static const unsigned char console_settings_settings_css[] = {
#embed "console/settings/settings.css"
};
static const unsigned char console_settings_settings_js[] = {
#embed "console/settings/settings.js"
};
static const unsigned char console_settings_workspace_js[] = {
#embed "console/settings/workspace.js"
};
static const unsigned char console_settings_account_js[] = {
#embed "console/settings/account.js"
};
static const unsigned char console_settings_audit_js[] = {
#embed "console/settings/audit.js"
};
static const unsigned char console_settings_collection_js[] = {
#embed "console/settings/collection.js"
};
static const unsigned char console_settings_credentials_js[] = {
#embed "console/settings/credentials.js"
};
static const unsigned char console_settings_hours_js[] = {
#embed "console/settings/hours.js"
};
static const unsigned char console_settings_intents_js[] = {
#embed "console/settings/intents.js"
};
static const unsigned char console_settings_keys_js[] = {
#embed "console/settings/keys.js"
};
static const unsigned char console_settings_members_js[] = {
#embed "console/settings/members.js"
};
static const unsigned char console_settings_menus_js[] = {
#embed "console/settings/menus.js"
};
static const unsigned char console_settings_messages_js[] = {
#embed "console/settings/messages.js"
};
static const unsigned char console_settings_queue_js[] = {
#embed "console/settings/queue.js"
};
static const unsigned char console_settings_replies_js[] = {
#embed "console/settings/replies.js"
};
static const unsigned char console_settings_rows_js[] = {
#embed "console/settings/rows.js"
};
static const unsigned char console_settings_times_js[] = {
#embed "console/settings/times.js"
};
static const unsigned char console_settings_webhooks_js[] = {
#embed "console/settings/webhooks.js"
};
static const unsigned char console_analytics_charts_js[] = {
#embed "console/analytics-charts.js"
};
static const unsigned char console_analytics_marks_js[] = {
#embed "console/analytics-marks.js"
};
static const unsigned char console_analytics_comments_js[] = {
#embed "console/analytics-comments.js"
};
static const unsigned char console_stars_js[] = {
#embed "console/stars.js"
};
static const unsigned char console_analytics_tables_js[] = {
#embed "console/analytics-tables.js"
};
static const unsigned char console_analytics_css[] = {
#embed "console/analytics.css"
};
static const unsigned char console_analytics_js[] = {
#embed "console/analytics.js"
};
static const unsigned char console_canned_js[] = {
#embed "console/canned.js"
};
static const unsigned char console_cards_js[] = {
#embed "console/cards.js"
};
static const unsigned char console_emoji_list_js[] = {
#embed "console/emoji-list.js"
};
static const unsigned char console_emoji_js[] = {
#embed "console/emoji.js"
};
static const unsigned char console_excerpt_js[] = {
#embed "console/excerpt.js"
};
static const unsigned char console_facts_js[] = {
#embed "console/facts.js"
};
static const unsigned char console_head_js[] = {
#embed "console/head.js"
};
static const unsigned char console_offers_js[] = {
#embed "console/offers.js"
};
static const unsigned char console_presence_js[] = {
#embed "console/presence.js"
};
static const unsigned char console_row_js[] = {
#embed "console/row.js"
};
static const unsigned char console_rows_js[] = {
#embed "console/rows.js"
};
static const unsigned char console_search_js[] = {
#embed "console/search.js"
};
static const unsigned char console_section_js[] = {
#embed "console/section.js"
};
static const unsigned char console_sheet_js[] = {
#embed "console/sheet.js"
};
static const unsigned char console_tags_js[] = {
#embed "console/tags.js"
};
static const unsigned char console_transfer_js[] = {
#embed "console/transfer.js"
};
static const unsigned char console_you_js[] = {
#embed "console/you.js"
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

#define HTML "text/html; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define STYLE "text/css; charset=utf-8"
#define IMAGE "image/svg+xml"
#define ASSET(file) file, sizeof file

static const chirrup_asset own[] = {
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
    {"/assets/console/actions.js", SCRIPT, ASSET(console_actions_js)},
    {"/assets/console/alerts.js", SCRIPT, ASSET(console_alerts_js)},
    {"/assets/console/api.js", SCRIPT, ASSET(console_api_js)},
    {"/assets/console/composer.js", SCRIPT, ASSET(console_composer_js)},
    {"/assets/console/console.css", STYLE, ASSET(console_console_css)},
    {"/assets/console/icons.js", SCRIPT, ASSET(console_icons_js)},
    {"/assets/console/inbox.js", SCRIPT, ASSET(console_inbox_js)},
    {"/assets/console/keys.js", SCRIPT, ASSET(console_keys_js)},
    {"/assets/console/lines.js", SCRIPT, ASSET(console_lines_js)},
    {"/assets/console/linkstate.js", SCRIPT, ASSET(console_linkstate_js)},
    {"/assets/console/list.js", SCRIPT, ASSET(console_list_js)},
    {"/assets/console/guard.js", SCRIPT, ASSET(console_guard_js)},
    {"/assets/console/undo.js", SCRIPT, ASSET(console_undo_js)},
    {"/assets/console/login.js", SCRIPT, ASSET(console_login_js)},
    {"/assets/console/own-password.js", SCRIPT, ASSET(console_own_password_js)},
    {"/assets/console/main.js", SCRIPT, ASSET(console_main_js)},
    {"/assets/console/narrow.css", STYLE, ASSET(console_narrow_css)},
    {"/assets/console/pane.js", SCRIPT, ASSET(console_pane_js)},
    {"/assets/console/thread.css", STYLE, ASSET(console_thread_css)},
    {"/assets/console/visitor.js", SCRIPT, ASSET(console_visitor_js)},
    {"/assets/console/pages.js", SCRIPT, ASSET(console_pages_js)},
    {"/assets/console/rest.js", SCRIPT, ASSET(console_rest_js)},
    {"/assets/console/settings/appearance.js", SCRIPT, ASSET(console_settings_appearance_js)},
    {"/assets/console/settings/fields.js", SCRIPT, ASSET(console_settings_fields_js)},
    {"/assets/console/settings/form.js", SCRIPT, ASSET(console_settings_form_js)},
    {"/assets/console/settings/preview.js", SCRIPT, ASSET(console_settings_preview_js)},
    {"/assets/console/settings/rehearsal.css", STYLE, ASSET(console_settings_rehearsal_css)},
    {"/assets/console/settings/rehearsal.js", SCRIPT, ASSET(console_settings_rehearsal_js)},
    {"/assets/console/settings/settings.css", STYLE, ASSET(console_settings_settings_css)},
    {"/assets/console/settings/settings.js", SCRIPT, ASSET(console_settings_settings_js)},
    {"/assets/console/settings/workspace.js", SCRIPT, ASSET(console_settings_workspace_js)},
    {"/assets/console/settings/account.js", SCRIPT, ASSET(console_settings_account_js)},
    {"/assets/console/settings/audit.js", SCRIPT, ASSET(console_settings_audit_js)},
    {"/assets/console/settings/collection.js", SCRIPT, ASSET(console_settings_collection_js)},
    {"/assets/console/settings/credentials.js", SCRIPT, ASSET(console_settings_credentials_js)},
    {"/assets/console/settings/hours.js", SCRIPT, ASSET(console_settings_hours_js)},
    {"/assets/console/settings/intents.js", SCRIPT, ASSET(console_settings_intents_js)},
    {"/assets/console/settings/keys.js", SCRIPT, ASSET(console_settings_keys_js)},
    {"/assets/console/settings/members.js", SCRIPT, ASSET(console_settings_members_js)},
    {"/assets/console/settings/menus.js", SCRIPT, ASSET(console_settings_menus_js)},
    {"/assets/console/settings/messages.js", SCRIPT, ASSET(console_settings_messages_js)},
    {"/assets/console/settings/queue.js", SCRIPT, ASSET(console_settings_queue_js)},
    {"/assets/console/settings/replies.js", SCRIPT, ASSET(console_settings_replies_js)},
    {"/assets/console/settings/rows.js", SCRIPT, ASSET(console_settings_rows_js)},
    {"/assets/console/settings/times.js", SCRIPT, ASSET(console_settings_times_js)},
    {"/assets/console/settings/webhooks.js", SCRIPT, ASSET(console_settings_webhooks_js)},
    {"/assets/console/analytics-charts.js", SCRIPT, ASSET(console_analytics_charts_js)},
    {"/assets/console/analytics-marks.js", SCRIPT, ASSET(console_analytics_marks_js)},
    {"/assets/console/analytics-tables.js", SCRIPT, ASSET(console_analytics_tables_js)},
    {"/assets/console/analytics-comments.js", SCRIPT, ASSET(console_analytics_comments_js)},
    {"/assets/console/stars.js", SCRIPT, ASSET(console_stars_js)},
    {"/assets/console/analytics.css", STYLE, ASSET(console_analytics_css)},
    {"/assets/console/analytics.js", SCRIPT, ASSET(console_analytics_js)},
    {"/assets/console/canned.js", SCRIPT, ASSET(console_canned_js)},
    {"/assets/console/cards.js", SCRIPT, ASSET(console_cards_js)},
    {"/assets/console/emoji-list.js", SCRIPT, ASSET(console_emoji_list_js)},
    {"/assets/console/emoji.js", SCRIPT, ASSET(console_emoji_js)},
    {"/assets/console/excerpt.js", SCRIPT, ASSET(console_excerpt_js)},
    {"/assets/console/facts.js", SCRIPT, ASSET(console_facts_js)},
    {"/assets/console/head.js", SCRIPT, ASSET(console_head_js)},
    {"/assets/console/offers.js", SCRIPT, ASSET(console_offers_js)},
    {"/assets/console/presence.js", SCRIPT, ASSET(console_presence_js)},
    {"/assets/console/row.js", SCRIPT, ASSET(console_row_js)},
    {"/assets/console/rows.js", SCRIPT, ASSET(console_rows_js)},
    {"/assets/console/search.js", SCRIPT, ASSET(console_search_js)},
    {"/assets/console/section.js", SCRIPT, ASSET(console_section_js)},
    {"/assets/console/sheet.js", SCRIPT, ASSET(console_sheet_js)},
    {"/assets/console/tags.js", SCRIPT, ASSET(console_tags_js)},
    {"/assets/console/transfer.js", SCRIPT, ASSET(console_transfer_js)},
    {"/assets/console/you.js", SCRIPT, ASSET(console_you_js)},
    {"/assets/demo/bike.svg", IMAGE, ASSET(demo_bike_svg)},
    {"/assets/demo/demo.css", STYLE, ASSET(demo_demo_css)},
    {"/assets/demo/hose.svg", IMAGE, ASSET(demo_hose_svg)},
    {"/assets/demo/lever.svg", IMAGE, ASSET(demo_lever_svg)},
    {"/assets/demo/pads.svg", IMAGE, ASSET(demo_pads_svg)},
};

enum { widget_max = 32 };
static chirrup_asset assets[sizeof own / sizeof *own + widget_max];
static unsigned long assets_count;

static void gather(void) {
  unsigned long widget_count;
  const chirrup_asset *const widget = chirrup_widget_assets(&widget_count);
  if (widget_count > widget_max) abort();
  memcpy(assets, widget, widget_count * sizeof *widget);
  memcpy(assets + widget_count, own, sizeof own);
  assets_count = widget_count + sizeof own / sizeof *own;
}

const chirrup_asset *chirrup_assets(unsigned long *count) {
  // Not call_once: the thread sanitizer does not know that one.
  static pthread_once_t gathered = PTHREAD_ONCE_INIT;
  pthread_once(&gathered, gather);
  *count = assets_count;
  return assets;
}

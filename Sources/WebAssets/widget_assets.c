// The widget as it is sent: a loader, the app with its styles, a module for each language. Small
// matters more here than anywhere else, so modules are joined and names shortened, once, on the first
// call. The sources of shared/ are embedded a second time: the console gets them as they are.

#include <stdio.h>

#include "pack.h"
#include "shared_sources.h"
#include "shorten.h"
#include "squeeze.h"
#include "web_assets.h"

static const unsigned char widget_widget_js[] = {
#embed "widget/widget.js"
};
static const unsigned char widget_wordlist_js[] = {
#embed "widget/wordlist.js"
};
static const unsigned char widget_words_js[] = {
#embed "widget/words.js"
};
static const unsigned char widget_visitor_js[] = {
#embed "widget/visitor.js"
};
static const unsigned char widget_notice_js[] = {
#embed "widget/notice.js"
};
static const unsigned char widget_extras_js[] = {
#embed "widget/extras.js"
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
static const unsigned char widget_extras_css[] = {
#embed "widget/extras.css"
};
static const unsigned char widget_widget_d_ts[] = {
#embed "widget/widget.d.ts"
};

// A language is one file, embedded here, and one line of the table below.
static const unsigned char language_en[] = {
#embed "widget/languages/en.json"
};
static const unsigned char language_de[] = {
#embed "widget/languages/de.json"
};
static const unsigned char language_es[] = {
#embed "widget/languages/es.json"
};
static const unsigned char language_th[] = {
#embed "widget/languages/th.json"
};
static const unsigned char language_ar[] = {
#embed "widget/languages/ar.json"
};
static const unsigned char language_ja[] = {
#embed "widget/languages/ja.json"
};

#define PART(file) {file, sizeof file}

static const struct {
  const char *path;
  chirrup_part texts;
} languages[] = {
    // English is first: it says what another one lacks.
    {"/assets/widget/languages/en.js", PART(language_en)},
    {"/assets/widget/languages/de.js", PART(language_de)},
    {"/assets/widget/languages/es.js", PART(language_es)},
    {"/assets/widget/languages/th.js", PART(language_th)},
    {"/assets/widget/languages/ar.js", PART(language_ar)},
    {"/assets/widget/languages/ja.js", PART(language_ja)},
};
enum { languages_count = sizeof languages / sizeof *languages, language_max = 16384 };
static unsigned char words[languages_count][language_max];

// In the order of their dependencies. The styles come with the modules, as their export `css`.
static const chirrup_part loader_parts[] = {PART(widget_widget_js)};
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
    PART(widget_wordlist_js),
    PART(widget_words_js),
    PART(widget_notice_js),
    PART(widget_status_js),
    PART(widget_panel_js),
    PART(widget_extras_js),
    PART(widget_app_js)};
static const chirrup_part style_parts[] = {PART(widget_widget_css), PART(widget_extras_css)};

// Room for twice as much as all sources, as `chirrup_shorten` asks.
enum { sources_max = 160 * 1024 };
static unsigned char loader[2 * sizeof widget_widget_js];
static unsigned char app[2 * sources_max];

// Properties of the widget's own objects. Whoever adds one that is long and often used may add it
// here; nothing depends on it. None may be the name of a field in a frame, a request, an item of the
// outbox or anything of the platform.
static const char inner[] =
    "pausedUntil heard openedAt ids oldest lostAt live drop ask askAs changed others toEnd atEnd "
    "home noted roundTrip waiting acked refuse hush confirm reached older opened retryAt "
    "nudge local route kept commit typing forget keep unread render about again "
    "speak write welcome state items ready next lost others log form mark sign node drawn draw "
    "change cause reason frame tell choose begun config offers view visitor hush typed me extra "
    "newer atEnd transcript loading line mute fail moved hush untold";

/// Classes that only the widget's own sheet and elements name, and no test.
static const char looks[] =
    "icon-button avatar compose grades head lead link mark menu pages again replies sr-only who "
    "cards dots dot foot status queue panel send";

#define SCRIPT "text/javascript; charset=utf-8"

/// Room for the gzip files of all, which are a third of them.
static unsigned char squeezed[sources_max];

enum { widget_place, app_place, types_place, languages_place };

static chirrup_asset assets[languages_place + languages_count] = {
    {.path = "/widget.js", .content_type = SCRIPT, .bytes = loader},
    {.path = "/assets/widget/app.js", .content_type = SCRIPT, .bytes = app},
    {.path = "/widget.d.ts", .content_type = "text/plain; charset=utf-8",
     .bytes = widget_widget_d_ts, .length = sizeof widget_widget_d_ts},
};

static void squeeze_all(unsigned long count) {
  unsigned char *end = squeezed;
  for (unsigned long i = 0; i < count; i += 1) {
    if (end + assets[i].length > squeezed + sizeof squeezed) return;
    assets[i].gzip_length = chirrup_squeeze(assets[i].bytes, assets[i].length, end);
    assets[i].gzip = assets[i].gzip_length > 0 ? end : NULL;
    end += assets[i].gzip_length;
  }
}

const chirrup_asset *chirrup_widget_assets(unsigned long *count) {
  static unsigned char packed[sources_max];
  unsigned long length = chirrup_pack_modules(loader_parts, 1, packed);
  static unsigned char opened[2 * sources_max];
  assets[widget_place].length = chirrup_shorten(packed, length, NULL, loader);
  length = chirrup_pack_modules(app_parts, sizeof app_parts / sizeof *app_parts, packed);
  length = chirrup_open_classes(packed, length, opened);
  unsigned char *end = app + chirrup_shorten(opened, length, inner, app);
  end = app + chirrup_rename_looks(app, (unsigned long)(end - app), looks, true);
  end += sprintf((char *)end, "export let css=`");
  length = chirrup_pack_styles(style_parts, sizeof style_parts / sizeof *style_parts, end);
  end += chirrup_rename_looks(end, length, looks, false);
  end += sprintf((char *)end, "`\n");
  assets[app_place].length = (unsigned long)(end - app);
  for (unsigned long i = 0; i < languages_count; i += 1) {
    length = chirrup_pack_words((chirrup_part)PART(widget_wordlist_js), languages[i].texts,
                                languages[0].texts, words[i]);
    assets[languages_place + i] = (chirrup_asset){
        .path = languages[i].path, .content_type = SCRIPT, .bytes = words[i], .length = length};
  }
  squeeze_all(sizeof assets / sizeof *assets);
  *count = sizeof assets / sizeof *assets;
  return assets;
}

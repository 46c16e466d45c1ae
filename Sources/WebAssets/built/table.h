// Made by scripts/web: see manifest.json.

static const unsigned char plain_0[] = {
#embed "icon-f0052ca7b4.svg"
};
static const unsigned char gzip_0[] = {
#embed "icon-f0052ca7b4.svg.gz"
};
static const unsigned char brotli_0[] = {
#embed "icon-f0052ca7b4.svg.br"
};
static const unsigned char plain_1[] = {
#embed "bike-3b0679c150.svg"
};
static const unsigned char gzip_1[] = {
#embed "bike-3b0679c150.svg.gz"
};
static const unsigned char brotli_1[] = {
#embed "bike-3b0679c150.svg.br"
};
static const unsigned char plain_2[] = {
#embed "hose-eb629b44e9.svg"
};
static const unsigned char gzip_2[] = {
#embed "hose-eb629b44e9.svg.gz"
};
static const unsigned char brotli_2[] = {
#embed "hose-eb629b44e9.svg.br"
};
static const unsigned char plain_3[] = {
#embed "lever-2472c3d747.svg"
};
static const unsigned char gzip_3[] = {
#embed "lever-2472c3d747.svg.gz"
};
static const unsigned char brotli_3[] = {
#embed "lever-2472c3d747.svg.br"
};
static const unsigned char plain_4[] = {
#embed "pads-790cbce49a.svg"
};
static const unsigned char gzip_4[] = {
#embed "pads-790cbce49a.svg.gz"
};
static const unsigned char brotli_4[] = {
#embed "pads-790cbce49a.svg.br"
};
static const unsigned char plain_5[] = {
#embed "widget-ar-ac4c90c795.js"
};
static const unsigned char gzip_5[] = {
#embed "widget-ar-ac4c90c795.js.gz"
};
static const unsigned char brotli_5[] = {
#embed "widget-ar-ac4c90c795.js.br"
};
static const unsigned char plain_6[] = {
#embed "widget-de-e01ead7632.js"
};
static const unsigned char gzip_6[] = {
#embed "widget-de-e01ead7632.js.gz"
};
static const unsigned char brotli_6[] = {
#embed "widget-de-e01ead7632.js.br"
};
static const unsigned char plain_7[] = {
#embed "widget-en-adf472d9aa.js"
};
static const unsigned char gzip_7[] = {
#embed "widget-en-adf472d9aa.js.gz"
};
static const unsigned char brotli_7[] = {
#embed "widget-en-adf472d9aa.js.br"
};
static const unsigned char plain_8[] = {
#embed "widget-es-aacef23c1a.js"
};
static const unsigned char gzip_8[] = {
#embed "widget-es-aacef23c1a.js.gz"
};
static const unsigned char brotli_8[] = {
#embed "widget-es-aacef23c1a.js.br"
};
static const unsigned char plain_9[] = {
#embed "widget-ja-6dd8e2935a.js"
};
static const unsigned char gzip_9[] = {
#embed "widget-ja-6dd8e2935a.js.gz"
};
static const unsigned char brotli_9[] = {
#embed "widget-ja-6dd8e2935a.js.br"
};
static const unsigned char plain_10[] = {
#embed "widget-th-7f21d27c41.js"
};
static const unsigned char gzip_10[] = {
#embed "widget-th-7f21d27c41.js.gz"
};
static const unsigned char brotli_10[] = {
#embed "widget-th-7f21d27c41.js.br"
};
static const unsigned char plain_11[] = {
#embed "qr-code-27b29e7d37.js"
};
static const unsigned char gzip_11[] = {
#embed "qr-code-27b29e7d37.js.gz"
};
static const unsigned char brotli_11[] = {
#embed "qr-code-27b29e7d37.js.br"
};
static const unsigned char plain_12[] = {
#embed "widget-forms-62c3251efd.js"
};
static const unsigned char gzip_12[] = {
#embed "widget-forms-62c3251efd.js.gz"
};
static const unsigned char brotli_12[] = {
#embed "widget-forms-62c3251efd.js.br"
};
static const unsigned char plain_13[] = {
#embed "widget-app-d687b61bd4.js"
};
static const unsigned char gzip_13[] = {
#embed "widget-app-d687b61bd4.js.gz"
};
static const unsigned char brotli_13[] = {
#embed "widget-app-d687b61bd4.js.br"
};
static const unsigned char plain_14[] = {
#embed "widget-watch-7c9d7031cd.js"
};
static const unsigned char gzip_14[] = {
#embed "widget-watch-7c9d7031cd.js.gz"
};
static const unsigned char brotli_14[] = {
#embed "widget-watch-7c9d7031cd.js.br"
};
static const unsigned char plain_15[] = {
#embed "widget.js"
};
static const unsigned char gzip_15[] = {
#embed "widget.js.gz"
};
static const unsigned char brotli_15[] = {
#embed "widget.js.br"
};
static const unsigned char plain_16[] = {
#embed "widget.d.ts"
};
static const unsigned char gzip_16[] = {
#embed "widget.d.ts.gz"
};
static const unsigned char brotli_16[] = {
#embed "widget.d.ts.br"
};
static const unsigned char plain_17[] = {
#embed "console-work-ar-148727124d.js"
};
static const unsigned char gzip_17[] = {
#embed "console-work-ar-148727124d.js.gz"
};
static const unsigned char brotli_17[] = {
#embed "console-work-ar-148727124d.js.br"
};
static const unsigned char plain_18[] = {
#embed "console-work-de-e62f7058e5.js"
};
static const unsigned char gzip_18[] = {
#embed "console-work-de-e62f7058e5.js.gz"
};
static const unsigned char brotli_18[] = {
#embed "console-work-de-e62f7058e5.js.br"
};
static const unsigned char plain_19[] = {
#embed "console-work-es-4fb9c8a8ea.js"
};
static const unsigned char gzip_19[] = {
#embed "console-work-es-4fb9c8a8ea.js.gz"
};
static const unsigned char brotli_19[] = {
#embed "console-work-es-4fb9c8a8ea.js.br"
};
static const unsigned char plain_20[] = {
#embed "console-work-ja-ea322de4a5.js"
};
static const unsigned char gzip_20[] = {
#embed "console-work-ja-ea322de4a5.js.gz"
};
static const unsigned char brotli_20[] = {
#embed "console-work-ja-ea322de4a5.js.br"
};
static const unsigned char plain_21[] = {
#embed "console-work-th-cd029a4edc.js"
};
static const unsigned char gzip_21[] = {
#embed "console-work-th-cd029a4edc.js.gz"
};
static const unsigned char brotli_21[] = {
#embed "console-work-th-cd029a4edc.js.br"
};
static const unsigned char plain_22[] = {
#embed "console-settings-ar-d119d5d603.js"
};
static const unsigned char gzip_22[] = {
#embed "console-settings-ar-d119d5d603.js.gz"
};
static const unsigned char brotli_22[] = {
#embed "console-settings-ar-d119d5d603.js.br"
};
static const unsigned char plain_23[] = {
#embed "console-settings-de-3a75a580a1.js"
};
static const unsigned char gzip_23[] = {
#embed "console-settings-de-3a75a580a1.js.gz"
};
static const unsigned char brotli_23[] = {
#embed "console-settings-de-3a75a580a1.js.br"
};
static const unsigned char plain_24[] = {
#embed "console-settings-es-617b9a24b0.js"
};
static const unsigned char gzip_24[] = {
#embed "console-settings-es-617b9a24b0.js.gz"
};
static const unsigned char brotli_24[] = {
#embed "console-settings-es-617b9a24b0.js.br"
};
static const unsigned char plain_25[] = {
#embed "console-settings-ja-1d95208db6.js"
};
static const unsigned char gzip_25[] = {
#embed "console-settings-ja-1d95208db6.js.gz"
};
static const unsigned char brotli_25[] = {
#embed "console-settings-ja-1d95208db6.js.br"
};
static const unsigned char plain_26[] = {
#embed "console-settings-th-451763654c.js"
};
static const unsigned char gzip_26[] = {
#embed "console-settings-th-451763654c.js.gz"
};
static const unsigned char brotli_26[] = {
#embed "console-settings-th-451763654c.js.br"
};
static const unsigned char plain_27[] = {
#embed "preview-0ea8eafd7b.css"
};
static const unsigned char gzip_27[] = {
#embed "preview-0ea8eafd7b.css.gz"
};
static const unsigned char brotli_27[] = {
#embed "preview-0ea8eafd7b.css.br"
};
static const unsigned char plain_28[] = {
#embed "console-71887223e9.css"
};
static const unsigned char gzip_28[] = {
#embed "console-71887223e9.css.gz"
};
static const unsigned char brotli_28[] = {
#embed "console-71887223e9.css.br"
};
static const unsigned char plain_29[] = {
#embed "icon-192-799c892582.png"
};
static const unsigned char plain_30[] = {
#embed "icon-512-c25581b192.png"
};
static const unsigned char plain_31[] = {
#embed "icon-maskable-db59bac642.png"
};
static const unsigned char plain_32[] = {
#embed "console.webmanifest"
};
static const unsigned char gzip_32[] = {
#embed "console.webmanifest.gz"
};
static const unsigned char brotli_32[] = {
#embed "console.webmanifest.br"
};
static const unsigned char plain_33[] = {
#embed "console-worker.js"
};
static const unsigned char gzip_33[] = {
#embed "console-worker.js.gz"
};
static const unsigned char brotli_33[] = {
#embed "console-worker.js.br"
};
static const unsigned char plain_34[] = {
#embed "console-pages-4eeafd294d.js"
};
static const unsigned char gzip_34[] = {
#embed "console-pages-4eeafd294d.js.gz"
};
static const unsigned char brotli_34[] = {
#embed "console-pages-4eeafd294d.js.br"
};
static const unsigned char plain_35[] = {
#embed "console-c6d6ca788d.js"
};
static const unsigned char gzip_35[] = {
#embed "console-c6d6ca788d.js.gz"
};
static const unsigned char brotli_35[] = {
#embed "console-c6d6ca788d.js.br"
};
static const unsigned char plain_36[] = {
#embed "console.html"
};
static const unsigned char plain_37[] = {
#embed "setup-6f6082f145.css"
};
static const unsigned char gzip_37[] = {
#embed "setup-6f6082f145.css.gz"
};
static const unsigned char brotli_37[] = {
#embed "setup-6f6082f145.css.br"
};
static const unsigned char plain_38[] = {
#embed "setup-4db765fcc1.js"
};
static const unsigned char gzip_38[] = {
#embed "setup-4db765fcc1.js.gz"
};
static const unsigned char brotli_38[] = {
#embed "setup-4db765fcc1.js.br"
};
static const unsigned char plain_39[] = {
#embed "setup.html"
};
static const unsigned char plain_40[] = {
#embed "reference-ed4c6bbd2e.css"
};
static const unsigned char gzip_40[] = {
#embed "reference-ed4c6bbd2e.css.gz"
};
static const unsigned char brotli_40[] = {
#embed "reference-ed4c6bbd2e.css.br"
};
static const unsigned char plain_41[] = {
#embed "reference-38e0c35b6a.js"
};
static const unsigned char gzip_41[] = {
#embed "reference-38e0c35b6a.js.gz"
};
static const unsigned char brotli_41[] = {
#embed "reference-38e0c35b6a.js.br"
};
static const unsigned char plain_42[] = {
#embed "api.html"
};
static const unsigned char plain_43[] = {
#embed "demo-2d3ac51962.css"
};
static const unsigned char gzip_43[] = {
#embed "demo-2d3ac51962.css.gz"
};
static const unsigned char brotli_43[] = {
#embed "demo-2d3ac51962.css.br"
};
static const unsigned char plain_44[] = {
#embed "demo.html"
};

static const chirrup_asset assets[] = {
    {"/assets/icon-f0052ca7b4.svg",
     "/assets/icon.svg",
     "image/svg+xml",
     FORM(plain_0), FORM(gzip_0), FORM(brotli_0)},
    {"/assets/bike-3b0679c150.svg",
     "/assets/bike.svg",
     "image/svg+xml",
     FORM(plain_1), FORM(gzip_1), FORM(brotli_1)},
    {"/assets/hose-eb629b44e9.svg",
     "/assets/hose.svg",
     "image/svg+xml",
     FORM(plain_2), FORM(gzip_2), FORM(brotli_2)},
    {"/assets/lever-2472c3d747.svg",
     "/assets/lever.svg",
     "image/svg+xml",
     FORM(plain_3), FORM(gzip_3), FORM(brotli_3)},
    {"/assets/pads-790cbce49a.svg",
     "/assets/pads.svg",
     "image/svg+xml",
     FORM(plain_4), FORM(gzip_4), FORM(brotli_4)},
    {"/assets/widget-ar-ac4c90c795.js",
     "/assets/widget-ar.js",
     "text/javascript; charset=utf-8",
     FORM(plain_5), FORM(gzip_5), FORM(brotli_5)},
    {"/assets/widget-de-e01ead7632.js",
     "/assets/widget-de.js",
     "text/javascript; charset=utf-8",
     FORM(plain_6), FORM(gzip_6), FORM(brotli_6)},
    {"/assets/widget-en-adf472d9aa.js",
     "/assets/widget-en.js",
     "text/javascript; charset=utf-8",
     FORM(plain_7), FORM(gzip_7), FORM(brotli_7)},
    {"/assets/widget-es-aacef23c1a.js",
     "/assets/widget-es.js",
     "text/javascript; charset=utf-8",
     FORM(plain_8), FORM(gzip_8), FORM(brotli_8)},
    {"/assets/widget-ja-6dd8e2935a.js",
     "/assets/widget-ja.js",
     "text/javascript; charset=utf-8",
     FORM(plain_9), FORM(gzip_9), FORM(brotli_9)},
    {"/assets/widget-th-7f21d27c41.js",
     "/assets/widget-th.js",
     "text/javascript; charset=utf-8",
     FORM(plain_10), FORM(gzip_10), FORM(brotli_10)},
    {"/assets/qr-code-27b29e7d37.js",
     "/assets/qr-code.js",
     "text/javascript; charset=utf-8",
     FORM(plain_11), FORM(gzip_11), FORM(brotli_11)},
    {"/assets/widget-forms-62c3251efd.js",
     "/assets/widget-forms.js",
     "text/javascript; charset=utf-8",
     FORM(plain_12), FORM(gzip_12), FORM(brotli_12)},
    {"/assets/widget-app-d687b61bd4.js",
     "/assets/widget-app.js",
     "text/javascript; charset=utf-8",
     FORM(plain_13), FORM(gzip_13), FORM(brotli_13)},
    {"/assets/widget-watch-7c9d7031cd.js",
     "/assets/widget-watch.js",
     "text/javascript; charset=utf-8",
     FORM(plain_14), FORM(gzip_14), FORM(brotli_14)},
    {"/widget.js",
     "/widget.js",
     "text/javascript; charset=utf-8",
     FORM(plain_15), FORM(gzip_15), FORM(brotli_15)},
    {"/widget.d.ts",
     "/widget.d.ts",
     "text/plain; charset=utf-8",
     FORM(plain_16), FORM(gzip_16), FORM(brotli_16)},
    {"/assets/console-work-ar-148727124d.js",
     "/assets/console-work-ar.js",
     "text/javascript; charset=utf-8",
     FORM(plain_17), FORM(gzip_17), FORM(brotli_17)},
    {"/assets/console-work-de-e62f7058e5.js",
     "/assets/console-work-de.js",
     "text/javascript; charset=utf-8",
     FORM(plain_18), FORM(gzip_18), FORM(brotli_18)},
    {"/assets/console-work-es-4fb9c8a8ea.js",
     "/assets/console-work-es.js",
     "text/javascript; charset=utf-8",
     FORM(plain_19), FORM(gzip_19), FORM(brotli_19)},
    {"/assets/console-work-ja-ea322de4a5.js",
     "/assets/console-work-ja.js",
     "text/javascript; charset=utf-8",
     FORM(plain_20), FORM(gzip_20), FORM(brotli_20)},
    {"/assets/console-work-th-cd029a4edc.js",
     "/assets/console-work-th.js",
     "text/javascript; charset=utf-8",
     FORM(plain_21), FORM(gzip_21), FORM(brotli_21)},
    {"/assets/console-settings-ar-d119d5d603.js",
     "/assets/console-settings-ar.js",
     "text/javascript; charset=utf-8",
     FORM(plain_22), FORM(gzip_22), FORM(brotli_22)},
    {"/assets/console-settings-de-3a75a580a1.js",
     "/assets/console-settings-de.js",
     "text/javascript; charset=utf-8",
     FORM(plain_23), FORM(gzip_23), FORM(brotli_23)},
    {"/assets/console-settings-es-617b9a24b0.js",
     "/assets/console-settings-es.js",
     "text/javascript; charset=utf-8",
     FORM(plain_24), FORM(gzip_24), FORM(brotli_24)},
    {"/assets/console-settings-ja-1d95208db6.js",
     "/assets/console-settings-ja.js",
     "text/javascript; charset=utf-8",
     FORM(plain_25), FORM(gzip_25), FORM(brotli_25)},
    {"/assets/console-settings-th-451763654c.js",
     "/assets/console-settings-th.js",
     "text/javascript; charset=utf-8",
     FORM(plain_26), FORM(gzip_26), FORM(brotli_26)},
    {"/assets/preview-0ea8eafd7b.css",
     "/assets/preview.css",
     "text/css; charset=utf-8",
     FORM(plain_27), FORM(gzip_27), FORM(brotli_27)},
    {"/assets/console-71887223e9.css",
     "/assets/console.css",
     "text/css; charset=utf-8",
     FORM(plain_28), FORM(gzip_28), FORM(brotli_28)},
    {"/assets/icon-192-799c892582.png",
     "/assets/icon-192.png",
     "image/png",
     FORM(plain_29), NONE, NONE},
    {"/assets/icon-512-c25581b192.png",
     "/assets/icon-512.png",
     "image/png",
     FORM(plain_30), NONE, NONE},
    {"/assets/icon-maskable-db59bac642.png",
     "/assets/icon-maskable.png",
     "image/png",
     FORM(plain_31), NONE, NONE},
    {"/console.webmanifest",
     "/console.webmanifest",
     "application/manifest+json",
     FORM(plain_32), FORM(gzip_32), FORM(brotli_32)},
    {"/console-worker.js",
     "/console-worker.js",
     "text/javascript; charset=utf-8",
     FORM(plain_33), FORM(gzip_33), FORM(brotli_33)},
    {"/assets/console-pages-4eeafd294d.js",
     "/assets/console-pages.js",
     "text/javascript; charset=utf-8",
     FORM(plain_34), FORM(gzip_34), FORM(brotli_34)},
    {"/assets/console-c6d6ca788d.js",
     "/assets/console.js",
     "text/javascript; charset=utf-8",
     FORM(plain_35), FORM(gzip_35), FORM(brotli_35)},
    {"/console",
     "/console",
     "text/html; charset=utf-8",
     FORM(plain_36), NONE, NONE},
    {"/assets/setup-6f6082f145.css",
     "/assets/setup.css",
     "text/css; charset=utf-8",
     FORM(plain_37), FORM(gzip_37), FORM(brotli_37)},
    {"/assets/setup-4db765fcc1.js",
     "/assets/setup.js",
     "text/javascript; charset=utf-8",
     FORM(plain_38), FORM(gzip_38), FORM(brotli_38)},
    {"/setup",
     "/setup",
     "text/html; charset=utf-8",
     FORM(plain_39), NONE, NONE},
    {"/assets/reference-ed4c6bbd2e.css",
     "/assets/reference.css",
     "text/css; charset=utf-8",
     FORM(plain_40), FORM(gzip_40), FORM(brotli_40)},
    {"/assets/reference-38e0c35b6a.js",
     "/assets/reference.js",
     "text/javascript; charset=utf-8",
     FORM(plain_41), FORM(gzip_41), FORM(brotli_41)},
    {"/api",
     "/api",
     "text/html; charset=utf-8",
     FORM(plain_42), NONE, NONE},
    {"/assets/demo-2d3ac51962.css",
     "/assets/demo.css",
     "text/css; charset=utf-8",
     FORM(plain_43), FORM(gzip_43), FORM(brotli_43)},
    {"/demo",
     "/demo",
     "text/html; charset=utf-8",
     FORM(plain_44), NONE, NONE},
};

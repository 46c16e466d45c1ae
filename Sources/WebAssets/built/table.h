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
#embed "widget-ar-f8353a83a6.js"
};
static const unsigned char gzip_5[] = {
#embed "widget-ar-f8353a83a6.js.gz"
};
static const unsigned char brotli_5[] = {
#embed "widget-ar-f8353a83a6.js.br"
};
static const unsigned char plain_6[] = {
#embed "widget-de-2bffad1519.js"
};
static const unsigned char gzip_6[] = {
#embed "widget-de-2bffad1519.js.gz"
};
static const unsigned char brotli_6[] = {
#embed "widget-de-2bffad1519.js.br"
};
static const unsigned char plain_7[] = {
#embed "widget-en-07426f0e8d.js"
};
static const unsigned char gzip_7[] = {
#embed "widget-en-07426f0e8d.js.gz"
};
static const unsigned char brotli_7[] = {
#embed "widget-en-07426f0e8d.js.br"
};
static const unsigned char plain_8[] = {
#embed "widget-es-ad98c0c505.js"
};
static const unsigned char gzip_8[] = {
#embed "widget-es-ad98c0c505.js.gz"
};
static const unsigned char brotli_8[] = {
#embed "widget-es-ad98c0c505.js.br"
};
static const unsigned char plain_9[] = {
#embed "widget-ja-b1d6f6ccc8.js"
};
static const unsigned char gzip_9[] = {
#embed "widget-ja-b1d6f6ccc8.js.gz"
};
static const unsigned char brotli_9[] = {
#embed "widget-ja-b1d6f6ccc8.js.br"
};
static const unsigned char plain_10[] = {
#embed "widget-th-009e1291fe.js"
};
static const unsigned char gzip_10[] = {
#embed "widget-th-009e1291fe.js.gz"
};
static const unsigned char brotli_10[] = {
#embed "widget-th-009e1291fe.js.br"
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
#embed "attachments-ar-4c162cf909.js"
};
static const unsigned char gzip_12[] = {
#embed "attachments-ar-4c162cf909.js.gz"
};
static const unsigned char brotli_12[] = {
#embed "attachments-ar-4c162cf909.js.br"
};
static const unsigned char plain_13[] = {
#embed "attachments-de-25ea3a8052.js"
};
static const unsigned char gzip_13[] = {
#embed "attachments-de-25ea3a8052.js.gz"
};
static const unsigned char brotli_13[] = {
#embed "attachments-de-25ea3a8052.js.br"
};
static const unsigned char plain_14[] = {
#embed "attachments-en-25078275c5.js"
};
static const unsigned char gzip_14[] = {
#embed "attachments-en-25078275c5.js.gz"
};
static const unsigned char brotli_14[] = {
#embed "attachments-en-25078275c5.js.br"
};
static const unsigned char plain_15[] = {
#embed "attachments-es-383efd728b.js"
};
static const unsigned char gzip_15[] = {
#embed "attachments-es-383efd728b.js.gz"
};
static const unsigned char brotli_15[] = {
#embed "attachments-es-383efd728b.js.br"
};
static const unsigned char plain_16[] = {
#embed "attachments-ja-903d656d4b.js"
};
static const unsigned char gzip_16[] = {
#embed "attachments-ja-903d656d4b.js.gz"
};
static const unsigned char brotli_16[] = {
#embed "attachments-ja-903d656d4b.js.br"
};
static const unsigned char plain_17[] = {
#embed "attachments-th-8dd90bf04f.js"
};
static const unsigned char gzip_17[] = {
#embed "attachments-th-8dd90bf04f.js.gz"
};
static const unsigned char brotli_17[] = {
#embed "attachments-th-8dd90bf04f.js.br"
};
static const unsigned char plain_18[] = {
#embed "widget-files-5abc752074.js"
};
static const unsigned char gzip_18[] = {
#embed "widget-files-5abc752074.js.gz"
};
static const unsigned char brotli_18[] = {
#embed "widget-files-5abc752074.js.br"
};
static const unsigned char plain_19[] = {
#embed "widget-forms-014111beca.js"
};
static const unsigned char gzip_19[] = {
#embed "widget-forms-014111beca.js.gz"
};
static const unsigned char brotli_19[] = {
#embed "widget-forms-014111beca.js.br"
};
static const unsigned char plain_20[] = {
#embed "widget-live-b0082d992c.js"
};
static const unsigned char gzip_20[] = {
#embed "widget-live-b0082d992c.js.gz"
};
static const unsigned char brotli_20[] = {
#embed "widget-live-b0082d992c.js.br"
};
static const unsigned char plain_21[] = {
#embed "widget-app-06418eff24.js"
};
static const unsigned char gzip_21[] = {
#embed "widget-app-06418eff24.js.gz"
};
static const unsigned char brotli_21[] = {
#embed "widget-app-06418eff24.js.br"
};
static const unsigned char plain_22[] = {
#embed "widget-watch-13e1ef116e.js"
};
static const unsigned char gzip_22[] = {
#embed "widget-watch-13e1ef116e.js.gz"
};
static const unsigned char brotli_22[] = {
#embed "widget-watch-13e1ef116e.js.br"
};
static const unsigned char plain_23[] = {
#embed "widget.js"
};
static const unsigned char gzip_23[] = {
#embed "widget.js.gz"
};
static const unsigned char brotli_23[] = {
#embed "widget.js.br"
};
static const unsigned char plain_24[] = {
#embed "widget.d.ts"
};
static const unsigned char gzip_24[] = {
#embed "widget.d.ts.gz"
};
static const unsigned char brotli_24[] = {
#embed "widget.d.ts.br"
};
static const unsigned char plain_25[] = {
#embed "console-work-ar-f767b866b3.js"
};
static const unsigned char gzip_25[] = {
#embed "console-work-ar-f767b866b3.js.gz"
};
static const unsigned char brotli_25[] = {
#embed "console-work-ar-f767b866b3.js.br"
};
static const unsigned char plain_26[] = {
#embed "console-work-de-235e6a635e.js"
};
static const unsigned char gzip_26[] = {
#embed "console-work-de-235e6a635e.js.gz"
};
static const unsigned char brotli_26[] = {
#embed "console-work-de-235e6a635e.js.br"
};
static const unsigned char plain_27[] = {
#embed "console-work-es-bdc8158262.js"
};
static const unsigned char gzip_27[] = {
#embed "console-work-es-bdc8158262.js.gz"
};
static const unsigned char brotli_27[] = {
#embed "console-work-es-bdc8158262.js.br"
};
static const unsigned char plain_28[] = {
#embed "console-work-ja-ce7c995eed.js"
};
static const unsigned char gzip_28[] = {
#embed "console-work-ja-ce7c995eed.js.gz"
};
static const unsigned char brotli_28[] = {
#embed "console-work-ja-ce7c995eed.js.br"
};
static const unsigned char plain_29[] = {
#embed "console-work-th-1d6ed409e8.js"
};
static const unsigned char gzip_29[] = {
#embed "console-work-th-1d6ed409e8.js.gz"
};
static const unsigned char brotli_29[] = {
#embed "console-work-th-1d6ed409e8.js.br"
};
static const unsigned char plain_30[] = {
#embed "console-settings-ar-7a16a2f886.js"
};
static const unsigned char gzip_30[] = {
#embed "console-settings-ar-7a16a2f886.js.gz"
};
static const unsigned char brotli_30[] = {
#embed "console-settings-ar-7a16a2f886.js.br"
};
static const unsigned char plain_31[] = {
#embed "console-settings-de-f508d9c5c7.js"
};
static const unsigned char gzip_31[] = {
#embed "console-settings-de-f508d9c5c7.js.gz"
};
static const unsigned char brotli_31[] = {
#embed "console-settings-de-f508d9c5c7.js.br"
};
static const unsigned char plain_32[] = {
#embed "console-settings-es-39acdde097.js"
};
static const unsigned char gzip_32[] = {
#embed "console-settings-es-39acdde097.js.gz"
};
static const unsigned char brotli_32[] = {
#embed "console-settings-es-39acdde097.js.br"
};
static const unsigned char plain_33[] = {
#embed "console-settings-ja-86e4728bc9.js"
};
static const unsigned char gzip_33[] = {
#embed "console-settings-ja-86e4728bc9.js.gz"
};
static const unsigned char brotli_33[] = {
#embed "console-settings-ja-86e4728bc9.js.br"
};
static const unsigned char plain_34[] = {
#embed "console-settings-th-6c8a552e94.js"
};
static const unsigned char gzip_34[] = {
#embed "console-settings-th-6c8a552e94.js.gz"
};
static const unsigned char brotli_34[] = {
#embed "console-settings-th-6c8a552e94.js.br"
};
static const unsigned char plain_35[] = {
#embed "preview-0ea8eafd7b.css"
};
static const unsigned char gzip_35[] = {
#embed "preview-0ea8eafd7b.css.gz"
};
static const unsigned char brotli_35[] = {
#embed "preview-0ea8eafd7b.css.br"
};
static const unsigned char plain_36[] = {
#embed "console-9a59ab92a0.css"
};
static const unsigned char gzip_36[] = {
#embed "console-9a59ab92a0.css.gz"
};
static const unsigned char brotli_36[] = {
#embed "console-9a59ab92a0.css.br"
};
static const unsigned char plain_37[] = {
#embed "icon-192-799c892582.png"
};
static const unsigned char plain_38[] = {
#embed "icon-512-c25581b192.png"
};
static const unsigned char plain_39[] = {
#embed "icon-maskable-db59bac642.png"
};
static const unsigned char plain_40[] = {
#embed "console.webmanifest"
};
static const unsigned char gzip_40[] = {
#embed "console.webmanifest.gz"
};
static const unsigned char brotli_40[] = {
#embed "console.webmanifest.br"
};
static const unsigned char plain_41[] = {
#embed "console-worker.js"
};
static const unsigned char gzip_41[] = {
#embed "console-worker.js.gz"
};
static const unsigned char brotli_41[] = {
#embed "console-worker.js.br"
};
static const unsigned char plain_42[] = {
#embed "console-files-71045d597e.js"
};
static const unsigned char gzip_42[] = {
#embed "console-files-71045d597e.js.gz"
};
static const unsigned char brotli_42[] = {
#embed "console-files-71045d597e.js.br"
};
static const unsigned char plain_43[] = {
#embed "console-replies-fd713e33b2.js"
};
static const unsigned char gzip_43[] = {
#embed "console-replies-fd713e33b2.js.gz"
};
static const unsigned char brotli_43[] = {
#embed "console-replies-fd713e33b2.js.br"
};
static const unsigned char plain_44[] = {
#embed "console-pages-35515d9021.js"
};
static const unsigned char gzip_44[] = {
#embed "console-pages-35515d9021.js.gz"
};
static const unsigned char brotli_44[] = {
#embed "console-pages-35515d9021.js.br"
};
static const unsigned char plain_45[] = {
#embed "console-a3ac3ff3f3.js"
};
static const unsigned char gzip_45[] = {
#embed "console-a3ac3ff3f3.js.gz"
};
static const unsigned char brotli_45[] = {
#embed "console-a3ac3ff3f3.js.br"
};
static const unsigned char plain_46[] = {
#embed "console.html"
};
static const unsigned char plain_47[] = {
#embed "setup-6f6082f145.css"
};
static const unsigned char gzip_47[] = {
#embed "setup-6f6082f145.css.gz"
};
static const unsigned char brotli_47[] = {
#embed "setup-6f6082f145.css.br"
};
static const unsigned char plain_48[] = {
#embed "setup-99152b0bde.js"
};
static const unsigned char gzip_48[] = {
#embed "setup-99152b0bde.js.gz"
};
static const unsigned char brotli_48[] = {
#embed "setup-99152b0bde.js.br"
};
static const unsigned char plain_49[] = {
#embed "setup.html"
};
static const unsigned char plain_50[] = {
#embed "reference-ed4c6bbd2e.css"
};
static const unsigned char gzip_50[] = {
#embed "reference-ed4c6bbd2e.css.gz"
};
static const unsigned char brotli_50[] = {
#embed "reference-ed4c6bbd2e.css.br"
};
static const unsigned char plain_51[] = {
#embed "reference-e7ed075e34.js"
};
static const unsigned char gzip_51[] = {
#embed "reference-e7ed075e34.js.gz"
};
static const unsigned char brotli_51[] = {
#embed "reference-e7ed075e34.js.br"
};
static const unsigned char plain_52[] = {
#embed "api.html"
};
static const unsigned char plain_53[] = {
#embed "demo-2d3ac51962.css"
};
static const unsigned char gzip_53[] = {
#embed "demo-2d3ac51962.css.gz"
};
static const unsigned char brotli_53[] = {
#embed "demo-2d3ac51962.css.br"
};
static const unsigned char plain_54[] = {
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
    {"/assets/widget-ar-f8353a83a6.js",
     "/assets/widget-ar.js",
     "text/javascript; charset=utf-8",
     FORM(plain_5), FORM(gzip_5), FORM(brotli_5)},
    {"/assets/widget-de-2bffad1519.js",
     "/assets/widget-de.js",
     "text/javascript; charset=utf-8",
     FORM(plain_6), FORM(gzip_6), FORM(brotli_6)},
    {"/assets/widget-en-07426f0e8d.js",
     "/assets/widget-en.js",
     "text/javascript; charset=utf-8",
     FORM(plain_7), FORM(gzip_7), FORM(brotli_7)},
    {"/assets/widget-es-ad98c0c505.js",
     "/assets/widget-es.js",
     "text/javascript; charset=utf-8",
     FORM(plain_8), FORM(gzip_8), FORM(brotli_8)},
    {"/assets/widget-ja-b1d6f6ccc8.js",
     "/assets/widget-ja.js",
     "text/javascript; charset=utf-8",
     FORM(plain_9), FORM(gzip_9), FORM(brotli_9)},
    {"/assets/widget-th-009e1291fe.js",
     "/assets/widget-th.js",
     "text/javascript; charset=utf-8",
     FORM(plain_10), FORM(gzip_10), FORM(brotli_10)},
    {"/assets/qr-code-27b29e7d37.js",
     "/assets/qr-code.js",
     "text/javascript; charset=utf-8",
     FORM(plain_11), FORM(gzip_11), FORM(brotli_11)},
    {"/assets/attachments-ar-4c162cf909.js",
     "/assets/attachments-ar.js",
     "text/javascript; charset=utf-8",
     FORM(plain_12), FORM(gzip_12), FORM(brotli_12)},
    {"/assets/attachments-de-25ea3a8052.js",
     "/assets/attachments-de.js",
     "text/javascript; charset=utf-8",
     FORM(plain_13), FORM(gzip_13), FORM(brotli_13)},
    {"/assets/attachments-en-25078275c5.js",
     "/assets/attachments-en.js",
     "text/javascript; charset=utf-8",
     FORM(plain_14), FORM(gzip_14), FORM(brotli_14)},
    {"/assets/attachments-es-383efd728b.js",
     "/assets/attachments-es.js",
     "text/javascript; charset=utf-8",
     FORM(plain_15), FORM(gzip_15), FORM(brotli_15)},
    {"/assets/attachments-ja-903d656d4b.js",
     "/assets/attachments-ja.js",
     "text/javascript; charset=utf-8",
     FORM(plain_16), FORM(gzip_16), FORM(brotli_16)},
    {"/assets/attachments-th-8dd90bf04f.js",
     "/assets/attachments-th.js",
     "text/javascript; charset=utf-8",
     FORM(plain_17), FORM(gzip_17), FORM(brotli_17)},
    {"/assets/widget-files-5abc752074.js",
     "/assets/widget-files.js",
     "text/javascript; charset=utf-8",
     FORM(plain_18), FORM(gzip_18), FORM(brotli_18)},
    {"/assets/widget-forms-014111beca.js",
     "/assets/widget-forms.js",
     "text/javascript; charset=utf-8",
     FORM(plain_19), FORM(gzip_19), FORM(brotli_19)},
    {"/assets/widget-live-b0082d992c.js",
     "/assets/widget-live.js",
     "text/javascript; charset=utf-8",
     FORM(plain_20), FORM(gzip_20), FORM(brotli_20)},
    {"/assets/widget-app-06418eff24.js",
     "/assets/widget-app.js",
     "text/javascript; charset=utf-8",
     FORM(plain_21), FORM(gzip_21), FORM(brotli_21)},
    {"/assets/widget-watch-13e1ef116e.js",
     "/assets/widget-watch.js",
     "text/javascript; charset=utf-8",
     FORM(plain_22), FORM(gzip_22), FORM(brotli_22)},
    {"/widget.js",
     "/widget.js",
     "text/javascript; charset=utf-8",
     FORM(plain_23), FORM(gzip_23), FORM(brotli_23)},
    {"/widget.d.ts",
     "/widget.d.ts",
     "text/plain; charset=utf-8",
     FORM(plain_24), FORM(gzip_24), FORM(brotli_24)},
    {"/assets/console-work-ar-f767b866b3.js",
     "/assets/console-work-ar.js",
     "text/javascript; charset=utf-8",
     FORM(plain_25), FORM(gzip_25), FORM(brotli_25)},
    {"/assets/console-work-de-235e6a635e.js",
     "/assets/console-work-de.js",
     "text/javascript; charset=utf-8",
     FORM(plain_26), FORM(gzip_26), FORM(brotli_26)},
    {"/assets/console-work-es-bdc8158262.js",
     "/assets/console-work-es.js",
     "text/javascript; charset=utf-8",
     FORM(plain_27), FORM(gzip_27), FORM(brotli_27)},
    {"/assets/console-work-ja-ce7c995eed.js",
     "/assets/console-work-ja.js",
     "text/javascript; charset=utf-8",
     FORM(plain_28), FORM(gzip_28), FORM(brotli_28)},
    {"/assets/console-work-th-1d6ed409e8.js",
     "/assets/console-work-th.js",
     "text/javascript; charset=utf-8",
     FORM(plain_29), FORM(gzip_29), FORM(brotli_29)},
    {"/assets/console-settings-ar-7a16a2f886.js",
     "/assets/console-settings-ar.js",
     "text/javascript; charset=utf-8",
     FORM(plain_30), FORM(gzip_30), FORM(brotli_30)},
    {"/assets/console-settings-de-f508d9c5c7.js",
     "/assets/console-settings-de.js",
     "text/javascript; charset=utf-8",
     FORM(plain_31), FORM(gzip_31), FORM(brotli_31)},
    {"/assets/console-settings-es-39acdde097.js",
     "/assets/console-settings-es.js",
     "text/javascript; charset=utf-8",
     FORM(plain_32), FORM(gzip_32), FORM(brotli_32)},
    {"/assets/console-settings-ja-86e4728bc9.js",
     "/assets/console-settings-ja.js",
     "text/javascript; charset=utf-8",
     FORM(plain_33), FORM(gzip_33), FORM(brotli_33)},
    {"/assets/console-settings-th-6c8a552e94.js",
     "/assets/console-settings-th.js",
     "text/javascript; charset=utf-8",
     FORM(plain_34), FORM(gzip_34), FORM(brotli_34)},
    {"/assets/preview-0ea8eafd7b.css",
     "/assets/preview.css",
     "text/css; charset=utf-8",
     FORM(plain_35), FORM(gzip_35), FORM(brotli_35)},
    {"/assets/console-9a59ab92a0.css",
     "/assets/console.css",
     "text/css; charset=utf-8",
     FORM(plain_36), FORM(gzip_36), FORM(brotli_36)},
    {"/assets/icon-192-799c892582.png",
     "/assets/icon-192.png",
     "image/png",
     FORM(plain_37), NONE, NONE},
    {"/assets/icon-512-c25581b192.png",
     "/assets/icon-512.png",
     "image/png",
     FORM(plain_38), NONE, NONE},
    {"/assets/icon-maskable-db59bac642.png",
     "/assets/icon-maskable.png",
     "image/png",
     FORM(plain_39), NONE, NONE},
    {"/console.webmanifest",
     "/console.webmanifest",
     "application/manifest+json",
     FORM(plain_40), FORM(gzip_40), FORM(brotli_40)},
    {"/console-worker.js",
     "/console-worker.js",
     "text/javascript; charset=utf-8",
     FORM(plain_41), FORM(gzip_41), FORM(brotli_41)},
    {"/assets/console-files-71045d597e.js",
     "/assets/console-files.js",
     "text/javascript; charset=utf-8",
     FORM(plain_42), FORM(gzip_42), FORM(brotli_42)},
    {"/assets/console-replies-fd713e33b2.js",
     "/assets/console-replies.js",
     "text/javascript; charset=utf-8",
     FORM(plain_43), FORM(gzip_43), FORM(brotli_43)},
    {"/assets/console-pages-35515d9021.js",
     "/assets/console-pages.js",
     "text/javascript; charset=utf-8",
     FORM(plain_44), FORM(gzip_44), FORM(brotli_44)},
    {"/assets/console-a3ac3ff3f3.js",
     "/assets/console.js",
     "text/javascript; charset=utf-8",
     FORM(plain_45), FORM(gzip_45), FORM(brotli_45)},
    {"/console",
     "/console",
     "text/html; charset=utf-8",
     FORM(plain_46), NONE, NONE},
    {"/assets/setup-6f6082f145.css",
     "/assets/setup.css",
     "text/css; charset=utf-8",
     FORM(plain_47), FORM(gzip_47), FORM(brotli_47)},
    {"/assets/setup-99152b0bde.js",
     "/assets/setup.js",
     "text/javascript; charset=utf-8",
     FORM(plain_48), FORM(gzip_48), FORM(brotli_48)},
    {"/setup",
     "/setup",
     "text/html; charset=utf-8",
     FORM(plain_49), NONE, NONE},
    {"/assets/reference-ed4c6bbd2e.css",
     "/assets/reference.css",
     "text/css; charset=utf-8",
     FORM(plain_50), FORM(gzip_50), FORM(brotli_50)},
    {"/assets/reference-e7ed075e34.js",
     "/assets/reference.js",
     "text/javascript; charset=utf-8",
     FORM(plain_51), FORM(gzip_51), FORM(brotli_51)},
    {"/api",
     "/api",
     "text/html; charset=utf-8",
     FORM(plain_52), NONE, NONE},
    {"/assets/demo-2d3ac51962.css",
     "/assets/demo.css",
     "text/css; charset=utf-8",
     FORM(plain_53), FORM(gzip_53), FORM(brotli_53)},
    {"/demo",
     "/demo",
     "text/html; charset=utf-8",
     FORM(plain_54), NONE, NONE},
};

/** Constants that scripts/web defines: paths of other built files, and style sheets as text. */
declare const APP: string;
declare const BUILD: string;
declare const FILES: string;
declare const FILE_LANGUAGES: Record<string, string>;
declare const FILE_STYLES: string;
declare const FORMS: string;
declare const EMOJI_STYLES: string;
declare const FORM_STYLES: string;
declare const WATCH: string;
declare const ICON: string;
declare const LANGUAGES: Record<string, string>;
/** The address of widget/live.js. */
declare const LIVE: string;
declare const LAUNCHER_STYLES: string;
declare const OFFLINE_PAGE: string;
declare const PAGES_FILE: string;
declare const PREVIEW_STYLES: string;
declare const QR_CODE: string;
/** The address of console/thread/reply-lines.js. */
declare const REPLIES: string;
declare const WIDGET_STYLES: string;
declare const TEXTS: Record<string, string[]>;

/** What scripts/web puts in: addresses of other built files, from the root, and sheets as text. */
declare const APP: string;
declare const ICON: string;
declare const LANGUAGES: Record<string, string>;
declare const LAUNCHER_STYLES: string;
declare const PREVIEW_STYLES: string;
declare const WIDGET_STYLES: string;

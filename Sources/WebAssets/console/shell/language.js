// The console's texts in the operator's language. English stands in the sources, and each English
// text is the key of its translation in the files of `../languages`. This module waits for the
// files of the language before it is ready, and so does each module that imports it: a constant
// of a module may be a text. A language that is chosen holds from the next load of the page.

import { store } from '../../shared/store.js';

const CHOSEN = 'chirrup:console:language'; // a code, if the operator has chosen one

/** The languages by code, each under its own name. */
export const LANGUAGE_NAMES = {
  en: 'English', de: 'Deutsch', es: 'Español', th: 'ไทย', ar: 'العربية', ja: '日本語',
};

/** @type {(code: string?) => code is keyof typeof LANGUAGE_NAMES} */
const known = (code) => !!code && Object.hasOwn(LANGUAGE_NAMES, code);

/** The language that the operator has chosen, or '' for that of the browser. */
export const chosen = store.get(CHOSEN) ?? '';
/** The code of the language. */
export const language = [chosen, ...navigator.languages.map((tag) => tag.slice(0, 2))].find(known)
  ?? 'en';
const direction = language === 'ar' ? 'rtl' : 'ltr';

/**
 * For Intl: the language, as the browser has it if it has that language. The digits are those of
 * English, as in all numbers that are no Intl's.
 */
export const locale = `${navigator.languages.find((tag) => tag.startsWith(language)) ?? language}${
  language === 'ar' ? '-u-nu-latn' : ''}`;

/**
 * Reloads the page in a language.
 * @param {string} code or '' for that of the browser
 */
export function choose(code) {
  if (code) store.set(CHOSEN, code);
  else store.remove(CHOSEN);
  location.reload();
}

/** @type {Record<string, string>} */
const texts = {};
Object.assign(document.documentElement, { lang: language, dir: direction });
try {
  const files = await Promise.all((TEXTS[language] ?? []).map((file) => import(file)));
  for (const file of files) Object.assign(texts, file.default);
} catch (error) {
  console.warn('chirrup', error); // in English rather than not at all
}

/** @param {string} text */
const translated = (text) => texts[text] ?? text.replace(/\|.*/, '');

/**
 * A text in the operator's language. `text` is a literal, so that `scripts/web --check` finds it;
 * what stands behind `|` tells texts apart that are equal in English only.
 * @param {string} text
 * @param {...(string | number | undefined)} values replace `{}`, or `{1}` and `{2}` if there are
 *   several
 */
export const t = (text, ...values) => translated(text).replace(
  /\{(\d?)\}/g,
  (_, at) => isolated(`${values[(Number(at) || 1) - 1] ?? ''}`),
);

/**
 * A name of the other direction does not change the order of the text around it (UAX #9, FSI and
 * PDI).
 * @param {string} value
 */
const isolated = (value) => (direction === 'rtl' ? `\u2068${value}\u2069` : value);

/**
 * A text in pieces, with elements in place of `{}`, or of `{1}` and `{2}`.
 * @param {string} text as for `t`
 * @param {...(Node | string)} nodes
 */
export const pieces = (text, ...nodes) => translated(text).split(/\{(\d?)\}/).map(
  (piece, at) => (at % 2 ? nodes[(Number(piece) || 1) - 1] : piece),
);

/**
 * The sentence about a problem that the gateway has answered, '' if there is none but the answer's
 * own, which is English.
 * @param {string} code the end of its type
 */
export const problemText = (code) => texts[`problem:${code}`] ?? '';

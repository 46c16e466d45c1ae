// The widget's texts in the visitor's language.

/** @typedef {keyof typeof import('./languages/en.js').default} Word */

let texts = /** @type {Record<Word, string>} */ ({});
export let language = '';

/**
 * @param {Word} word
 * @param {string | number} [detail] replaces `{}`
 */
export const say = (word, detail = '') => texts[word].replace('{}', () => `${detail}`);
export const direction = () => /^(ar|fa|he|ur)/.test(language) ? 'rtl' : 'ltr';

/**
 * Loads the language of `locale`, or English if the widget does not have it. Dates and times follow
 * the browser's locale if that is of the same language.
 * @param {string} origin of the gateway
 * @param {string} locale
 */
export async function speak(origin, locale) {
  const short = locale.slice(0, 2).toLowerCase();
  const known = short in LANGUAGES ? short : 'en';
  texts = (await import(origin + LANGUAGES[known])).default;
  language = [navigator.language, locale, known].find((it) => it.startsWith(known)) ?? known;
}

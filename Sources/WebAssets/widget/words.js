// The widget's texts in the language of the visitor.

/** @typedef {keyof typeof import('./languages/en.js').default} Word */

let texts = /** @type {Record<Word, string>} */ ({});
export let language = '';

/** @param {Word} word @param {string | number} [detail] stands in place of `{}` */
export const say = (word, detail = '') => texts[word].replace('{}', () => `${detail}`);
export const direction = () => /^(ar|fa|he|ur)/.test(language) ? 'rtl' : 'ltr';

/**
 * The language of `locale` if there is one, else English. Dates and times are written as the
 * browser's own locale does where it is of that language.
 * @param {string} origin of the gateway
 * @param {string} locale
 */
export async function speak(origin, locale) {
  const short = locale.slice(0, 2).toLowerCase();
  const known = short in LANGUAGES ? short : 'en';
  texts = (await import(origin + LANGUAGES[known])).default;
  language = [navigator.language, locale, known].find((it) => it.startsWith(known)) ?? known;
}

// The widget's texts in the language of the visitor.

const THREAD = 'sending waiting unsure sent delivered read today you'.split(' ');
const LANGUAGES = 'en de es th ar ja';

let texts = [];
export let language = '';

export const say = (word, detail) => texts[word].replace('{}', () => detail);
/** What the thread calls by its name. */
export const word = (name) => say(THREAD.indexOf(name));
export const direction = () => /^(ar|fa|he|ur)/.test(language) ? 'rtl' : 'ltr';

/**
 * The language of `locale` if there is one, else English. Dates and times are written as the
 * browser's own locale does where it is of that language.
 * @param {string} locale
 */
export async function speak(origin, locale) {
  const short = locale.slice(0, 2).toLowerCase();
  const known = LANGUAGES.includes(short) ? short : 'en';
  texts = (await import(`${origin}/assets/widget/languages/${known}.js`)).default.split('\n');
  language = [navigator.language, locale, known].find((it) => it.startsWith(known));
}

// The texts of attachments in the reader's language, and sizes, times and names in words.

/** @typedef {keyof typeof import('./languages/en.js').default} FileWord */

const KIB = 1024;

let texts = /** @type {Record<FileWord, string>} */ ({});
let locale = 'en';
/** @type {Intl.DateTimeFormat} */
let moment;

/**
 * Loads the language of `wanted`, or English.
 * @param {string} origin of the gateway, '' for that of the page
 * @param {string} wanted a locale
 */
export async function speakFiles(origin, wanted) {
  const short = wanted.slice(0, 2).toLowerCase();
  const file = FILE_LANGUAGES[short] ?? FILE_LANGUAGES.en;
  texts = (await import(origin + file)).default;
  locale = wanted;
  moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
}

/**
 * @param {FileWord} word
 * @param {...(string | number)} values replace `{}`, or `{1}` and `{2}`
 */
export const say = (word, ...values) => texts[word].replace(
  /\{(\d?)\}/g,
  (_, at) => `${values[(Number(at) || 1) - 1]}`,
);

/**
 * @param {number} value
 * @param {string} unit
 * @param {number=} digits at most, behind the point
 */
const amount = (value, unit, digits = 0) => new Intl.NumberFormat(locale, {
  style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: digits,
}).format(value);

/** @param {number} bytes in the unit that systems show: 1 MB is 1,048,576 bytes */
export const size = (bytes) => (bytes < KIB ? amount(bytes, 'byte')
  : bytes < KIB * KIB ? amount(Math.ceil(bytes / KIB), 'kilobyte')
  : amount(bytes / KIB / KIB, 'megabyte', 1));

/** @param {number} seconds */
export const seconds = (seconds) => (seconds < 90 ? amount(Math.ceil(seconds), 'second')
  : amount(Math.ceil(seconds / 60), 'minute'));

/** @param {number} width @param {number} height */
export const pixels = (width, height) => [width, height].map(
  (side) => side.toLocaleString(locale)
).join('\u00a0×\u00a0');

/** @param {string | number | Date} at */
export const at = (at) => moment.format(new Date(at));

/** @param {string} name */
export const extension = (name) => (/\.([a-z0-9]{1,8})$/i.exec(name)?.[1] ?? '').toLowerCase();

/**
 * The kind and size of a file, for the line below its name.
 * @param {{name: string, bytes: number, width?: number, height?: number}} file
 */
export const facts = ({ name, bytes, width, height }) => [
  width && height ? pixels(width, height) : extension(name).toUpperCase(),
  size(bytes),
].filter(Boolean).join(' · ');

/** A picture from the clipboard has no name of its own. */
export function pastedName(/** @type {string} */ type) {
  const now = new Date();
  /** @param {number} value */
  const two = (value) => `${value}`.padStart(2, '0');
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-');
  const end = type.split('/').pop()?.replace('jpeg', 'jpg') ?? 'png';
  return `${say('screenshot')} ${day} ${two(now.getHours())}.${two(now.getMinutes())}.${end}`;
}

// What may be attached, before a byte of it is sent. The gateway judges again: by the name at the
// beginning of an upload, by the content at its end.

import { extension, say, size } from './words.js';

export const FILES_MAX = 10; // in one message
/** Bytes of unsent files that outlive the page. */
export const KEPT_MAX = 50 << 20;
/** Bytes of unsent files, also those that the page only holds. */
export const HELD_MAX = 500 << 20;

/** Endings by group, those of `ContentType` in the gateway. */
const ENDINGS = Object.entries({
  images: 'png jpg jpeg jpe jfif gif webp bmp tif tiff heic heif avif',
  pdf: 'pdf',
  text: 'txt csv tsv md log json xml html htm xhtml svg yaml yml ics vcf rtf css ini conf eml',
  office: 'docx xlsx pptx odt ods odp doc xls ppt',
  audio: 'mp3 wav ogg oga opus flac m4a aac weba',
  video: 'mp4 m4v mov webm mkv avi ogv 3gp',
  archives: 'zip gz tgz tar 7z rar bz2 xz zst',
});

/** @param {string} name @returns {string | undefined} */
export const groupOf = (name) => ENDINGS.find(
  ([, endings]) => endings.split(' ').includes(extension(name))
)?.[0];

/**
 * Whether a name has an end that belongs to no group, as `.exe`: its type is refused.
 * @param {string} name
 */
const isForeign = (name) => /[^.]\.(?=[0-9]*[a-z])[a-z0-9]{1,5}$/i.test(name) && !groupOf(name);

/**
 * The reason why a file cannot be sent, or ''.
 * @param {File} file
 * @param {FileLimits} limits
 */
export function refusal({ name, size: bytes }, { enabled, bytes_max: max, types }) {
  const group = groupOf(name);
  if (!enabled) return say('off');
  if (!bytes) return say('empty', name);
  if (bytes > max) return say('too_large', size(max), name);
  return types.length && !(group ? types.includes(group) : !isForeign(name))
    ? say('type', name) : '';
}

/** The words of a refusal by the gateway, by the type of its problem. */
const CAUSES = /** @type {Record<string, import('./words.js').FileWord>} */ ({
  attachments_off: 'off',
  file_too_large: 'too_large',
  file_type: 'type',
  attachments_full: 'full',
  infected: 'infected',
  session_closed: 'closed',
  no_such_session: 'gone',
  forbidden: 'gone',
  not_found: 'gone',
  room: 'room',
});

/**
 * @param {string} code
 * @param {string} name of the file that it is about
 * @param {FileLimits=} limits
 */
export function causeOf(code, name, limits) {
  const word = CAUSES[code] ?? 'refused';
  return word === 'too_large' ? say(word, size(limits?.bytes_max ?? 0), name) : say(word, name);
}

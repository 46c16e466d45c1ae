// The files of a message in the log: pictures that open the viewer, rows that download a file. The
// place of a picture is reserved by its width and height before it arrives.

import { el, icon } from '../dom.js';
import { download } from './links.js';
import { extension, facts, say } from './words.js';

const TALL = 1.5; // height by width from which a picture is cut
const WIDE = 264; // px of a picture alone
const SHOWN_MAX = 4; // pictures of a message; the viewer has the others
const NEAR = '400px'; // from the view within which pictures are loaded

/** @typedef {import('./links.js').Links} Links */

/** @param {AttachmentFile} file */
export const isPicture = ({ type }) => /^image\/(png|jpeg|gif|webp)$/.test(type);

/**
 * Pictures are loaded when they come near the view.
 * @type {WeakMap<Element, () => void>}
 */
const due = new WeakMap();
const observer = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    observer.unobserve(target);
    due.get(target)?.();
  }
}, { rootMargin: NEAR });

/**
 * @param {AttachmentFile[]} files
 * @param {{links: Links, open: (id: string) => void, failed: (words: string) => void}} on
 */
export function committed(files, on) {
  const pictures = files.filter(isPicture);
  return [
    pictures.length > 0 && album(pictures, on),
    ...files.filter((file) => !isPicture(file)).map((file) => row(file, on)),
  ].filter(Boolean);
}

/**
 * @param {AttachmentFile[]} pictures
 * @param {{links: Links, open: (id: string) => void}} on
 */
function album(pictures, on) {
  const [first] = pictures;
  const isAlone = pictures.length === 1;
  const isTall = isAlone && (first.height ?? 0) > (first.width ?? 1) * TALL;
  const look = isTall ? 'tall' : ['one', 'two', 'three', 'four'][Math.min(pictures.length, 4) - 1];
  const more = pictures.length - SHOWN_MAX;
  const node = el(
    `div.pics.${look}`,
    {},
    pictures.slice(0, SHOWN_MAX).map((file, at) => picture(
      file,
      on,
      at === SHOWN_MAX - 1 && more > 0 ? `+${more}` : isTall && say('whole'),
    )),
  );
  const { width, height } = first;
  if (isAlone && !isTall && width && height) {
    node.style.width = `${Math.min(WIDE, Math.max(width, 48))}px`;
    node.style.aspectRatio = `${width} / ${height}`;
  }
  return node;
}

/**
 * @param {AttachmentFile} file
 * @param {{links: Links, open: (id: string) => void}} on
 * @param {string | false} more words on the picture
 */
export function picture(file, { links, open }, more = false) {
  const image = el('img', {
    alt: file.alt || file.name, width: file.width, height: file.height, decoding: 'async',
  });
  const node = el(
    'button.pic',
    { type: 'button', click: () => open(file.id) },
    image,
    more && el('span.pic-more', { 'aria-hidden': 'true' }, icon('zoom'), more),
    el('span.sr-only', {}, `, ${say('open')}`),
  );
  load(image, file, links, (words) => {
    node.replaceChildren(el('span.broken', {}, icon('image'), `${file.alt || file.name}. ${words}`));
  });
  return node;
}

/**
 * Loads a picture near the view, and once more with another address if the first does not work.
 * @param {HTMLImageElement} image
 * @param {AttachmentFile} file
 * @param {Links} links
 * @param {(words: string) => void} failed
 */
function load(image, file, links, failed) {
  let tries = 0;
  async function next() {
    const link = await links.of(file.id, tries > 0);
    if (!link) return failed(say('no_file'));
    image.src = link.thumbnail_url ?? link.url;
  }
  image.onload = () => { image.parentElement?.classList.add('there'); };
  image.onerror = () => { if (++tries < 2) next(); else failed(say('no_file')); };
  due.set(image, next);
  observer.observe(image);
}

/**
 * @param {AttachmentFile} file
 * @param {{links: Links, failed: (words: string) => void}} on
 */
function row(file, { links, failed }) {
  const { id, name } = file;
  return el(
    'button.attachment',
    {
      type: 'button',
      async click() {
        const link = await links.of(id);
        if (link) download(link, name); else failed(say('no_file'));
      },
    },
    el('span.thumb', {}, icon(iconOf(file))),
    el(
      'span.attachment-text',
      {},
      el('span.sr-only', {}, `${say('download')}: `),
      el('b.truncate', { dir: 'auto', title: name }, name),
      el('span.meta', {}, facts(file)),
    ),
    icon('download'),
  );
}

/** @param {{type: string, name: string}} file */
export function iconOf({ type, name }) {
  const [kind] = type.split('/');
  if (['audio', 'video', 'image'].includes(kind)) return kind;
  return /^(zip|gz|tgz|tar|7z|rar)$/.test(extension(name)) ? 'archive' : 'file';
}

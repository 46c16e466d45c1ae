// The files of a message that is on its way, or was refused: each with its progress and a button
// that takes it out.

import { el, icon } from '../dom.js';
import { iconOf } from './bubble.js';
import { facts, say, seconds, size } from './words.js';

/** @typedef {import('./shelf.js').Parcel} Parcel */
/** @typedef {import('./shelf.js').ParcelFile} ParcelFile */
/** @typedef {import('./sending.js').Sending} Sending */

/**
 * @param {Parcel} parcel
 * @param {Sending} sending
 * @param {(file: ParcelFile) => HTMLCanvasElement | undefined} preview
 * @returns {{nodes: HTMLElement[], update: () => void}}
 */
export function pending(parcel, sending, preview) {
  const rows = parcel.files.map((file) => row(parcel, file, sending, preview(file)));
  const stay = el('p.meta', { hidden: true }, say('stay'));
  function update() {
    for (const { change } of rows) change();
    stay.hidden = !sending.unkept.has(parcel.id) || !!parcel.failed;
  }
  update();
  return { nodes: [...rows.map(({ node }) => node), stay], update };
}

/**
 * @param {Parcel} parcel
 * @param {ParcelFile} file
 * @param {Sending} sending
 * @param {HTMLCanvasElement | undefined} canvas
 */
function row(parcel, file, sending, canvas) {
  const { name, bytes } = file;
  const about = el('span.meta', {});
  const bar = el('progress', { max: bytes, 'aria-label': name });
  const cancel = el('button.icon-button', {
    type: 'button',
    'aria-label': say('cancel', name),
    click: () => { sending.cancel(parcel, file); },
  }, icon('x'));
  const node = el(
    'div.upload',
    { role: 'group', 'aria-label': name },
    el('span.thumb', {}, canvas ?? icon(iconOf(file))),
    el('div', {}, el('b.truncate', { dir: 'auto', title: name }, name), about, bar),
    cancel,
  );

  function change() {
    const { received, speed } = sending.progress(file.id);
    const isFailed = !!parcel.failed;
    const isWaiting = sending.waiting.has(parcel.id);
    const left = speed > 0 && received < bytes ? say('left', seconds((bytes - received) / speed)) : '';
    const far = say('progress', size(received), size(bytes));
    node.classList.toggle('failed', isFailed && [undefined, file.id].includes(parcel.failedFile));
    bar.value = received;
    bar.hidden = isFailed || !!file.stored;
    about.textContent = isFailed || file.stored ? facts(file)
      : isWaiting && received ? say('stopped', size(received), size(bytes))
      : received >= bytes ? say('checking')
      : received ? [far, left].filter(Boolean).join(', ') : facts(file);
  }
  return { node, change };
}

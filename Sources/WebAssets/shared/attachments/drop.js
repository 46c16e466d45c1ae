// The zone that files are dropped into: it covers the log while they are dragged over the chat.

import { el, icon } from '../dom.js';
import { say, size } from './words.js';

const GONE_AFTER = 600; // ms; browsers repeat `dragover` at least every 350 ms

/**
 * Returns a function that shows the zone over a log, and hides it when the drag has ended.
 * @param {HTMLElement} log
 * @param {() => {name: string, bytes: number}} about the person who gets the files, '' for none,
 *   and the bytes that one may have
 */
export function dropZone(log, about) {
  let timer = 0;
  /** @type {HTMLElement?} */
  let zone = null;

  function hide() {
    zone?.remove();
    zone = null;
  }

  function show() {
    clearTimeout(timer);
    timer = window.setTimeout(hide, GONE_AFTER);
    if (zone) return;
    const { name, bytes } = about();
    zone = el(
      'div.drop',
      { role: 'status' },
      el(
        'div',
        {},
        icon('image'),
        el('b', { dir: 'auto' }, name ? say('drop_for', name) : say('drop')),
        el('p', {}, say('hint', size(bytes))),
      ),
    );
    Object.assign(zone.style, {
      top: `${log.offsetTop}px`, height: `${log.offsetHeight}px`,
      left: `${log.offsetLeft}px`, width: `${log.offsetWidth}px`,
    });
    log.after(zone);
  }

  return { show, hide };
}

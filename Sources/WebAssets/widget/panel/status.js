// The one line above the composer: what happens to the message, not to the socket. A gap below 3 s
// shows nothing.

import { el, icon } from '../../shared/dom.js';
import { say } from '../words.js';

const SILENT = 3000;
const FAREWELL = 4000; // "back online" leaves after this

export const dots = () => el('span.dots', { 'aria-hidden': 'true' }, el('i'), el('i'), el('i'));

/**
 * Draws into `line`, from what `link` and `outbox` know at the moment.
 * @param {HTMLElement} line
 * @param {import('../../shared/socket.js').Link} link
 * @param {import('../../shared/outbox.js').Outbox} outbox
 * @param {() => string} trouble what went wrong
 */
export function statusLine(line, link, outbox, trouble) {
  let told = false;
  let until = 0;

  /**
   * Text, and a look unless it asks for attention.
   * @param {number} now
   * @param {number} waiting
   * @returns {[string, Node?]}
   */
  function words(now, waiting) {
    const what = ` ${say(outbox.kept ? 'out' : 'stay', waiting)}`;
    if (trouble()) return [trouble()];
    if (link.state === 'stopped') return [say('unavailable')];
    if (link.lostAt) {
      if (now - link.lostAt < SILENT) return [''];
      told = true;
      return waiting ? [say('lost') + what] : [say('reconnecting'), dots()];
    }
    if (waiting && outbox.pausedUntil) return [say('busy') + what];
    if (waiting && !outbox.kept) return [what];
    if (told) until = now + FAREWELL;
    told = false;
    return now < until ? [say('back'), icon('check')] : [''];
  }

  return () => {
    const [text, look] = words(Date.now(), outbox.waiting.length);
    line.hidden = !text;
    if (line.textContent === text) return;
    line.classList.toggle('warn', !look);
    line.replaceChildren(look ?? icon('clock'), text);
  };
}

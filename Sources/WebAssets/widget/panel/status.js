// The status line above the composer. It reports what happens to the visitor's messages, not to the
// socket; a gap shorter than 3 s is not shown.

import { el, icon } from '../../shared/dom.js';
import { say } from '../words.js';

const SHORT_GAP = 3000; // ms
const BACK_SHOWN = 4000; // ms for which “back online” is shown

export const dots = () => el('span.dots', { 'aria-hidden': 'true' }, el('i'), el('i'), el('i'));

/**
 * Returns a function that draws the state of the session's link and outbox into `line`.
 * @param {HTMLElement} line
 * @param {import('../session.js').Session} session
 * @param {() => string} rest a text for a quiet line, or ''
 */
export function statusLine(line, session, rest) {
  const { link, outbox } = session;
  let wasShown = false;
  let until = 0;

  /**
   * The text, and its icon; a warning has none of its own.
   * @param {number} now
   * @param {number} waiting messages
   * @returns {[string, Node?]}
   */
  function words(now, waiting) {
    const fate = ` ${say(outbox.kept ? 'out' : 'stay', waiting)}`;
    if (session.trouble) return [session.trouble];
    if (link.state === 'stopped') return [say('unavailable')];
    if (link.lostAt || link.isMute) {
      // one that was mute before is shown until it is back
      if (!wasShown && !link.isMute && now - link.lostAt < SHORT_GAP && navigator.onLine) return [''];
      wasShown = true;
      return waiting ? [say('lost') + fate] : [say('reconnecting'), dots()];
    }
    if (waiting && outbox.pausedUntil) return [say('busy') + fate];
    if (waiting && !outbox.kept) return [fate];
    if (wasShown) until = now + BACK_SHOWN;
    wasShown = false;
    return now < until ? [say('back'), icon('check')] : [rest()];
  }

  return () => {
    const [text, sign] = words(Date.now(), outbox.waiting.length);
    line.hidden = !text;
    if (line.textContent === text) return;
    line.classList.toggle('warn', !sign);
    line.replaceChildren(sign ?? icon('clock'), text);
  };
}

// The one line above the composer: what happens to the message, not to the socket. A gap below 3 s
// shows nothing.

import { el, icon } from '../shared/dom.js';

const SILENT = 3000;
const FAREWELL = 4000; // "back online" leaves after this

export const dots = () => el('span.dots', { 'aria-hidden': 'true' }, el('i'), el('i'), el('i'));

/** Draws into `line`, from what `link` and `outbox` know at the moment. */
export function statusLine(line, link, outbox) {
  let told = false;
  let until = 0;

  /** Text, icon, whether it asks for attention. @returns {[string, any?, boolean?]} */
  function words(now, waiting) {
    if (link.state === 'stopped') return ['This chat is not available now.', icon('clock'), true];
    if (link.lostAt) {
      if (now - link.lostAt < SILENT) return [''];
      told = true;
      if (!waiting) return ['Reconnecting. You can keep writing.', dots()];
      return [
        `No connection. What you wrote (${waiting}) goes out by itself.`,
        icon('clock'),
        true,
      ];
    }
    const left = Math.ceil((outbox.pausedUntil - now) / 1000);
    if (waiting && left > 0) {
      return [
        `The server is busy. What you wrote (${waiting}) goes out in ${left}\u00a0s.`,
        icon('clock'),
        true,
      ];
    }
    if (told) until = now + FAREWELL;
    told = false;
    return now < until ? ['Back online. Nothing was missed.', icon('check')] : [''];
  }

  return () => {
    const [text, look, warn] = words(Date.now(), outbox.waiting.length);
    line.hidden = !text;
    if (line.textContent === text) return;
    line.classList.toggle('warn', !!warn);
    line.replaceChildren(look ?? '', text);
  };
}

// The one line above the composer: what happens to the message, not to the socket. A gap below 3 s shows nothing.

import { el, icon, plural } from '../shared/dom.js';

const SILENT = 3000;
const FAREWELL = 4000; // "back online" leaves after this

export class Status {
  #line; #link; #outbox; #told = false; #until = 0;

  constructor(line, link, outbox) {
    this.#line = line;
    this.#link = link;
    this.#outbox = outbox;
  }

  render() {
    const [text, look, warn] = this.#words();
    const line = this.#line;
    line.hidden = !text;
    if (line.dataset.text === text) return;
    line.dataset.text = text;
    line.classList.toggle('warn', !!warn);
    line.replaceChildren(look === 'dots' ? dots() : look ? icon(look) : '', el('span', {}, text));
  }

  #words() {
    const { state, lostAt } = this.#link;
    const now = Date.now();
    const waiting = this.#outbox.waiting.length;
    const messages = plural(waiting, 'message waits', 'messages wait');
    if (state === 'stopped') return ['This chat is not available at the moment.', 'nowifi', true];
    if (state === 'waiting' || state === 'connecting') {
      if (now - lostAt < SILENT) return [''];
      this.#told = true;
      if (waiting) return [`No connection. ${messages.replace(/wait(s?)$/, 'wait$1 and go')}${waiting === 1 ? 'es' : ''} out by ${waiting === 1 ? 'itself' : 'themselves'}.`, 'nowifi', true];
      return ['Reconnecting. You can keep writing.', 'dots'];
    }
    const left = Math.ceil((this.#outbox.pausedUntil - now) / 1000);
    if (waiting && left > 0) return [`The server is busy. ${messages}; next try in ${left}\u00a0s.`, 'clock', true];
    if (this.#told) { this.#told = false; this.#until = now + FAREWELL; }
    return now < this.#until ? ['Back online. Nothing was missed.', 'check'] : [''];
  }
}

export const dots = () => el('span.dots', { 'aria-hidden': 'true' }, el('i'), el('i'), el('i'));

// What goes on beside an open conversation: operators see which page the visitor has open, a silent
// connection is noticed, messages have a tone, and the composer has emoji. The chat loads this file
// with its first connection, so a page pays for it with a conversation only.
// The page is compared every second: a navigation within a page has no event of its own, and a
// history that two scripts have wrapped cannot be restored.

import { Probe } from '../shared/probe.js';
import { Close } from '../shared/protocol.js';
import { objects } from './loader/objection.js';
import { emoji } from './panel/emoji.js';
import { tone } from './panel/notice.js';
import { address, cut } from './watch/address.js';

const PAUSE = 2000; // ms between two reports of pages
const AGAIN = 30_000; // ms until a report that has failed is repeated
const GIVE_UP = 10_000; // ms of silence behind a probe; then the connection is made anew

/** @param {import('./app.js').App} app */
export function live({ root, screen, session, view, visitor }) {
  const { link } = session;
  const probe = new Probe(link, () => screen.changed());
  const refreshEmoji = emoji(root, view);
  let seen = '';
  let sent = '';
  let next = 0;
  link.probe = probe;
  for (const event of ['keydown', 'pointerdown']) {
    root.addEventListener(event, () => probe.attend(), { passive: true });
  }

  /** A page that is open for two ticks: a router sets the title after the address. */
  function report() {
    const page = address();
    const isNew = page !== seen;
    const now = Date.now();
    const what = `${session.talk?.session} ${page}`;
    seen = page;
    if (isNew || what === sent || now < next || link.state !== 'open') return;
    if (!session.talk || session.isClosed) return;
    sent = what;
    next = now + PAUSE;
    const title = cut(document.title.replace(/^\(\d+\)\s/, ''));
    visitor.put('page', { page, title }).catch(() => { sent = ''; next = now + AGAIN; });
  }

  /** To be called every second. */
  function tick() {
    refreshEmoji();
    if (document.hidden) {
      sent = ''; // another tab may be used meanwhile
      return;
    }
    if (!objects()) report();
    if (!view.root.open) return;
    probe.check();
    if (probe.isMute && Date.now() - probe.sentAt > GIVE_UP) link.drop(Close.silent);
  }

  return { tick, tone };
}

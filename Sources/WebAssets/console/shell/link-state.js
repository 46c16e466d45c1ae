// The state of the connection: the line below the list, its details, and the banner for trouble.

import { el, icon } from '../../shared/dom.js';
import { Probe } from '../../shared/probe.js';
import { Command } from '../../shared/protocol.js';
import { Link } from '../../shared/socket.js';
import { nameOf } from '../inbox/inbox.js';
import { focusOn } from './element.js';
import { locale, t } from './language.js';

const SHORT_GAP = 3000; // ms; a shorter gap is not shown
const NOTICE_SHOWN = 6000; // ms

/** A link that is probed. */
export class TimedLink extends Link {
  /** @param {import('../../shared/socket.js').LinkOptions} options */
  constructor(options) {
    super(options);
    /** @type {Probe} */
    this.probe = new Probe(this, options.changed);
  }

  /** When the connection was lost or became mute, in ms of Date.now(); 0 for none. */
  get lostSince() { return this.lostAt || (this.probe?.isMute ? this.probe.sentAt : 0); }

  /**
   * Asks for the list's events. While no console is visible, the operator gets push messages.
   * @param {() => void=} done is called once they come
   */
  watch(done) {
    const active = document.visibilityState === 'visible';
    this.request({ type: Command.watch, inbox: true, active }, done);
  }
}

export class LinkState {
  #on;
  #notice = '';
  #until = 0;

  /**
   * @param {{link: TimedLink, outbox: import('../../shared/outbox.js').Outbox,
   *   inbox: import('../inbox/inbox.js').Inbox}} app
   * @param {() => import('../../shared/conversation.js').Conversation?} talk the open conversation
   * @param {() => import('../../shared/outbox.js').Item[]} files messages with files, not yet sent
   */
  constructor({ link, outbox, inbox }, talk, files) {
    this.#on = { link, outbox, inbox, talk, files };
    this.line = el('button.link-state', {
      type: 'button',
      'aria-expanded': 'false',
      'aria-controls': 'details',
      click: () => this.toggle(),
    });
    this.details = el('section.pop.details', {
      id: 'details',
      'aria-label': t('Connection details'),
      hidden: true,
    });
    this.banner = el('div.banner', { role: 'status', hidden: true });
    this.foot = el('div.foot', {}, this.details, this.line);
  }

  /** Whether the connection is open, or was lost only a moment ago. */
  get live() {
    const { state, lostAt, isMute } = this.#on.link;
    if (state === 'open') return !isMute;
    return lostAt > 0 && state !== 'stopped' && navigator.onLine
      && Date.now() - lostAt < SHORT_GAP;
  }

  toggle(show = this.details.hidden) {
    this.details.hidden = !show;
    this.line.setAttribute('aria-expanded', String(show));
    this.render();
  }

  /**
   * Shows a notice in place of the state for a few seconds.
   * @param {string} words
   */
  say(words) { this.#notice = words; this.#until = Date.now() + NOTICE_SHOWN; this.render(); }

  /** To be called every second and after each change. */
  render() {
    const { link, outbox, inbox } = this.#on;
    const now = Date.now();
    const refused = this.#failed.length;
    const waiting = outbox.items.length + this.#on.files().length - refused;
    const isPaused = this.live && waiting > 0 && outbox.pausedUntil > now - 1000 && !!outbox.cause;
    const tail = refused
      ? refused === 1 ? t('1 message not sent') : t('{} messages not sent', refused)
      : waiting
      ? waiting === 1 ? t('1 message waiting to send') : t('{} messages waiting to send', waiting)
      : t('all messages sent');
    const [dot, name, what, end] = isPaused
      ? ['.warn', t('Connected'), `· ${t('saving paused')}`, tail]
      : this.live
      ? ['', t('Live'), `· ${tail}`, '']
      : [
        '.off',
        t('Not connected'),
        link.state === 'stopped' ? '' : t('for {}', age(now - link.lostSince)),
        t('list as of {}', new Date(inbox.asOf || now).toLocaleTimeString(locale)),
      ];
    if (now < this.#until) {
      swap(this.line, [el(`span.dot${dot}`), el('b', { role: 'status' }, this.#notice)]);
    } else swap(this.line, [
      el(`span.dot${dot}`),
      el('b', {}, name),
      el('span', {}, what),
      el('span.grow'),
      el('span.num', {}, end),
    ]);
    this.#banner(isPaused, now);
    if (!this.details.hidden) this.#details(now, waiting);
  }

  /**
   * @param {boolean} isPaused
   * @param {number} now
   */
  #banner(isPaused, now) {
    const { link, outbox, inbox } = this.#on;
    /** @param {number} at */
    const left = (at) => Math.max(0, Math.ceil((at - now) / 1000));
    const asOf = new Date(inbox.asOf || now).toLocaleTimeString(locale);
    /** @type {HTMLElement[]} */
    let parts = [];
    if (link.state === 'stopped') {
      parts = [
        icon('nowifi'),
        el(
          'p',
          {},
          el('b', {}, t('The server refused the connection.')),
          ` ${t('Error {}. Contact your administrator.', link.reason)}`,
        ),
      ];
    }
    else if (!this.live) {
      const when = link.isMute
        ? t('Connection lost. The server does not answer.')
        : link.state === 'connecting'
        ? t('Connection lost. Reconnecting.')
        : t('Connection lost. Reconnecting in {}\u00a0s.', left(link.retryAt));
      parts = [
        icon('nowifi'),
        el(
          'p',
          {},
          el('b', {}, when),
          ` ${outbox.kept
            ? t('You see the list as of {}. Keep writing: replies are sent in order once you are back online.', asOf)
            : t('You see the list as of {}. Keep this page open: replies are sent in order once you are back online.', asOf)}`,
        ),
        el('button.button', { type: 'button', click: () => link.nudge() }, t('Try now')),
      ];
    } else if (isPaused) {
      parts = [
        icon('db'),
        el(
          'p',
          {},
          el('b', {}, t('The server cannot save messages right now. Nothing is lost.')),
          ` ${outbox.kept
            ? t('Your replies are kept on this device and sent automatically.')
            : t('Keep this page open: your replies are sent automatically.')}`,
        ),
        el('span.meta.num', {}, t('Next try in {}\u00a0s', left(outbox.pausedUntil))),
      ];
    }
    this.banner.hidden = !parts.length;
    swap(this.banner, parts);
  }

  get #failed() {
    return [...this.#on.outbox.items, ...this.#on.files()].filter((item) => item.failed);
  }

  /**
   * A link to each conversation with a refused message.
   * @returns {[string, HTMLElement][]}
   */
  #refused() {
    const { inbox } = this.#on;
    const ids = this.#failed.map((item) => item.session ?? '');
    return [...new Set(ids)].map((id) => {
      const row = inbox.rows.get(id);
      return [t('Not sent'), el('a', { href: `#${id}` }, row ? nameOf(row) : t('Conversation'))];
    });
  }

  /**
   * @param {number} now
   * @param {number} waiting messages
   */
  #details(now, waiting) {
    const { link } = this.#on;
    const talk = this.#on.talk();
    const beat = (link.welcome?.heartbeat?.interval_ms ?? 25_000) / 1000;
    /** @type {[string, string | HTMLElement][]} */
    const facts = [
      [t('Last signal'), t('{1} ago, at least every {2}\u00a0s', age(now - link.receivedAt), beat)],
      [
        t('This conversation'),
        talk ? t('{1} of {2} entries received', Math.max(0, talk.next - 1), talk.head)
          : t('none open'),
      ],
      [t('Waiting to send'), String(waiting)],
      ...this.#refused(),
      [
        t('Round trip'),
        link.probe?.roundTrip ? `${link.probe.roundTrip}\u00a0ms` : t('not measured yet'),
      ],
      [t('Node'), link.welcome?.node ?? t('unknown')],
    ];
    const title = link.state === 'open' ? t('Live for {}', age(now - link.openedAt))
      : t('Not connected');
    swap(this.details, [
      el('h3', {}, el(`span.dot${link.state === 'open' ? '' : '.off'}`), title),
      el(
        'dl.facts.num',
        {},
        ...facts.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])
      ),
    ]);
  }
}

/**
 * Replaces the children of a node if they differ. A button that has the focus keeps it.
 * @param {HTMLElement} node
 * @param {HTMLElement[]} parts
 */
function swap(node, parts) {
  const sign = parts.map((part) => `${part.className}${part.textContent}`).join('|');
  if (node.dataset.sign === sign) return;
  const { activeElement: focused } = document;
  const held = focused?.parentNode === node && focused.tagName;
  node.dataset.sign = sign;
  node.replaceChildren(...parts);
  if (held) focusOn(node.querySelector(held));
}

/**
 * A time span in its largest unit: 4 s, 3 min, 2 h.
 * @param {number} ms
 */
export function age(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return t('{}\u00a0s', seconds);
  if (seconds < 3600) return t('{}\u00a0min', Math.floor(seconds / 60));
  return t('{}\u00a0h', Math.floor(seconds / 3600));
}

// The log of the open conversation on the screen: its end, or an excerpt around another entry.

import { el } from '../../shared/dom.js';
import { Thread } from '../../shared/thread.js';
import { t } from '../shell/language.js';
import { Excerpt, trim, WINDOW } from './excerpt.js';

const EDGE = 200; // px before the end of the loaded entries at which more are loaded

/** @typedef {import('../../shared/conversation.js').Conversation} Conversation */
/** @typedef {import('./lines.js').OpenedPiece} OpenedPiece */
/** @typedef {import('../../shared/thread.js').ThreadParts<OpenedPiece>} ThreadParts */

/**
 * Gives all entries of the visitor the present name: an entry that came live has the name that the
 * visitor had on connecting, before they filled in a form or an operator corrected it.
 * @param {import('../../shared/thread.js').Log} log
 * @param {string} name
 */
function rename({ entries, typing }, name) {
  const senders = entries.map(({ sender }) => sender);
  const writers = [...typing.others.values()].map(({ who }) => who);
  for (const who of [...senders, ...writers]) if (who.kind === 'visitor') who.name = name;
}

export class LogView {
  root = el('div.log', { role: 'log', tabindex: 0, 'aria-relevant': 'additions' });
  /**
   * A part of the log that is shown instead of its end.
   * @type {Excerpt?}
   */
  excerpt = null;
  #on;
  #thread;
  /** The id of an entry that is to be scrolled to. */
  #target = '';
  /** The seq of an entry that is to be shown when the backlog is complete. */
  #wanted = 0;

  /**
   * @param {Omit<ThreadParts, 'older'>} parts
   * @param {{talk: () => Conversation?, changed: () => void, failed: (words: string) => void}} on
   *   `talk` returns the open conversation
   */
  constructor(parts, on) {
    this.#on = on;
    /** @type {Thread<OpenedPiece>} */
    this.#thread = new Thread(this.root, { ...parts, older: () => this.#older() });
    this.root.addEventListener('scroll', () => this.#scrolled(), { passive: true });
  }

  get #talk() { return this.#on.talk(); }

  /** Whether the end of the log is in view. */
  get isAtEnd() { return !this.excerpt && this.#thread.atEnd; }

  /**
   * Another conversation is open.
   * @param {number} seq of an entry to show, 0 for the end
   */
  reset(seq) {
    this.excerpt = null;
    this.#target = '';
    this.#wanted = seq;
    this.#thread.toEnd();
  }

  /** The backlog of the conversation is complete. */
  loaded() {
    const seq = this.#wanted;
    this.#wanted = 0;
    if (seq) this.show(seq);
  }

  /**
   * Shows an entry, in the log if it is loaded there, else in an excerpt around it.
   * @param {number} seq
   */
  async show(seq) {
    const talk = this.#talk;
    if (!talk) { this.#wanted = seq; return; }
    const near = talk.entries.find((entry) => entry.seq === seq);
    if (near) {
      this.excerpt = null;
      this.#target = near.id;
    } else {
      const part = new Excerpt(talk.session, seq, talk.marks, this.#on.changed);
      const isThere = await part.load();
      if (talk !== this.#talk) return;
      if (!isThere) return this.#on.failed(`${t('The message could not be loaded.')} ${part.failed}`);
      this.excerpt = part;
      this.#target = part.hit;
    }
    this.#on.changed();
  }

  /** Returns from an excerpt to the end of the log. */
  latest() {
    this.excerpt = null;
    this.#thread.toEnd();
    this.#on.changed();
  }

  /**
   * @param {import('../../shared/outbox.js').Item[]} items of the outbox
   * @param {string} name the visitor's, '' if they gave none
   */
  render(items, name) {
    const { root, excerpt } = this;
    const thread = this.#thread;
    const talk = this.#talk;
    if (excerpt) thread.atEnd = false; // its end is not the end of the log
    else if (talk && thread.atEnd) trim(talk);
    const shown = excerpt ?? talk;
    if (shown && name) rename(shown, name);
    root.setAttribute('aria-live', shown?.live ? 'polite' : 'off');
    const held = thread.atEnd ? null : this.#held();
    thread.render(shown, excerpt ? [] : items);
    if (held?.node.isConnected) {
      root.scrollTop += held.node.getBoundingClientRect().top - held.top;
    }
    if (this.#target) this.#reveal();
    if (excerpt) this.#edges(excerpt);
  }

  /** The entry at the top of the view, which keeps its position while others come and go. */
  #held() {
    const { left, top } = this.root.getBoundingClientRect();
    for (const down of [40, 80, 160]) {
      const at = document.elementFromPoint(left + 40, top + down);
      const node = at?.closest('.log > *');
      if (node) return { node, top: node.getBoundingClientRect().top };
    }
    return null;
  }

  /** Scrolls to the target entry and marks it. */
  #reveal() {
    const { drawn } = /** @type {import('../../shared/dom.js').Drawing} */ (this.root);
    const node = (drawn?.get(this.#target) ?? drawn?.get(`e${this.#target}`))?.node;
    if (!node) return;
    this.#target = '';
    for (const old of this.root.querySelectorAll('.hit')) old.classList.remove('hit');
    node.classList.add('hit');
    this.#thread.atEnd = false;
    node.scrollIntoView({ block: 'center' });
  }

  #scrolled() {
    const { scrollHeight, clientHeight, scrollTop } = this.root;
    if (scrollHeight - clientHeight - scrollTop < EDGE) this.#newer();
  }

  /**
   * Loads more if the view is at an edge, where no scroll event would load it.
   * @param {Excerpt} excerpt
   */
  #edges({ entries, loading, failed }) {
    if (!entries.length || loading || failed) return;
    if (this.root.scrollTop < EDGE) this.#older(); else this.#scrolled();
  }

  /** Loads older entries; far from the end into an excerpt, so that the log does not grow. */
  #older() {
    const talk = this.#talk;
    if (!this.excerpt && talk && talk.entries.length >= WINDOW && talk.oldest > 1) {
      this.#thread.atEnd = false;
      this.excerpt = Excerpt.from(talk, this.#on.changed);
    }
    (this.excerpt ?? talk)?.older();
  }

  /** Extends an excerpt towards the end of the log. */
  async #newer() {
    const part = this.excerpt;
    if (!part || !part.entries.length) return;
    await part.newer();
    if (this.excerpt === part && this.#talk && part.newest >= this.#talk.head) this.latest();
  }
}

// The log of a conversation as widget and console draw it: days, event lines, runs of messages with
// their state, typing.
// Invariant: a bubble is `pending` (outlined, not filled) exactly while its item is in the outbox.

import { el, reconcile, tick } from './dom.js';
import { Kind } from './protocol.js';

const RUN = 5 * 60_000; // ms; messages of one person within this time are one run
const NEAR = 80; // px from the end of the log that count as the end
const TOP = 200; // px from the top of the log at which older entries are fetched

/** @type {Intl.DateTimeFormat} */
let clock;
/** @type {Intl.DateTimeFormat} */
let date;
/** @type {(name: ThreadWord) => string} */
let word;

/**
 * The words of the thread; only the console shows `note`.
 * @typedef {'sending' | 'waiting' | 'unsure' | 'sent' | 'delivered' | 'read' | 'today' | 'you'
 *   | 'note'} ThreadWord
 */

/**
 * Sets the language of all threads.
 * @param {string | undefined} locale of dates and times
 * @param {(name: ThreadWord) => string} words
 */
export function speakThread(locale, words) {
  clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
  date = new Intl.DateTimeFormat(locale, { dateStyle: 'long' });
  word = words;
}

/** @param {string | number | Date} at */
export const time = (at) => clock.format(new Date(at));

/** @type {(id: string) => string} */
let nameless = () => '?';

/**
 * Sets the names of visitors who gave none.
 * @param {typeof nameless} name
 */
export function nameVisitors(name) { nameless = name; }

/**
 * Two Latin letters or figures, of the first and the last word; or one letter of another script
 * with its marks.
 * @param {string} name
 */
const initials = (name) => (
  /^([a-z0-9])\S*.*\s([a-z0-9])\S*$/i.exec(name)?.slice(1).join('')
    ?? /[a-z0-9]{1,2}|\p{L}\p{M}*/iu.exec(name)?.[0] ?? '?'
);

/**
 * An avatar.
 * @param {{id: string | null, kind?: string, name?: string}} who
 * @param {string=} more classes
 */
export const face = (who, more = '') => el(
  `span.avatar${more}`,
  { 'aria-hidden': 'true', 'data-id': who.kind !== 'visitor' && `${who.id}` },
  initials(who.name || nameless(`${who.id}`)).toUpperCase(),
);

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./outbox.js').Item} Item */

/**
 * The part of a conversation, or of an excerpt of it, that is drawn.
 * @typedef {{entries: Entry[], ids: Map<string, Entry>, oldest: number, live: boolean,
 *   marks: {reached: (kind: string) => Mark},
 *   typing: {others: Map<string, {who: Person, preview: string}>}}} Log
 */

/** @typedef {{key: string, draw: 'writer', who: Person, preview: string}} Writer types now */
/** @typedef {{key: string, draw: string}} Piece is drawn by `draw` of the thread's user */
/** @typedef {{key: string, type: string, text: Child | Child[]}} Line a day or an event */

/**
 * A message, committed or not.
 * @typedef {{key: string, type: 'say', body: string, kind: string, payload?: Payload, seq?: number,
 *   failed?: string, out: boolean, noted: boolean, who: Sender, at: Date, state: string,
 *   first: boolean, last: boolean}} Say
 */

/**
 * The parts of a thread that widget and console draw on their own. `text` fills a bubble, `extra`
 * follows it; `lead` is before the first message, `tail` after the last; `failed` says why an item
 * was not sent, and what can be done.
 * @template {Piece} Own
 * @typedef {{me: () => Person, state: (item: Item) => string,
 *   event: (entry: Entry) => Child | Child[], older: () => void,
 *   failed: (model: {key: string, failed: string}) => Element[],
 *   text: (model: Say) => Child | Child[], extra: (model: Say) => Child,
 *   lead: () => Own | null | undefined | false, tail: () => Own[],
 *   draw: (model: Own | Writer) => HTMLElement}} ThreadParts
 */

/**
 * The text that the node of a message shows.
 * @type {WeakMap<HTMLElement, string>}
 */
const bodies = new WeakMap();

/** @template {Piece} Own */
export class Thread {
  /** Whether the view follows new messages: not while the reader has scrolled up. */
  atEnd = true;
  #log;
  #on;
  /** @type {number=} of `#hidden` at the last scroll event or drawing */
  #size;
  /** @type {number=} */
  #oldest;

  /**
   * @param {HTMLElement} log
   * @param {ThreadParts<Own>} on
   */
  constructor(log, on) {
    this.#log = log;
    this.#on = on;
    log.addEventListener('scroll', () => {
      // a scroll that a change of the layout causes is not the reader's
      const size = this.#hidden();
      if (size === this.#size) this.atEnd = size - log.scrollTop < NEAR;
      this.#size = size;
      if (log.scrollTop < TOP && !this.atEnd) on.older();
    });
    new ResizeObserver(() => this.atEnd && this.toEnd()).observe(log);
  }

  toEnd() { this.atEnd = true; this.#log.scrollTop = this.#log.scrollHeight; }

  /** Height of what does not fit into the view, in px. */
  #hidden() { return this.#log.scrollHeight - this.#log.clientHeight; }

  /**
   * @param {Log?} talk
   * @param {Item[]} items of the outbox
   */
  render(talk, items) {
    const log = this.#log;
    const below = log.scrollHeight - log.scrollTop;
    const models = this.#models(talk, items);
    reconcile(log, models, (model, node) => (
      'draw' in model ? this.#on.draw(model)
        : 'text' in model ? el(`p.${model.type}`, { dir: 'auto' }, model.text)
        : this.#say(model, node, talk?.live)
    ));
    if (this.atEnd) this.toEnd();
    else if (talk?.oldest !== this.#oldest) log.scrollTop = log.scrollHeight - below;
    this.#oldest = talk?.oldest;
    this.#size = this.#hidden();
    // a view that is not full cannot be scrolled; one that is not displayed has no height
    if (this.#size < TOP && log.clientHeight && talk?.live) this.#on.older();
  }

  /**
   * @param {Log?} talk
   * @param {Item[]} items
   */
  #models(talk, items) {
    const me = this.#on.me();
    const isVisitor = me.kind === 'visitor';
    const far = talk?.marks.reached(isVisitor ? 'operator' : 'visitor');
    const pending = items.filter((item) => !talk?.ids.has(item.id));
    /** @type {(Line | Say | Writer | Own)[]} */
    const models = [];
    let today = '';
    /** @type {Say | null | undefined} */
    let last;
    for (const entry of [...talk?.entries ?? [], ...pending]) {
      const at = new Date(entry.at);
      const text = at.toDateString() === new Date().toDateString()
        ? word('today')
        : date.format(at);
      if (text !== today) {
        models.push({ key: `day ${text}`, type: 'day', text: today = text });
        last = null;
      }
      if (entry.seq && entry.kind === Kind.event) {
        const text = this.#on.event(entry);
        if (text) models.push({ key: `e${entry.id}`, type: 'event', text });
        last = null;
        continue;
      }
      const who = entry.sender ?? me;
      /** @type {Say} */
      const say = {
        ...entry,
        key: entry.id,
        type: 'say',
        out: (who.kind === 'visitor') === isVisitor,
        noted: entry.kind === Kind.note,
        who,
        at,
        state: entry.seq === undefined ? this.#on.state(entry)
          : entry.seq <= (far?.read ?? 0) ? 'read'
          : entry.seq <= (far?.delivered ?? 0) ? 'delivered' : 'sent',
        first: true,
        last: true,
      };
      if (
        last?.who.id === who.id && last.out === say.out && last.noted === say.noted
          && +say.at - +last.at < RUN
      ) {
        last.last = last.state !== say.state;
        say.first = last.last && say.out;
      }
      models.push(last = say);
    }
    for (const [key, { who, preview }] of talk?.typing.others ?? []) if (
      who.kind !== me.kind
    ) models.push({ key: `t${key}`, draw: 'writer', who, preview });
    const lead = (!talk || talk.oldest <= 1) && this.#on.lead();
    if (lead) models.splice(isVisitor ? 0 : 1, 0, lead);
    return [...models, ...this.#on.tail()];
  }

  /**
   * @param {Say} model
   * @param {HTMLElement=} node that shows an earlier state of the message
   * @param {boolean=} isNew
   */
  #say(model, node, isNew) {
    const { who, out, failed, state } = model;
    const on = this.#on;
    const isMe = who.id === on.me().id;
    const pending = !model.seq && !failed;
    if (node && bodies.get(node) !== model.body) node = undefined; // it was erased
    node ??= el(
      `div.say.${out ? 'out' : 'in'}${isNew ? '.enter' : ''}`,
      {},
      el('span.sr-only', {}, `${isMe ? word('you') : who.name || (who.kind === 'visitor'
        ? nameless(`${who.id}`) : who.kind)}: `),
      face(who),
      el('p.bubble', { dir: 'auto' }, on.text(model)),
      on.extra(model),
      el('p.state'),
    );
    bodies.set(node, model.body);
    const bubble = node.children[2];
    const line = /** @type {HTMLElement} */ (node.lastElementChild);
    const at = time(model.at);
    const name = who.name && !isMe && (out || who.kind !== 'visitor') ? `${who.name} · ` : '';
    for (const name of /** @type {const} */ (['first', 'last', 'noted'])) {
      node.classList.toggle(name, model[name]);
    }
    for (const part of [bubble, line]) part.classList.toggle('failed', !!failed);
    bubble.classList.toggle('pending', pending);
    line.hidden = !model.last && !failed;
    line.replaceChildren(...failed ? [tick('failed'), ...on.failed({ key: model.key, failed })]
      : !out ? [name + at]
        : model.noted && !pending ? [`${who.name} · ${at} · ${word('note')}`]
      : [
        el('span', {}, `${name}${at} · ${word(/** @type {ThreadWord} */ (state))}`),
        tick(pending ? 'clock' : state),
      ]);
    return node;
  }
}

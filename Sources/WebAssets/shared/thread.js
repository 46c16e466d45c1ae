// The thread both sides show: days, event lines, runs of messages with their state, typing.
// Outlined until committed, then filled: a bubble is `pending` exactly as long as it stands in the
// outbox.

import { el, reconcile, tick } from './dom.js';
import { Kind } from './protocol.js';

const RUN = 5 * 60_000; // messages of one person within this belong together
const NEAR = 80; // px from the end that still count as "at the end"

/** @type {Intl.DateTimeFormat} */
let clock;
/** @type {Intl.DateTimeFormat} */
let date;
/** @type {(name: ThreadWord) => string} */
let called;

/**
 * What the thread says; `note` only among operators.
 * @typedef {'sending' | 'waiting' | 'unsure' | 'sent' | 'delivered' | 'read' | 'today' | 'you'
 *   | 'note'} ThreadWord
 */

/**
 * Dates and times as in `locale`, and what is said in it.
 * @param {string|undefined} locale
 * @param {((name: ThreadWord) => string)} words says `today`, `you` and
 *   the states of a message
 */
export function speakThread(locale, words) {
  clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
  date = new Intl.DateTimeFormat(locale, { dateStyle: 'long' });
  called = words;
}

/** @param {string | number | Date} at */
export const time = (at) => clock.format(new Date(at));

/**
 * Two Latin letters or figures, or one letter of another script with its marks.
 * @param {string} name
 */
const initials = (name) => (
  /[a-z0-9]{1,2}|\p{L}\p{M}*/iu.exec(name.replace(/^Visitor\s/, ''))?.[0] ?? '?'
);

/** @param {{id: string, kind?: string, name?: string}} who @param {string=} more classes */
export const face = (who, more = '') => el(
  `span.avatar${more}`,
  { 'aria-hidden': 'true', 'data-id': who.kind !== 'visitor' && `${who.id}` },
  initials(who.name || `${who.id}`.slice(-2)).toUpperCase(),
);

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('./conversation.js').Conversation} Talk a conversation, or a part of one */

export class Thread {
  /** Whether new messages are followed; a reader may look at a place of their own. */
  atEnd = true;
  #log;
  #on;
  /** @type {number=} */
  #size;
  /** @type {number=} */
  #oldest;

  /**
   * @param {HTMLElement} log
   * @param {{me: () => any, state: (item: any) => string, event: (entry: any) => any,
   *   older: () => void, failed: (item: any) => Element[],
   *   text: (model: any) => any, extra: (model: any) => Child, lead: () => any,
   *   tail: () => any[], draw: (model: any) => HTMLElement}} on `text` fills a bubble, `extra` follows
   *   it; `lead` says what stands before the first message, `tail` what behind the last one; `draw`
   *   draws those two and who types, by their `draw`
   */
  constructor(log, on) {
    this.#log = log;
    this.#on = on;
    log.addEventListener('scroll', () => {
      // A scroll because the layout changed is not the reader's wish.
      const size = log.scrollHeight - log.clientHeight;
      if (size === this.#size) this.atEnd = size - log.scrollTop < NEAR;
      this.#size = size;
      if (log.scrollTop < 200) on.older();
    });
    new ResizeObserver(() => this.atEnd && this.toEnd()).observe(log);
  }

  toEnd() { this.atEnd = true; this.#log.scrollTop = this.#log.scrollHeight; }

  /** @param {Talk?} talk @param {any[]} items of the outbox */
  render(talk, items) {
    const log = this.#log;
    const below = log.scrollHeight - log.scrollTop;
    const models = this.#models(talk, items);
    reconcile(log, models, (model, node) => (
      model.type === 'say' ? this.#say(model, node, talk?.live)
        : model.draw ? this.#on.draw(model)
        : el(`p.${model.type}`, { dir: 'auto' }, model.text)
    ));
    if (this.atEnd) this.toEnd();
    else if (talk?.oldest !== this.#oldest) log.scrollTop = log.scrollHeight - below;
    this.#oldest = talk?.oldest;
  }

  /** @param {Talk?} talk @param {any[]} items */
  #models(talk, items) {
    const me = this.#on.me();
    const isGuest = me.kind === 'visitor';
    const far = talk?.marks.reached(isGuest ? 'operator' : 'visitor');
    const pending = items.filter((/** @type {any} */ item) => !talk?.ids.has(item.id));
    const models = [];
    let today = '';
    /** @type {any} */
    let last;
    for (const entry of [...talk?.entries ?? [], ...pending]) {
      const at = new Date(entry.at);
      const text = at.toDateString() === new Date().toDateString()
        ? called('today')
        : date.format(at);
      if (text !== today) {
        models.push({ key: `day ${text}`, type: 'day', text: today = text });
        last = null;
      }
      if (entry.kind === Kind.event) {
        const text = this.#on.event(entry);
        if (text) models.push({ key: `e${entry.id}`, type: 'event', text });
        last = null;
        continue;
      }
      const who = entry.sender ?? me;
      const say = {
        ...entry,
        key: entry.id,
        type: 'say',
        out: (who.kind === 'visitor') === isGuest,
        noted: entry.kind === Kind.note,
        who,
        at,
        state: !entry.seq ? this.#on.state(entry)
          : entry.seq <= (far?.read ?? 0) ? 'read' : entry.seq <= (far?.delivered ?? 0) ? 'delivered' : 'sent',
        first: true,
        last: true,
      };
      if (
        last?.who.id === who.id && last.out === say.out && last.noted === say.noted
        && say.at - last.at < RUN
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
    if (lead) models.splice(isGuest ? 0 : 1, 0, { key: 'lead', draw: 'lead', ...lead });
    return [...models, ...this.#on.tail()];
  }

  /** @param {any} model @param {HTMLElement=} node @param {boolean=} isNew */
  #say(model, node, isNew) {
    const { who, out, failed, state } = model;
    const on = this.#on;
    const isMe = who.id === on.me().id;
    const pending = !model.seq && !failed;
    node ??= el(
      `div.say.${out ? 'out' : 'in'}${isNew ? '.enter' : ''}`,
      {},
      el('span.sr-only', {}, `${isMe ? called('you') : who.name || who.kind}: `),
      face(who),
      el('p.bubble', { dir: 'auto' }, on.text(model)),
      on.extra(model),
      el('p.state'),
    );
    const bubble = node.children[2];
    const line = /** @type {HTMLElement} */ (node.lastElementChild);
    const at = time(model.at);
    const name = who.name && !isMe && (out || who.kind !== 'visitor') ? `${who.name} · ` : '';
    for (const name of ['first', 'last', 'noted']) node.classList.toggle(name, model[name]);
    for (const part of [bubble, line]) part.classList.toggle('failed', !!failed);
    bubble.classList.toggle('pending', pending);
    line.hidden = !model.last && !failed;
    line.replaceChildren(...failed ? [tick('failed'), ...on.failed(model)]
      : !out ? [name + at]
      : model.noted && !pending ? [`${who.name} · ${at} · ${called('note')}`]
      : [
        el('span', {}, `${name}${at} · ${called(state)}`),
        tick(pending ? 'clock' : state),
      ]);
    return node;
  }
}

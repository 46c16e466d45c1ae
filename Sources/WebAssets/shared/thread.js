// The thread both sides show: days, event lines, runs of messages with their state, typing.
// Outlined until committed, then filled: a bubble is `pending` exactly as long as it stands in the
// outbox.

import { el, reconcile, tick } from './dom.js';
import { Kind } from './protocol.js';

const RUN = 5 * 60_000; // messages of one person within this belong together
const NEAR = 80; // px from the end that still count as "at the end"
let clock, date, called;

/**
 * Dates and times as in `locale`, and what is said in it.
 * @param {string|undefined} locale @param {(name: string) => string} words says `today`, `you` and
 *   the states of a message
 */
export function speakThread(locale, words) {
  clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
  date = new Intl.DateTimeFormat(locale, { dateStyle: 'long' });
  called = words;
}

export const time = (at) => clock.format(new Date(at));
export const initials = (name) => {
  const parts = [...name.replace(/^Visitor /, '').matchAll(/[\p{L}\p{N}]\p{M}*/gu)].map(
    ([letter]) => letter
  );
  return /^[a-z0-9]/i.test(name) ? parts.slice(0, 2).join('').toUpperCase() : parts[0] ?? '?';
};
/** A colleague keeps the same tint everywhere. */
const tint = (id) => 1 + ([...String(id)].reduce((sum, char) => sum + char.charCodeAt(0), 0) % 4);
export const face = (who, className = '') => el(
  `span.avatar${className}`,
  { 'aria-hidden': 'true', 'data-tint': who.kind !== 'visitor' && tint(who.id) },
  who.name ? initials(who.name) : String(who.id).slice(-2).toUpperCase(),
);

function day(at) {
  const then = new Date(at);
  return then.toDateString() === new Date().toDateString() ? called('today') : date.format(then);
}

export class Thread {
  #log; #on; #end = true; #size = 0;

  /** @param {HTMLElement} log
   * @param {{me: () => any, state: (item: any) => string, event: (entry: any) => any,
   *  older: () => void, newer?: () => void, extra?: (model: any) => Element?,
   *  lead?: () => any, drawLead?: (lead: any) => Element,
   *  typing: (typist: any) => Element, failed: (item: any) => Element[],
   *  text?: (model: any) => any[], tail?: () => any[], draw?: (model: any) => Element}} on `text`
   *  fills a bubble, `tail` says what stands behind the last message, which `draw` draws */
  constructor(log, on) {
    this.#log = log;
    this.#on = on;
    log.addEventListener('scroll', () => {
      // A scroll because the layout changed is not the reader's wish.
      const size = log.scrollHeight - log.clientHeight;
      if (size === this.#size) this.#end = size - log.scrollTop < NEAR;
      this.#size = size;
      if (log.scrollTop < 200) on.older();
      if (size - log.scrollTop < 200) on.newer?.();
    }, { passive: true });
    new ResizeObserver(() => this.#end && this.toEnd()).observe(log);
  }

  get atEnd() { return this.#end; }
  toEnd() { this.#end = true; this.#log.scrollTop = this.#log.scrollHeight; }
  /** The reader looks at a place of their own: new messages do not take them away from it. */
  hold() { this.#end = false; }

  /** @param {import('./conversation.js').Conversation?} talk @param {any[]} items of the outbox */
  render(talk, items) {
    const log = this.#log;
    const below = log.scrollHeight - log.scrollTop;
    const models = this.#models(talk, items);
    const fresh = talk?.live;
    reconcile(log, models, (model, node) => {
      if (model.type === 'say') return this.#say(model, node, fresh);
      if (model.type === 'typing') return this.#on.typing(model);
      if (model.type === 'lead') return this.#on.drawLead(model);
      if (model.draw) return this.#on.draw(model);
      return el(`p.${model.type}`, { dir: 'auto' }, model.text);
    });
    if (this.#end) this.toEnd();
    else if (models[0]?.key !== this.first) log.scrollTop = log.scrollHeight - below;
    this.first = models[0]?.key;
  }

  #models(talk, items) {
    const models = [];
    const lead = (!talk || talk.oldest <= 1) && this.#on.lead?.();
    const side = this.#on.me().kind;
    const far = talk?.marks.reached(side === 'visitor' ? 'operator' : 'visitor');
    const pending = items.filter((item) => !talk?.ids.has(item.id));
    let today = '';
    let last = /** @type {any} */ (null);
    for (const entry of [...(talk?.entries ?? []), ...pending]) {
      const label = day(entry.at);
      if (label !== today) {
        models.push({ key: `day ${label}`, type: 'day', text: today = label });
        last = null;
      }
      if (entry.kind === Kind.event) {
        const text = this.#on.event(entry);
        if (text) models.push({ key: `e${entry.id}`, type: 'event', text });
        last = null;
        continue;
      }
      const say = this.#model(entry, far);
      const apart = +new Date(say.at) - +new Date(last?.at);
      const run = last?.who.id === say.who.id
        && last.out === say.out
        && last.noted === say.noted
        && apart < RUN;
      if (run) { last.last = last.state !== say.state; say.first = last.last && say.out; }
      models.push(last = say);
    }
    for (const [key, { who, preview }] of talk?.typing.others ?? []) if (
      who.kind !== side
    ) models.push({ key: `t${key}`, type: 'typing', who, preview });
    models.push(...this.#on.tail?.() ?? []);
    if (lead) models.splice(side === 'visitor' ? 0 : 1, 0, { key: 'lead', type: 'lead', ...lead });
    return models;
  }

  #model(entry, far) {
    const who = entry.sender ?? this.#on.me();
    let state = '';
    if (!entry.seq) state = this.#on.state(entry);
    else if (entry.seq <= far?.read) state = 'read';
    else state = entry.seq <= far?.delivered ? 'delivered' : 'sent';
    return {
      key: entry.id,
      type: 'say',
      out: who.kind !== 'visitor' === (this.#on.me().kind !== 'visitor'),
      noted: entry.kind === Kind.note,
      who,
      kind: entry.kind,
      body: entry.body,
      payload: entry.payload,
      at: entry.at,
      seq: entry.seq,
      state,
      failed: entry.failed,
      session: entry.session,
      first: true,
      last: true,
    };
  }

  #say(model, node, fresh) {
    const pending = !model.seq && !model.failed;
    if (!node) {
      const name = model.who.id === this.#on.me().id
        ? called('you')
        : model.who.name || model.who.kind;
      node = el(
        `div.say.${model.out ? 'out' : 'in'}${fresh ? '.enter' : ''}`,
        {},
        el('span.sr-only', {}, `${name}: `),
        face(model.who),
        el('p.bubble', { dir: 'auto' }, ...this.#on.text?.(model) ?? [model.body]),
        this.#on.extra?.(model),
        el('p.state'),
      );
    }
    const [, , bubble] = node.children;
    const state = node.lastElementChild;
    for (const name of ['first', 'last', 'noted']) node.classList.toggle(name, model[name]);
    for (const part of [bubble, state]) part.classList.toggle('failed', !!model.failed);
    bubble.classList.toggle('pending', pending);
    state.hidden = !model.last && !model.failed;
    state.replaceChildren(...this.#state(model, pending));
    return node;
  }

  #state(model, pending) {
    if (model.failed) return [tick('failed'), ...this.#on.failed(model)];
    const at = time(model.at);
    const name = model.who.name && model.who.id !== this.#on.me().id ? `${model.who.name} · ` : '';
    if (!model.out) return [(model.who.kind === 'visitor' ? '' : name) + at];
    if (model.noted && !pending) return [`${model.who.name} · ${at} · note, only the team sees it`];
    return [
      el('span', {}, `${name}${at} · ${called(model.state)}`),
      tick(pending ? 'sending' : model.state),
    ];
  }
}

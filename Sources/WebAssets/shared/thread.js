// The thread both sides show: days, event lines, runs of messages with their state, typing.
// Outlined until committed, then filled: a bubble is `pending` exactly as long as it stands in the
// outbox.

import { el, reconcile, tick } from './dom.js';
import { Kind } from './protocol.js';

const RUN = 5 * 60_000; // messages of one person within this belong together
const NEAR = 80; // px from the end that still count as "at the end"
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });
const words = {
  sending: 'Sending',
  waiting: 'Waiting to be sent',
  unsure: 'Not confirmed yet',
  sent: 'Sent',
  delivered: 'Delivered',
  read: 'Read',
};

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
  return then.toDateString() === new Date().toDateString() ? 'Today' : date.format(then);
}

export class Thread {
  #log; #on; #end = true; #size = 0;

  /** @param {HTMLElement} log
   * @param {{me: () => any, state: (item: any) => string, event: (entry: any) => any,
   *  older: () => void, lead?: () => any, drawLead?: (lead: any) => Element,
   *  typing: (typist: any) => Element, failed: (item: any) => Element[]}} on */
  constructor(log, on) {
    this.#log = log;
    this.#on = on;
    log.addEventListener('scroll', () => {
      // A scroll because the layout changed is not the reader's wish.
      const size = log.scrollHeight - log.clientHeight;
      if (size === this.#size) this.#end = size - log.scrollTop < NEAR;
      this.#size = size;
      if (log.scrollTop < 200) on.older();
    }, { passive: true });
    new ResizeObserver(() => this.#end && this.toEnd()).observe(log);
  }

  get atEnd() { return this.#end; }
  toEnd() { this.#end = true; this.#log.scrollTop = this.#log.scrollHeight; }

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
      body: entry.body,
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
      const name = model.who.id === this.#on.me().id ? 'You' : model.who.name || model.who.kind;
      node = el(
        `div.say.${model.out ? 'out' : 'in'}${fresh ? '.enter' : ''}`,
        {},
        el('span.sr-only', {}, `${name}: `),
        face(model.who),
        el('p.bubble', { dir: 'auto' }, model.body),
        el('p.state'),
      );
    }
    const [, , bubble, state] = node.children;
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
      el('span', {}, `${name}${at} · ${words[model.state]}`),
      tick(pending ? 'sending' : model.state),
    ];
  }
}

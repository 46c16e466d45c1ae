// The thread column: one conversation with its head, its log and what stands between log and
// keyboard.

import { Conversation } from '../shared/conversation.js';
import { el, icon } from '../shared/dom.js';
import { Fault, Kind } from '../shared/protocol.js';
import { Thread } from '../shared/thread.js';
import { api } from './api.js';
import { Composer } from './composer.js';
import { nameOf, pathOf } from './inbox.js';
import { eventLine, hint, nothing, opened, preview } from './lines.js';

const CAUSES = {
  [Fault.session_closed]: 'This conversation is closed.',
  [Fault.no_such_session]: 'This conversation does not exist any more, or is not yours to see.',
  [Fault.too_large]: 'Too long, the limit is 16 KB.',
  [Fault.rejected]: 'This text cannot be stored.',
  old: 'Not sent for a week.',
  full: 'Too much waits to be sent. Wait, or delete some of it.',
};

/** Another text would be taken; an id that is in use cannot be kept either. */
const EDIT = [Fault.rejected, Fault.too_large, Fault.id_conflict];

export class Pane {
  id = '';
  /** @type {Conversation?} */ talk = null;
  #on; #row = /** @type {any} */ (null); #lost = /** @type {any} */ (null); #told = '';

  /**
   * @param {{link: any, outbox: any, inbox: any, me: () => any, changed: () => void, back: () =>
   *   void, next: () => void, visitor: () => void}} on
   */
  constructor(on) {
    this.#on = on;
    const action = (key, look, words, click) => el(
      `button.button.${key}`,
      { type: 'button', click },
      icon(look),
      words,
    );
    this.name = el('h2.truncate');
    this.chip = el('span.chip');
    this.claimButton = action('primary', 'check', 'Claim', () => this.claim());
    this.closeButton = action('plain', 'check', 'Close', () => this.close());
    this.reopenButton = action('plain', 'reload', 'Reopen', () => this.reopen());
    this.log = el('div.log', { role: 'log', tabindex: 0, 'aria-relevant': 'additions' });
    this.strip = el('div.collision', { role: 'status', hidden: true });
    this.composer = new Composer({
      send: (body, kind, close) => this.#send(body, kind, close),
      typed: (text) => this.talk?.typing.type(text),
    });
    this.full = el(
      'div.pane',
      { hidden: true },
      el(
        'header.bar',
        {},
        el(
          'button.icon-button.back',
          { type: 'button', 'aria-label': 'Back to the list', click: on.back },
          icon('back'),
        ),
        this.name,
        this.chip,
        el('span.grow'),
        this.claimButton,
        this.reopenButton,
        this.closeButton,
        el(
          'button.icon-button.about',
          { type: 'button', 'aria-label': 'Visitor', click: on.visitor },
          icon('person'),
        ),
      ),
      this.log,
      el('div.dock', {}, this.strip, this.composer.root),
    );
    this.none = el('div.empty');
    this.root = el('main.thread', { 'aria-label': 'Thread' }, this.full, this.none);
    this.thread = new Thread(this.log, {
      me: on.me,
      state: (item) => on.outbox.state(item),
      older: () => this.talk?.older(),
      event: (entry) => eventLine(entry, on.me()),
      failed: (model) => this.#failed(model),
      typing: preview,
      lead: () => this.#row && { at: this.#row.created_at, page: pathOf(this.#row.context?.page) },
      drawLead: opened,
    });
  }

  /** @param {string} id '' for none */
  show(id) {
    if (id === this.id) return;
    this.talk?.leave();
    this.id = id;
    this.talk = null;
    this.#row = this.#lost = null;
    this.#told = '';
    if (id) {
      this.composer.show(id);
      this.thread.toEnd();
      if (this.#on.link.state === 'open') this.opened();
    }
    this.#on.outbox.run(); // what was written before goes its own way
    this.#on.changed();
  }

  /** The link is up: subscribe, or resume where the copy ends. */
  opened() {
    if (!this.id) return;
    this.talk ??= new Conversation(
      this.#on.link,
      this.id,
      this.#on.me(),
      (what, entry) => this.#heard(what, entry),
    );
    this.talk.open();
  }

  get row() { return this.#on.inbox.rows.get(this.id) ?? this.#row; }

  async #fetch() {
    const { id } = this;
    try {
      const { conversation } = await api.one(id);
      if (id === this.id) this.#row = conversation;
    } catch { /* the list or the next event brings it */ }
    this.#on.changed();
  }

  #heard(what, entry) {
    if (what === 'ready') { this.#on.outbox.run(); if (!this.#row) this.#fetch(); }
    if (what === 'message' && entry) this.#on.outbox.remove(entry.id, entry);
    if (what === 'lost') {
      this.#on.outbox.refuse(this.talk?.lost, ({ session }) => session === this.id);
      this.#told = 'This conversation does not exist, or it is not yours to see.';
    }
    this.#on.changed();
  }

  render() {
    const { talk, row } = this;
    this.full.hidden = !this.id;
    this.none.hidden = !!this.id;
    if (!this.id) return this.#nothing();
    if (row) this.#row = row;
    const status = talk?.status || row?.status;
    const assignee = talk?.ready ? talk.assignee : row?.assignee;
    const mine = assignee?.id === this.#on.me().id;
    this.name.textContent = row ? nameOf(row) : 'Conversation';
    this.chip.textContent = status === 'closed'
      ? 'Closed'
      : mine
      ? 'Assigned to you'
      : assignee
      ? `With ${assignee.name}`
      : status === 'waiting'
      ? 'Waiting'
      : '';
    this.chip.hidden = !this.chip.textContent;
    this.claimButton.hidden = status === 'closed' || !!assignee || !status;
    this.closeButton.hidden = status === 'closed' || !mine;
    this.reopenButton.hidden = status !== 'closed';
    this.composer.root.hidden = status === 'closed';
    this.log.setAttribute('aria-label', `Conversation with ${this.name.textContent}`);
    this.log.setAttribute('aria-live', talk?.live ? 'polite' : 'off');
    this.thread.render(talk, this.#on.outbox.items.filter((item) => item.session === this.id));
    if (talk?.ready && this.thread.atEnd && document.visibilityState === 'visible') {
      talk.marks.confirm('read', talk.head);
    }
    this.#hint(status, talk);
  }

  /** One line above the composer at a time; it pushes the thread up and covers nothing. */
  #hint(status, talk) {
    const writer = [...(talk?.typing.others.values() ?? [])].find(
      ({ who }) => who.kind === 'operator'
    );
    const lines = hint(
      { winner: this.#lost, told: this.#told, writer, closed: status === 'closed' },
      this.#on.inbox.counts.waiting > 0 && this.#on.next,
    );
    const sign = lines.map((line) => line.textContent).join();
    this.strip.hidden = !lines.length;
    this.strip.classList.toggle('calm', !this.#lost && !writer && !this.#told);
    if (this.strip.dataset.sign === sign) return;
    this.strip.dataset.sign = sign;
    this.strip.replaceChildren(...lines);
  }

  #nothing() {
    const { counts } = this.#on.inbox;
    const sign = `${counts.waiting} ${counts.mine}`;
    if (this.none.dataset.sign === sign) return;
    this.none.dataset.sign = sign;
    this.none.replaceChildren(...nothing(counts.waiting, this.#on.next));
  }

  claim() { return this.#act(api.claim); }
  close() { return this.#act(api.close); }
  reopen() { return this.#act(api.reopen); }

  async #act(work) {
    const { id } = this;
    if (!id) return;
    this.#told = '';
    this.#lost = null;
    try {
      const { conversation } = await work(id);
      this.#on.inbox.put(conversation);
    } catch (error) {
      this.#lost = error.body?.winner;
      if (!this.#lost) {
        this.#told = error.status
          ? error.message
          : 'The server does not answer. Nothing was changed.';
      }
    }
    this.#on.changed();
  }

  /** Whether the outbox took it. */
  #send(body, kind, close) {
    this.#told = CAUSES[this.#on.outbox.add(this.id, body, kind)] ?? '';
    this.#on.changed();
    if (this.#told) return false;
    this.talk?.typing.type('');
    this.thread.toEnd();
    if (close) this.close();
    return true;
  }

  #failed({ key, failed }) {
    const { outbox } = this.#on;
    const item = outbox.items.find(({ id }) => id === key);
    const way = (words, click) => el('button.link', { type: 'button', click }, words);
    const edit = () => { outbox.remove(key); this.composer.write(item.body, item.kind); };
    return [
      el('span', { role: 'alert' }, CAUSES[failed] ?? 'Not sent.'),
      EDIT.includes(failed)
        ? way('Edit', edit)
        : way('Try again', () => outbox.retry(item)),
      way('Delete', () => outbox.remove(key)),
    ];
  }
}

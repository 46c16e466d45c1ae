// The thread column: one conversation with its head, its log and what stands between log and
// keyboard.

import { Conversation } from '../../shared/conversation.js';
import { el, linked } from '../../shared/dom.js';
import { Command, Fault, Kind, Event } from '../../shared/protocol.js';
import { Thread } from '../../shared/thread.js';
import { Actions } from './actions.js';
import { extra } from './cards.js';
import { Composer } from './composer.js';
import { Excerpt, trim, WINDOW } from './excerpt.js';
import { Head } from './head.js';
import { nameOf, pathOf } from '../inbox/inbox.js';
import { eventLine, hint, nothing, opened, preview } from './lines.js';
import { Sheet } from './sheet.js';

const CAUSES = {
  [Fault.session_closed]: 'This conversation is closed. Reopen it to reply.',
  [Fault.no_such_session]: 'This conversation no longer exists, or you do not have access to it.',
  [Fault.too_large]: 'Too long. The limit is 16\u00a0KB.',
  [Fault.rejected]: 'This text cannot be saved. Edit it and try again.',
  old: 'Not sent for 7 days.',
  full: 'Too many unsent messages. Wait, or delete some.',
};

/** Another text would be taken; an id that is in use cannot be kept either. */
const EDIT = [Fault.rejected, Fault.too_large, Fault.id_conflict];
/** In place of a conversation while the next one is being taken. */
const NEXT = 'next';
const EDGE = 200; // px before an end of what is loaded at which more is asked for

export class Pane {
  id = '';
  /** @type {Conversation?} */ talk = null;
  /** A part of the log that is read instead of its end. @type {Excerpt?} */ excerpt = null;
  #on; #row = /** @type {any} */ (null); #marked = ''; #writers = new Map();
  /** What was sent while nobody was known yet. */ #early = /** @type {any[]} */ ([]);
  /** The next one could not be taken. */ #stranded = false;
  /** A colleague has the conversation, and something was to be sent. */ #owner = null;
  /** Who has it when one has decided to write there all the same. */ #joined = '';
  #sign = '';

  /**
   * @param {{link: any, outbox: any, inbox: any, presence: import('../inbox/presence.js').Presence,
   *   me: () => any, changed: () => void, back: () => void, next: () => void, visitor: () =>
   *   void, settings: (shortcut: string) => void, moved: () => void, closed: (id: string) => void,
   *   about: import('../visitor/visitor-panel.js').VisitorPanel}} on `moved` is called when the view has changed by itself
   */
  constructor(on) {
    this.#on = on;
    this.sheet = new Sheet();
    this.actions = new Actions({
      id: () => this.isExpecting ? '' : this.id,
      closed: on.closed,
      row: () => this.row,
      me: on.me,
      sheet: this.sheet,
      inbox: on.inbox,
      viewers: () => this.#viewers(),
      changed: on.changed,
    });
    const { actions } = this;
    this.head = new Head({
      back: on.back,
      claim: () => this.claim(),
      transfer: () => actions.transfer(),
      close: () => actions.close(),
      reason: () => actions.closeWithReason(),
      reopen: () => actions.reopen(),
      tags: () => actions.tags(),
      visitor: on.visitor,
    });
    this.log = el('div.log', { role: 'log', tabindex: 0, 'aria-relevant': 'additions' });
    this.strip = el('div.collision', { role: 'status', hidden: true });
    this.composer = new Composer({
      send: (body, kind, close) => this.#send(body, kind, close),
      typed: (text) => this.talk?.typing.type(text),
      settings: on.settings,
      values: () => ({
        'visitor.name': this.row?.visitor?.name ?? '',
        'visitor.email': on.about.detail?.visitor?.email ?? '',
        'operator.name': on.me().name,
      }),
    });
    this.full = el(
      'div.pane',
      { hidden: true },
      this.head.root,
      this.log,
      el(
        'div.dock',
        {},
        this.sheet.root,
        this.strip,
        this.composer.canned.root,
        this.composer.names.root,
        this.composer.emoji.root,
        this.composer.root,
      ),
    );
    this.none = el('div.empty');
    this.root = el('main.thread', { 'aria-label': 'Conversation' }, this.full, this.none);
    this.thread = new Thread(this.log, {
      me: on.me,
      state: (item) => on.outbox.state(item),
      older: () => this.#older(),
      event: (entry) => eventLine(entry, on.me()),
      extra,
      text: ({ body }) => linked(body),
      failed: (model) => this.#failed(model),
      tail: () => [],
      lead: () => this.#row && { at: this.#row.created_at, page: pathOf(this.#row.context?.page) },
      draw: (model) => (model.draw === 'writer' ? preview : opened)(model),
    });
    this.log.addEventListener('scroll', () => this.#scrolled(), { passive: true });
  }

  #scrolled() {
    const { scrollHeight, clientHeight, scrollTop } = this.log;
    if (scrollHeight - clientHeight - scrollTop < EDGE) this.#newer();
  }

  /** @param {string} id '' for none @param {number=} seq of a message that is looked for */
  show(id, seq = 0) {
    if (id === this.id) return seq ? this.#jump(seq) : undefined;
    this.#leave();
    this.id = id;
    this.talk = this.excerpt = null;
    this.#row = null;
    this.#marked = '';
    this.#wanted = seq;
    this.#owner = null;
    this.#joined = this.#sign = '';
    this.#stranded = this.#isDue = false;
    this.#writers.clear();
    this.actions.forget();
    this.sheet.close();
    if (id) {
      this.composer.show(id);
      this.thread.toEnd();
      if (this.#on.link.state === 'open') this.opened();
      this.composer.root.hidden = this.row?.status === 'closed';
    }
    this.#on.outbox.run(); // what was written before goes its own way
    this.#on.changed();
  }

  #wanted = 0;

  // MARK: the next one

  get isExpecting() { return this.id === NEXT; }

  /** The next one is being taken: what is written until then is for them. */
  expect() {
    this.show(NEXT);
    this.#stranded = false;
    this.actions.forget();
  }

  /** They are known. Whether this is still looked at. @param {string} id */
  arrive(id) {
    const held = this.#early.splice(0);
    const isHere = this.isExpecting;
    if (isHere) {
      this.composer.adopt(id);
      this.show(id);
    }
    for (const { body, kind } of held) this.#on.outbox.add(id, body, kind);
    return isHere;
  }

  /** Nobody was taken. What was written stays; false: there is nothing of it. */
  strand(words) {
    const held = this.#early.splice(0);
    for (const { body, kind } of held.reverse()) this.composer.keep(NEXT, body, kind);
    if (!this.isExpecting) return false;
    if (this.composer.isEmpty) return false;
    this.#stranded = true;
    this.actions.tell(`${words} Your reply is kept for the next conversation.`);
    return true;
  }

  #isDue = false;

  /**
   * The reply gets the focus: at once, or when the thread, too, knows that the conversation is open again. Its events
   * may come later than the answer that the list has.
   */
  answer() {
    this.#isDue = this.composer.root.hidden && this.row?.status !== 'closed';
    this.composer.focus();
  }

  /** The reply has the focus before the answer comes. */
  claim() {
    this.composer.focus();
    return this.actions.claim();
  }

  /** What was open is of no interest any more. */
  #leave() {
    const { talk } = this;
    if (!talk) return;
    talk.typing.type('');
    talk.ready = false;
    this.#on.link.ask({ type: Command.unsubscribe, session: talk.session });
  }

  /** The link is up: subscribe, or resume where the copy ends. */
  opened() {
    if (!this.id || this.isExpecting) return;
    this.talk ??= new Conversation(
      this.#on.link,
      this.id,
      this.#on.me(),
      (what, entry) => this.#heard(what, entry),
    );
    this.talk.open();
  }

  get row() { return this.#on.inbox.rows.get(this.id) ?? this.#row; }

  /** What the visitor types just now in a conversation, as far as it is open here. */
  typing(id) {
    if (id !== this.id) return '';
    const typist = [...(this.talk?.typing.others.values() ?? [])].find(
      ({ who }) => who.kind === 'visitor'
    );
    return typist ? typist.preview || '…' : '';
  }

  #heard(what, entry) {
    if (what === Event.subscribed) this.#on.outbox.run();
    if (what === Event.live && this.#wanted) { this.#jump(this.#wanted); this.#wanted = 0; }
    if (entry) this.#on.outbox.remove(entry.id, entry);
    if (this.talk?.lost && (what === Event.error || what === Event.unsubscribed)) {
      this.#on.outbox.refuse(this.talk?.lost, ({ session }) => session === this.id);
      this.actions.tell('This conversation no longer exists, or you do not have access to it.');
    }
    this.#on.changed();
  }

  render() {
    const { talk, row } = this;
    this.full.hidden = !this.id;
    this.none.hidden = !!this.id;
    if (!this.id) return this.#nothing();
    const detail = this.#on.about.detail;
    this.#row = row ?? (detail?.id === this.id ? detail : this.#row);
    const status = talk?.status || row?.status;
    const assignee = talk?.ready ? talk.assignee : row?.assignee;
    const name = this.isExpecting ? 'Next conversation'
      : this.#row ? nameOf(this.#row) : 'Conversation';
    this.#noteMove(status, assignee);
    this.head.render({
      name,
      page: pathOf(this.#row?.context?.page),
      status,
      assignee,
      mine: assignee?.id === this.#on.me().id,
      viewers: [...this.#viewers().values()],
      online: this.#on.presence.of(this.id).online,
    });
    this.composer.root.hidden = status === 'closed';
    if (status === 'closed') this.composer.emoji.close();
    else if (this.#isDue) this.answer();
    this.log.setAttribute('aria-label', `Conversation with ${name}`);
    if (this.excerpt) this.thread.atEnd = false; // its end is not the end of the log
    else if (talk && this.thread.atEnd) trim(talk);
    const shown = this.excerpt ?? talk;
    this.log.setAttribute('aria-live', shown?.live ? 'polite' : 'off');
    const held = this.thread.atEnd ? null : this.#held();
    this.thread.render(
      /** @type {any} */ (shown),
      this.excerpt
        ? []
        : this.#on.outbox.items.filter((item) => item.session === this.id),
    );
    if (held?.node.isConnected) {
      this.log.scrollTop += held.node.getBoundingClientRect().top - held.top;
    }
    if (this.#marked) this.#mark();
    if (this.excerpt) this.#edges(this.excerpt);
    const seen = document.visibilityState === 'visible';
    if (talk?.ready && !this.excerpt && this.thread.atEnd && seen) {
      talk.marks.confirm('read', talk.head);
    }
    this.#hint(status, talk);
  }

  /** What changes without a hand of ours pauses the letters. */
  #noteMove(status, assignee) {
    const { talk } = this;
    const sign = [status, assignee?.id, talk?.ready, talk?.live].join();
    if (this.#owner?.id !== assignee?.id) this.#owner = null;
    if (this.#sign && sign !== this.#sign) this.#on.moved();
    this.#sign = sign;
  }

  #viewers() { return this.#on.presence.of(this.id).viewers; }

  /** One line above the composer at a time; it pushes the thread up and covers nothing. */
  #hint(status, talk) {
    const writers = [...(talk?.typing.others.values() ?? [])].filter(
      ({ who }) => who.kind === 'operator'
    );
    for (const id of this.#writers.keys()) {
      if (!writers.some(({ who }) => who.id === id)) this.#writers.delete(id);
    }
    for (const { who } of writers) {
      if (!this.#writers.has(who.id)) this.#writers.set(who.id, Date.now());
    }
    const writer = writers[0] && { ...writers[0], since: this.#writers.get(writers[0].who.id) };
    const { actions } = this;
    const { winner, told, busy } = actions;
    const lines = this.sheet.isOpen && !told && !busy ? [] : hint(
      {
        winner,
        told,
        busy,
        writer,
        excerpt: this.excerpt,
        closed: status === 'closed',
        owner: this.#owner,
      },
      {
        next: this.#on.inbox.counts.waiting > 0 && this.#on.next,
        leave: () => { this.composer.blur(); this.#on.back(); },
        latest: () => this.latest(),
        anyway: () => {
          this.#joined = this.#owner?.id ?? '';
          this.#owner = null;
          this.composer.again();
          this.composer.focus();
        },
        watch: () => { actions.forget(); this.log.focus(); this.#on.changed(); },
      },
    );
    const sign = lines.map((line) => line.textContent).join();
    this.strip.hidden = !lines.length;
    this.strip.classList.toggle('calm', !winner && !writer && !told && !this.#owner);
    if (this.strip.dataset.sign === sign) return;
    this.strip.dataset.sign = sign;
    this.strip.replaceChildren(...lines);
  }

  #nothing() {
    const { counts } = this.#on.inbox;
    const sign = `${counts.waiting} ${counts.mine}`;
    if (this.none.dataset.sign === sign) return;
    this.none.dataset.sign = sign;
    this.none.replaceChildren(...nothing(counts, this.#on.next));
  }

  // MARK: a place in the log

  /** To a message: where it is loaded already, or in an excerpt around it. */
  async #jump(seq) {
    const { talk } = this;
    if (!talk) { this.#wanted = seq; return; }
    const near = talk.entries.find((entry) => entry.seq === seq);
    if (near) {
      this.excerpt = null;
      this.#marked = near.id;
    } else {
      const part = new Excerpt(this.id, seq, talk.marks, this.#on.changed);
      const isThere = await part.load();
      if (talk !== this.talk) return;
      if (!isThere) return this.actions.tell(`The message could not be loaded. ${part.failed}`);
      this.excerpt = part;
      this.#marked = part.hit;
    }
    this.#on.changed();
  }

  /** The entry that was looked for, in the middle and marked for as long as it is looked at. */
  #mark() {
    const node = /** @type {any} */ (this.log).drawn?.get(this.#marked)?.node
      ?? /** @type {any} */ (this.log).drawn?.get(`e${this.#marked}`)?.node;
    if (!node) return;
    this.#marked = '';
    for (const old of this.log.querySelectorAll('.hit')) old.classList.remove('hit');
    node.classList.add('hit');
    this.thread.atEnd = false;
    node.scrollIntoView({ block: 'center' });
  }

  /** What is read at this moment stays where it is, whatever comes and leaves around it. */
  #held() {
    const { left, top } = this.log.getBoundingClientRect();
    for (const down of [40, 80, 160]) {
      const at = document.elementFromPoint(left + 40, top + down);
      const node = at?.closest('.log > *');
      if (node) return { node, top: node.getBoundingClientRect().top };
    }
    return null;
  }

  /** Who stands at an edge while a page comes cannot scroll on: the next one comes without that. */
  #edges({ entries, loading, failed }) {
    if (!entries.length || loading || failed) return;
    const { scrollTop, scrollHeight, clientHeight } = this.log;
    if (scrollTop < EDGE) this.#older();
    else if (scrollHeight - clientHeight - scrollTop < EDGE) this.#newer();
  }

  /** Far from the end a part of the log is read instead of ever more of it. */
  #older() {
    const { talk } = this;
    if (!this.excerpt && talk && talk.entries.length >= WINDOW && talk.oldest > 1) {
      this.thread.atEnd = false;
      this.excerpt = Excerpt.from(talk, this.#on.changed);
    }
    (this.excerpt ?? talk)?.older();
  }

  /** The end of an excerpt is loaded further, until it meets what is live. */
  async #newer() {
    const part = this.excerpt;
    if (!part || !part.entries.length) return;
    await part.newer();
    if (this.excerpt === part && this.talk && part.newest >= this.talk.head) this.latest();
  }

  latest() {
    this.excerpt = null;
    this.thread.toEnd();
    this.#on.changed();
  }

  // MARK: writing

  /** Whether the outbox took it. */
  #send(body, kind, close) {
    if (this.isExpecting) {
      if (this.#stranded) return false;
      this.#early.push({ body, kind });
      return true;
    }
    const assignee = this.talk?.ready ? this.talk.assignee : this.row?.assignee;
    const isTheirs = assignee && assignee.id !== this.#on.me().id;
    if (kind === Kind.text && isTheirs && this.#joined !== assignee.id) {
      this.actions.forget();
      this.#owner = assignee;
      this.#on.changed();
      return false;
    }
    const cause = CAUSES[this.#on.outbox.add(this.id, body, kind)] ?? '';
    this.actions.tell(cause);
    if (cause) return false;
    this.talk?.typing.type('');
    this.latest();
    if (close) this.actions.closeWithReason();
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

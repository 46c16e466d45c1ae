// The thread column: one conversation with its head, log, hints and composer.

import { Conversation } from '../../shared/conversation.js';
import { el, linked } from '../../shared/dom.js';
import { takeFiles } from '../../shared/take-files.js';
import { Command, Fault, Kind, Event } from '../../shared/protocol.js';
import { channelOf } from '../shell/channels.js';
import { t } from '../shell/language.js';
import { Actions } from './actions.js';
import { bubbleText, extra, withMark } from './cards.js';
import { Composer } from './composer.js';
import { dueWords } from '../inbox/due.js';
import { Head } from './head.js';
import { doing } from '../inbox/activity.js';
import { FilePart } from './file-part.js';
import { nameOf, pathOf } from '../inbox/inbox.js';
import { eventLine, hint, nothing, opened, preview } from './lines.js';
import { LogView } from './log-view.js';
import { ReplyPart } from './reply-part.js';
import { Sheet } from './sheet.js';

/** @typedef {import('../../shared/outbox.js').Outbox} Outbox */
/** @typedef {Named | null | undefined} Assignee */

/**
 * Why a message was not sent, by error code.
 * @type {Record<string, string>}
 */
const CAUSES = {
  [Fault.session_closed]: t('This conversation is closed. Reopen it to reply.'),
  [Fault.no_such_session]: t('This conversation was deleted, or you do not have access to it.'),
  [Fault.too_large]: t('Too long. The limit is 16\u00a0KB.'),
  [Fault.rejected]: t('This text cannot be saved. Edit it and try again.'),
  old: t('Not sent for 7 days.'),
  full: t('Too many unsent messages. Wait, or delete some.'),
};

/**
 * After these errors the operator can change the text: it then goes out under a new id.
 * @type {string[]}
 */
const EDITABLE = [Fault.rejected, Fault.too_large, Fault.id_conflict];
/** The id of the pane while the next conversation is being claimed. */
const NEXT = 'next';

/**
 * `drawer` opens the visitor column, `settings` the page of canned replies; `moved` is called when
 * the view has changed by itself, `closed` after this operator has closed a conversation.
 * @typedef {{link: import('../../shared/socket.js').Link, outbox: Outbox,
 *   inbox: import('../inbox/inbox.js').Inbox,
 *   presence: import('../inbox/presence.js').Presence,
 *   visitor: import('../visitor/visitor-panel.js').VisitorPanel, me: () => Person,
 *   changed: () => void, back: () => void, next: () => void, drawer: () => void,
 *   settings: (shortcut: string) => void, moved: () => void,
 *   closed: (id: string) => void, removed: (row: ConversationRow?, id: string) => void,
 *   mayRemove: boolean}} PaneContext
 */

export class Pane {
  /** The id of the open conversation, '' or `NEXT`. */
  id = '';
  /** Of the visitor, as the head shows it. */
  name = '';
  /** @type {Conversation?} */
  talk = null;
  #on;
  /** @type {ConversationRow?} */
  #row = null;
  /**
   * When colleagues began to write here, by their ids.
   * @type {Map<string, number>}
   */
  #writers = new Map();
  /**
   * Messages that were sent while the next conversation was being claimed.
   * @type {{body: string, kind: string}[]}
   */
  #early = [];
  /** Whether claiming the next conversation has failed. */
  #isStranded = false;
  /** Whether the composer gets the focus as soon as it is shown. */
  #isFocusDue = false;
  /**
   * The colleague who has the conversation in which we are about to write.
   * @type {Named?}
   */
  #owner = null;
  /** The id of the owner after we have confirmed that we write there. */
  #joined = '';
  #sign = '';

  /** @param {PaneContext} on */
  constructor(on) {
    this.#on = on;
    this.sheet = new Sheet();
    this.actions = new Actions({
      id: () => this.isExpecting ? '' : this.id,
      closed: on.closed,
      removed: on.removed,
      row: () => this.row,
      me: on.me,
      sheet: this.sheet,
      inbox: on.inbox,
      viewers: () => this.#viewers(),
      changed: on.changed,
    });
    const { actions } = this;
    /** Deletes the conversation; null if this operator may not. */
    this.remove = on.mayRemove ? () => { actions.remove(); } : null;
    this.head = new Head({
      back: on.back,
      claim: () => this.claim(),
      transfer: () => actions.transfer(),
      close: () => actions.close(),
      reason: () => actions.closeWithReason(),
      macro: () => { actions.macro(); },
      reopen: () => actions.reopen(),
      tags: () => actions.tags(),
      visitor: on.drawer,
      retitle: (title) => actions.retitle(title),
      remove: this.remove,
    });
    this.files = new FilePart(this, on);
    this.view = this.#makeView();
    this.log = this.view.root;
    this.strip = el('div.collision', { role: 'status', hidden: true });
    this.replies = new ReplyPart(on.changed);
    this.composer = new Composer({
      send: (body, kind, close) => this.#send(body, kind, close),
      typed: (text) => this.talk?.typing.type(text),
      settings: on.settings,
      run: (macro) => { this.actions.run(macro); },
      attach: (files) => this.files.bring(files),
      hasFiles: () => !this.isExpecting && !!this.files.loaded?.isFilled,
      values: () => ({
        'visitor.name': this.row?.visitor?.name ?? '',
        'visitor.email': on.visitor.detail?.visitor?.email ?? '',
        'operator.name': on.me().name ?? '',
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
        this.replies.root,
        this.strip,
        this.composer.canned.root,
        this.composer.names.root,
        this.composer.emoji.root,
        this.composer.root,
      ),
    );
    takeFiles(this.full, (files, type) => this.files.bring(files, type));
    this.none = el('div.empty');
    this.root = el('main.thread', { 'aria-label': t('Conversation') }, this.full, this.none);
  }

  #makeView() {
    const { me, outbox, changed } = this.#on;
    return new LogView({
      me,
      state: (item) => item.state ?? outbox.state(item),
      event: (entry) => eventLine(entry, me()),
      extra: (model) => (model.kind !== Kind.file || !model.payload ? extra(model)
        : withMark(this.files.draw(model), model)),
      text: (model) => linked(bubbleText(model)),
      failed: (model) => this.replies.channel?.failed(model.key)
        ?? this.files.loaded?.failed(model.key) ?? this.#failed(model),
      tail: () => [],
      lead: () => {
        const row = this.#row;
        const context = row?.context;
        const page = pathOf(context?.opened_on ?? context?.page);
        return row && { key: 'lead', draw: 'opened', at: row.created_at, page };
      },
      draw: (model) => (model.draw === 'writer' ? preview(model) : opened(model)),
    }, { talk: () => this.talk, changed, failed: (words) => this.actions.notify(words) });
  }

  /**
   * Opens a conversation.
   * @param {string} id '' for none
   * @param {number=} seq of an entry to show
   */
  show(id, seq = 0) {
    if (id === this.id) {
      if (seq) this.view.show(seq);
      return;
    }
    this.#leave();
    this.id = id;
    this.talk = null;
    this.#row = null;
    this.view.reset(seq);
    this.#owner = null;
    this.#joined = this.#sign = '';
    this.#isStranded = this.#isFocusDue = false;
    this.#writers.clear();
    this.actions.clear();
    this.sheet.close();
    this.head.title.drop();
    if (id) {
      this.composer.show(id);
      if (this.#on.link.state === 'open') this.opened();
      this.composer.root.hidden = this.row?.status === 'closed';
    }
    this.files.loaded?.show();
    this.#on.outbox.run(); // items of the conversation before go out by REST
    this.#on.changed();
  }

  // MARK: claiming the next conversation

  get isExpecting() { return this.id === NEXT; }

  /** The next conversation is being claimed. Messages that are written meanwhile are for it. */
  expect() {
    this.show(NEXT);
    this.#isStranded = false;
    this.actions.clear();
  }

  /**
   * It was claimed. Returns whether the pane still waits for it.
   * @param {string} id
   */
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

  /**
   * None was claimed. Returns whether there is a draft, which then stays open.
   * @param {string} words the reason
   */
  strand(words) {
    const held = this.#early.splice(0);
    for (const { body, kind } of held.reverse()) this.composer.keep(NEXT, body, kind);
    if (!this.isExpecting) return false;
    if (this.composer.isEmpty) return false;
    this.#isStranded = true;
    this.actions.notify(`${words} ${t('Your reply is kept for the next conversation.')}`);
    return true;
  }

  /**
   * Puts the focus on the reply. After a conversation was reopened, its event may arrive later than
   * the answer to the request: then the focus follows when the composer is shown.
   */
  answer() {
    this.#isFocusDue = this.composer.root.hidden && this.row?.status !== 'closed';
    this.composer.focus();
  }

  /** The reply gets the focus without waiting for the answer. */
  claim() {
    this.composer.focus();
    return this.actions.claim();
  }

  /** Unsubscribes from the conversation that was open. */
  #leave() {
    const { talk } = this;
    if (!talk) return;
    talk.typing.type('');
    talk.ready = false;
    this.#on.link.request({ type: Command.unsubscribe, session: talk.session });
  }

  /** The link is open: subscribes, or resumes after the last entry. */
  opened() {
    if (!this.id || this.isExpecting) return;
    this.talk ??= new Conversation(
      this.#on.link,
      this.id,
      this.#on.me(),
      (type, entry) => this.#received(type, entry),
    );
    this.talk.open();
  }

  get row() { return this.#on.inbox.rows.get(this.id) ?? this.#row; }

  /**
   * The text that the visitor is typing, if the conversation is open here.
   * @param {string} id
   */
  typing(id) {
    if (id !== this.id) return '';
    const typist = [...(this.talk?.typing.others.values() ?? [])].find(
      ({ who }) => who.kind === 'visitor'
    );
    return typist ? typist.preview || '…' : '';
  }

  /**
   * @param {string=} type of the frame
   * @param {MessageFrame | HiddenFrame=} entry that is new in the log
   */
  #received(type, entry) {
    if (type === Event.subscribed) this.#on.outbox.run();
    if (type === Event.live) this.view.loaded();
    if (entry?.id) this.#on.outbox.remove(entry.id, entry);
    if (this.talk?.lost && (type === Event.error || type === Event.unsubscribed)) {
      this.#on.outbox.refuse(this.talk.lost, ({ session }) => session === this.id);
      this.actions.notify(t('This conversation was deleted, or you do not have access to it.'));
    }
    this.#on.changed();
  }

  render() {
    const { talk, row } = this;
    this.full.hidden = !this.id;
    this.none.hidden = !!this.id;
    if (!this.id) return this.#nothing();
    const { detail } = this.#on.visitor;
    this.#row = row ?? (detail?.id === this.id ? detail : this.#row);
    const status = talk?.status || row?.status;
    const assignee = talk?.ready ? talk.assignee : row?.assignee;
    const name = this.isExpecting ? t('Next conversation')
      : this.#row ? nameOf(this.#row) : t('Conversation');
    this.name = name;
    this.#noteMove(status, assignee);
    this.head.render({
      name,
      title: this.#row?.title ?? '',
      team: this.#row?.team?.name ?? '',
      page: channelOf(this.#row) || pathOf(this.#row?.context?.page),
      status,
      assignee,
      mine: assignee?.id === this.#on.me().id,
      viewers: [...this.#viewers().values()],
      due: dueWords(this.#row),
      doing: doing(this.#row, this.#on.presence.of(this.id).online),
    });
    this.composer.root.hidden = status === 'closed';
    if (status === 'closed') this.composer.emoji.close();
    else if (this.#isFocusDue) this.answer();
    this.log.setAttribute('aria-label', t('Conversation with {}', name));
    const items = [...this.#on.outbox.items, ...this.files.items].filter(
      (item) => item.session === this.id
    );
    this.replies.channel?.mark(talk?.entries ?? []);
    this.view.render(items, this.#row?.visitor?.name ?? '');
    const isSeen = document.visibilityState === 'visible';
    if (talk?.ready && this.view.isAtEnd && isSeen) talk.marks.confirm('read', talk.head);
    this.replies.show({
      id: this.id, channel: this.#row?.channel ?? 'web',
      address: detail?.id === this.id && detail.visitor?.email || '',
      head: this.#row?.last_seq ?? 0, online: this.#on.presence.of(this.id).online,
      isOpen: status !== 'closed',
    });
    this.#hint(status, talk);
  }

  /**
   * Reports changes of the view that this operator did not make.
   * @param {string | undefined} status
   * @param {Assignee} assignee
   */
  #noteMove(status, assignee) {
    const { talk } = this;
    const sign = [status, assignee?.id, talk?.ready, talk?.live].join();
    if (this.#owner?.id !== assignee?.id) this.#owner = null;
    if (this.#sign && sign !== this.#sign) this.#on.moved();
    this.#sign = sign;
  }

  #viewers() { return this.#on.presence.of(this.id).viewers; }

  /**
   * The colleague who writes here, and when they began.
   * @param {Conversation?} talk
   */
  #writer(talk) {
    const writers = [...(talk?.typing.others.values() ?? [])].map(({ who }) => who).filter(
      ({ kind }) => kind === 'operator'
    );
    for (const id of this.#writers.keys()) {
      if (!writers.some((who) => who.id === id)) this.#writers.delete(id);
    }
    for (const who of writers) {
      if (!this.#writers.has(who.id)) this.#writers.set(who.id, Date.now());
    }
    const [who] = writers;
    return who && { who, since: this.#writers.get(who.id) ?? Date.now() };
  }

  /**
   * Draws the hint above the composer.
   * @param {string | undefined} status
   * @param {Conversation?} talk
   */
  #hint(status, talk) {
    const { actions } = this;
    const { winner, notice, busy } = actions;
    const writer = this.#writer(talk);
    const lines = this.sheet.isOpen && !notice && !busy ? [] : hint(
      {
        winner,
        notice,
        busy,
        writer,
        excerpt: this.view.excerpt,
        closed: status === 'closed',
        owner: this.#owner,
      },
      {
        next: this.#on.inbox.counts.waiting > 0 && this.#on.next,
        leave: () => { this.composer.blur(); this.#on.back(); },
        latest: () => this.view.latest(),
        anyway: () => {
          this.#joined = this.#owner?.id ?? '';
          this.#owner = null;
          this.composer.again();
          this.composer.focus();
        },
        watch: () => { actions.clear(); this.log.focus(); this.#on.changed(); },
      },
    );
    const sign = lines.map((line) => line.textContent).join();
    this.strip.hidden = !lines.length;
    this.strip.classList.toggle('calm', !winner && !writer && !notice && !this.#owner);
    if (this.strip.dataset.sign === sign) return;
    this.strip.dataset.sign = sign;
    this.strip.replaceChildren(...lines);
  }

  #nothing() {
    const { counts, loaded } = this.#on.inbox;
    const isNew = loaded && !counts.all && !counts.closed;
    const sign = `${counts.waiting} ${counts.mine} ${isNew}`;
    if (this.none.dataset.sign === sign) return;
    this.none.dataset.sign = sign;
    this.none.replaceChildren(...nothing(counts, isNew, this.#on.next));
  }

  // MARK: writing

  /**
   * Returns whether the outbox took it.
   * @param {string} body
   * @param {string} kind
   * @param {boolean} close whether to ask for a reason and close afterwards
   */
  #send(body, kind, close) {
    if (this.isExpecting) {
      if (this.#isStranded) return false;
      this.#early.push({ body, kind });
      return true;
    }
    const assignee = this.talk?.ready ? this.talk.assignee : this.row?.assignee;
    const isTheirs = assignee && assignee.id !== this.#on.me().id;
    if (kind === Kind.text && isTheirs && this.#joined !== assignee.id) {
      this.actions.clear();
      this.#owner = assignee;
      this.#on.changed();
      return false;
    }
    const isTaken = kind === Kind.text && this.files.loaded?.send(body);
    const cause = isTaken ? '' : CAUSES[this.#on.outbox.add(this.id, body, kind)] ?? '';
    this.actions.notify(cause);
    if (cause) return false;
    this.talk?.typing.type('');
    this.view.latest();
    if (close) this.actions.closeWithReason();
    return true;
  }

  /** @param {{key: string, failed: string}} model */
  #failed({ key, failed }) {
    const { outbox } = this.#on;
    /** @type {(words: string, click: () => void) => HTMLElement} */
    const action = (words, click) => el('button.link', { type: 'button', click }, words);
    const edit = () => {
      const item = outbox.items.find(({ id }) => id === key);
      outbox.remove(key);
      if (item) this.composer.write(item.body, item.kind);
    };
    return [
      el('span', { role: 'alert' }, CAUSES[failed] ?? t('Not sent.')),
      EDITABLE.includes(failed)
        ? action(t('Edit'), edit)
        : action(t('Try again'), () => outbox.retry({ id: key })),
      action(t('Delete'), () => outbox.remove(key)),
    ];
  }
}

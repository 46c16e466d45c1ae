// Draws launcher, teaser, head, log and forms from the state of app and session, at most once per
// animation frame.

import { el, icon, linked } from '../shared/dom.js';
import { Fault, Kind } from '../shared/protocol.js';
import { Thread, face } from '../shared/thread.js';
import { title } from './panel/notice.js';
import { list } from './panel/list.js';
import { swift } from './panel/panel.js';
import { lead, minutes, queue, writer } from './panel/pieces.js';
import { statusLine } from './panel/status.js';
import { CAUSES, isOver } from './session.js';
import { direction, language, say } from './words.js';

const NOTICE = 300_000; // ms, at most, for which the end of a resting conversation is announced

/** @typedef {import('./words.js').Word} Word */
/** @typedef {NonNullable<import('./app.js').App['forms']>} Forms */
/** @typedef {import('../shared/outbox.js').Item} Item */
/** @typedef {import('../shared/thread.js').Say} Say */

/** @typedef {{key: string, draw: 'lead'} & Greeting} LeadPiece */
/** @typedef {{key: string, draw: 'queue'} & QueuePlace} QueuePiece */
/** @typedef {{key: string, draw: 'replies', some: Choice[], to: string}} RepliesPiece */
/** @typedef {LeadPiece | QueuePiece | RepliesPiece} Piece */

/**
 * After these errors the visitor can change the text: it then goes out under a new id.
 * @type {string[]}
 */
const EDITABLE = [Fault.rejected, Fault.too_large, Fault.id_conflict];

/**
 * The event lines that a visitor sees. Others are for operators.
 * @type {Record<string, Word>}
 */
const EVENTS = {
  claimed: 'joined',
  assigned: 'joined',
  transferred: 'joined',
  closed: 'closed',
  rated: 'thanks',
  handover: 'asked',
};

/** The words of a teaser, as many as fit into its lines; the style cuts a text without spaces. */
const TEASER = /^(.{70}\S*)\s.*$/s;

/**
 * Whether a message has cards or buttons.
 * @param {Payload | undefined} payload
 */
const isRich = (payload) => list(payload?.cards)[0] || payload?.title;

export class Screen {
  /** Whether the form before the chat was sent. */
  hasBegun = false;
  #app;
  #badge = el('span.count', { hidden: true });
  #night = matchMedia('(prefers-color-scheme: dark)');
  /** The requested animation frame, 0 if none is. */
  #frame = 0;
  /**
   * The form that is shown, null before the first drawing.
   * @type {string?}
   */
  #form = null;
  #unread = 0;
  #state = '';

  /** @param {import('./app.js').App} app */
  constructor(app) {
    this.#app = app;
    const { session, view } = app;
    this.teaser = el('div.teaser', { role: 'status', hidden: true, click: () => app.open() });
    this.status = statusLine(view.line, session, () => this.#rest());
    this.thread = new Thread(view.log, {
      me: () => session.me,
      state: (item) => item.state ?? session.outbox.state(item),
      event: (entry) => this.#event(entry),
      failed: (model) => app.files?.failed(model.key) ?? this.#failed(model),
      older: () => session.talk?.older(),
      lead: () => this.#lead(),
      text: (model) => this.#text(model),
      extra: (model) => this.#extra(model),
      tail: () => this.#tail(),
      draw: (model) => this.#piece(model),
    });
    app.launcher.append(this.#badge);
    view.log.addEventListener('scroll', () => this.changed());
    this.#night.onchange = () => this.changed();
  }

  /**
   * The text of a bubble, none if cards or files show it.
   * @param {Say} model
   */
  #text({ body, payload, kind }) {
    const { files, forms } = this.#app;
    if (kind !== Kind.text && forms && isRich(payload)) return '';
    if (files && payload?.caption === false) return '';
    return linked(kind === Kind.buttons && payload?.text || body);
  }

  /**
   * Files, cards and buttons of a message. The parts that draw them then draw all anew.
   * @param {Say} model
   */
  #extra(model) {
    const { payload, kind, out, key } = model;
    if (kind === Kind.file) return payload && this.#app.drawFiles(model);
    if (out || !isRich(payload) && !payload?.buttons) return null;
    if (!this.#app.forms) this.#app.loadForms();
    return this.#app.forms?.richContent(payload ?? {}, this.#reply(key));
  }

  /**
   * The announcement that the conversation is about to be closed, or ''. The gateway closes it by
   * the same rule (RestingConversations).
   */
  #rest() {
    const { config, session: { link, talk } } = this.#app;
    const span = (config.queue?.close_after_minutes ?? 0) * 60_000;
    const last = talk?.entries.at(-1);
    if (!span || !last || talk?.status !== 'active' || !link.welcome || !link.openedAt) {
      return '';
    }
    if (last.sender.kind === 'visitor' && talk.marks.reached('operator').read < last.seq) return '';
    const now = Date.parse(link.welcome.now) + Date.now() - link.openedAt;
    const left = Date.parse(last.at) + span - now;
    return left < Math.min(NOTICE, span / 5) ? say('closing', minutes(left)) : '';
  }

  get #isSeen() { return this.#app.view.root.open && !document.hidden; }

  changed() {
    this.#frame ||= requestAnimationFrame(() => { this.#frame = 0; this.render(); });
  }

  render() {
    const { host, view, session, config, files } = this.#app;
    if (!host.isConnected) return; // destroyed
    const { talk, outbox } = session;
    const theme = this.#app.given.theme ?? config.theme;
    const count = talk?.unread().length || this.#app.given.teased || 0;
    host.toggleAttribute('dark', theme === 'dark' || theme !== 'light' && this.#night.matches);
    // a screen reader does not read the backlog out
    view.log.ariaLive = talk?.live ? 'polite' : 'off';
    this.thread.render(talk, [...outbox.items, ...files?.items ?? []].map((item) => (
      talk && item.session && item.session !== talk.session
        ? { ...item, failed: Fault.no_such_session }
        : item
    )));
    this.status();
    this.#forms();
    this.#head();
    if (this.#isSeen && this.thread.atEnd) talk?.marks.confirm('read', talk.head);
    view.news.hidden = !count || this.thread.atEnd;
    this.#launch(count);
    this.teaser.hidden ||= this.#badge.hidden;
    this.#report(count);
    title(this.#isSeen ? 0 : count);
  }

  /** @param {number} count of unread messages */
  #launch(count) {
    const { launcher, view } = this.#app;
    const isOpen = view.root.open;
    this.#badge.hidden = isOpen || !count;
    this.#badge.textContent = `${count}`;
    launcher.ariaLabel = say(isOpen ? 'close' : count ? 'unread' : 'open', count);
  }

  /**
   * Calls the page's listeners if `unread` or `status` has changed.
   * @param {number} count
   */
  #report(count) {
    const { state } = this.#app.session.link;
    if (this.#unread !== count) this.#app.emit('unread', this.#unread = count);
    if (this.#state !== state) this.#app.emit('status', this.#state = state);
  }

  #head() {
    const { view, config, session, isMuted } = this.#app;
    const who = session.talk?.assignee;
    const { isClosed, talk } = session;
    const isAway = config.hours && !config.hours.is_open || !config.operators_available;
    view.name.textContent = config.workspace?.name ?? '';
    view.mark.replaceChildren(who ? face(who) : swift());
    view.about.replaceChildren(
      el(`span.dot.${isClosed || (who ? who.id === talk?.away : isAway) ? 'off' : ''}`),
      this.#presence(),
    );
    view.transcript.hidden = !talk?.head;
    view.mute.ariaPressed = `${isMuted}`;
    view.mute.hidden = config.sound === false;
  }

  /** The line below the name: the operator, or the opening time. */
  #presence() {
    const { config, session: { isClosed, talk } } = this.#app;
    const { hours, operators_available: staffed } = config;
    const isShut = hours && !hours.is_open;
    if (isClosed) return say('closed');
    const who = talk?.assignee;
    if (who) return say(who.id === talk?.away ? 'gone' : 'here', who.name);
    if (isShut && hours?.opens_at) {
      return say('opens', new Date(hours.opens_at).toLocaleString(
        language,
        { weekday: 'long', hour: 'numeric', minute: 'numeric' },
      ));
    }
    return say(isShut || staffed === false ? 'away' : talk?.head ? 'queued' : 'welcome');
  }

  /** Shows the form that replaces the composer or the whole conversation. */
  #forms() {
    const { view, root, forms, session: { isClosed } } = this.#app;
    const wanted = this.#wantedForm();
    view.log.hidden = !!wanted && !isClosed;
    // the composer is about to be hidden
    if (isClosed && root.activeElement === view.text) view.log.focus();
    view.form.hidden = view.menu.hidden = !!wanted || isClosed;
    view.again.hidden = !isClosed;
    if (wanted === this.#form) return;
    if (wanted && !forms) this.#app.loadForms();
    view.page.replaceChildren(wanted && forms ? forms[wanted]() : '');
    this.#form = forms || !wanted ? wanted : null;
  }

  /** @returns {'rate' | 'leave' | 'begin' | ''} */
  #wantedForm() {
    const { config, visitor, session: { isClosed, outbox, talk } } = this.#app;
    const { rating, offline, prechat, hours } = config;
    if (isClosed) {
      const isRated = talk?.entries.some(({ payload }) => payload?.event === 'rated');
      return rating?.enabled && talk?.head && !isRated ? 'rate' : '';
    }
    const hasWords = talk?.entries.length || outbox.items.length || this.hasBegun;
    if (!config.workspace || hasWords) return '';
    if (offline?.enabled && !hours?.is_open) return 'leave';
    return prechat?.enabled && !visitor.identity?.token ? 'begin' : '';
  }

  /**
   * The text of an event line, '' for none.
   * @param {Entry} entry
   */
  #event({ body, payload, sender }) {
    if (!payload?.event) return body;
    // nobody joins if the queue or a team gets it
    const word = payload.to !== null && EVENTS[payload.event];
    const who = payload.to ?? payload.operator ?? sender;
    return word ? say(word, who?.name) : '';
  }

  /** @returns {LeadPiece | null | undefined} */
  #lead() {
    const { config, given } = this.#app;
    const greeting = given.proactive?.lead ?? config.greeting;
    return greeting && { key: 'lead', draw: 'lead', ...greeting };
  }

  /**
   * After the last message: the place in the queue, and quick replies.
   * @returns {Piece[]}
   */
  #tail() {
    const { config, forms, session: { isClosed, outbox, talk } } = this.#app;
    if (isClosed) return [];
    const last = talk?.entries.at(-1);
    const { position = 0, wait_ms } = talk?.queue ?? {};
    const some = !outbox.waiting.length && last?.sender.kind !== 'visitor'
      && last?.payload?.quick_replies;
    /** @type {Piece[]} */
    const pieces = [];
    if (position > 0 && config.queue?.show_position !== false) {
      pieces.push({ key: 'queue', draw: 'queue', position, wait_ms });
    }
    if (some && !forms) this.#app.loadForms();
    if (some && forms) pieces.push({ key: `r${last.id}`, draw: 'replies', some, to: last.id });
    return pieces;
  }

  /**
   * The parts of the log that are not messages.
   * @param {Piece | import('../shared/thread.js').Writer} model
   */
  #piece(model) {
    switch (model.draw) {
      case 'queue': return queue(model);
      case 'replies': return /** @type {Forms} */ (this.#app.forms).quickReplies(
        model.some,
        this.#reply(model.to),
      );
      case 'writer': return writer(model);
      default: return lead(model);
    }
  }

  /**
   * The click on a choice sends its label, and its value as payload.
   * @param {string} to the message that has the choice
   * @returns {import('./panel/rich-content.js').Act}
   */
  #reply(to) {
    return (label, value) => { this.#app.send(label, { reply: { to, value } }); };
  }

  /**
   * The reason why a message was not sent, and what can be done.
   * @param {{key: string, failed: string}} model
   */
  #failed({ key, failed: code }) {
    const { session: { outbox, talk }, view } = this.#app;
    const item = /** @type {Item} */ (outbox.items.find(({ id }) => id === key));
    /** @type {(word: Word, click: () => void) => HTMLElement} */
    const action = (word, click) => el('button.link', { click }, say(word));
    return [
      el('span', { role: 'alert' }, say(isOver(code) ? 'closed' : CAUSES[code] ?? 'failed')),
      talk && item.session !== talk.session
        ? action('send_here', () => outbox.retry(item, { session: null }))
        : isOver(code)
        ? action('again', () => this.#app.renew())
        : EDITABLE.includes(code)
        ? action('edit', () => { outbox.remove(key); view.write(item.body); })
        : action('retry', () => outbox.retry(item)),
      action('delete', () => outbox.remove(key)),
    ];
  }

  /**
   * Shows a message above the launcher until the next click on the page.
   * @param {Pick<Entry, 'sender' | 'body'>} entry
   */
  tease({ sender, body }) {
    const words = body.replace(TEASER, '$1 …');
    this.teaser.replaceChildren(
      face(sender),
      el('p', { dir: 'auto' }, el('b', {}, sender.name), ' ', words),
    );
    this.teaser.hidden = false;
    addEventListener('click', () => { this.teaser.hidden = true; }, { once: true });
  }

  /** The panel was opened or closed. */
  moved() {
    const { host, launcher, view, given } = this.#app;
    given.teased = 0;
    const isOpen = view.root.open;
    host.toggleAttribute('open', isOpen);
    launcher.replaceChildren(isOpen ? icon('down') : this.#badge);
    launcher.ariaExpanded = `${isOpen}`;
    this.thread.toEnd();
  }

  /** Draws everything anew, in another language. */
  speak() {
    const { view, config, forms } = this.#app;
    const log = /** @type {import('../shared/dom.js').Drawing} */ (view.log);
    view.speak();
    this.teaser.dir = direction();
    const wasDrawn = log.drawn;
    log.replaceChildren();
    log.drawn = undefined;
    this.#form = null;
    view.menu.replaceChildren(config.menu && forms
      ? forms.menu(say('menu'), config.menu.actions, (...words) => this.#app.send(...words))
      : '');
    // at once, so that a log that was shown is never seen empty
    if (wasDrawn) this.render(); else this.changed();
  }
}

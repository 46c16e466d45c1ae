// What the visitor sees, drawn from the models: launcher, teaser, head, log, forms. Everything is
// drawn once per frame of the screen, however much came in.

import { el, icon, linked } from '../shared/dom.js';
import { Fault, Kind } from '../shared/protocol.js';
import { Thread, face } from '../shared/thread.js';
import { title } from './panel/notice.js';
import { menu, offers, replies } from './panel/offers.js';
import { swift } from './panel/panel.js';
import { lead, queue, writer } from './panel/pieces.js';
import { statusLine } from './panel/status.js';
import { CAUSES, isOver } from './session.js';
import { direction, language, say } from './words.js';

/** @typedef {import('./words.js').Word} Word */
/** @typedef {import('../shared/outbox.js').Item} Item */

/** Another text would be taken; an id that is in use cannot be kept either. */
const EDIT = [Fault.rejected, Fault.too_large, Fault.id_conflict];

/**
 * What an event line says to a visitor. Other events are the operators' affair.
 * @type {Record<string, Word>}
 */
const EVENTS = {
  claimed: 'joined', assigned: 'joined', closed: 'closed', rated: 'thanks',
};

export class Screen {
  /** Whether the form before the chat is done with. */
  hasBegun = false;
  #app;
  #badge = el('span.count', { hidden: true });
  #night = matchMedia('(prefers-color-scheme: dark)');
  /** The frame in which all is drawn, 0 if none is due. */
  #frame = 0;
  /**
   * The form that is shown, null when nothing is drawn yet.
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
    this.status = statusLine(view.line, session.link, session.outbox, () => session.trouble);
    this.thread = new Thread(view.log, {
      me: () => session.me,
      state: (item) => session.outbox.state(item),
      event: (entry) => this.#event(entry),
      failed: (model) => this.#failed(model),
      older: () => session.talk?.older(),
      lead: () => app.config.greeting,
      text: ({ body, payload, kind }) => linked(kind === Kind.buttons && payload?.text || body),
      extra: ({ payload, out, key }) => payload && !out && offers(payload, this.#reply(key)),
      tail: () => this.#tail(),
      draw: (model) => this.#piece(model),
    });
    app.launcher.append(this.#badge);
    view.log.addEventListener('scroll', () => this.changed());
    this.#night.onchange = () => this.changed();
  }

  get #isSeen() { return this.#app.view.root.open && !document.hidden; }

  changed() {
    this.#frame ||= requestAnimationFrame(() => { this.#frame = 0; this.render(); });
  }

  render() {
    const { host, view, session, config } = this.#app;
    if (!host.isConnected) return; // taken away
    const { talk, outbox } = session;
    const theme = this.#app.given.theme ?? config.theme;
    const count = talk?.unread().length ?? 0;
    host.toggleAttribute('dark', theme === 'dark' || theme !== 'light' && this.#night.matches);
    // arriving history is not read out
    view.log.ariaLive = talk?.live ? 'polite' : 'off';
    this.thread.render(talk, outbox.items.map((item) => (
      talk && item.session && item.session !== talk.session
        ? { ...item, failed: Fault.no_such_session }
        : item
    )));
    this.status();
    this.#forms();
    this.#head();
    if (this.#isSeen && this.thread.atEnd) talk?.marks.confirm('read', talk.head);
    this.#launch(count);
    this.teaser.hidden ||= this.#badge.hidden;
    this.#report(count);
    title(this.#isSeen ? 0 : count);
  }

  /** @param {number} count of messages that are not read */
  #launch(count) {
    const { launcher, view } = this.#app;
    const isOpen = view.root.open;
    this.#badge.hidden = isOpen || !count;
    this.#badge.textContent = `${count}`;
    launcher.ariaLabel = say(isOpen ? 'close' : count ? 'unread' : 'open', count);
  }

  /**
   * To the page.
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
      el(`span.dot.${isClosed || !who && isAway ? 'off' : ''}`),
      this.#presence(),
    );
    view.transcript.hidden = !talk?.head;
    view.mute.ariaPressed = `${isMuted}`;
    view.mute.hidden = config.sound === false;
  }

  /** Who answers, or when. */
  #presence() {
    const { config, session: { isClosed, talk } } = this.#app;
    const { hours, operators_available: staffed } = config;
    const isShut = hours && !hours.is_open;
    if (isClosed) return say('closed');
    if (talk?.assignee) return say('here', talk.assignee.name);
    if (isShut && hours.opens_at) {
      return say('opens', new Date(hours.opens_at).toLocaleString(
        language,
        { weekday: 'long', hour: 'numeric', minute: 'numeric' },
      ));
    }
    return say(isShut || staffed === false ? 'away' : talk?.head ? 'queued' : 'welcome');
  }

  /** The form that stands in place of the composer, or of the whole conversation. */
  #forms() {
    const { view, root, forms, session: { isClosed } } = this.#app;
    const wanted = this.#wantedForm();
    view.log.hidden = !!wanted && !isClosed;
    // the composer goes
    if (isClosed && root.activeElement === view.text) view.log.focus();
    view.form.hidden = view.menu.hidden = !!wanted || isClosed;
    view.again.hidden = !isClosed;
    if (wanted !== this.#form) view.page.replaceChildren(wanted ? forms[wanted]() : '');
    this.#form = wanted;
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
    if (offline?.enabled && !hours.is_open) return 'leave';
    return prechat?.enabled && !visitor.identity?.token ? 'begin' : '';
  }

  /** @param {Entry} entry */
  #event({ body, payload, sender }) {
    const said = EVENTS[payload?.event];
    const who = payload?.to ?? payload?.operator ?? sender;
    return !payload?.event ? body : said && say(said, who?.name);
  }

  /** Behind the last message: the place in the queue, and what may be answered with one click. */
  #tail() {
    const { config, session: { isClosed, outbox, talk } } = this.#app;
    if (isClosed) return [];
    const last = talk?.entries.at(-1);
    const { position = 0, wait_ms } = talk?.queue ?? {};
    const some = !outbox.waiting.length && last?.sender.kind !== 'visitor'
      && last?.payload?.quick_replies;
    return [
      position > 0 && config.queue?.show_position !== false
        && { key: 'queue', draw: 'queue', position, wait_ms },
      some && { key: `r${last?.id}`, draw: 'replies', some, to: last?.id },
    ].filter(Boolean);
  }

  /**
   * What stands in the log and is no message.
   * @param {any} model
   */
  #piece(model) {
    switch (model.draw) {
      case 'queue': return queue(model);
      case 'replies': return replies(model.some, this.#reply(model.to));
      case 'writer': return writer(model);
      default: return lead(model);
    }
  }

  /**
   * An answer with one click.
   * @param {string} to the message that offers it
   * @returns {import('./panel/offers.js').Act}
   */
  #reply(to) {
    return (label, value) => { this.#app.send(label, { reply: { to, value } }); };
  }

  /**
   * Why it was not sent, and what can be done.
   * @param {{key: string, failed: string}} model
   */
  #failed({ key, failed: code }) {
    const { session: { outbox, talk }, view } = this.#app;
    const item = /** @type {Item} */ (outbox.items.find(({ id }) => id === key));
    /** @param {Word} what @param {() => void} click */
    const way = (what, click) => el('button.link', { click }, say(what));
    return [
      el('span', { role: 'alert' }, say(isOver(code) ? 'closed' : CAUSES[code] ?? 'failed')),
      talk && item.session !== talk.session
        ? way('send_here', () => outbox.retry(item, { session: null }))
        : isOver(code)
        ? way('again', () => this.#app.renew())
        : EDIT.includes(code)
        ? way('edit', () => { outbox.remove(key); view.write(item.body); })
        : way('retry', () => outbox.retry(item)),
      way('delete', () => outbox.remove(key)),
    ];
  }

  /**
   * A message over the launcher, until it is clicked or anything else is.
   * @param {Entry} entry
   */
  tease({ sender, body }) {
    this.teaser.replaceChildren(
      face(sender),
      el('p', { dir: 'auto' }, el('b', {}, sender.name), ' ', body),
    );
    this.teaser.hidden = false;
    addEventListener('click', () => { this.teaser.hidden = true; }, { once: true });
  }

  /** The panel was opened or closed. */
  moved() {
    const { host, launcher, view } = this.#app;
    const isOpen = view.root.open;
    host.toggleAttribute('open', isOpen);
    launcher.replaceChildren(isOpen ? icon('down') : this.#badge);
    launcher.ariaExpanded = `${isOpen}`;
    this.thread.toEnd();
  }

  /** Everything once more, in another language. */
  speak() {
    const { view, config } = this.#app;
    const log = /** @type {import('../shared/dom.js').Drawing} */ (view.log);
    view.speak();
    this.teaser.dir = direction();
    const wasDrawn = log.drawn;
    log.replaceChildren();
    log.drawn = undefined;
    this.#form = null;
    view.menu.replaceChildren(config.menu
      ? menu(config.menu.actions, (text, payload) => this.#app.send(text, payload))
      : '');
    // At once, so that no list that was shown is ever seen empty.
    if (wasDrawn) this.render(); else this.changed();
  }
}

// The console of one operator: one link, one inbox, one open conversation. Everything is drawn from
// them at most once per frame of the screen.

import { el } from '../../shared/dom.js';
import { Outbox } from '../../shared/outbox.js';
import { Command, Event, Fault } from '../../shared/protocol.js';
import { Inbox, nameOf } from '../inbox/inbox.js';
import { List } from '../inbox/list.js';
import { Presence } from '../inbox/presence.js';
import { short } from '../inbox/row.js';
import { Pane } from '../thread/pane.js';
import { VisitorPanel } from '../visitor/visitor-panel.js';
import { Alerts } from './alerts.js';
import { api } from './api.js';
import { acts, commands } from './commands.js';
import { Guard } from './guard.js';
import { help, keys } from './keys.js';
import { LinkState, TimedLink } from './link-state.js';
import { Pages } from './pages.js';
import { you } from './profile-menu.js';
import { Rail } from './rail.js';
import { Search } from './search.js';
import { Undo } from './undo.js';

const SPARE = 60_000; // ms; a token with less left is not worth a connection
const SECOND = 1000; // ms between two looks at the clocks
const HALF_MINUTE = 30_000; // ms; "2 min" grows

export class App {
  #session;
  #left;
  #frame = 0;
  #isOver = false;
  /** The address that is shown. */
  #shown = '';
  #controls = new AbortController();
  #timers = /** @type {number[]} */ ([]);

  /**
   * @param {any} session of the operator, with a token
   * @param {(words: string) => void} left called once, when this console is over
   */
  constructor(session, left) {
    this.#session = session;
    this.#left = left;
    this.changed = this.changed.bind(this);
    this.drawer = this.drawer.bind(this);
    /** @type {Person} */
    this.me = { kind: 'operator', id: session.operator.id, name: session.operator.name };
    this.link = this.#makeLink();
    this.outbox = this.#makeOutbox();
    this.inbox = new Inbox(this.me, this.changed);
    this.presence = new Presence(this.link, this.me);
    this.visitor = new VisitorPanel({
      changed: this.changed,
      tags: () => { this.drawer(false); this.pane.actions.tags(); },
      shut: () => this.drawer(false),
    });
    this.pane = this.#makePane();
    this.undo = new Undo();
    this.alerts = new Alerts({
      me: this.me,
      open: (/** @type {string} */ id) => this.take(id),
      current: () => this.pane.id,
    });
    this.inbox.arrived = (row, known) => {
      this.alerts.heard(row, known);
      this.alerts.settled(row);
    };
    this.#makeFrame();
    this.guard = new Guard(this.root);
    this.acts = acts(this);
  }

  /** Takes the place of everything in the document. */
  start() {
    this.#listen();
    document.body.replaceChildren(this.root);
    this.link.start();
    this.#routed();
    this.render();
  }

  // MARK: what it is made of

  #makeLink() {
    return new TimedLink({
      origin: location.origin,
      client: 'console',
      token: (renew) => this.#token(renew),
      opened: () => this.#opened(),
      frame: (frame) => this.#heard(frame),
      changed: this.changed,
    });
  }

  #makeOutbox() {
    return new Outbox(`chirrup:console:${this.me.id}:out:`, {
      changed: this.changed,
      acked: (item, ack) => {
        if (this.pane.id === item.session) this.pane.talk?.commit(item, ack, this.me.name);
      },
      home: (item) => item.session,
      route: (id) => this.#route(id),
    });
  }

  #makePane() {
    const { link, outbox, inbox, presence, visitor, me, changed } = this;
    return new Pane({
      link,
      outbox,
      inbox,
      presence,
      about: visitor,
      me: () => me,
      changed,
      back: () => this.go(''),
      next: () => this.next(),
      visitor: () => this.drawer(),
      settings: () => { location.hash = '/settings/replies'; },
      moved: () => this.guard.touch(),
      closed: (id) => this.#closed(id),
    });
  }

  #makeList() {
    const { inbox, link, pane, search, state, changed } = this;
    return new List(
      inbox,
      {
        open: (id) => this.go(id),
        take: (id) => this.take(id),
        live: () => state.live,
        lostAt: () => link.lostAt,
        current: () => pane.id,
        typing: (id) => pane.typing(id),
        search: () => search.open(),
        changed,
      },
      state.foot,
    );
  }

  /** What stands around the thread. */
  #makeFrame() {
    const { me, link, outbox, inbox, alerts, pane } = this;
    this.search = new Search({
      inbox,
      go: (/** @type {string} */ id, /** @type {number=} */ seq) => this.go(id, seq),
      commands: () => commands(this),
    });
    const own = you({ me, workspace: this.#session.workspace.name, alerts, link });
    this.announce = () => own.announce();
    this.state = new LinkState({ link, outbox, inbox, pane: () => pane });
    this.list = this.#makeList();
    this.pages = new Pages({ session: () => this.#session, ended: () => this.#ended() });
    this.keyboard = help();
    this.rail = new Rail({
      inbox: () => { if (pane.isExpecting) this.go(''); },
      search: () => this.search.open(),
      keyboard: () => this.keyboard.showModal(),
      leave: () => this.#leave(),
      pages: this.pages.links,
      profile: own.button,
    });
    this.root = el(
      'div.app',
      {},
      this.rail.root,
      this.state.banner,
      this.list.root,
      pane.root,
      this.visitor.root,
      this.pages.root,
      this.keyboard,
      this.search.root,
      own.panel,
      this.undo.root,
    );
  }

  #listen() {
    const { signal } = this.#controls;
    this.#timers = [
      setInterval(() => {
        this.state.render();
        this.list.clocks();
        if (!this.state.live) this.changed();
      }, SECOND),
      setInterval(() => this.changed(), HALF_MINUTE),
    ];
    addEventListener('hashchange', () => {
      if (location.hash === this.#shown) return;
      this.#routed();
      this.guard.touch();
    }, { signal });
    addEventListener('beforeunload', (event) => {
      if (this.pages.unsaved) event.preventDefault();
    }, { signal });
    addEventListener('online', () => this.link.nudge(), { signal });
    document.addEventListener('visibilitychange', () => {
      this.link.nudge();
      this.changed();
    }, { signal });
    keys(this.acts, this.guard, signal);
  }

  // MARK: the link

  /** @param {boolean} renew */
  async #token(renew) {
    const { token, expires_at } = this.#session;
    if (!renew && Date.parse(expires_at) - Date.now() > SPARE) return token;
    try { this.#session = await api.token(); } catch (error) {
      if (/** @type {any} */ (error).status === 401) this.#ended();
      throw error;
    }
    return this.#session.token;
  }

  #opened() {
    this.link.ask({ type: Command.watch, inbox: true });
    this.presence.renewed();
    this.announce();
    this.inbox.load();
    this.pane.opened();
    this.outbox.run();
  }

  /** @param {any} frame */
  #heard(frame) {
    if (frame.type === Event.inbox) this.inbox.event(frame);
    else if (frame.type === Event.presence) { this.presence.heard(frame); this.changed(); }
    else if (frame.session === this.pane.id) this.pane.talk?.frame(frame);
  }

  /**
   * What was written in a conversation that is not open any more goes out by REST, one by one and
   * under the same ids.
   * @param {string} id
   * @returns {import('../../shared/outbox.js').Route?}
   */
  #route(id) {
    if (id === this.pane.id) return this.pane.talk?.route() || null;
    if (this.link.state !== 'open') return null;
    let last = Promise.resolve(/** @type {any} */ (null));
    // behind one that has to come again nothing goes out
    return (item) => last = last.then((answer) => (answer?.retry ? answer : say(id, item)));
  }

  // MARK: drawing

  changed() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.render(); });
  }

  render() {
    if (this.#isOver) return;
    const { list, pane, visitor, presence, state, pages, root } = this;
    list.render();
    pane.render();
    const isKnown = pane.id && !pane.isExpecting;
    visitor.render(isKnown ? pane.row ?? visitor.detail : null, pane.talk?.head ?? 0);
    const isSeen = pane.talk?.ready && document.visibilityState === 'visible';
    presence.view(isSeen ? pane.id : '');
    state.render();
    const { waiting } = this.inbox.counts;
    this.rail.render(waiting);
    const title = pages.title ? `${pages.title}, Chirrup` : 'Chirrup console';
    document.title = waiting ? `(${short(waiting)}) ${title}` : title;
    root.toggleAttribute('data-open', !!pane.id);
    root.toggleAttribute('data-banner', !state.banner.hidden);
  }

  // MARK: what is open

  /**
   * The open conversation is in the address, so that a reload and the back button find it.
   * @param {string} id
   * @param {number=} seq of a message that is looked for
   */
  go(id, seq = 0) {
    const place = seq ? `${id}/${seq}` : id;
    if (location.hash.slice(1) !== place) location.hash = place;
    this.#routed();
    this.render(); // at once, so that the reply can have the focus before the next key comes
  }

  /**
   * To answer. A screen that is touched would cover half of itself with its keyboard.
   * @param {string} id
   */
  take(id) {
    this.go(id);
    if (matchMedia('(any-hover: hover)').matches) this.pane.answer();
  }

  #routed() {
    const { pages, pane, visitor, rail, root, list } = this;
    this.#shown = location.hash;
    const isPage = pages.route(location.hash);
    root.toggleAttribute('data-page', isPage);
    if (isPage) {
      // the conversation is left, so that nothing counts as read, and found again by the rail
      rail.showPage(pane.id);
      pane.show('');
      visitor.show('');
      this.drawer(false);
      return this.changed();
    }
    rail.showInbox();
    const [id, seq] = location.hash.replace(/^#(\/inbox\/?)?/, '').split('/');
    pane.show(id, Number(seq) || 0);
    visitor.show(id);
    this.drawer(false);
    list.reveal(pane.id);
  }

  /** Takes the one who has waited longest: the server says who that is. */
  async next() {
    const { pages, pane, inbox } = this;
    if (pages.current) location.hash = '';
    if (pages.current) this.#routed();
    const before = pane.id;
    pane.expect();
    this.render();
    pane.composer.focus();
    try {
      const taken = (await api.next()).conversation;
      inbox.put(taken);
      if (pane.arrive(taken.id)) this.go(taken.id);
      else this.#notice(`${nameOf(taken)} is also assigned to you.`);
    } catch (failure) {
      const error = /** @type {any} */ (failure);
      const words = error.code === 'queue_empty' ? 'The queue is empty.'
        : error.status ? error.message : 'The server is not responding. No conversation was claimed.';
      if (pane.strand(words)) return;
      if (pane.isExpecting) { pane.show(before); this.render(); }
      this.#notice(words);
    } finally {
      this.guard.touch();
    }
  }

  /** For ten seconds it can be taken back, also from another conversation. @param {string} id */
  #closed(id) {
    const row = this.inbox.rows.get(id);
    this.undo.offer(`Conversation${row ? ` with ${nameOf(row)}` : ''} closed.`, async () => {
      try {
        this.inbox.put((await api.reopen(id)).conversation);
        this.take(id);
      } catch (failure) {
        const { status, message } = /** @type {any} */ (failure);
        this.#notice(status ? message : 'The server is not responding. It is still closed.');
      }
    });
  }

  /**
   * Where it is looked at: in the thread if one is open, else in the line under the list.
   * @param {string} words
   */
  #notice(words) {
    if (this.pane.id) this.pane.actions.tell(words); else this.state.say(words);
  }

  drawer(show = !this.root.hasAttribute('data-drawer')) {
    this.root.toggleAttribute('data-drawer', show);
  }

  // MARK: the end

  #ended() { this.#end('Your session ended. Drafts are kept on this device.'); }

  async #leave() {
    const { length } = this.outbox.waiting;
    await api.logout().catch(() => {});
    api.know(false);
    const words = length === 1 ? '1 unsent reply is' : `${length} unsent replies are`;
    const more = length ? ` ${words} kept on this device and sent at your next login.` : '';
    this.#end(`You are logged out.${more}`);
  }

  /** @param {string} words */
  #end(words) {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.link.stop();
    this.outbox.close();
    this.#controls.abort();
    this.#left(words);
  }
}

/** @param {string} session @param {import('../../shared/outbox.js').Item} item */
async function say(session, { id, kind, body }) {
  try {
    return { type: Event.ack, ...await api.say(session, { id, kind, body }) };
  } catch (failure) {
    const { code, status } = /** @type {any} */ (failure);
    // 401 says something about the operator, not about the message
    const retry = !code || status === 401;
    return { type: Event.error, code: code ?? Fault.unavailable, retry };
  }
}

// The console of one operator: one link, one inbox, one open conversation. It is drawn from their
// state at most once per animation frame.

import { el } from '../../shared/dom.js';
import { Outbox } from '../../shared/outbox.js';
import { Event } from '../../shared/protocol.js';
import { offer } from '../assist/offer.js';
import { Activity, doing } from '../inbox/activity.js';
import { Inbox, nameOf } from '../inbox/inbox.js';
import { List } from '../inbox/list.js';
import { Presence } from '../inbox/presence.js';
import { short } from '../inbox/row.js';
import { badge, clear, install } from '../install/install.js';
import { Pane } from '../thread/pane.js';
import { VisitorPanel } from '../visitor/visitor-panel.js';
import { Alerts } from './alerts.js';
import { api, Problem, reasonOf, statusOf } from './api.js';
import { acts, commands } from './commands.js';
import { Guard } from './guard.js';
import { keys } from './keys.js';
import { t } from './language.js';
import { LinkState, TimedLink } from './link-state.js';
import { Pages, rarePages } from './pages.js';
import { profileMenu } from './profile-menu.js';
import { Rail } from './rail.js';
import { Search } from './search.js';
import { send } from './send.js';
import { Undo } from './undo.js';

const SPARE = 60_000; // ms; a token that expires sooner is renewed first
const SECOND = 1000; // ms between two updates of the waiting times
const HALF_MINUTE = 30_000; // ms between two updates of other times, such as “2 min”

export class App {
  #session;
  #left;
  #frame = 0;
  #isOver = false;
  /** The hash of the address that is shown. */
  #shown = '';
  #controls = new AbortController();
  /** @type {number[]} */
  #timers = [];

  /**
   * @param {Login} session
   * @param {(words: string) => void} left is called once, after a logout or the end of the session
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
    /** @type {Activity} */
    this.activity = this.#makeActivity();
    /** @type {VisitorPanel} */
    this.visitor = new VisitorPanel({
      changed: this.changed,
      tags: () => { this.drawer(false); this.pane.actions.tags(); },
      close: () => this.drawer(false),
      mayErase: () => this.#session.operator.role !== 'agent',
    });
    /** @type {Pane} */
    this.pane = this.#makePane();
    this.undo = new Undo();
    this.alerts = new Alerts({
      me: this.me,
      open: (id) => this.take(id),
      current: () => this.pane.id,
    });
    this.inbox.arrived = (row, known) => {
      this.alerts.changed(row, known);
      this.alerts.settled(row);
    };
    this.profile = profileMenu(this, session.workspace.name, () => this.#leave());
    this.search = this.#makeSearch();
    /** @type {LinkState} */
    this.state = new LinkState(this, () => this.pane.talk, () => this.pane.files.items);
    this.list = this.#makeList();
    this.pages = new Pages({ session: () => this.#session, ended: () => this.#ended() });
    this.rail = this.#makeRail();
    /** @type {HTMLElement} */
    this.root = this.#makeRoot();
    this.guard = new Guard(this.root);
    this.acts = acts(this);
  }

  /**
   * Replaces the content of the document and connects. The first rows are shown before the
   * connection is open; then the list is loaded, since something may have changed until then.
   * @param {import('../inbox/inbox.js').Ahead=} ahead
   */
  start(ahead) {
    this.#listen();
    install((id) => this.take(id), this.#controls.signal);
    document.body.replaceChildren(this.root);
    this.link.start();
    if (ahead) this.inbox.load(ahead);
    this.#routed();
    this.render();
  }

  // MARK: parts

  #makeLink() {
    return new TimedLink({
      origin: location.origin,
      client: 'console',
      token: (renew) => this.#token(renew),
      opened: () => this.#opened(),
      frame: (frame) => this.#received(frame),
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
      route: (session) => this.#route(session),
    });
  }

  #makePane() {
    const { link, outbox, inbox, presence, visitor, me, changed } = this;
    return new Pane({
      link,
      outbox,
      inbox,
      presence,
      visitor,
      me: () => me,
      changed,
      back: () => this.go(''),
      next: () => this.next(),
      drawer: () => this.drawer(),
      settings: () => { location.hash = '/settings/replies'; },
      moved: () => this.guard.touch(),
      closed: (id) => this.#closed(id),
      removed: (row, id) => this.#removed(row, id),
      mayRemove: this.#session.operator.role !== 'agent',
    });
  }

  #makeActivity() {
    const { link, presence, inbox, changed } = this;
    return new Activity({
      link,
      presence,
      rows: () => this.list.inView.flatMap((id) => inbox.rows.get(id) ?? []),
      current: () => this.pane.id,
      changed,
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
        lostAt: () => link.lostSince,
        current: () => pane.id,
        typing: (id) => pane.typing(id) || this.activity.typing(id),
        doing: (id) => doing(inbox.rows.get(id), this.presence.of(id).online),
        moved: () => this.activity.touch(),
        search: () => search.open(),
        me: () => this.me,
        undo: this.undo,
        changed,
      },
      state.foot,
    );
  }

  #makeSearch() {
    return new Search({
      inbox: this.inbox,
      go: (id, seq) => this.go(id, seq),
      commands: () => commands(this),
    });
  }

  #makeRail() {
    const { pane, pages, profile } = this;
    return new Rail({
      inbox: () => { if (pane.isExpecting) this.go(''); },
      search: () => this.search.open(),
      keyboard: () => this.help(),
      leave: () => { this.#leave(); },
      pages: pages.links,
      profile: profile.button,
    });
  }

  #makeRoot() {
    return el(
      'div.app',
      {},
      this.rail.root,
      this.state.banner,
      this.list.root,
      this.pane.root,
      this.visitor.root,
      this.pages.root,
      this.search.root,
      this.profile.panel,
      this.undo.root,
    );
  }

  #listen() {
    const { signal } = this.#controls;
    this.#timers = [
      setInterval(() => {
        if (document.visibilityState === 'visible') this.link.probe?.check();
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
    addEventListener('offline', () => this.link.offline(), { signal });
    document.addEventListener('visibilitychange', () => {
      this.link.nudge();
      this.link.watch();
      this.changed();
    }, { signal });
    for (const event of ['focus', 'keydown', 'pointerdown', 'pointermove']) {
      addEventListener(event, () => this.link.probe?.attend(), { signal, passive: true });
    }
    keys(this.acts, this.guard, signal);
  }

  // MARK: the link

  /** @param {boolean} renew */
  async #token(renew) {
    const { token, expires_at } = this.#session;
    if (!renew && Date.parse(expires_at) - Date.now() > SPARE) return token;
    try { this.#session = await api.token(); } catch (error) {
      if (statusOf(error) === 401) this.#ended();
      throw error;
    }
    return this.#session.token;
  }

  #opened() {
    // What changes before the gateway sends the list's events is in the rows that are loaded then.
    this.link.watch(() => this.inbox.load());
    this.presence.renewed();
    this.activity.renewed();
    this.profile.announce();
    this.pane.opened();
    this.outbox.run();
    offer(this);
  }

  /** @param {ServerFrame} frame */
  #received(frame) {
    if (frame.type === Event.inbox) this.inbox.receive(frame);
    else if (frame.type === Event.presence) { this.presence.receive(frame); this.changed(); }
    else if (frame.session !== this.pane.id) this.activity.receive(frame);
    // until it is subscribed, frames are still those of a subscription of the list
    else if (frame.type !== Event.live || this.pane.talk?.ready) this.pane.talk?.frame(frame);
  }

  /**
   * Messages for a conversation that is not open any more go out by REST, one after the other and
   * under the same ids.
   * @param {string} session
   * @returns {import('../../shared/outbox.js').Route | false}
   */
  #route(session) {
    if (session === this.pane.id) return this.pane.talk?.route() || false;
    if (this.link.state !== 'open') return false;
    /** @type {Promise<AckFrame | ErrorFrame | null>} */
    let last = Promise.resolve(null);
    return (item) => {
      // a message that has to be sent again stops those after it
      const next = last.then((answer) => (
        answer?.type === Event.error && answer.retry ? answer : send(session, item)
      ));
      last = next;
      return next;
    };
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
    badge(waiting + this.inbox.unread);
    this.rail.render(waiting);
    const title = pages.title ? `${pages.title}, Chirrup` : t('Chirrup console');
    document.title = waiting ? `(${short(waiting)}) ${title}` : title;
    root.toggleAttribute('data-open', !!pane.id);
    root.toggleAttribute('data-banner', !state.banner.hidden);
  }

  // MARK: navigation

  /**
   * Opens a conversation. The address names it, so a reload and the back button work.
   * @param {string} id '' for none
   * @param {number=} seq of a message to show
   */
  go(id, seq = 0) {
    const place = seq ? `${id}/${seq}` : id;
    if (location.hash.slice(1) !== place) location.hash = place;
    this.#routed();
    this.render(); // at once: the reply gets the focus before the next key
  }

  /**
   * Opens a conversation to answer. On a touch screen the focus would open the keyboard, so the
   * reply does not get it there.
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
      // the conversation is closed, so that nothing counts as read; the rail leads back to it
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

  /** Claims the conversation that has waited longest. */
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
      else this.#notice(t('{} is also assigned to you.', nameOf(taken)));
    } catch (failure) {
      const words = failure instanceof Problem && failure.code === 'queue_empty' ? t('The queue is empty.')
        : reasonOf(failure, t('The server is not responding. No conversation was claimed.'));
      if (pane.strand(words)) return;
      if (pane.isExpecting) { pane.show(before); this.render(); }
      this.#notice(words);
    } finally {
      this.guard.touch();
    }
  }

  /**
   * Offers to reopen a conversation that was just closed.
   * @param {string} id
   */
  #closed(id) {
    const row = this.inbox.rows.get(id);
    const words = row ? t('Conversation with {} closed.', nameOf(row)) : t('Conversation closed.');
    this.#offer(words, () => api.reopen(id), t('The server is not responding. It is still closed.'));
  }

  /**
   * Offers to restore a conversation that was just deleted.
   * @param {ConversationRow?} row
   * @param {string} id
   */
  #removed(row, id) {
    if (this.pane.id === id) this.go('');
    this.inbox.receive({ type: Event.inbox, session: id, removed: true });
    const words = row ? t('Conversation with {} deleted.', nameOf(row)) : t('Conversation deleted.');
    this.#offer(words, () => api.restore(id), t('The server is not responding. It is still deleted.'));
  }

  /**
   * @param {string} words
   * @param {() => import('./api.js').Changed} back undoes it
   * @param {string} silence is shown if the gateway does not answer
   */
  #offer(words, back, silence) {
    this.undo.offer(words, async () => {
      try {
        const { conversation } = await back();
        this.inbox.put(conversation);
        this.take(conversation.id);
      } catch (failure) {
        this.#notice(reasonOf(failure, silence));
      }
    });
  }

  /**
   * Shows a notice in the thread if a conversation is open, else in the line below the list.
   * @param {string} words
   */
  #notice(words) {
    if (this.pane.id) this.pane.actions.notify(words); else this.state.say(words);
  }

  /** Shows the shortcuts, which are in the other file. */
  async help() {
    try { (await rarePages()).help(); } catch {
      this.#notice(t('The server is not responding. Check your connection and try again.'));
    }
  }

  /**
   * Opens or closes the visitor column of narrow screens.
   * @param {boolean=} show
   */
  drawer(show = !this.root.hasAttribute('data-drawer')) {
    this.root.toggleAttribute('data-drawer', show);
  }

  // MARK: end

  #ended() { this.#end(t('Your session ended. Drafts are kept on this device.')); }

  async #leave() {
    const { length } = this.outbox.waiting;
    this.link.stop(); // else it asks why it was closed, before the answer to the log-out
    await api.logout().catch(() => {});
    api.know(false);
    await clear();
    this.#end([t('You are logged out.'), length === 1
      ? t('1 unsent reply is kept on this device and sent at your next login.')
      : length && t('{} unsent replies are kept on this device and sent at your next login.', length),
    ].filter(Boolean).join(' '));
  }

  /** @param {string} words */
  #end(words) {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.activity.end();
    this.link.stop();
    this.outbox.close();
    this.pane.files.loaded?.close();
    this.#controls.abort();
    this.#left(words);
  }
}

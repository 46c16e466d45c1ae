// The console put together. One link, one inbox, one open conversation; everything is drawn from
// them at most once per frame of the screen.

import './icons.js';
import { el, icon } from '../../shared/dom.js';
import { Outbox } from '../../shared/outbox.js';
import { Command, Fault, Kind, Event } from '../../shared/protocol.js';
import { Alerts } from './alerts.js';
import { api } from './api.js';
import { Guard } from './guard.js';
import { Inbox, nameOf } from '../inbox/inbox.js';
import { help, keys } from './keys.js';
import { LinkState, TimedLink } from './link-state.js';
import { List } from '../inbox/list.js';
import { login } from './login.js';
import { choosePassword } from './own-password.js';
import { Pages } from './pages.js';
import { Pane } from '../thread/pane.js';
import { Presence } from '../inbox/presence.js';
import { short } from '../inbox/row.js';
import { Search } from './search.js';
import { Undo } from './undo.js';
import { VisitorPanel } from '../visitor/visitor-panel.js';
import { you } from './profile-menu.js';

const SPARE = 60_000; // a token with less left is not worth a connection

async function boot(told = '') {
  if (!told && api.known) {
    try { return enter(await api.token()); } catch (error) {
      if (error.status === 401) told = 'Your session ended. Drafts are kept on this device.';
    }
  }
  show(login(told, enter));
}

/** A password that somebody else has given is changed before anything else can be done. */
function enter(session, given = '') {
  if (!session.must_change_password) return run(session);
  show(choosePassword(given, async () => enter(await api.token()), leave));
  async function leave(told) {
    await api.logout().catch(() => {});
    api.know(false);
    boot(told);
  }
}

function show(gate) {
  document.body.replaceChildren(gate.root);
  gate.focus();
}

function run(session) {
  let queued = 0;
  let over = false;
  const me = { kind: 'operator', id: session.operator.id, name: session.operator.name };
  const changed = () => {
    if (queued) return;
    queued = requestAnimationFrame(() => { queued = 0; render(); });
  };
  const link = new TimedLink({
    origin: location.origin,
    client: 'console',
    token,
    opened,
    frame,
    changed,
  });
  const outbox = new Outbox(
    `chirrup:console:${me.id}:out:`,
    {
      changed,
      acked: (item, ack) => pane.id === item.session && pane.talk?.commit(item, ack, me.name),
      home: (item) => item.session,
      route,
    },
  );
  const inbox = new Inbox(me, changed);
  const presence = new Presence(link, me);
  const about = new VisitorPanel({
    changed,
    tags: () => { drawer(false); pane.actions.tags(); },
    shut: () => drawer(false),
  });
  const pane = new Pane({
    link,
    outbox,
    inbox,
    presence,
    about,
    me: () => me,
    changed,
    back: () => go(''),
    next,
    visitor: () => drawer(),
    settings: () => { location.hash = '/settings/replies'; },
    moved: () => guard.touch(),
    closed,
  });
  const undo = new Undo();
  const alerts = new Alerts({ me, open: take, current: () => pane.id });
  inbox.arrived = (row, known) => { alerts.heard(row, known); alerts.settled(row); };
  const search = new Search({ inbox, go, commands: () => commands });
  const own = you({ me, workspace: session.workspace.name, alerts, link });
  const state = new LinkState({ link, outbox, inbox, pane: () => pane });
  const list = new List(
    inbox,
    {
      open: go,
      take,
      live: () => state.live,
      lostAt: () => link.lostAt,
      current: () => pane.id,
      typing: (id) => pane.typing(id),
      search: () => search.open(),
      changed,
    },
    state.foot,
  );
  const badge = el('span.count', { 'aria-hidden': 'true' });
  const inboxLink = el(
    'a',
    { href: '#', 'aria-current': 'page', click: () => pane.isExpecting && go('') },
    icon('inbox'),
    badge,
    el('span.word', {}, 'Inbox'),
  );
  const pages = new Pages({ session: () => session, ended });
  const keyboard = help();
  const button = (look, words, click) => el(
    `button.rail-button.${look}`,
    { type: 'button', 'aria-label': words, title: words, click },
    icon(look),
    el('span.word', {}, words),
  );
  const app = el(
    'div.app',
    {},
    el(
      'nav.rail',
      { 'aria-label': 'Main' },
      el('span.logo', {}, icon('swift')),
      inboxLink,
      button('search', 'Search', () => search.open()),
      ...pages.links,
      el('span.grow'),
      button('keys', 'Keyboard', () => keyboard.showModal()),
      button('leave', 'Log out', leave),
      own.button,
    ),
    state.banner,
    list.root,
    pane.root,
    about.root,
    pages.root,
    keyboard,
    search.root,
    own.panel,
    undo.root,
  );
  const guard = new Guard(app);

  async function token(renew) {
    if (!renew && session && Date.parse(session.expires_at) - Date.now() > SPARE) {
      return session.token;
    }
    try { session = await api.token(); } catch (error) {
      if (error.status === 401) ended();
      throw error;
    }
    return session.token;
  }

  function ended() { end('Your session ended. Drafts are kept on this device.'); }

  function opened() {
    link.ask({ type: Command.watch, inbox: true });
    presence.renewed();
    own.announce();
    inbox.load();
    pane.opened();
    outbox.run();
  }

  /**
   * What was written in a conversation that is not open any more goes out by REST, one by one and
   * under the same ids.
   * @returns {import('../../shared/outbox.js').Route?}
   */
  function route(id) {
    if (id === pane.id) return pane.talk?.route() ?? null;
    if (link.state !== 'open') return null;
    let last = Promise.resolve(/** @type {any} */ (null));
    // behind one that has to come again nothing goes out
    return (item) => last = last.then((answer) => (answer?.retry ? answer : say(id, item)));
  }

  async function say(session, { id, kind, body }) {
    try {
      return { type: Event.ack, ...await api.say(session, { id, kind, body }) };
    } catch (error) {
      // 401 says something about the operator, not about the message
      const retry = !error.code || error.status === 401;
      return { type: Event.error, code: error.code ?? Fault.unavailable, retry };
    }
  }

  function frame(got) {
    if (got.type === Event.inbox) inbox.event(got);
    else if (got.type === Event.presence) { presence.heard(got); changed(); }
    else if (got.session === pane.id) pane.talk?.frame(got);
  }

  function render() {
    if (over) return;
    list.render();
    pane.render();
    const isKnown = pane.id && !pane.isExpecting;
    about.render(isKnown ? pane.row ?? about.detail : null, pane.talk?.head ?? 0);
    presence.view(pane.talk?.ready && document.visibilityState === 'visible' ? pane.id : '');
    state.render();
    const { waiting } = inbox.counts;
    badge.hidden = !waiting;
    badge.textContent = short(waiting);
    inboxLink.setAttribute('aria-label', waiting ? `Inbox, ${waiting} waiting` : 'Inbox');
    const title = pages.title ? `${pages.title}, Chirrup` : 'Chirrup console';
    document.title = waiting ? `(${short(waiting)}) ${title}` : title;
    app.toggleAttribute('data-open', !!pane.id);
    app.toggleAttribute('data-banner', !state.banner.hidden);
  }

  /** The open conversation is in the address, so that a reload and the back button find it. */
  function go(id, seq = 0) {
    const place = seq ? `${id}/${seq}` : id;
    if (location.hash.slice(1) !== place) location.hash = place;
    routed();
    render(); // at once, so that the reply can have the focus before the next key comes
  }

  /** To answer. A screen that is touched would cover half of itself with its keyboard. */
  function take(id) {
    go(id);
    if (matchMedia('(any-hover: hover)').matches) pane.answer();
  }

  let shown = '';
  function routed() {
    shown = location.hash;
    const paged = pages.route(location.hash);
    app.toggleAttribute('data-page', paged);
    if (paged) {
      // the conversation is left, so that nothing counts as read, and found again by the rail
      if (pane.id) inboxLink.href = `#${pane.id}`;
      inboxLink.removeAttribute('aria-current');
      pane.show('');
      about.show('');
      drawer(false);
      return changed();
    }
    inboxLink.href = '#';
    inboxLink.setAttribute('aria-current', 'page');
    const [id, seq] = location.hash.replace(/^#(\/inbox\/?)?/, '').split('/');
    pane.show(id, Number(seq) || 0);
    about.show(id);
    drawer(false);
    list.reveal(pane.id);
  }

  /** Takes the one who has waited longest: the server says who that is. */
  async function next() {
    if (pages.current) location.hash = '';
    if (pages.current) routed();
    const before = pane.id;
    pane.expect();
    render();
    pane.composer.focus();
    try {
      const taken = (await api.next()).conversation;
      inbox.put(taken);
      if (pane.arrive(taken.id)) go(taken.id);
      else notice(`${nameOf(taken)} is yours, too.`);
    } catch (error) {
      const words = error.code === 'queue_empty' ? 'Nobody waits.'
        : error.status ? error.message : 'The server does not answer. Nobody was taken.';
      if (pane.strand(words)) return;
      if (pane.isExpecting) { pane.show(before); render(); }
      notice(words);
    } finally {
      guard.touch();
    }
  }

  /** For ten seconds it can be taken back, also from another conversation. */
  function closed(id) {
    const row = inbox.rows.get(id);
    undo.offer(`You closed ${row ? nameOf(row) : 'the conversation'}.`, async () => {
      try {
        inbox.put((await api.reopen(id)).conversation);
        take(id);
      } catch (error) {
        notice(error.status ? error.message : 'The server does not answer. It is still closed.');
      }
    });
  }

  /** Where it is looked at: in the thread if one is open, else in the line under the list. */
  function notice(words) { if (pane.id) pane.actions.tell(words); else state.say(words); }

  function drawer(show = !app.hasAttribute('data-drawer')) {
    app.toggleAttribute('data-drawer', show);
  }

  function write(kind) { if (pane.id) { pane.composer.mode(kind); pane.composer.focus(); } }

  function escape() {
    if (!state.details.hidden) return state.toggle(false);
    if (pane.sheet.isOpen) return pane.sheet.close();
    if (pane.composer.emoji.isOpen) return pane.composer.emoji.close();
    if (app.hasAttribute('data-drawer')) return drawer(false);
    /** @type {HTMLElement} */ (document.activeElement)?.blur();
  }

  async function leave() {
    const { length } = outbox.waiting;
    await api.logout().catch(() => {});
    api.know(false);
    const words = length === 1 ? 'One reply waits' : `${length} replies wait`;
    end(`You are logged out.${length ? ` ${words} on this device until you log in again.` : ''}`);
  }

  function end(told) {
    if (over) return;
    over = true;
    clearInterval(clock);
    link.stop();
    outbox.close();
    controls.abort();
    boot(told);
  }

  const controls = new AbortController();
  const { signal } = controls;
  const clock = setInterval(
    () => { state.render(); list.clocks(); if (!state.live) changed(); },
    1000,
  );
  setInterval(() => !over && changed(), 30_000); // "2 min" grows
  addEventListener('hashchange', () => {
    if (location.hash === shown) return;
    routed();
    guard.touch();
  }, { signal });
  addEventListener('beforeunload', (event) => {
    if (pages.unsaved) event.preventDefault();
  }, { signal });
  addEventListener('online', () => link.nudge(), { signal });
  document.addEventListener('visibilitychange', () => { link.nudge(); changed(); }, { signal });
  /** F6: list, thread, reply, visitor. @param {number} step */
  function region(step) {
    const places = [
      [list.root, () => list.focus()],
      [pane.log, () => pane.log.focus()],
      [pane.composer.root, () => pane.composer.focus()],
      [about.root, () => { drawer(true); about.root.focus(); }],
    ].filter(([node]) => node.checkVisibility?.() ?? true);
    const at = places.findIndex(([node]) => node.contains(document.activeElement));
    const from = at < 0 ? (step > 0 ? -1 : 0) : at;
    places[(from + step + places.length) % places.length]?.[1]();
  }

  const view = (name) => () => {
    if (pages.current) location.hash = '';
    inbox.show(name);
  };
  const acts = {
    away: () => !!pages.current,
    letters: () => alerts.letters,
    j: () => list.move(1),
    k: () => list.move(-1),
    n: next,
    v: () => drawer(),
    c: () => pane.claim(),
    e: () => pane.actions.closeWithReason(),
    o: () => pane.actions.reopen(),
    z: () => undo.run(),
    t: () => pane.actions.transfer(),
    l: () => pane.actions.tags(),
    r: () => write(Kind.text),
    i: () => write(Kind.note),
    go: {
      w: view('waiting'),
      m: view('mine'),
      a: view('all'),
      c: view('closed'),
    },
    search: () => search.open(),
    region,
    help: () => keyboard.showModal(),
    escape,
  };
  /** @type {[string, string, () => void][]} */
  const commands = [
    ['Take the longest waiting', 'N', next],
    ['Claim this conversation', 'C', acts.c],
    ['Transfer this conversation', 'T', acts.t],
    ['Close this conversation', 'E', acts.e],
    ['Reopen this conversation', 'O', acts.o],
    ['Tags', 'L', acts.l],
    ['Write a note', 'I', acts.i],
    ['Show who waits', 'G W', acts.go.w],
    ['Show my conversations', 'G M', acts.go.m],
    ['Show all open conversations', 'G A', acts.go.a],
    ['Show closed conversations', 'G C', acts.go.c],
    ['Settings', '', () => { location.hash = '/settings'; }],
    ['Keyboard', '?', acts.help],
  ];
  keys(acts, guard, signal);
  document.body.replaceChildren(app);
  link.start();
  routed();
  render();
}

boot();

// The console put together. One link, one inbox, one open conversation; everything is drawn from
// them at most once per frame of the screen.

import './icons.js';
import { el, icon } from '../shared/dom.js';
import { Outbox } from '../shared/outbox.js';
import { Ask, Fault, Kind, Tell } from '../shared/protocol.js';
import { Link } from '../shared/socket.js';
import { face } from '../shared/thread.js';
import { api } from './api.js';
import { Inbox } from './inbox.js';
import { help, keys } from './keys.js';
import { LinkState } from './linkstate.js';
import { List, short } from './list.js';
import { login } from './login.js';
import { Pane } from './pane.js';
import { visitor } from './visitor.js';

const SPARE = 60_000; // a token with less left is not worth a connection

async function boot(told = '') {
  if (!told && api.known) {
    try { return run(await api.token()); } catch (error) {
      if (error.status === 401) told = 'Your session ended. Drafts are kept on this device.';
    }
  }
  const gate = login(told, run);
  document.body.replaceChildren(gate.root);
  gate.focus();
}

function run(session) {
  let queued = 0;
  let over = false;
  const me = { kind: 'operator', id: session.operator.id, name: session.operator.name };
  const changed = () => { queued ||= requestAnimationFrame(() => { queued = 0; render(); }); };
  const link = new Link({
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
  const pane = new Pane({
    link,
    outbox,
    inbox,
    me: () => me,
    changed,
    back: () => go(''),
    next,
    visitor: () => drawer(),
  });
  const state = new LinkState({ link, outbox, inbox, pane: () => pane });
  const list = new List(
    inbox,
    {
      open: go,
      live: () => state.live,
      lostAt: () => link.lostAt,
      current: () => pane.id,
      changed,
    },
    state.foot,
  );
  const badge = el('span.count', { 'aria-hidden': 'true' });
  const inboxLink = el(
    'a',
    { href: '#', 'aria-current': 'page' },
    icon('inbox'),
    badge,
    el('span.word', {}, 'Inbox'),
  );
  const aside = el('aside.visitor', { 'aria-label': 'Visitor', hidden: true });
  const keyboard = help();
  const button = (look, words, click) => el(
    'button.rail-button',
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
      el('span.grow'),
      button('keys', 'Keyboard', () => keyboard.showModal()),
      button('leave', 'Log out', leave),
      el('span.me', { title: `${me.name}, ${session.workspace.name}` }, face(me)),
    ),
    state.banner,
    list.root,
    pane.root,
    aside,
    keyboard,
  );

  async function token(renew) {
    if (!renew && session && Date.parse(session.expires_at) - Date.now() > SPARE) {
      return session.token;
    }
    try { session = await api.token(); } catch (error) {
      if (error.status === 401) end('Your session ended. Drafts are kept on this device.');
      throw error;
    }
    return session.token;
  }

  function opened() {
    link.ask({ type: Ask.watch, inbox: true });
    inbox.load();
    pane.opened();
    outbox.run();
  }

  /**
   * What was written in a conversation that is not open any more goes out by REST, one by one and
   * under the same ids.
   * @returns {import('../shared/outbox.js').Route?}
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
      return { type: Tell.ack, ...await api.say(session, { id, kind, body }) };
    } catch (error) {
      // 401 says something about the operator, not about the message
      const retry = !error.code || error.status === 401;
      return { type: Tell.error, code: error.code ?? Fault.unavailable, retry };
    }
  }

  function frame(got) {
    if (got.type === Tell.inbox) inbox.event(got);
    else if (got.session === pane.id) pane.talk?.frame(got);
  }

  function render() {
    if (over) return;
    list.render();
    pane.render();
    visitor(aside, pane.id ? pane.row : null, pane.talk?.head ?? 0);
    state.render();
    const { waiting } = inbox.counts;
    badge.hidden = !waiting;
    badge.textContent = short(waiting);
    inboxLink.setAttribute('aria-label', waiting ? `Inbox, ${waiting} waiting` : 'Inbox');
    document.title = waiting ? `(${short(waiting)}) Chirrup console` : 'Chirrup console';
    app.toggleAttribute('data-open', !!pane.id);
    app.toggleAttribute('data-banner', !state.banner.hidden);
  }

  /** The open conversation is in the address, so that a reload and the back button find it. */
  function go(id) { if (location.hash.slice(1) !== id) location.hash = id; else routed(); }
  function routed() {
    pane.show(location.hash.slice(1));
    drawer(false);
    list.reveal(pane.id);
  }

  /** Takes the one who has waited longest. */
  async function next() {
    if (inbox.view !== 'waiting' && inbox.view !== 'all') await inbox.show('waiting');
    const [first] = inbox.sections('waiting')[0].rows;
    if (!first) return;
    go(first.id);
    pane.show(first.id);
    await pane.claim();
    pane.composer.focus();
  }

  function drawer(show = !app.hasAttribute('data-drawer')) {
    app.toggleAttribute('data-drawer', show);
  }

  function write(kind) { if (pane.id) { pane.composer.mode(kind); pane.composer.focus(); } }

  function escape() {
    if (!state.details.hidden) return state.toggle(false);
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
  addEventListener('hashchange', routed, { signal });
  addEventListener('online', () => link.nudge(), { signal });
  document.addEventListener('visibilitychange', () => { link.nudge(); changed(); }, { signal });
  const acts = {
    j: () => list.move(1),
    k: () => list.move(-1),
    n: next,
    v: () => drawer(),
    c: () => pane.claim(),
    e: () => pane.close(),
    o: () => pane.reopen(),
    r: () => write(Kind.text),
    i: () => write(Kind.note),
    go: {
      w: () => inbox.show('waiting'),
      m: () => inbox.show('mine'),
      a: () => inbox.show('all'),
      c: () => inbox.show('closed'),
    },
    help: () => keyboard.showModal(),
    escape,
  };
  keys(acts, signal);
  document.body.replaceChildren(app);
  link.start();
  routed();
  render();
}

boot();

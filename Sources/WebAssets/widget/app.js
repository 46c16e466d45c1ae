// The widget put together: visitor, link, conversation, outbox, panel. The loader calls `start`
// once.

import { Conversation } from '../shared/conversation.js';
import { el, icon, linked, paths } from '../shared/dom.js';
import { Outbox } from '../shared/outbox.js';
import { Fault, Kind } from '../shared/protocol.js';
import { Link } from '../shared/socket.js';
import { Thread, face, speakThread } from '../shared/thread.js';
import { extras } from './extras.js';
import { title, tone } from './notice.js';
import { panel, swift } from './panel.js';
import { dots, statusLine } from './status.js';
import { Visitor } from './visitor.js';
import { Word } from './wordlist.js';
import { direction, language, say, speak, word } from './words.js';

const CAUSES = {
  [Fault.session_closed]: Word.closed,
  [Fault.no_such_session]: Word.elsewhere,
  [Fault.too_large]: Word.too_large,
  [Fault.rejected]: Word.rejected,
  old: Word.old,
  full: Word.full,
};

/** Another text would be taken; an id that is in use cannot be kept either. */
const EDIT = [Fault.rejected, Fault.too_large, Fault.id_conflict];
/** Another conversation would take it. */
const OVER = [Fault.session_closed, Fault.no_such_session];
/** What an event line says to a visitor. Other events are the operators' affair. */
const EVENTS = {
  claimed: Word.joined, assigned: Word.joined, closed: Word.closed, rated: Word.thanks,
};

/**
 * @param {{host: HTMLElement, root: ShadowRoot, launcher: HTMLElement, origin: string,
 *   given: any}} from `given` is what the page has set: workspace,
 *   locale, theme, and later identity, attributes
 */
export async function start({ host, root, launcher, origin, given }) {
  const { workspace } = given;
  const page = document.documentElement;
  await speak(origin, given.locale || page.lang || navigator.language);
  paths.save = 'M10 3v9M6 8l4 4 4-4M4 16h12';
  const openKey = `chirrup:${workspace}:open`;
  const visitor = new Visitor(origin, workspace, given);
  const badge = el('span.count', { hidden: true });
  const teaser = el('div.teaser', { role: 'status', hidden: true, click: open });
  const heard = new Map();
  const phone = matchMedia('(max-width: 480px)');
  let me = { kind: 'visitor', id: '' };
  let talk = /** @type {Conversation?} */ (null);
  let config = /** @type {any} */ (null);
  let fresh = false; // the next token is for a new conversation
  let not = /** @type {string?} */ (null); // the conversation that is over
  let trouble = ''; // what went wrong with the last thing the visitor did
  let queued = 0;
  let unread = 0;
  let state = '';
  let drawn = null; // the form that is shown
  let begun = false; // the form before the chat is done with

  const view = panel({ close, send, typed, transcript: () => more.transcript(), renew });
  const link = new Link({
    origin,
    client: 'widget',
    token,
    opened,
    changed,
    frame: (got) => got.session === talk?.session && talk.frame(got),
  });
  const outbox = new Outbox(
    `chirrup:${workspace}:out:`,
    {
      changed,
      acked: (item, ack) => item.session === talk?.session && talk.commit(item, ack),
      home,
      route: (session) => session === talk?.session ? talk.route() : null,
    },
  );
  const status = statusLine(view.status, link, outbox, () => trouble);
  const thread = new Thread(view.log, {
    me: () => me,
    state: (item) => outbox.state(item),
    event: ({ body, payload, sender }) => {
      const said = EVENTS[payload?.event];
      const who = payload?.to ?? payload?.operator ?? sender;
      return !payload?.event ? body : said && say(said, who?.name);
    },
    failed,
    older: () => talk?.older(),
    lead: () => config?.greeting,
    drawLead,
    typing,
    text: ({ body, payload, kind }) => linked(kind === Kind.buttons && payload?.text || body),
    extra: (model) => model.payload && !model.out ? more.offers(model) : null,
    tail,
    draw: (model) => more[model.draw](model),
  });
  const more = extras({
    visitor,
    view,
    workspace,
    send,
    choose,
    failed: fail,
    config: () => config,
    talk: () => talk,
    begun() { begun = true; link.start(); render(); view.text.focus(); },
  });
  const shown = () => !view.root.hidden;
  const closed = () => talk?.status === 'closed' || !!talk?.lost;

  /** What a page does wrong in its own functions stops nothing of ours. */
  function emit(event, detail) {
    for (const fn of heard.get(event) ?? []) {
      try { fn(detail); } catch (error) { console.error(error); }
    }
  }

  /** A conversation that is about to begin has no name yet. */
  function home({ session, not }) {
    return session ?? (talk && talk.session !== not ? talk.session : null);
  }

  async function token(renew) {
    const got = await visitor.token(renew, fresh);
    fresh = false;
    return got;
  }

  function opened({ you }) {
    const { session } = visitor.identity;
    me = you;
    if (talk?.session !== session) talk = new Conversation(link, session, me, told);
    talk.typing.preview = config?.preview !== false;
    talk.open();
  }

  function told(what, entry) {
    if (what === 'ready') outbox.run();
    if (what === 'lost') outbox.refuse(talk.lost, ({ session }) => session === talk.session);
    if (entry) outbox.remove(entry.id, entry);
    if (entry?.sender && talk.live) { // an operators' note comes without any
      emit('message', entry);
      if (entry.sender.kind !== 'visitor' && entry.kind !== Kind.event) noticed(entry);
    }
    if (what !== 'typing') visitor.keep(talk.status !== 'closed' || outbox.items.length > 0);
    changed();
  }

  /** Somebody answers, and perhaps nobody looks. */
  function noticed(entry) {
    if (!shown() && config?.teaser !== false) tease(entry);
    if ((!shown() || document.hidden) && config?.sound !== false) tone();
  }

  /** Everything is drawn from the models, once per frame of the screen, however much came in. */
  function changed() { queued ||= requestAnimationFrame(() => { queued = 0; render(); }); }

  function render() {
    if (!host.isConnected) return; // taken away
    const count = talk?.unread().length ?? 0;
    // arriving history is not read out
    view.log.setAttribute('aria-live', talk?.live ? 'polite' : 'off');
    thread.render(talk, outbox.items.map((item) => (
      talk && item.session && item.session !== talk.session
        ? { ...item, failed: Fault.no_such_session }
        : item
    )));
    status();
    forms();
    head(talk?.assignee);
    if (shown() && !document.hidden && thread.atEnd) talk?.marks.confirm('read', talk.head);
    badge.hidden = shown() || !count;
    badge.textContent = count > 99 ? '99+' : count;
    launcher.ariaLabel = say(shown() ? Word.close : count ? Word.unread : Word.open, count);
    teaser.hidden ||= badge.hidden;
    if (unread !== count) emit('unread', unread = count);
    if (state !== link.state) emit('status', state = link.state);
    title(shown() && !document.hidden ? 0 : count);
  }

  function head(who) {
    const { hours } = config ?? {};
    const away = hours?.is_open === false;
    view.name.textContent = config?.workspace.name ?? say(Word.chat);
    view.mark.replaceChildren(who ? face({ ...who, kind: 'operator' }) : swift());
    view.about.replaceChildren(
      el(`span.dot${closed() || !who && (away || !config?.operators_available) ? '.off' : ''}`),
      closed() ? say(Word.closed)
        : who
        ? say(Word.here, who.name)
        : away && hours.opens_at
        ? say(Word.opens, new Intl.DateTimeFormat(
          language,
          { weekday: 'long', hour: 'numeric', minute: 'numeric' },
        ).format(new Date(hours.opens_at)))
        : away || config?.operators_available === false
        ? say(Word.away)
        : say(talk?.head ? Word.queued : Word.welcome),
    );
    view.transcript.hidden = !talk?.head;
  }

  /** The form that stands in place of the composer, or of the whole conversation. */
  function forms() {
    const { rating, offline, prechat, hours } = config ?? {};
    const over = closed();
    const which = over
      ? rating?.enabled && talk.head && !talk.entries.some(isRated) && 'rate'
      : !config || talk?.entries.length || outbox.items.length || begun
      ? null
      : offline?.enabled && !hours.is_open
      ? 'leave'
      : prechat?.enabled && !visitor.identity?.token && 'begin';
    view.page.hidden = !which;
    view.log.hidden = view.form.hidden = view.menu.hidden = which && !over;
    view.again.hidden = !over;
    if (over) view.form.hidden = view.menu.hidden = true;
    const form = which && more[which];
    if (form === drawn) return;
    drawn = form;
    view.page.replaceChildren(...form ? [form()] : []);
  }

  const isRated = ({ payload }) => payload?.event === 'rated';

  /** Behind the last message: the place in the queue, and what may be answered with one click. */
  function tail() {
    const last = talk?.entries.at(-1);
    const { position, wait_ms } = talk?.queue ?? {};
    const some = !outbox.waiting.length && !closed() && last?.sender.kind !== 'visitor'
      && last?.payload?.quick_replies;
    return [
      position > 0 && config?.queue?.show_position !== false
        && { key: 'queue', draw: 'queue', position, wait_ms },
      some && { key: `r${last.id}`, draw: 'replies', some, to: last.id },
    ].filter(Boolean);
  }

  function drawLead({ title, text }) {
    return el(
      'div.lead',
      { dir: 'auto' },
      swift(),
      el('h3', { dir: 'auto' }, title),
      el('p', { dir: 'auto' }, text),
    );
  }

  function typing({ who }) {
    return el(
      'div.say.in.first.last',
      {},
      face(who),
      el('p.bubble.typing', {}, dots(), el('span.sr-only', {}, say(Word.typing, who.name))),
    );
  }

  function failed({ key, failed: code }) {
    const item = outbox.items.find(({ id }) => id === key);
    const way = (what, click) => el('button.link', { click }, say(what));
    const edit = () => { outbox.remove(key); view.write(item.body); };
    return [
      el('span', { role: 'alert' }, say(CAUSES[code] ?? Word.not_sent)),
      talk && item.session !== talk.session
        ? way(Word.send_here, () => outbox.retry(item, { session: null }))
        : OVER.includes(code)
        ? way(Word.renew, renew)
        : EDIT.includes(code)
        ? way(Word.edit, edit)
        : way(Word.retry, () => outbox.retry(item)),
      way(Word.delete, () => outbox.remove(key)),
    ];
  }

  /**
   * A new conversation, with what could not be said in the old one. It begins with its first
   * message.
   */
  function renew() {
    const old = talk?.session ?? visitor.identity?.session;
    const items = outbox.items.filter((item) => OVER.includes(item.failed));
    link.stop();
    fresh = visitor.identity?.session === old; // or another tab has begun it
    not = old;
    talk = null;
    for (const item of items) outbox.retry(item, { session: null, not: old });
    if (items.length || !fresh) link.start();
    changed();
    view.text.focus();
  }

  function send(text, payload) {
    const cause = outbox.add(talk?.session ?? null, text, Kind.text, not, payload);
    trouble = cause ? say(CAUSES[cause]) : '';
    changed();
    if (trouble) return false;
    talk?.typing.type('');
    visitor.keep(true);
    thread.toEnd();
    link.start();
    return true;
  }

  function choose(label, value, to) { send(label, { reply: { to, value } }); }

  function typed(text) {
    trouble = '';
    status();
    talk?.typing.type(text);
  }

  /** A request that the visitor waits for was in vain. */
  function fail(error) {
    trouble = say(Word.failed);
    emit('error', error);
    changed();
  }

  function tease({ sender, body }) {
    teaser.replaceChildren(face(sender), el(
      'p',
      { dir: 'auto' },
      el('b', {}, `${sender.name ?? ''} `),
      body,
    ));
    teaser.hidden = false;
    addEventListener('click', () => { teaser.hidden = true; }, { once: true });
  }

  function open() { if (!shown()) show(true); }
  function close() { if (shown()) show(false); }

  function show(now) {
    view.root.hidden = !now;
    host.toggleAttribute('open', now);
    launcher.replaceChildren(...now ? [icon('down')] : [badge]);
    launcher.setAttribute('aria-expanded', now);
    view.root.ariaModal = phone.matches;
    try { sessionStorage.setItem(openKey, now ? '1' : ''); } catch { /* not kept */ }
    thread.toEnd();
    if (now) {
      // a new visitor's conversation begins with the first message
      if (visitor.identity) link.start();
      if (!config) configure();
      (phone.matches ? view.log : view.text).focus();
    } else {
      talk?.typing.type('');
      launcher.focus();
    }
    emit(now ? 'open' : 'close');
    changed();
  }

  async function configure() {
    try { config = await visitor.config(); } catch (error) {
      trouble = say(Word.unavailable);
      emit('error', error);
      return changed();
    }
    trouble = '';
    const { accent, theme, position, locale } = config;
    if (accent) host.style.setProperty('--c-accent', accent);
    host.setAttribute('data-theme', given.theme ?? theme);
    host.setAttribute('data-position', position);
    if (!given.locale && locale && locale !== 'auto') await speak(origin, locale);
    spoken();
  }

  /** Everything once more, in another language. */
  function spoken() {
    speakThread(language, word);
    view.speak();
    teaser.dir = direction();
    view.log.replaceChildren();
    view.log.drawn = drawn = undefined;
    view.menu.replaceChildren(...config?.menu ? [more.menu()] : []);
    changed();
  }

  /** Says it with a new token; the first one takes it along anyway. */
  const set = (name) => async (value) => {
    given[name] = value;
    if (!visitor.identity?.token) return;
    link.stop();
    try {
      await visitor.token(true, false, true);
      link.start();
    } catch (error) { fail(error); }
  };

  launcher.append(badge);
  root.prepend(view.root, teaser);
  view.log.addEventListener('scroll', changed, { passive: true });
  addEventListener('online', () => link.nudge());
  document.addEventListener('visibilitychange', () => { link.nudge(); changed(); });
  const timer = setInterval(status, 1000);
  spoken();
  if (visitor.identity?.talk) { link.start(); configure(); }
  try { if (sessionStorage.getItem(openKey)) open(); } catch { /* not kept */ }
  return {
    open,
    close,
    toggle: () => show(!shown()),
    identify: set('identity'),
    setAttributes: set('attributes'),
    async setLocale(locale) { await speak(origin, given.locale = locale); spoken(); },
    on(event, fn) { heard.set(event, [...heard.get(event) ?? [], fn]); },
    destroy() {
      delete window.chirrup;
      clearInterval(timer);
      link.stop();
      outbox.close();
      title(0);
      host.remove();
    },
  };
}

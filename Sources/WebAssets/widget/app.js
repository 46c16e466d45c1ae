// The widget put together: visitor, link, conversation, outbox, panel. The loader calls `start`
// once.

import { Conversation } from '../shared/conversation.js';
import { el, icon, linked } from '../shared/dom.js';
import { Outbox } from '../shared/outbox.js';
import { Fault, Kind, Event } from '../shared/protocol.js';
import { Link } from '../shared/socket.js';
import { store } from '../shared/store.js';
import { Thread, face, speakThread } from '../shared/thread.js';
import { extras } from './extras.js';
import { title, tone } from './panel/notice.js';
import { panel, swift } from './panel/panel.js';
import { statusLine } from './panel/status.js';
import { Visitor } from './visitor.js';
import { direction, language, say, speak } from './words.js';

/** For the loader, which makes a sheet of it. */
export const css = WIDGET_STYLES;

const CAUSES = {
  [Fault.too_large]: 'too_large',
  [Fault.rejected]: 'rejected',
  full: 'full',
};

/** Another text would be taken; an id that is in use cannot be kept either. */
const EDIT = [Fault.rejected, Fault.too_large, Fault.id_conflict];
/** Another conversation would take it. */
const OVER = [Fault.session_closed, Fault.no_such_session];
/** What an event line says to a visitor. Other events are the operators' affair. */
const EVENTS = {
  claimed: 'joined', assigned: 'joined', closed: 'closed', rated: 'thanks',
};

/**
 * @param {{host: HTMLElement, root: ShadowRoot, launcher: HTMLElement, origin: string,
 *   given: any}} from `given` is what the page has set: workspace,
 *   locale, theme, and later identity, attributes
 */
export async function start({ host, root, launcher, origin, given }) {
  const { workspace } = given;
  await speak(origin, given.locale || document.documentElement.lang || navigator.language);
  const prefix = `chirrup:${workspace}:`;
  const visitor = new Visitor(origin, workspace, given);
  const badge = el('span.count', { hidden: true });
  const teaser = el('div.teaser', { role: 'status', hidden: true, click: open });
  const phone = matchMedia('(max-width:480px),(max-height:480px)');
  const night = matchMedia('(prefers-color-scheme: dark)');
  let me = { kind: 'visitor', id: '' };
  let talk; // the conversation
  let config = /** @type {any} */ ({}); // until it is there
  let fresh; // the next token is for a new conversation
  let not; // the conversation that is over
  let trouble; // what went wrong with the last thing the visitor did
  let muted = store.get(`${prefix}muted`);
  let queued, drawn; // the frame in which all is drawn; the form that is shown
  let state, begun; // of the link; whether the form before the chat is done with
  let unread = 0;

  const view = panel({ closed: left, send, typed, transcript: () => more.transcript(), renew, mute });
  const { log } = view;
  const link = new Link({
    origin,
    client: 'widget',
    token,
    opened,
    changed,
    frame: (got) => got.session === talk?.session && talk.frame(got),
  });
  const outbox = new Outbox(
    `${prefix}out:`,
    {
      changed,
      acked: (item, ack) => item.session === talk?.session && talk.commit(item, ack),
      home,
      route: (session) => session === talk?.session && talk.route(),
    },
  );
  const status = statusLine(view.line, link, outbox, () => trouble);
  const more = extras({
    visitor,
    view,
    workspace,
    send,
    choose,
    fail,
    config: () => config,
    talk: () => talk,
    begun() { begun = true; link.start(); render(); view.text.focus(); },
  });
  const thread = new Thread(log, {
    me: () => me,
    state: (item) => outbox.state(item),
    event: ({ body, payload, sender }) => {
      const said = EVENTS[payload?.event];
      const who = payload?.to ?? payload?.operator ?? sender;
      return !payload?.event ? body : said && say(said, who?.name);
    },
    failed,
    older: () => talk?.older(),
    lead: () => config.greeting,
    text: ({ body, payload, kind }) => linked(kind === Kind.buttons && payload?.text || body),
    extra: (model) => model.payload && !model.out && more.offers(model),
    tail,
    draw: (model) => more[model.draw](model),
  });
  const shown = () => view.root.open;
  const seen = () => shown() && !document.hidden;
  const closed = () => talk?.status === 'closed' || talk?.lost;

  /** As an event: what a page does wrong in its own functions stops nothing of ours. */
  function emit(name, detail) { host.dispatchEvent(new CustomEvent(name, { detail })); }

  /** A conversation that is about to begin has no name yet. */
  function home({ session, not }) {
    return session ?? (talk?.session !== not && talk?.session);
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
    talk.typing.preview = config.preview !== false;
    talk.open();
  }

  function told(what, entry) {
    if (what === Event.subscribed) outbox.run();
    if (talk.lost) outbox.refuse(talk.lost, ({ session }) => session === talk.session);
    if (entry) {
      outbox.remove(entry.id, entry);
      if (entry.sender && talk.live) { // an operators' note comes without any
        emit('message', entry);
        if (entry.sender.kind !== 'visitor' && entry.kind !== Kind.event) noticed(entry);
      }
    }
    if (what !== Event.typing) visitor.keep(talk.status !== 'closed' || outbox.items.length > 0);
    changed();
  }

  /** Somebody answers, and perhaps nobody looks. */
  function noticed({ sender, body }) {
    if (!shown() && config.teaser !== false) {
      teaser.replaceChildren(
        face(sender),
        el('p', { dir: 'auto' }, el('b', {}, sender.name), ' ', body),
      );
      teaser.hidden = false;
      addEventListener('click', () => { teaser.hidden = true; }, { once: true });
    }
    if (!seen() && !muted && config.sound !== false) tone();
  }

  /** Everything is drawn from the models, once per frame of the screen, however much came in. */
  function changed() { queued ||= requestAnimationFrame(() => { queued = 0; render(); }); }

  function render() {
    if (!host.isConnected) return; // taken away
    const theme = given.theme ?? config.theme;
    const count = talk?.unread().length ?? 0;
    host.toggleAttribute('dark', theme === 'dark' || theme !== 'light' && night.matches);
    // arriving history is not read out
    log.ariaLive = talk?.live ? 'polite' : 'off';
    thread.render(talk, outbox.items.map((item) => (
      talk && item.session && item.session !== talk.session
        ? { ...item, failed: Fault.no_such_session }
        : item
    )));
    status();
    forms();
    head(talk?.assignee);
    if (seen() && thread.atEnd) talk?.marks.confirm('read', talk.head);
    badge.hidden = shown() || !count;
    badge.textContent = count;
    launcher.ariaLabel = say(shown() ? 'close' : count ? 'unread' : 'open', count);
    teaser.hidden ||= badge.hidden;
    if (unread !== count) emit('unread', unread = count);
    if (state !== link.state) emit('status', state = link.state);
    title(seen() ? 0 : count);
  }

  function head(who) {
    const { hours, operators_available: staffed } = config;
    const away = hours && !hours.is_open;
    view.name.textContent = config.workspace?.name ?? '';
    view.mark.replaceChildren(who ? face(who) : swift());
    view.about.replaceChildren(
      el(`span.dot.${closed() || !who && (away || !staffed) ? 'off' : ''}`),
      closed() ? say('closed')
        : who
        ? say('here', who.name)
        : away && hours.opens_at
        ? say('opens', new Date(hours.opens_at).toLocaleString(
          language,
          { weekday: 'long', hour: 'numeric', minute: 'numeric' },
        ))
        : say(away || staffed === false ? 'away' : talk?.head ? 'queued' : 'welcome'),
    );
    view.transcript.hidden = !talk?.head;
    view.mute.ariaPressed = !!muted;
    view.mute.hidden = config.sound === false;
  }

  /** The form that stands in place of the composer, or of the whole conversation. */
  function forms() {
    const { rating, offline, prechat, hours } = config;
    const over = closed();
    const isRated = ({ payload }) => payload?.event === 'rated';
    const which = over
      ? rating?.enabled && talk.head && !talk.entries.some(isRated) && 'rate'
      : !config.workspace || talk?.entries.length || outbox.items.length || begun
      ? ''
      : offline?.enabled && !hours.is_open
      ? 'leave'
      : prechat?.enabled && !visitor.identity?.token && 'begin';
    log.hidden = which && !over;
    if (over && root.activeElement === view.text) log.focus(); // the composer goes
    view.form.hidden = view.menu.hidden = which || over;
    view.again.hidden = !over;
    if (which !== drawn) view.page.replaceChildren(which ? more[which]() : '');
    drawn = which;
  }

  /** Behind the last message: the place in the queue, and what may be answered with one click. */
  function tail() {
    const last = talk?.entries.at(-1);
    const { position, wait_ms } = talk?.queue ?? {};
    const some = !closed() && !outbox.waiting.length && last?.sender.kind !== 'visitor'
      && last?.payload?.quick_replies;
    return [
      !closed() && position > 0 && config.queue?.show_position !== false
        && { key: 'queue', draw: 'queue', position, wait_ms },
      some && { key: `r${last.id}`, draw: 'replies', some, to: last.id },
    ].filter(Boolean);
  }

  function failed({ key, failed: code }) {
    const item = outbox.items.find(({ id }) => id === key);
    const way = (what, click) => el('button.link', { click }, say(what));
    return [
      el('span', { role: 'alert' }, say(OVER.includes(code) ? 'closed' : CAUSES[code] ?? 'failed')),
      talk && item.session !== talk.session
        ? way('send_here', () => outbox.retry(item, { session: null }))
        : OVER.includes(code)
        ? way('again', renew)
        : EDIT.includes(code)
        ? way('edit', () => { outbox.remove(key); view.write(item.body); })
        : way('retry', () => outbox.retry(item)),
      way('delete', () => outbox.remove(key)),
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
    for (const item of items) outbox.retry(item, { session: null, not });
    if (items.length || !fresh) link.start();
    changed();
    view.text.focus();
  }

  function send(text, payload) {
    const cause = outbox.add(talk?.session ?? null, text, Kind.text, not, payload);
    trouble = cause && say(CAUSES[cause]);
    changed();
    if (cause) return false;
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
  function fail(error, what = 'failed') {
    trouble = say(what);
    emit('error', error);
    changed();
  }

  function mute() {
    store.set(`${prefix}muted`, muted = !muted);
    changed();
  }

  function open() {
    if (shown()) return;
    // a new visitor's conversation begins with the first message
    if (visitor.identity) link.start();
    if (!config.workspace) configure();
    if (phone.matches) view.root.showModal(); else view.root.show();
    (phone.matches ? log : view.text).focus();
    moved();
  }

  function close() { view.root.close(); }
  function toggle() { if (shown()) close(); else open(); }

  /** By whichever way. */
  function left() {
    talk?.typing.type('');
    launcher.focus();
    moved();
  }

  function moved() {
    const now = shown();
    host.toggleAttribute('open', now);
    launcher.replaceChildren(now ? icon('down') : badge);
    launcher.ariaExpanded = now;
    try { sessionStorage[`${prefix}open`] = now || ''; } catch { /* not kept */ }
    thread.toEnd();
    emit(now ? 'open' : 'close');
    changed();
  }

  async function configure() {
    try { config = await visitor.config(); } catch (error) {
      return fail(error, 'unavailable');
    }
    const { accent, position, locale } = config;
    trouble = '';
    if (accent) host.style.setProperty('--c-accent', accent);
    host.setAttribute('data-position', position);
    if (!given.locale && locale && locale !== 'auto') await speak(origin, locale);
    spoken();
  }

  /** Everything once more, in another language. */
  function spoken() {
    speakThread(language, say);
    view.speak();
    teaser.dir = direction();
    // At once, so that no list that was shown is ever seen empty.
    const draw = log.drawn ? render : changed;
    log.replaceChildren();
    log.drawn = drawn = undefined;
    view.menu.replaceChildren(config.menu ? more.menu() : '');
    draw();
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
  launcher.onclick = toggle;
  root.prepend(view.root, teaser);
  log.addEventListener('scroll', changed);
  addEventListener('online', () => link.nudge());
  document.addEventListener('visibilitychange', () => { link.nudge(); changed(); });
  night.onchange = changed;
  const timer = setInterval(status, 1000);
  spoken();
  if (visitor.identity?.talk) { link.start(); configure(); }
  try { if (sessionStorage[`${prefix}open`]) open(); } catch { /* not kept */ }
  return {
    open,
    close,
    toggle,
    identify: set('identity'),
    setAttributes: set('attributes'),
    async setLocale(locale) { await speak(origin, given.locale = locale); spoken(); },
    on(name, fn) { host.addEventListener(name, ({ detail }) => fn(detail)); },
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

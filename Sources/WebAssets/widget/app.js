// The widget put together: visitor, link, conversation, outbox, panel. The loader calls `start`
// once.

import { Conversation } from '../shared/conversation.js';
import { el, icon, paths } from '../shared/dom.js';
import { Outbox } from '../shared/outbox.js';
import { Fault, Kind } from '../shared/protocol.js';
import { Link } from '../shared/socket.js';
import { Thread, face } from '../shared/thread.js';
import { panel } from './panel.js';
import { dots, statusLine } from './status.js';
import { Visitor } from './visitor.js';

const CAUSES = {
  [Fault.session_closed]: 'This conversation is closed.',
  [Fault.no_such_session]: 'From an earlier conversation, perhaps not sent.',
  [Fault.too_large]: 'Too long, the limit is 16 KB.',
  [Fault.rejected]: 'This text cannot be sent.',
  old: 'Not sent for a week.',
  full: 'Too much waits to be sent. Wait, or delete some of it.',
};

/** Another text would be taken; an id that is in use cannot be kept either. */
const EDIT = [Fault.rejected, Fault.too_large, Fault.id_conflict];
/** Another conversation would take it. */
const OVER = [Fault.session_closed, Fault.no_such_session];

export function start({ host, root, launcher, origin, workspace }) {
  paths.swift = launcher.querySelector('path').getAttribute('d');
  const openKey = `chirrup:${workspace}:open`;
  const visitor = new Visitor(origin, workspace);
  const badge = el('span.count', { hidden: true });
  const teaser = el('div.teaser', { role: 'status', hidden: true, click: open });
  const phone = matchMedia('(max-width: 480px)');
  let me = { kind: 'visitor', id: '' };
  let talk = /** @type {Conversation?} */ (null);
  let config = null;
  let fresh = false; // the next token is for a new conversation
  let not = /** @type {string?} */ (null); // the conversation that is over
  let trouble = ''; // why the outbox did not take the last text
  let queued = 0;

  const view = panel({ close, send, typed });
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
    event: ({ body }) => body,
    failed,
    older: () => talk?.older(),
    lead: () => config?.greeting,
    drawLead,
    typing,
  });
  const shown = () => !view.root.hidden;

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
    talk.open();
  }

  function told(what, entry) {
    if (what === 'ready') outbox.run();
    if (what === 'lost') outbox.refuse(talk.lost, ({ session }) => session === talk.session);
    if (entry) outbox.remove(entry.id, entry);
    if (entry?.sender?.kind === 'operator' && talk.live && !shown()) tease(entry);
    if (what !== 'typing') visitor.keep(talk.status !== 'closed' || outbox.items.length > 0);
    changed();
  }

  /** Everything is drawn from the models, once per frame of the screen, however much came in. */
  function changed() { queued ||= requestAnimationFrame(() => { queued = 0; render(); }); }

  function render() {
    const closed = talk?.status === 'closed' || !!talk?.lost;
    const unread = talk?.unread().length ?? 0;
    // arriving history is not read out
    view.log.setAttribute('aria-live', talk?.live ? 'polite' : 'off');
    thread.render(talk, outbox.items.map((item) => (
      talk && item.session && item.session !== talk.session
        ? { ...item, failed: Fault.no_such_session }
        : item
    )));
    status();
    view.form.hidden = closed;
    view.again.hidden = !closed;
    head(closed, talk?.assignee);
    if (shown() && document.visibilityState === 'visible' && thread.atEnd) {
      talk?.marks.confirm('read', talk.head);
    }
    badge.hidden = shown() || !unread;
    badge.textContent = unread > 99 ? '99+' : unread;
    launcher.setAttribute(
      'aria-label',
      shown() ? 'Close chat' : unread ? `Open chat, ${unread} unread` : 'Open chat',
    );
    teaser.hidden ||= badge.hidden;
  }

  function head(closed, who) {
    view.name.textContent = config?.workspace.name ?? 'Chat';
    view.mark.replaceChildren(who ? face({ ...who, kind: 'operator' }) : icon('swift'));
    view.about.replaceChildren(
      el(`span.dot${closed || !who ? '.off' : ''}`),
      closed ? 'Conversation closed'
        : who
        ? `${who.name} is here`
        : talk?.head
        ? 'Your message is in the queue'
        : 'Write to us, we answer here',
    );
  }

  function drawLead({ title, text }) {
    return el(
      'div.lead',
      {},
      icon('swift'),
      el('h3', { dir: 'auto' }, title),
      el('p', { dir: 'auto' }, text),
    );
  }

  function typing({ who }) {
    return el(
      'div.say.in.first.last',
      {},
      face(who),
      el('p.bubble.typing', {}, dots(), el('span.sr-only', {}, `${who.name} is typing`)),
    );
  }

  function failed({ key, failed: code }) {
    const item = outbox.items.find(({ id }) => id === key);
    const way = (words, click) => el('button.link', { click }, words);
    const edit = () => { outbox.remove(key); view.write(item.body); };
    return [
      el('span', { role: 'alert' }, CAUSES[code] ?? 'Not sent.'),
      talk && item.session !== talk.session
        ? way('Send here', () => outbox.retry(item, { session: null }))
        : OVER.includes(code)
        ? way('Start a new one', renew)
        : EDIT.includes(code)
        ? way('Edit', edit)
        : way('Try again', () => outbox.retry(item)),
      way('Delete', () => outbox.remove(key)),
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

  function send(text) {
    trouble = CAUSES[outbox.add(talk?.session ?? null, text, Kind.text, not)] ?? '';
    changed();
    if (trouble) return false;
    talk?.typing.type('');
    visitor.keep(true);
    thread.toEnd();
    link.start();
    return true;
  }

  function typed(text) {
    trouble = '';
    status();
    talk?.typing.type(text);
  }

  function tease({ sender, body }) {
    teaser.replaceChildren(face(sender), el(
      'p',
      { dir: 'auto' },
      el('b', {}, `${sender.name} `),
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
    launcher.firstChild.replaceWith(icon(now ? 'down' : 'swift'));
    launcher.setAttribute('aria-expanded', now);
    view.root.setAttribute('aria-modal', phone.matches);
    try { sessionStorage.setItem(openKey, now ? '1' : ''); } catch { /* not kept */ }
    thread.toEnd();
    if (now) {
      // a new visitor's conversation begins with the first message
      if (visitor.identity) link.start();
      config ?? visitor.config().then(
        (got) => { config = got; accent(got?.accent); changed(); },
        () => {},
      );
      (phone.matches ? view.log : view.text).focus();
    } else {
      talk?.typing.type('');
      launcher.focus();
    }
    changed();
  }

  function accent(colour) { if (colour) host.style.setProperty('--c-accent', colour); }

  launcher.append(badge);
  root.prepend(view.root, teaser);
  view.again.onclick = renew;
  view.log.addEventListener('scroll', changed, { passive: true });
  addEventListener('online', () => link.nudge());
  document.addEventListener('visibilitychange', () => { link.nudge(); changed(); });
  setInterval(status, 1000);
  if (visitor.identity?.talk) link.start();
  try { if (sessionStorage.getItem(openKey)) open(); } catch { /* not kept */ }
  return { open, close, toggle: () => show(!shown()) };
}

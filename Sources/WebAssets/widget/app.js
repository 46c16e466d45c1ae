// The widget put together: visitor, link, conversation, outbox, panel. The loader calls `start` once.

import { Conversation } from '../shared/conversation.js';
import { el, icon, plural } from '../shared/dom.js';
import { Outbox } from '../shared/outbox.js';
import { Fault, Kind } from '../shared/protocol.js';
import { Link } from '../shared/socket.js';
import { Thread, face } from '../shared/thread.js';
import { panel } from './panel.js';
import { Status, dots } from './status.js';
import { Visitor } from './visitor.js';

const EVENTS = { claimed: (by) => `${by} joined`, closed: () => 'The conversation is closed', reopened: () => 'The conversation is open again' };
const CAUSES = { [Fault.sessionClosed]: 'This conversation is closed.', [Fault.tooLarge]: 'Too long, the limit is 16 KB.', [Fault.rejected]: 'This text cannot be sent.' };

export function start({ host, root, launcher, origin, workspace }) {
  const visitor = new Visitor(origin, workspace);
  const badge = el('span.count', { hidden: true });
  const teaser = el('div.teaser', { role: 'status', hidden: true, click: open });
  const phone = matchMedia('(max-width: 480px)');
  let talk = /** @type {Conversation?} */ (null);
  let me = { kind: 'visitor', id: '' };
  let config = null;
  let fresh = false;
  let queued = 0;

  const view = panel({ close, send, typed: (text) => talk?.type(text) });
  const link = new Link({ origin, client: 'widget', token: (renew) => visitor.token(renew, take()), opened, frame, changed });
  const outbox = new Outbox(`chirrup:${workspace}:out:`, link, { changed, acked: (item, ack) => talk?.session === item.session && talk.commit(item, ack) });
  const status = new Status(view.status, link, outbox);
  const thread = new Thread(view.log, { mine: 'visitor', me: () => me, online: () => link.state === 'open', event, failed, older: () => talk?.older(), lead, drawLead, typing });

  function take() { const was = fresh; fresh = false; return was; }
  const shown = () => !view.root.hidden;
  const seen = () => shown() && document.visibilityState === 'visible' && thread.atEnd;

  function opened({ you }) {
    const { session } = visitor.identity;
    me = { kind: you.kind, id: you.id };
    if (talk?.session !== session) talk = new Conversation(link, session, me, (what, detail) => told(what, detail));
    talk.open();
  }

  function frame(got) { if (got.session === talk?.session) talk?.frame(got); }

  function told(what, entry) {
    if (what === 'ready') outbox.pump(talk.session);
    if (what === 'message') {
      if (entry) outbox.remove(entry.id);
      visitor.keep({ talk: true });
      if (entry?.sender?.kind === 'operator' && talk.live && !shown()) tease(entry);
    }
    if (what === 'state' || what === 'ready') visitor.keep({ talk: talk.status !== 'closed' && talk.head > 0 });
    changed();
  }

  /** Everything is drawn from the models, once per frame of the screen, however much came in. */
  function changed() { queued ||= requestAnimationFrame(() => { queued = 0; render(); }); }

  function render() {
    const closedNow = talk?.status === 'closed';
    const unread = talk?.unread().length ?? 0;
    view.log.setAttribute('aria-live', talk?.live ? 'polite' : 'off'); // arriving history is not read out
    thread.render(talk, outbox.items.filter((item) => !item.session || item.session === talk?.session || !talk));
    status.render();
    view.form.hidden = closedNow;
    view.closed.hidden = !closedNow;
    head(closedNow);
    if (seen() && talk?.ready) talk.confirm('read', talk.head);
    badge.hidden = shown() || !unread;
    badge.textContent = unread > 99 ? '99+' : String(unread);
    launcher.setAttribute('aria-label', shown() ? 'Close chat' : unread ? `Open chat, ${plural(unread, 'unread message', 'unread messages')}` : 'Open chat');
    if (shown() || !unread) teaser.hidden = true;
  }

  function head(closedNow) {
    const who = talk?.assignee;
    view.name.textContent = config?.workspace?.name ?? 'Chat';
    view.mark.replaceChildren(who ? face({ ...who, kind: 'operator' }) : icon('swift'));
    view.mark.classList.toggle('plain', !!who);
    const waiting = talk?.status === 'waiting' && talk.entries.length > 0;
    view.about.replaceChildren(el(`span.dot${closedNow || !who ? '.off' : ''}`),
      closedNow ? 'Conversation closed' : who ? `${who.name} is here` : waiting ? 'Your message is in the queue' : 'Write to us, we answer here');
  }

  function lead() { return config?.greeting; }
  function drawLead({ title, text }) { return el('div.lead', {}, icon('swift'), el('h3', { dir: 'auto' }, title), el('p', { dir: 'auto' }, text)); }

  function typing({ who }) {
    return el('div.say.in.first.last', {}, face(who), el('p.bubble.typing', {}, dots(), el('span.sr-only', {}, `${who.name} is typing`)));
  }

  function event({ payload, body }) {
    return EVENTS[payload?.event]?.(payload.operator?.name ?? payload.by?.name) ?? body;
  }

  function failed({ key, failed: code }) {
    const item = outbox.items.find(({ id }) => id === key);
    const link = (words, click) => el('button.link', { type: 'button', click }, words);
    if (code === Fault.sessionClosed) return [el('span', { role: 'alert' }, CAUSES[code]), link('Start a new one', () => renew(item))];
    return [el('span', { role: 'alert' }, CAUSES[code] ?? 'Not sent.'), link('Try again', () => { outbox.retry(item); outbox.pump(talk.session); }), link('Delete', () => outbox.remove(key))];
  }

  /** A new conversation, with what could not be said in the old one. */
  function renew(item) {
    if (item) outbox.retry(item, null);
    fresh = true;
    talk = null;
    link.stop();
    link.start();
    view.text.focus();
  }

  function send(text) {
    if (new TextEncoder().encode(text).length > 16_384) return false;
    outbox.add(talk?.session ?? null, text);
    talk?.type('');
    thread.toEnd();
    visitor.keep({ talk: true });
    if (talk?.ready) outbox.pump(talk.session);
    return true;
  }

  function tease(entry) {
    teaser.replaceChildren(face(entry.sender), el('p', { dir: 'auto' }, el('b', {}, `${entry.sender.name} `), entry.body));
    teaser.hidden = false;
    addEventListener('click', () => { teaser.hidden = true; }, { once: true });
  }

  function open() {
    if (shown()) return;
    view.root.hidden = false;
    fit();
    remember(true);
    link.start();
    config ?? visitor.config().then((got) => { config = got; accent(); changed(); }).catch(() => {});
    thread.toEnd();
    if (phone.matches) view.log.focus(); else view.text.focus();
    changed();
  }

  function close() {
    if (!shown()) return;
    view.root.hidden = true;
    fit();
    remember(false);
    talk?.type('');
    if (!talk?.entries.length && !outbox.items.length) link.stop(); // looked, said nothing
    launcher.focus();
    changed();
  }

  function fit() {
    host.toggleAttribute('open', shown());
    view.root.setAttribute('aria-modal', String(phone.matches));
    launcher.querySelector('svg').replaceWith(icon(shown() ? 'down' : 'swift'));
    launcher.setAttribute('aria-expanded', String(shown()));
  }

  function accent() { if (/^#[0-9a-f]{6}$/i.test(config?.accent ?? '')) host.style.setProperty('--c-accent', config.accent, 'important'); }
  function remember(now) { try { if (now) sessionStorage.setItem(`chirrup:${workspace}:open`, '1'); else sessionStorage.removeItem(`chirrup:${workspace}:open`); } catch { /* not kept */ } }

  launcher.append(badge);
  root.prepend(view.root, teaser);
  phone.addEventListener('change', fit);
  addEventListener('online', () => link.nudge());
  document.addEventListener('visibilitychange', () => { if (document.visibilityState === 'visible') link.nudge(); changed(); });
  view.log.addEventListener('scroll', changed, { passive: true });
  setInterval(() => (shown() || link.state !== 'open') && status.render(), 1000);
  if (visitor.identity?.talk || outbox.items.length) link.start();
  try { if (sessionStorage.getItem(`chirrup:${workspace}:open`)) open(); } catch { /* not kept */ }
  return { open, close, toggle: () => (shown() ? close() : open()) };
}

// The lines above the composer of a conversation whose visitor has an e-mail address: what was sent
// there, and whether a reply goes there; and who has written the messages that came by e-mail.
// Nothing of it is news of the socket. So the gateway is asked when the conversation is opened,
// after a new message, once when that message is due, and while a message is being sent.

import { el } from '../../shared/dom.js';
import { api, reasonOf } from '../shell/api.js';
import { locale, t } from '../shell/language.js';

const SETTLE = 1000; // ms after a message until its row of the outbox may have changed
const SENDING = 5000; // ms between two requests while a message is being sent
const SLACK = 5; // s that the gateway may take to send what is due
const SEARCH = 6000; // ms until the gateway has found what is to be sent again
const LONGEST = 86_400; // s until a message can be due

/** @typedef {import('./reply-part.js').Told} Told */

/** @param {number} seconds */
function span(seconds) {
  const [unit, size] = seconds < 120 ? ['second', 1] : seconds < 7200 ? ['minute', 60] : ['hour', 3600];
  return new Intl.NumberFormat(locale, { style: 'unit', unit: String(unit), unitDisplay: 'long' })
    .format(Math.round(seconds / Number(size)));
}

/** @param {string} at */
function moment(at) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(locale, {
    hour: 'numeric', minute: '2-digit', ...(!isToday && { day: 'numeric', month: 'short' }),
  });
}

/**
 * What became of the last message with answers; '' if none was sent.
 * @param {ConversationMail['messages'][0] | undefined} last
 */
function fate(last) {
  if (last?.state === 'failed') return t('Not sent by e-mail to {1}: {2}', last.recipient, last.reason);
  if (last?.state === 'pending') return t('Being sent by e-mail to {}', last.recipient);
  return last?.state === 'sent' ? t('Sent by e-mail to {1}, {2}', last.recipient, moment(last.at)) : '';
}

/**
 * Where a reply goes, if the visitor has left.
 * @param {ConversationMail} mail
 */
function aim({ recipient, after_seconds: after, stopped }) {
  if (stopped) return t('The visitor has ended e-mails: they see a reply when they return.');
  if (!recipient || after === null) return '';
  return t('A reply goes to {1} by e-mail after {2}, unless it is read in the chat first.', recipient, span(after));
}

/**
 * Who has written a reply by e-mail.
 * @param {ConversationMail['replies'][0]} reply
 */
function origin({ author, is_verified: isVerified, verdict }) {
  if (isVerified) return t('By e-mail from {}. The sender is verified.', author);
  return verdict
    ? t('By e-mail from {1}. The sender is not verified: {2}', author, verdict)
    : t('By e-mail from {}. The sender is not verified.', author);
}

export class MailLine {
  root = el('div', { role: 'status' });
  /** @type {Told | undefined} */
  #told;
  /** @type {ConversationMail | undefined} */
  #mail;
  #timer = 0;
  /** The last entry for whose e-mail this has waited. */
  #awaited = 0;
  /** The words on the screen. */
  #sign = '';
  /** Why the last answers could not be sent again. */
  #fault = '';

  /** @param {Told} told */
  show(told) {
    const before = this.#told;
    this.#told = told;
    if (told.id !== before?.id) {
      this.#mail = undefined;
      this.#fault = '';
      this.#awaited = 0;
      clearTimeout(this.#timer);
    }
    if (told.channel === 'web' && told.address) {
      if (told.id !== before?.id || told.address !== before.address) void this.#look();
      else if (told.head !== before.head) this.#later(SETTLE);
    }
    this.#draw();
  }

  /** @param {number} pause ms */
  #later(pause) {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#look(), pause);
  }

  async #look() {
    const { id = '', head = 0 } = this.#told ?? {};
    try {
      const mail = await api.mail(id);
      if (id !== this.#told?.id) return;
      const [last] = mail.messages;
      this.#mail = mail;
      if (last?.state === 'pending') this.#later(SENDING);
      else if (mail.recipient && this.#awaited < head && (last?.last_seq ?? 0) < head) {
        this.#awaited = head;
        this.#await(mail);
      }
      this.#draw();
    } catch {
      // The connection's own line tells of it; the next message asks again.
    }
  }

  async #sendAgain() {
    const { id = '' } = this.#told ?? {};
    this.#fault = '';
    try {
      await api.sendMailAgain(id);
      const last = this.#mail?.messages[0];
      if (id !== this.#told?.id) return;
      if (last) last.state = 'pending';
      this.#later(SEARCH);
    } catch (error) {
      if (id === this.#told?.id) this.#fault = reasonOf(error, t('The server is not responding.'));
    }
    this.#draw();
  }

  /** @param {ConversationMail} mail */
  #await(mail) {
    const seconds = Math.min(mail.after_seconds ?? LONGEST, LONGEST) + SLACK;
    this.#later(seconds * 1000);
  }

  /** Completes the marks of messages that came by e-mail. */
  #mark() {
    const replies = new Map(this.#mail?.replies.map((reply) => [reply.message_id, reply]));
    for (const mark of document.querySelectorAll('.log .by-mail')) {
      const reply = replies.get(/** @type {HTMLElement} */ (mark).dataset.id ?? '');
      const words = reply && origin(reply);
      if (words && mark.textContent !== words) mark.textContent = words;
      mark.classList.toggle('trouble', reply?.is_verified === false);
    }
  }

  #draw() {
    const mail = this.#mail;
    this.#mark();
    const last = mail?.messages[0];
    const isLeft = this.#told?.online === false && this.#told.isOpen;
    const isFailed = last?.state === 'failed';
    const words = mail ? [fate(last), isFailed ? this.#fault : '', isLeft ? aim(mail) : ''] : [];
    const sign = words.join('\n');
    if (sign === this.#sign) return;
    this.#sign = sign;
    this.root.replaceChildren(...words.filter(Boolean).map((text, at) => el(
      `p.channel-line${at === 0 && isFailed ? '.trouble' : ''}`, {}, text,
      at === 0 && isFailed && [' ', el('button.link', {
        type: 'button', click: () => this.#sendAgain(),
      }, t('Send again'))])));
  }
}

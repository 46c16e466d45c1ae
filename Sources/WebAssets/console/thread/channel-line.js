// What became of messages on a channel, such as LINE: a line above the composer, and the reason at
// each message that did not reach the person, or perhaps not, which can be sent again.

import { el } from '../../shared/dom.js';
import { api, reasonOf } from '../shell/api.js';
import { isServed, nameOfChannel } from '../shell/channels.js';
import { t } from '../shell/language.js';

const PAUSE = 3000; // ms between two requests while the conversation is open

/**
 * What is to be said of the whole conversation.
 * @param {ChannelDeliveries} state
 */
function words({ channel, is_blocked: isBlocked, problem, deliveries }) {
  const name = nameOfChannel(channel);
  if (isBlocked) return t('The person has blocked your account at {}.', name);
  const last = deliveries.at(-1);
  if (last?.status === 'pending') {
    return problem ? t('Waits to be sent to {1}: {2}', name, problem) : t('Being sent to {}', name);
  }
  return last?.status === 'sent' ? t('Sent to {}', name) : t('Replies go to {}', name);
}

export class ChannelLine {
  root = el('p.channel-line', { role: 'status', hidden: true });
  #id = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #changed;
  /**
   * Why messages have failed, or perhaps, by their ids.
   * @type {Map<string, string>}
   */
  #reasons = new Map();
  /**
   * Messages that are just being made due again, and why that was not possible.
   * @type {Map<string, string>}
   */
  #again = new Map();

  /** @param {() => void} changed is called when the messages are to be drawn again */
  constructor(changed) { this.#changed = changed; }

  /**
   * Shows the state of this conversation; of none if it is on no channel.
   * @param {string} id
   * @param {string | undefined} channel
   */
  show(id, channel) {
    const wanted = channel && channel !== 'web' ? id : '';
    if (wanted === this.#id) return;
    this.#id = wanted;
    this.#reasons = new Map();
    this.#again = new Map();
    this.root.hidden = true;
    clearTimeout(this.#timer);
    // What came by e-mail to another system is answered by e-mail: MailLine says where to.
    if (!wanted || !channel || channel === 'email') return;
    if (isServed(channel)) return void this.#look(wanted);
    this.root.textContent = t('Nothing is sent to {}. The visitor sees replies in the chat.', channel);
    this.root.classList.remove('trouble');
    this.root.hidden = false;
  }

  /**
   * Messages that did not reach the person are drawn as such, although they are in the log.
   * @param {(Entry & {failed?: string})[]} entries
   */
  mark(entries) {
    for (const entry of entries) {
      const reason = this.#reasons.get(entry.id);
      // Whatever the line shows is a part of it: another value draws the line again.
      if (reason) entry.failed = `${reason}\n${this.#again.get(entry.id) ?? '-'}`;
      else if (entry.failed) delete entry.failed;
    }
  }

  /**
   * The line below a message that did not reach the person.
   * @param {string} id
   */
  failed(id) {
    const reason = this.#reasons.get(id);
    if (reason === undefined) return null;
    const fault = this.#again.get(id);
    return [
      el('span', {}, reason),
      ...fault ? [el('span', { role: 'alert' }, fault)] : [],
      el('button.link', {
        type: 'button', disabled: fault === '', click: () => this.#sendAgain(id),
      }, t('Send again')),
    ];
  }

  /** @param {string} message */
  async #sendAgain(message) {
    const id = this.#id;
    this.#again.set(message, '');
    this.#changed();
    try {
      await api.sendAgain(id, message);
      this.#again.delete(message);
      if (id !== this.#id) return;
      this.#reasons.delete(message);
      clearTimeout(this.#timer);
      void this.#look(id);
    } catch (error) {
      this.#again.set(message, reasonOf(error, t('The server is not responding.')));
    }
    this.#changed();
  }

  /** @param {string} id */
  async #look(id) {
    if (document.visibilityState === 'visible') {
      try {
        const state = await api.deliveries(id);
        if (id !== this.#id) return;
        this.#note(state);
      } catch {
        // The connection's own line tells of it; the next request may succeed.
      }
    }
    if (id === this.#id) this.#timer = setTimeout(() => this.#look(id), PAUSE);
  }

  /** @param {ChannelDeliveries} state */
  #note(state) {
    const text = words(state);
    if (this.root.textContent !== text) this.root.textContent = text;
    this.root.classList.toggle('trouble', state.is_blocked);
    this.root.hidden = false;
    let isNew = false;
    for (const { message, status, reason } of state.deliveries) {
      const name = nameOfChannel(state.channel);
      const before = this.#reasons.get(message);
      const after = status === 'failed' ? t('Not sent to {1}: {2}', name, reason ?? '')
        : status === 'unknown' ? t('Perhaps not sent to {1}: {2}', name, reason ?? '') : undefined;
      isNew ||= before !== after;
      if (after === undefined) this.#reasons.delete(message);
      else this.#reasons.set(message, after);
    }
    if (isNew) this.#changed();
  }
}

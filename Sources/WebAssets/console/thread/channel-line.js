// What became of messages on a channel, such as LINE: a line above the composer, and the reason at
// each message that did not reach the person.

import { el } from '../../shared/dom.js';
import { api } from '../shell/api.js';
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
   * Why messages have failed, by their ids.
   * @type {Map<string, string>}
   */
  #reasons = new Map();

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
   * @param {Entry[]} entries
   */
  mark(entries) {
    if (!this.#reasons.size) return;
    for (const entry of entries) {
      const failed = this.#reasons.get(entry.id);
      if (failed) Object.assign(entry, { failed });
    }
  }

  /**
   * The line below a message that did not reach the person.
   * @param {string} id
   */
  failed(id) {
    const reason = this.#reasons.get(id);
    return reason === undefined ? null : [el('span', {}, reason)];
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
    const count = this.#reasons.size;
    for (const { message, status, reason } of state.deliveries) {
      if (status !== 'failed') continue;
      this.#reasons.set(message,
        t('Not sent to {1}: {2}', nameOfChannel(state.channel), reason ?? ''));
    }
    if (this.#reasons.size !== count) this.#changed();
  }
}

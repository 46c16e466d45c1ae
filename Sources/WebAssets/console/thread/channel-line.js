// The line above the composer of a conversation on a channel, such as LINE: whether what operators
// and bots wrote was sent, and why not.

import { el } from '../../shared/dom.js';
import { api } from '../shell/api.js';
import { t } from '../shell/language.js';

const PAUSE = 3000; // ms between two requests while the conversation is open

/** @type {Record<string, string>} */
const NAMES = { line: 'LINE' };

/**
 * What is to be said.
 * @param {ChannelDeliveries} state
 */
function words({ channel, is_blocked: isBlocked, problem, deliveries }) {
  const name = NAMES[channel] ?? channel;
  const last = deliveries.at(-1);
  if (last?.status === 'failed') return t('Not sent to {1}: {2}', name, last.reason ?? '');
  if (isBlocked) return t('The person has blocked your account at {}.', name);
  if (last?.status === 'pending') {
    return problem ? t('Waits to be sent to {1}: {2}', name, problem) : t('Being sent to {}', name);
  }
  return last ? t('Sent to {}', name) : t('Replies go to {}', name);
}

export class ChannelLine {
  root = el('p.channel-line', { role: 'status', hidden: true });
  #id = '';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * Shows the state of this conversation; of none if it is on no channel.
   * @param {string} id
   * @param {string | undefined} channel
   */
  show(id, channel) {
    const wanted = channel && channel !== 'web' ? id : '';
    if (wanted === this.#id) return;
    this.#id = wanted;
    this.root.hidden = true;
    clearTimeout(this.#timer);
    if (wanted) void this.#look(wanted);
  }

  /** @param {string} id */
  async #look(id) {
    if (document.visibilityState === 'visible') {
      try {
        const state = await api.deliveries(id);
        if (id !== this.#id) return;
        const text = words(state);
        if (this.root.textContent !== text) this.root.textContent = text;
        this.root.classList.toggle('trouble', state.deliveries.at(-1)?.status === 'failed');
        this.root.hidden = false;
      } catch {
        // The connection's own line tells of it; the next request may succeed.
      }
    }
    if (id === this.#id) this.#timer = setTimeout(() => this.#look(id), PAUSE);
  }
}

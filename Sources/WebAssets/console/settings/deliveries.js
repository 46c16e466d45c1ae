// The log of a webhook's deliveries, with buttons that send a test, or a delivery again.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { ago, moment } from './times.js';

const POLL = 3000; // ms between two loads of a log with pending deliveries
const SHOWN = 20;
/** @type {Record<string, string>} */
const STATES = { pending: t('Pending'), delivered: t('Delivered'), failed: t('Failed') };

/**
 * @param {Rest} rest
 * @param {string} webhook its id
 * @param {boolean} mayWrite
 */
export function deliveries(rest, webhook, mayWrite) {
  const log = new Deliveries(rest, webhook, mayWrite);
  log.load();
  return log.root;
}

class Deliveries {
  #rest;
  #webhook;
  #mayWrite;
  #list = el('div.deliveries');
  #status = el('p.hint', { role: 'status' });
  #timer = 0;

  /**
   * @param {Rest} rest
   * @param {string} webhook
   * @param {boolean} mayWrite
   */
  constructor(rest, webhook, mayWrite) {
    this.#rest = rest;
    this.#webhook = webhook;
    this.#mayWrite = mayWrite;
    this.root = el(
      'section.field',
      { 'aria-label': t('Deliveries') },
      el(
        'div.label-line',
        {},
        el('span.label', {}, t('Deliveries')),
        el('span.grow'),
        el(
          'button.button.quiet',
          { type: 'button', click: () => { this.load(); } },
          icon('reload', 'small'),
          t('Refresh'),
        ),
        mayWrite && el(
          'button.button',
          { type: 'button', click: () => { this.#post('test', t('Test queued. Its result appears below.')); } },
          t('Send test'),
        ),
      ),
      this.#status,
      this.#list,
    );
  }

  async load() {
    try {
      const { deliveries: list } = await this.#rest.get(
        `webhooks/${this.#webhook}/deliveries`,
        { limit: SHOWN },
      );
      this.#draw(list);
      clearTimeout(this.#timer);
      // pending deliveries are polled while the log is visible
      if (list.some(({ status }) => status === 'pending')) {
        this.#timer = setTimeout(() => { if (this.#list.checkVisibility?.()) this.load(); }, POLL);
      }
    } catch (error) {
      this.#list.replaceChildren(el('p.hint', {}, sentence(error)));
    }
  }

  /**
   * @param {string} path
   * @param {string} words after a success
   */
  async #post(path, words) {
    this.#status.textContent = '';
    try {
      await this.#rest.post(`webhooks/${this.#webhook}/${path}`);
      this.#status.textContent = words;
    } catch (error) {
      this.#status.textContent = sentence(error);
    }
    await this.load();
  }

  /** @param {Delivery[]} list */
  #draw(list) {
    this.#list.replaceChildren(list.length
      ? el('ul.plain.log-list', {}, ...list.map((one) => this.#line(one)))
      : el('p.hint', {}, t('No deliveries yet. Send a test to check the connection.')));
  }

  /** @param {Delivery} one */
  #line(one) {
    const { id, event, status, created_at: at } = one;
    const look = status === 'delivered' ? 'check' : status === 'failed' ? 'alert' : 'clock';
    return el(
      'li',
      {},
      icon(look, `small ${status}`),
      el(
        'span.item-text',
        {},
        el('b', {}, event),
        el('span.item-meta', { title: moment(at) }, summary(one)),
      ),
      this.#mayWrite && status !== 'pending' && el('button.button.quiet', {
        type: 'button',
        'aria-label': t('Send {1} of {2} again', event, moment(at)),
        click: () => {
          this.#post(`deliveries/${id}/redeliver`, t('Queued again, with the same ID.'));
        },
      }, t('Send again')),
    );
  }
}

/** @param {Delivery} delivery */
function summary({ status, attempts, created_at: at, last_error: error, next_attempt_at: next }) {
  return [
    STATES[status] ?? status,
    attempts > 1 && t('{} attempts', attempts),
    ago(at),
    status !== 'delivered' && error,
    status === 'pending' && next && Date.parse(next) > Date.now() + 1000
      && t('next attempt {}', ago(next)),
  ].filter(Boolean).join(', ');
}

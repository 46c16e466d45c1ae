// The channels below the credentials that they need: the address of the webhook, a test, and what
// is used of the month's messages.

import { el } from '../../shared/dom.js';
import { nameOfChannel } from '../shell/channels.js';
import { locale, pieces, t } from '../shell/language.js';
import { part, sentence } from '../shell/rest.js';
import { copyable } from './fields.js';
import { isAdmin } from './pane.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */

const number = new Intl.NumberFormat(locale);

/**
 * What is used of the platform's quota; nothing if it has none.
 * @param {SettingsContext} context
 * @param {Channel} channel
 */
function quotaLine(context, { name }) {
  const line = el('p.hint', { role: 'status', hidden: true });
  const show = (/** @type {string} */ words) => {
    line.textContent = words;
    line.hidden = !words;
  };
  context.rest.get(`channels/${part(name)}/quota`).then(({ quota, detail }) => {
    if (!quota) return show(detail && t('The quota of messages cannot be read: {}', detail));
    const used = number.format(quota.used);
    show(quota.limit === null ? t('Messages of this month: {}, without a limit', used)
      : t('Messages of this month: {1} of {2}', used, number.format(quota.limit)));
    line.classList.toggle('trouble-line', quota.limit !== null && quota.used >= quota.limit);
  }, (error) => show(t('The quota of messages cannot be read: {}', sentence(error))));
  return line;
}

/**
 * @param {SettingsContext} context
 * @param {Channel} channel
 */
function box(context, channel) {
  const url = channel.webhook_url ?? location.origin + channel.webhook_path;
  const status = el('p.hint', { role: 'status' });
  const missing = [
    !channel.receives && channel.signing_credential, !channel.sends && channel.sending_credential,
  ].filter(Boolean).join(', ');
  const test = el('button.button', {
    type: 'button',
    disabled: !channel.sends || !isAdmin(context),
    click: async () => {
      test.disabled = true;
      status.textContent = t('Waiting for the answer');
      try {
        const answer = await context.rest.post(`channels/${part(channel.name)}/test`);
        status.textContent = answer.works
          ? t('It works. The account is “{}”.', answer.account ?? '') : answer.detail;
      } catch (error) {
        status.textContent = sentence(error);
      }
      test.disabled = false;
    },
  }, t('Test'));
  return el(
    'section.channel',
    { 'aria-label': nameOfChannel(channel.name) },
    el('h2', {}, nameOfChannel(channel.name)),
    missing
      ? el('p.hint', {}, ...pieces('Still needed, as credentials of the service {1}: {2}.',
        el('code', {}, channel.name), el('code', {}, missing)))
      : el('p.hint', {}, t('Both credentials are stored.')),
    !channel.capabilities.typing && !channel.capabilities.read_marks
      && el('p.hint', {}, t('It tells neither who is writing nor what was read.')),
    el('p', {}, t('Address of the webhook, for {}:', nameOfChannel(channel.name))),
    el('code.webhook-url', {}, url),
    copyable(url, t('Copy address')),
    channel.sends && quotaLine(context, channel),
    test,
    status,
  );
}

/**
 * A node that fills itself, and again after `reload`.
 * @param {SettingsContext} context
 */
export function channels(context) {
  const root = el('div.channels');
  const reload = async () => {
    try {
      const { channels: all } = await context.rest.get('channels');
      root.replaceChildren(...all.map((it) => box(context, it)));
    } catch (error) {
      root.replaceChildren(el('p.trouble-line', {}, sentence(error)));
    }
  };
  void reload();
  return { root, reload };
}

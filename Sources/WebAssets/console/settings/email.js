// The page for e-mail: the sender, what is sent, a test, and what became of the last messages.

import { el, icon } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { sentence } from '../shell/rest.js';
import { number, text, toggle } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { isAdmin, lockedFor, pane } from './pane.js';
import { moment } from './times.js';

const SHOWN = 20; // messages of the list
const SECONDS = [0, 86_400];

/** @type {Record<MailMessage['kind'], string>} */
const KINDS = {
  answers: t('Answers'),
  offline: t('Offline form'),
  transcript: t('Transcript'),
  invitation: t('Invitation'),
  password_reset: t('New password'),
  alert: t('Alert'),
  test: t('Test message'),
};

/** @type {Record<MailMessage['state'], string>} */
const STATES = {
  pending: t('Waits'),
  sent: t('Sent'),
  failed: t('Not sent'),
  stopped: t('No longer needed'),
};

/** @param {MailMessage} item */
function row({ kind, recipient, state, reason, attempts, created_at: at }) {
  return el('li', {}, el('div', {},
    el('b.truncate', { dir: 'auto' }, `${KINDS[kind]} · ${recipient}`),
    state !== 'stopped' && reason && el('p.truncate', { dir: 'auto', title: reason }, reason),
    el('p.meta', {}, [
      STATES[state], moment(at), attempts > 1 && t('{} attempts', attempts),
    ].filter(Boolean).join(' · '))));
}

/** @param {import('./pane.js').SettingsContext} context */
function messages(context) {
  const status = el('p.hint', { role: 'status' });
  const rows = el('ul.deleted');

  /** @param {() => Promise<string>} work what it did */
  async function attempt(work) {
    try {
      status.textContent = await work();
    } catch (error) { status.textContent = sentence(error); }
  }

  const load = () => attempt(async () => {
    const { messages: all } = await context.rest.get(`mail/messages?limit=${SHOWN}`);
    rows.replaceChildren(...all.map(row));
    return all.length ? '' : t('Nothing was sent in the last days.');
  });
  const test = () => attempt(async () => {
    const { recipient } = await context.rest.post('mail/test', {});
    await load();
    return t('A test message to {} waits to be sent.', recipient);
  });
  load();
  return el('section.field', { 'aria-label': t('Last messages') },
    el('div.label-line', {}, el('span.label', {}, t('Last messages')), el('span.grow'),
      el('button.button.quiet', { type: 'button', click: load }, icon('reload', 'small'), t('Refresh')),
      el('button.button', { type: 'button', click: test }, t('Send a test message'))),
    status, rows);
}

/** @param {import('./form.js').Form<unknown>} form */
function fields(form) {
  return [
    text(form, 'mail.sender_name', { label: t('Sender’s name'), max: 100,
      hint: t('Empty: the name of the widget or the workspace.') }),
    text(form, 'mail.sender_address', { label: t('Sender’s address'), type: 'email', max: 254,
      code: true, hint: t('Empty: the gateway’s address. Your mail server must allow another one.') }),
    text(form, 'mail.reply_to', { label: t('Replies go to'), type: 'email', max: 254, code: true,
      hint: t('Empty: the sender.') }),
    toggle(form, 'mail.answers', { label: t('Send answers that visitors have not read'),
      hint: t('To visitors with an e-mail address. Each message has a link that ends them.') }),
    number(form, 'mail.answers_after_seconds', { label: t('Time after the last answer'),
      unit: t('seconds'), min: SECONDS[0], max: SECONDS[1] }),
    text(form, 'mail.offline_to', { label: t('Messages of the offline form go to'), type: 'email',
      max: 254, code: true, hint: t('Empty: nobody is notified.') }),
    text(form, 'mail.alert_to', { label: t('Alerts go to'), type: 'email', max: 254, code: true,
      hint: t('Empty: nobody is alerted. Alerts come within business hours.') }),
    number(form, 'mail.alert_after_seconds', { label: t('Alert when a visitor has waited for'),
      unit: t('seconds'), min: SECONDS[0], max: SECONDS[1] }),
    toggle(form, 'mail.transcripts', { label: t('Visitors may have the transcript sent'),
      hint: t('To their own address, three times an hour at most') }),
  ];
}

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const mayRead = isAdmin(context);
  const [known, state] = await Promise.all([
    context.workspace.load(),
    mayRead ? context.rest.get('mail') : { configured: true, from: null },
  ]);
  const form = new Form({ mail: known.settings.mail }, {
    keep: `${context.session().operator.id}:email`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    for (const name of /** @type {const} */ (['answers_after_seconds', 'alert_after_seconds'])) {
      const seconds = form.now.mail[name];
      if (!Number.isInteger(seconds) || seconds < SECONDS[0] || seconds > SECONDS[1]) {
        throw refusal(`mail.${name}`,
          t('Enter a whole number from {1} to {2}.', SECONDS[0], SECONDS[1]));
      }
    }
    const { settings } = await context.workspace.save({ mail: form.now.mail });
    return { mail: settings.mail };
  });
  form.onChange(() => context.changed());
  const { bar, submit } = saveBar(form, { save });
  return {
    root: pane({
      title: t('E-mail'),
      lead: state.configured ? t('What visitors and members get by e-mail, and from whom.')
        : t('This gateway has no mail server, so nothing is sent. Its administrator sets mail.smtp_url.'),
      submit,
      bar,
      body: [...fields(form), mayRead && state.configured && messages(context)],
    }),
    unsaved: () => form.changes.length,
  };
}

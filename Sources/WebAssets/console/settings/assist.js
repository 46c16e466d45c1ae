// Assist: the endpoint (OpenAI-compatible) that writes drafts for the operators, what it may write,
// and what it may cost. The key is written and never shown again.

import { el } from '../../shared/dom.js';
import { locale, t } from '../shell/language.js';
import { choice, confirmed, number, text, toggle } from './fields.js';
import { Form, saveBar } from './form.js';
import { lockedFor, pane } from './pane.js';
import { automaticAnswers } from './assist-automatic.js';
import { assistTrial } from './assist-trial.js';

/** @type {Assist} */
const BLANK = {
  enabled: false,
  uses: ['suggest', 'summary', 'translate'],
  endpoint: '',
  model: '',
  has_key: false,
  token_limit: 'max_tokens',
  tokens_per_day: 100_000,
  tokens_per_month: 1_000_000,
  timeout_seconds: 60,
  automatic: 'off',
  automatic_notice: 'This is an automatic answer. A colleague reads your message later.',
};

/** @type {[use: AssistUse, label: string, hint: string][]} */
const USES = [
  ['suggest', t('Suggested replies'), t('Based on the conversation, canned replies and closed conversations of this workspace')],
  ['summary', t('Summaries'), t('As a note, and as the reason of a transfer')],
  ['translate', t('Translations'), t('Of received messages and of drafts')],
];

/** @param {Assist?} assist */
const valuesOf = (assist) => {
  const { uses, ...values } = assist ?? BLANK;
  return {
    enabled: values.enabled,
    endpoint: values.endpoint,
    model: values.model,
    token_limit: values.token_limit,
    tokens_per_day: values.tokens_per_day,
    tokens_per_month: values.tokens_per_month,
    timeout_seconds: values.timeout_seconds,
    automatic: values.automatic,
    automatic_notice: values.automatic_notice,
    suggest: uses.includes('suggest'),
    summary: uses.includes('summary'),
    translate: uses.includes('translate'),
    api_key: '',
  };
};

/** @typedef {Form<ReturnType<typeof valuesOf>>} AssistForm */

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.rest.get('assist');
  /** @type {AssistForm} */
  const form = new Form(valuesOf(known.assist), { keep: 'assist', locked: lockedFor(context) });
  form.onChange(() => context.changed());
  const trial = assistTrial(context.rest, form, !!known.assist);
  const removal = confirmed(t('Remove'), t('Remove the endpoint and its key?'), () => form.save(
    async () => {
      await context.rest.remove('assist');
      trial.saved(false);
      return valuesOf(null);
    }, t('Removed')));
  removal.hidden = !known.assist || !!form.locked;
  const save = () => form.save(async () => {
    const { suggest, summary, translate, api_key: key, ...rest } = form.now;
    const answer = await context.rest.put('assist', {
      ...rest,
      uses: USES.map(([use]) => use).filter((use) => ({ suggest, summary, translate })[use]),
      ...(key && { api_key: key }),
    });
    removal.hidden = false;
    trial.saved(true);
    return valuesOf(answer.assist);
  });
  const { bar, submit } = saveBar(form, { save, more: [removal] });
  return {
    root: pane({
      title: t('Assist'),
      lead: t('Your own AI endpoint writes drafts for operators. Operators change and send them.'),
      body: [
        endpoint(form, !!known.assist?.has_key, trial.root), uses(form), automaticAnswers(form),
        limits(form, known),
      ],
      bar,
      submit,
    }),
    unsaved: () => form.changes.length,
  };
}

/**
 * @param {AssistForm} form
 * @param {boolean} hasKey
 * @param {HTMLElement} trial
 */
const endpoint = (form, hasKey, trial) => el(
  'section.panel.fill',
  { 'aria-labelledby': 'endpoint' },
  el('h2', { id: 'endpoint' }, t('Endpoint')),
  toggle(form, 'enabled', {
    label: t('Assist'),
    hint: t('While it is on, texts of conversations go to this endpoint when an operator asks for a draft. Open consoles show it after a reload'),
  }),
  text(form, 'endpoint', {
    label: t('Address'),
    hint: t('Of an OpenAI-compatible API, such as https://api.example.com/v1.'),
    max: 512,
    code: true,
    required: true,
  }),
  text(form, 'model', { label: t('Model'), max: 200, code: true, required: true }),
  text(form, 'api_key', {
    label: t('API key'),
    hint: hasKey ? t('The current key is not shown. Enter a new one to replace it.')
      : t('Stored encrypted.'),
    type: 'password',
    autocomplete: 'new-password',
    secret: true,
    max: 1024,
  }),
  choice(form, 'token_limit', {
    label: t('Length limit of answers'),
    hint: t('How the endpoint names it. OpenAI’s reasoning models need max_completion_tokens.'),
    options: [
      ['max_tokens', 'max_tokens'], ['max_completion_tokens', 'max_completion_tokens'],
    ],
  }),
  trial,
);

/** @param {AssistForm} form */
const uses = (form) => el(
  'section.panel.fill',
  { 'aria-labelledby': 'uses' },
  el('h2', { id: 'uses' }, t('Drafts')),
  ...USES.map(([use, label, hint]) => toggle(form, use, { label, hint })),
);

/**
 * @param {AssistForm} form
 * @param {AssistAnswer} known
 */
const limits = (form, known) => el(
  'section.panel.fill',
  { 'aria-labelledby': 'limits' },
  el('h2', { id: 'limits' }, t('Limits')),
  el('p.hint', {}, t('Spent today {1}\u00a0tokens, this month {2}\u00a0tokens (days in UTC).',
    known.tokens_today.toLocaleString(locale), known.tokens_this_month.toLocaleString(locale))),
  number(form, 'tokens_per_day', {
    label: t('A day'), unit: t('tokens'), min: 1, max: 1_000_000_000,
  }),
  number(form, 'tokens_per_month', {
    label: t('A month'), unit: t('tokens'), min: 1, max: 1_000_000_000,
  }),
  number(form, 'timeout_seconds', { label: t('Time for an answer'), unit: t('s|seconds'), min: 5, max: 120 }),
);

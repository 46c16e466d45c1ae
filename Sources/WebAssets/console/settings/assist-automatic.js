// Automatic answers: on what they are based, and the lines that say that they are automatic.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { select, text } from './fields.js';

/** @param {import('./assist.js').AssistForm} form */
export const automaticAnswers = (form) => el(
  'section.panel.fill',
  { 'aria-labelledby': 'automatic' },
  el('h2', { id: 'automatic' }, t('Automatic answers')),
  select(form, 'automatic', {
    label: t('While no operator is available, visitors get answers from'),
    hint: t('Visitors’ messages then go to the endpoint without an operator. At most one answer for each message, ten in a conversation and 60 an hour, and none once an operator has claimed it. Nobody checks these answers: closed conversations may hold what other visitors wrote.'),
    options: [
      ['off', t('Nothing')], ['replies', t('Canned replies')],
      ['conversations', t('Canned replies and closed conversations')],
    ],
  }),
  text(form, 'automatic_notice', {
    label: t('Last line of each answer'),
    hint: t('Says that no person wrote it.'),
    max: 500,
    required: true,
  }),
);

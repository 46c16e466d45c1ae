// The page for the queue: how waiting conversations are assigned.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { choice, number, toggle } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { lockedFor, pane } from './pane.js';
import { rules } from './routing.js';

const BOUNDS = {
  capacity: [1, 1000], reassign_after_seconds: [0, 86_400], close_after_minutes: [0, 10_080],
  first_response_minutes: [0, 43_200], resolution_minutes: [0, 43_200],
};

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const [known, { teams }] = await Promise.all([
    context.workspace.load(),
    context.rest.get('teams'),
  ]);
  const { queue, routing } = known.settings;
  const form = new Form({ queue, routing }, {
    keep: `${context.session().operator.id}:queue`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    for (const [key, [least, most]] of Object.entries(BOUNDS)) {
      /** @type {number?} */
      const value = form.get(`queue.${key}`);
      if (value == null || !Number.isInteger(value) || value < least || value > most) {
        throw refusal(`queue.${key}`, t('Enter a whole number from {1} to {2}.', least, most));
      }
    }
    if (form.now.routing.rules.some(({ team }) => !team)) {
      throw refusal('routing.rules', t('Choose a team for each rule.'));
    }
    const { settings } = await context.workspace.save({
      queue: form.now.queue, routing: form.now.routing,
    });
    return { queue: settings.queue, routing: settings.routing };
  });
  const status = el('p.hint');
  const follow = () => {
    const { capacity, assign } = form.now.queue;
    status.textContent = assign === 'off'
      ? t('Operators claim conversations from the queue, up to {} at a time.', capacity)
      : t('The operator with the fewest open conversations gets the next one, up to {} each.', capacity);
  };
  form.onChange(() => { follow(); context.changed(); });
  follow();
  const { bar, submit } = saveBar(form, { save });
  return {
    root: pane({
      title: t('Queue'),
      lead: t('First in, first out. Choose who gets the next conversation, and how many at a time.'),
      submit,
      bar,
      body: [
        choice(form, 'queue.assign', {
          label: t('Assignment'),
          options: [['off', t('Operators claim')], ['least_busy', t('Least busy operator')]],
        }),
        status,
        ...numbers(form),
        toggle(form, 'queue.show_position', {
          label: t('Show visitors their position in the queue'),
          hint: t('During business hours while an operator is available, with an estimated wait'),
        }),
        (teams.length > 0 || form.now.routing.rules.length > 0) && rules(form, teams),
      ],
    }),
    unsaved: () => form.changes.length,
  };
}

/** @param {import('./form.js').Form<unknown>} form */
function numbers(form) {
  return [
    number(form, 'queue.capacity', {
      label: t('Conversations per operator'),
      hint: t('With this many open, an operator is not assigned more and cannot claim more.'),
      min: BOUNDS.capacity[0],
      max: BOUNDS.capacity[1],
    }),
    number(form, 'queue.reassign_after_seconds', {
      label: t('Return conversations after a lost connection'),
      hint: t('If an operator is offline this long, their conversations return to the head of the queue. 0: never.'),
      unit: t('seconds'),
      min: BOUNDS.reassign_after_seconds[0],
      max: BOUNDS.reassign_after_seconds[1],
    }),
    number(form, 'queue.close_after_minutes', {
      label: t('Close conversations without messages'),
      hint: t('After this time. Visitors see it up to 5 minutes before. What nobody has read stays open. 0: never.'),
      unit: t('minutes'),
      min: BOUNDS.close_after_minutes[0],
      max: BOUNDS.close_after_minutes[1],
    }),
    number(form, 'queue.first_response_minutes', {
      label: t('Target for the first response'),
      hint: t('Within business hours. Lists show the time left, analytics what was missed. 0: none.'),
      unit: t('minutes'),
      min: BOUNDS.first_response_minutes[0],
      max: BOUNDS.first_response_minutes[1],
    }),
    number(form, 'queue.resolution_minutes', {
      label: t('Target for the end of the conversation'),
      hint: t('Within business hours, from the first message. 0: none.'),
      unit: t('minutes'),
      min: BOUNDS.resolution_minutes[0],
      max: BOUNDS.resolution_minutes[1],
    }),
  ];
}

// The page for the queue: how waiting conversations are assigned.

import { el } from '../../shared/dom.js';
import { choice, number, toggle } from './fields.js';
import { Form, refusal, saveBar } from './form.js';
import { lockedFor, pane } from './pane.js';

const BOUNDS = { capacity: [1, 1000], reassign_after_seconds: [0, 86_400] };

/**
 * @param {import('./pane.js').SettingsContext} context
 * @returns {Promise<import('./pane.js').SettingsPage>}
 */
export async function open(context) {
  const known = await context.workspace.load();
  const form = new Form({ queue: known.settings.queue }, {
    keep: `${context.session().operator.id}:queue`,
    locked: lockedFor(context),
  });
  const save = () => form.save(async () => {
    for (const [key, [least, most]] of Object.entries(BOUNDS)) {
      /** @type {number?} */
      const value = form.get(`queue.${key}`);
      if (value == null || !Number.isInteger(value) || value < least || value > most) {
        throw refusal(`queue.${key}`, `A whole number from ${least} to ${most}.`);
      }
    }
    const { settings } = await context.workspace.save({ queue: form.now.queue });
    return { queue: settings.queue };
  });
  const status = el('p.hint');
  const follow = () => {
    const { capacity, assign } = form.now.queue;
    status.textContent = assign === 'off'
      ? `Everybody sees the same queue and takes the longest waiting, up to ${capacity} at a time.`
      : `The one with the fewest open conversations gets the longest waiting, up to ${capacity} each.`;
  };
  form.onChange(() => { follow(); context.changed(); });
  follow();
  const { bar, submit } = saveBar(form, { save });
  return {
    root: pane({
      title: 'Queue',
      lead: 'First in, first out. What changes is who takes the next one, and how many.',
      submit,
      bar,
      body: [
        choice(form, 'queue.assign', {
          label: 'Who takes the next one',
          options: [['off', 'Whoever is first'], ['least_busy', 'The least busy']],
        }),
        status,
        number(form, 'queue.capacity', {
          label: 'Conversations at a time, for each operator',
          hint: 'With this many open, nobody is given another one or can take one.',
          min: BOUNDS.capacity[0],
          max: BOUNDS.capacity[1],
        }),
        number(form, 'queue.reassign_after_seconds', {
          label: 'An operator who vanishes',
          hint: 'After this time without a connection their conversations wait again, at the head of the queue.',
          unit: 'seconds',
          min: BOUNDS.reassign_after_seconds[0],
          max: BOUNDS.reassign_after_seconds[1],
        }),
        toggle(form, 'queue.show_position', {
          label: 'Show visitors their place in the queue',
          hint: 'With an estimate, while they wait',
        }),
      ],
    }),
    unsaved: () => form.changes.length,
  };
}

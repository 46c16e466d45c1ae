// The third step: the business hours. A new workspace is offered those of an office, in the time
// zone of this browser.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { choice, select } from '../settings/fields.js';
import { Form } from '../settings/form.js';
import { checkedHours, meaningOf, shownHours, zoneNames } from '../settings/hours.js';
import { weekField } from '../settings/week.js';

const OFFICE = [1, 2, 3, 4, 5].map((day) => ({ day, from: '09:00', to: '17:00' }));

/**
 * @param {Hours} known
 * @returns {Hours}
 */
function proposed(known) {
  if (!known.always || known.days.length) return shownHours(known);
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return { ...known, always: false, time_zone: timeZone || known.time_zone, days: OFFICE };
}

/**
 * @param {import('./main.js').SetupContext} context
 * @returns {Promise<import('./main.js').Step>}
 */
export async function hours({ workspace }) {
  const known = await workspace.load();
  const form = new Form({ hours: proposed(known.settings.hours) });
  const status = el('p.meaning', { role: 'status' });
  const inner = el('div.settings-part', {}, select(form, 'hours.time_zone', {
    label: t('Time zone'),
    options: zoneNames(form.now.hours.time_zone),
  }), weekField(form));
  const follow = () => {
    inner.hidden = form.now.hours.always;
    const words = meaningOf(form.now.hours);
    if (status.textContent !== words) status.textContent = words;
  };
  form.onChange(follow);
  return {
    title: t('When do you answer?'),
    lead: t('Outside these hours the widget says when you are back.'),
    verb: t('Save and go on'),
    form,
    fields: [
      choice(form, 'hours.always', {
        label: t('Availability'),
        options: [[true, t('Always open')], [false, t('At set hours')]],
      }),
      status,
      inner,
    ],
    follow,
    save: () => form.save(async () => {
      await workspace.save({ hours: checkedHours(form.now.hours) });
      return undefined;
    }),
  };
}

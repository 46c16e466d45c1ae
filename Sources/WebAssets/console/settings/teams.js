// The teams of the workspace: members, hours, capacity, languages, and how they get conversations.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { face } from '../../shared/thread.js';
import { Problem } from '../shell/api.js';
import { collection, every } from './collection.js';
import { choice, number, select, text } from './fields.js';
import { refusal } from './form.js';
import { checkedHours, shownHours, zoneNames } from './hours.js';
import { weekField } from './week.js';

/** @typedef {import('./pane.js').SettingsContext} SettingsContext */
/**
 * @typedef {{name: string, assign: string, capacity: number?, overflow_after_minutes: number?,
 *   first_response_minutes: number?, resolution_minutes: number?,
 *   languages: string, has_hours: boolean, hours: Hours, members: string[]}} Values
 */
/** @typedef {import('./form.js').Form<Values>} TeamForm */

const LIKE = 'workspace'; // as the workspace does it; null in the API
/** @type {Record<string, string>} */
const MODES = {
  [LIKE]: t('As the workspace'),
  off: t('Members claim'),
  least_busy: t('Least busy member'),
  round_robin: t('In turns'),
};
/** @type {Record<string, [least: number, most: number]>} */
const BOUNDS = { capacity: [1, 1000], overflow_after_minutes: [0, 10_080],
  first_response_minutes: [0, 43_200], resolution_minutes: [0, 43_200] };
/** @type {Hours} */
const NINE_TO_FIVE = {
  always: false,
  time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  days: [1, 2, 3, 4, 5].map((day) => ({ day, from: '09:00', to: '17:00' })),
  holidays: [],
};
/** @type {Team} */
const BLANK = {
  id: '', name: '', assign: null, capacity: null, overflow_after_minutes: null, languages: [],
  first_response_minutes: null, resolution_minutes: null,
  hours: null, members: [], available: false, waiting: 0,
};

/**
 * @param {Team} team
 * @returns {Values}
 */
const values = (team) => ({
  name: team.name,
  assign: team.assign ?? LIKE,
  capacity: team.capacity,
  overflow_after_minutes: team.overflow_after_minutes,
  first_response_minutes: team.first_response_minutes,
  resolution_minutes: team.resolution_minutes,
  languages: team.languages.join(', '),
  has_hours: !!team.hours,
  hours: shownHours(team.hours ?? NINE_TO_FIVE),
  members: team.members.map(({ id }) => id).sort(),
});

/**
 * Check boxes for the operators of the workspace; the value is the sorted list of ids.
 * @param {TeamForm} form
 * @param {Member[]} operators
 */
function members(form, operators) {
  const problem = el('p.error', { role: 'alert', hidden: true });
  const boxes = operators.map(({ id, name }) => el('input', {
    type: 'checkbox',
    value: id,
    'aria-label': name,
    disabled: !!form.locked,
    change: () => {
      form.put('members', boxes.filter(({ checked: isOn }) => isOn).map(({ value }) => value).sort());
    },
  }));
  const root = el(
    'fieldset.field',
    {},
    el('legend.label', {}, t('Members')),
    el('div.members-field', {}, ...operators.map((member, at) => el(
      'label',
      {},
      face({ ...member, kind: 'operator' }, '.avatar-sm'),
      el('span.truncate', { dir: 'auto' }, member.name),
      boxes[at],
    ))),
    el('p.hint', {}, t('Waiting conversations of the team are assigned to them only.')),
    problem,
  );
  /** @param {unknown} value */
  const write = (value) => {
    const chosen = /** @type {string[]} */ (value ?? []);
    for (const box of boxes) box.checked = chosen.includes(box.value);
  };
  return form.bind('members', { root, control: boxes[0] ?? null, problem, write });
}

/**
 * @param {TeamForm} form
 * @param {Member[]} operators
 */
function fields(form, operators) {
  const inner = el(
    'div.settings-part',
    {},
    select(form, 'hours.time_zone', {
      label: t('Time zone'),
      options: zoneNames(form.now.hours.time_zone),
    }),
    weekField(form),
  );
  const follow = () => { inner.hidden = !form.now.has_hours; };
  form.onChange(follow);
  follow();
  return [
    text(form, 'name', {
      label: t('Name'),
      hint: t('Visible to visitors, if the form before the chat lists the teams.'),
      max: 50,
      required: true,
    }),
    members(form, operators),
    select(form, 'assign', {
      label: t('Assignment'),
      hint: t('Among members who are available.'),
      options: Object.entries(MODES),
    }),
    number(form, 'capacity', {
      label: t('Conversations per member'),
      hint: t('Empty: as the workspace.'),
      min: BOUNDS.capacity[0],
      max: BOUNDS.capacity[1],
    }),
    number(form, 'overflow_after_minutes', {
      label: t('If no member is available, offer conversations to everyone'),
      hint: t('After this wait. 0: at once. Empty: never.'),
      unit: t('minutes'),
      min: BOUNDS.overflow_after_minutes[0],
      max: BOUNDS.overflow_after_minutes[1],
    }),
    number(form, 'first_response_minutes', {
      label: t('Target for the first response'),
      hint: t('Within business hours. 0: none. Empty: as the workspace.'),
      unit: t('minutes'),
      min: BOUNDS.first_response_minutes[0],
      max: BOUNDS.first_response_minutes[1],
    }),
    number(form, 'resolution_minutes', {
      label: t('Target for the end of the conversation'),
      hint: t('Within business hours. 0: none. Empty: as the workspace.'),
      unit: t('minutes'),
      min: BOUNDS.resolution_minutes[0],
      max: BOUNDS.resolution_minutes[1],
    }),
    text(form, 'languages', {
      label: t('Languages'),
      hint: t('Language tags with commas between, such as en, de, pt-BR. A rule of the queue can choose the team by them.'),
      placeholder: 'en, de',
      code: true,
    }),
    choice(form, 'has_hours', {
      label: t('Business hours'),
      options: [[false, t('As the workspace')], [true, t('Its own')]],
      hint: t('Outside these hours visitors of the team see no position in the queue.'),
    }),
    inner,
  ];
}

/** @param {Values} now */
function body(now) {
  const name = now.name.trim();
  if (!name) throw refusal('name', t('Enter a name.'));
  for (const [key, [least, most]] of Object.entries(BOUNDS)) {
    const value = /** @type {Record<string, number?>} */ (/** @type {unknown} */ (now))[key];
    if (value != null && (!Number.isInteger(value) || value < least || value > most)) {
      throw refusal(key, t('Enter a whole number from {1} to {2}, or nothing.', least, most));
    }
  }
  return {
    name,
    assign: now.assign === LIKE ? null : now.assign,
    capacity: now.capacity,
    overflow_after_minutes: now.overflow_after_minutes,
    first_response_minutes: now.first_response_minutes,
    resolution_minutes: now.resolution_minutes,
    languages: now.languages.split(/[\s,]+/).filter(Boolean),
    hours: now.has_hours ? checkedHours(now.hours) : null,
  };
}

/**
 * A team that was created without its members, because the second request failed, is not created
 * again.
 * @param {SettingsContext} context
 * @param {TeamForm} form
 * @param {Team} team
 * @returns {Promise<{item: Team}>}
 */
async function save({ rest }, form, team) {
  const sent = body(form.now);
  const wanted = form.now.members;
  try {
    const answer = team.id ? await rest.patch(`teams/${team.id}`, sent)
      : await rest.post('teams', sent);
    Object.assign(team, answer.team);
  } catch (error) {
    // the name is taken
    if (error instanceof Problem && error.status === 409) error.path = 'name';
    throw error;
  }
  if (String(wanted) !== String(values(team).members)) {
    const answer = await rest.put(`teams/${team.id}/members`, { members: wanted });
    Object.assign(team, answer.team);
  }
  return { item: { ...team } };
}

/** @param {Team} team */
function state({ members: { length }, available, waiting }) {
  const dot = available ? '' : '.off';
  if (!length) return [dot, waiting ? t('No members, {} waiting', waiting) : t('No members')];
  if (available) return [dot, waiting ? t('Available, {} waiting', waiting) : t('Available')];
  return [dot, waiting ? t('No one available, {} waiting', waiting) : t('No one available')];
}

/** @param {SettingsContext} context */
export async function open(context) {
  /** @type {Member[]} */
  let operators = [];
  return collection(context, {
    name: 'teams',
    title: t('Teams'),
    lead: t('Departments such as sales or billing. Each has its own line in the queue.'),
    one: t('Team details'),
    make: t('New team'),
    look: 'users',
    empty: [t('No teams yet'), t('Create one if some of you reply to certain questions only.')],
    load: async () => {
      const [all, teams] = await Promise.all([
        every((query) => context.rest.get('members', query), 'members'),
        every((query) => context.rest.get('teams', query), 'teams'),
      ]);
      operators = all.filter(({ disabled }) => !disabled);
      return teams;
    },
    key: ({ id }) => id,
    values,
    blank: () => structuredClone(BLANK),
    heading: ({ name }) => name,
    row(team) {
      const [dot, words] = state(team);
      return {
        title: team.name,
        meta: team.members.map(({ name }) => name).join(', '),
        text: team.members.map(({ name }) => name).join(' '),
        side: el('span.two', {}, el('span', {}, MODES[team.assign ?? LIKE]),
          el('span.meta', {}, el(`span.dot${dot}`), words)),
      };
    },
    fields: (form) => fields(form, operators),
    save: (form, team) => save(context, form, team),
    remove: (team) => context.rest.remove(`teams/${team.id}`),
    removal: [t('Delete'), ({ name }) => t('Delete {}? Its conversations are then for everyone.', name)],
  });
}

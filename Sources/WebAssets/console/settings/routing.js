// The field for the rules by which new conversations get a team.

import { t } from '../shell/language.js';
import { cell, list, pick } from './rows.js';

const BY_LANGUAGE = '*'; // in place of a team: the one that speaks the visitor's language

/**
 * The rules by which new conversations get a team.
 * @param {import('./form.js').Form<unknown>} form
 * @param {Team[]} teams
 */
export function rules(form, teams) {
  const { locked } = form;
  return list(form, 'routing.rules', {
    label: t('Teams by page and language'),
    hint: t('The first rule that matches a new conversation counts, unless the page or visitor chose a team. By language: the team that speaks the visitor’s language; without one the next rule counts.'),
    add: t('Add a rule'),
    row: (number) => t('Rule {}', number),
    /** @returns {RoutingRule} */
    blank: () => ({ page: '', language: '', team: teams[0]?.id ?? '' }),
    draw: (item, change) => [
      cell(t('Page begins with'), item.page, (page) => change({ page }), {
        locked, maxlength: 200, placeholder: '/billing', dir: 'ltr',
      }),
      cell(t('Language'), item.language, (language) => change({ language }), {
        locked, maxlength: 35, placeholder: 'de', dir: 'ltr',
      }),
      pick(t('Team'), item.team, [
        ...options(teams, item.team === BY_LANGUAGE ? undefined : item.team),
        [BY_LANGUAGE, t('By the visitor’s language')],
      ], (team) => change({ team }), { locked }),
    ],
  });
}

/**
 * The team that gets a conversation when the bot or the menu hands it to people; null if the
 * workspace has none to choose from.
 * @param {Team[]} teams
 * @param {string} own its id or name, or ''
 * @param {(team: string) => void} change
 * @param {string=} locked
 */
export function handoverTeam(teams, own, change, locked) {
  if (!teams.length && !own) return null;
  const named = teams.find(({ name }) => name === own)?.id ?? own;
  const all = options(teams, named);
  return pick(t('Team'), named, own ? [['', t('As it is')], ...all]
    : [['', t('As it is')], ...all.filter(([id]) => id)], change, { locked });
}

/**
 * The teams, and the one of a rule that was deleted.
 * @param {Team[]} teams
 * @param {string=} own
 * @returns {[value: string, words: string][]}
 */
function options(teams, own) {
  /** @type {[value: string, words: string][]} */
  const all = teams.map(({ id, name }) => [id, name]);
  return own === undefined || teams.some(({ id }) => id === own) ? all
    : [[own, t('A deleted team')], ...all];
}

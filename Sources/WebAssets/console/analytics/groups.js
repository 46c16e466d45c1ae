// Figures by operator, team, channel or tag, as a table whose rows have a picture each.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { face } from '../../shared/thread.js';
import { nameOfChannel } from '../shell/channels.js';
import { choice, csvButton, flat } from './panel.js';
import { table } from './tables.js';

/** @typedef {import('./tables.js').Cell} Cell */
/** @typedef {'operators' | 'teams' | 'channels' | 'tags'} Kind */
/** @typedef {Record<Kind, GroupFigures[]>} Groups */
/** @typedef {Figures & TargetFigures & {previous?: Figures}} Group or all of them */
/**
 * `of` is what the column is sorted by.
 * @typedef {{name: string, of?: (one: Group) => number?}} GroupColumn
 */

/** @type {Record<Kind, string>} */
export const KINDS = {
  operators: t('Operators'), teams: t('Teams'), channels: t('Channels'), tags: t('Tags'),
};
/** @type {Record<Kind, [head: string, gone: string, none: string]>} */
const WORDS = {
  operators: [t('Operator'), t('A former operator'), t('No operator had a conversation in this period.')],
  teams: [t('Team'), t('A former team'), t('No team had a conversation in this period.')],
  channels: [t('Channel'), '', t('No channel had a conversation in this period.')],
  tags: [t('Tag'), '', t('No conversation of this period has a tag.')],
};

/**
 * In the order of a column. Without a value, a group is last.
 * @param {GroupFigures[]} groups
 * @param {GroupColumn['of']} of by default the name
 * @param {boolean} down
 */
const sorted = (groups, of, down) => [...groups].sort((left, right) => {
  if (!of) return left.name.localeCompare(right.name) * (down ? -1 : 1);
  const [one, other] = [of(left), of(right)];
  if (one == null || other == null) return (one == null ? 1 : 0) - (other == null ? 1 : 0);
  return down ? other - one : one - other;
});

/**
 * @param {Kind} kind
 * @param {GroupFigures} one
 */
function title(kind, one) {
  const name = el('bdi', {}, nameOf(kind, one));
  return kind !== 'operators' ? name
    : el('span', {}, face({ id: '', ...one, kind: 'operator' }, '.avatar-sm'), name);
}

/**
 * @param {Kind} kind
 * @param {GroupFigures} one
 */
export const nameOf = (kind, one) => kind === 'channels'
  ? nameOfChannel(one.name)
  : one.name || WORDS[kind][1];

/**
 * @param {{name: string, choose: string, words: string, groups: Groups, total: Group,
 *   columns: GroupColumn[], cells: (one: Group, all: Group[]) => Cell[], file: string,
 *   more?: HTMLElement}} on `choose` names the buttons that choose the kind;
 *   `columns` and `cells` are without the name
 * @returns {{root: HTMLElement, draw: () => void}}
 */
export function groupPanel({
  name, choose, words, groups, total, columns, cells, file, more,
}) {
  /** @type {Kind} */
  let kind = 'operators';
  let by = 1;
  let down = true;
  const place = el('div');
  const draw = () => {
    const [head, , none] = WORDS[kind];
    const all = [{ name: head }, ...columns];
    const shown = sorted(groups[kind], all[by].of, down);
    if (!shown.length) {
      place.replaceChildren(el('p', {}, none));
      return;
    }
    const held = document.activeElement?.closest('th')?.cellIndex;
    place.replaceChildren(table(
      t('{1}: {2}', name, KINDS[kind]),
      all.map((column, at) => at && !column.of ? column.name : {
        name: column.name,
        order: at === by ? down ? 'descending' : 'ascending' : '',
        click: () => { down = at === by ? !down : at > 0; by = at; draw(); },
      }),
      shown.map((one) => [title(kind, one), ...cells(one, shown)]),
      [t('All conversations'), ...cells(total, shown)],
    ));
    if (held != null) place.querySelectorAll('thead th')[held]?.querySelector('button')?.focus();
  };
  draw();
  const root = el(
    'section.panel.w12',
    { 'aria-label': name },
    el(
      'div.panel-head',
      {},
      el('h2', {}, name),
      csvButton(name, file, () => groups[kind].map((one) => (
        { ...flat(one), name: nameOf(kind, one) }))),
    ),
    el('div.choices', {}, choice(choose, KINDS, kind, (chosen) => { kind = chosen; draw(); }),
      more),
    el('p', {}, words),
    place,
  );
  return { root, draw };
}

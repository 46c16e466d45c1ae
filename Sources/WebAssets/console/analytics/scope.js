// What the page is limited to: all conversations, or those of one operator, team, channel or
// tag. The address names it, as `team/ID`.

import { el } from '../../shared/dom.js';
import { t } from '../shell/language.js';
import { KINDS, nameOf } from './groups.js';

/** @typedef {import('./groups.js').Kind} Kind */
/** @typedef {import('./groups.js').Groups} Groups */
/**
 * `kind` is the parameter of the requests.
 * @typedef {{kind: 'operator' | 'team' | 'channel' | 'tag', id: string}} Scope
 */

/** @type {Record<Scope['kind'], Kind>} */
const LISTS = { operator: 'operators', team: 'teams', channel: 'channels', tag: 'tags' };

/**
 * @param {string=} kind
 * @param {string=} id
 * @returns {Scope?} null: all conversations
 */
export const scopeOf = (kind = '', id = '') => Object.hasOwn(LISTS, kind) && id
  ? { kind: /** @type {Scope['kind']} */ (kind), id } : null;

/** @param {Scope?} scope */
export const scopePath = (scope) => scope ? `${scope.kind}/${encodeURIComponent(scope.id)}` : '';

/** @param {Scope?} scope */
export const scopeQuery = (scope) => scope ? { [scope.kind]: scope.id } : {};

/** @type {(one: GroupFigures) => string} */
const idOf = (one) => one.id ?? one.name;

/**
 * The field that chooses it, among the groups that had a conversation in the period.
 * @param {(path: string) => void} choose gets the part of the address
 */
export function scopeField(choose) {
  const field = el('select.input', {
    'aria-label': t('Conversations of'),
    hidden: true,
    change: () => { choose(field.value); },
  });
  return {
    root: field,
    /**
     * @param {Groups} groups
     * @param {Scope?} scope
     */
    draw(groups, scope) {
      const kinds = /** @type {Scope['kind'][]} */ (Object.keys(LISTS));
      const known = kinds.map((kind) => groups[LISTS[kind]].map((one) => (
        el('option', { value: scopePath({ kind, id: idOf(one) }) },
          nameOf(LISTS[kind], one)))));
      const path = scopePath(scope);
      const isKnown = !path || known.flat().some(({ value }) => value === path);
      field.replaceChildren(
        el('option', { value: '' }, t('All conversations')),
        ...isKnown ? [] : [el('option', { value: path },
          scope?.kind === 'tag' || scope?.kind === 'channel' ? scope.id : t('Without a conversation in this period'))],
        ...kinds.flatMap((kind, at) => known[at].length
          ? [el('optgroup', { label: KINDS[LISTS[kind]] }, ...known[at])] : []),
      );
      field.value = path;
      field.hidden = !scope && !known.flat().length;
    },
  };
}

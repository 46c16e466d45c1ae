// The left column: guides and operations in groups, and the search that filters them.

import { el, icon } from '../shared/dom.js';
import { guides } from './guides.js';
import { verb } from './operation.js';

/** @typedef {import('./reference.js').Reference} Reference */

/** @param {Reference} reference */
export function navigation(reference) {
  const count = el('p.meta.found', { role: 'status' });
  const links = guides.map(({ id, title }) => el('a', { href: `#${id}` }, title));
  const groups = reference.groups.map(({ name, operations }) => {
    const items = operations.map(({ id, method, summary }) => {
      const link = el('a', { href: `#${id}`, title: summary }, verb(method), ' ',
        el('span.truncate', {}, summary));
      return { id, link, item: el('li', {}, link) };
    });
    const size = el('span.meta.num', {}, `${items.length}`);
    const box = el('details', {}, el('summary', {}, icon('right'), name, ' ', size),
      el('ul', {}, items.map(({ item }) => item)));
    return { box, items, size };
  });
  const stay = el('div.stay', {}, count, el('div.guides', {}, links),
    el('hr'), groups.map(({ box }) => box));

  /**
   * Marks the entry of the page that is shown, and opens its group.
   * @param {string} id
   */
  function show(id) {
    for (const link of links) mark(link, link.hash === `#${id}`);
    for (const { box, items } of groups) {
      const here = items.some((item) => item.id === id);
      box.classList.toggle('here', here);
      if (here) box.open = true;
      for (const item of items) mark(item.link, item.id === id);
    }
    stay.classList.toggle('at-guide', links.some(({ hash }) => hash === `#${id}`));
  }

  /** @param {string} query */
  function filter(query) {
    const found = query.trim() ? reference.find(query) : null;
    for (const { box, items, size } of groups) {
      const left = items.filter(({ id }) => !found || found.has(id));
      for (const { id, item } of items) item.hidden = !!found && !found.has(id);
      box.hidden = left.length === 0;
      size.textContent = `${left.length}`;
      if (found) box.open = true;
      else box.open = box.classList.contains('here');
    }
    stay.classList.toggle('filtered', !!found);
    count.textContent = !found ? '' : found.size === 1 ? '1 operation' : `${found.size} operations`;
  }

  /** The links of operations that are visible now. */
  const visible = () => groups.flatMap(({ box, items }) => (
    box.hidden || !box.open ? [] : items.filter(({ item }) => !item.hidden)
  )).map(({ link }) => link);

  return {
    node: el('nav.api-nav', { 'aria-label': 'Reference', id: 'routes' }, stay),
    show, filter, visible,
  };
}

/** @param {HTMLElement} link @param {boolean} isCurrent */
function mark(link, isCurrent) {
  if (isCurrent) link.setAttribute('aria-current', 'page');
  else link.removeAttribute('aria-current');
  if (isCurrent) link.scrollIntoView?.({ block: 'nearest' });
}

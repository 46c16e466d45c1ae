// The tags of a conversation: a field that offers what the workspace has, and takes new ones.

import { el, icon } from '../../shared/dom.js';
import { api } from '../shell/api.js';
import { ways } from './sheet.js';

const SHOWN = 8;

/**
 * @param {import('./sheet.js').Sheet} sheet
 * @param {string[]} given
 * @param {(tags: string[]) => void} done
 */
export async function editTags(sheet, given, done) {
  let tags = [...given];
  let known = /** @type {string[]} */ ([]);
  let at = -1;
  const chips = el('div.tags');
  const field = el('input.input', {
    id: 'new-tag',
    role: 'combobox',
    maxlength: 50,
    autocomplete: 'off',
    'aria-expanded': 'false',
    'aria-controls': 'known-tags',
    'aria-autocomplete': 'list',
    autofocus: true,
  });
  const list = el('ul.choices', {
    id: 'known-tags',
    role: 'listbox',
    'aria-label': 'Known tags',
    hidden: true,
  });

  const matches = () => {
    const typed = field.value.trim().toLowerCase();
    return known.filter((tag) => !tags.includes(tag) && tag.toLowerCase().includes(typed)).slice(
      0,
      SHOWN,
    );
  };
  const draw = () => {
    chips.replaceChildren(...tags.map((tag) => el(
      'span.chip',
      {},
      tag,
      el(
        'button.bare',
        {
          type: 'button',
          'aria-label': `Remove ${tag}`,
          click: () => { tags = tags.filter((it) => it !== tag); draw(); field.focus(); },
        },
        icon('x', 'small'),
      ),
    )));
    const offered = matches();
    at = Math.min(at, offered.length - 1);
    list.hidden = !offered.length;
    field.setAttribute('aria-expanded', String(offered.length > 0));
    if (at >= 0) field.setAttribute('aria-activedescendant', `tag-${at}`);
    else field.removeAttribute('aria-activedescendant');
    list.replaceChildren(...offered.map((tag, index) => el(
      'li.chip',
      {
        id: `tag-${index}`,
        role: 'option',
        'aria-selected': String(index === at),
        pointerdown: (event) => { event.preventDefault(); add(tag); },
      },
      tag,
    )));
  };
  const add = (tag) => {
    const name = tag.trim();
    if (name && !tags.includes(name)) tags.push(name);
    field.value = '';
    at = -1;
    draw();
  };
  field.addEventListener('input', () => { at = -1; draw(); });
  field.addEventListener('keydown', (event) => {
    if (event.isComposing) return;
    const offered = matches();
    if (event.key === 'ArrowDown' && offered.length) at = (at + 1) % offered.length;
    else if (event.key === 'ArrowUp' && offered.length) at = at <= 0 ? offered.length - 1 : at - 1;
    else if (event.key === 'Backspace' && !field.value) tags.pop();
    else if ([',', 'Enter'].includes(event.key) && (field.value.trim() || at >= 0)) {
      event.preventDefault();
      return add(offered[at] ?? field.value);
    } else return;
    if (event.key !== 'Backspace') event.preventDefault();
    draw();
  });
  sheet.open(
    'Tags',
    [
      chips,
      el('label.label', { for: 'new-tag' }, 'Add a tag'),
      field,
      list,
      ways('Save tags', () => sheet.close()),
    ],
    () => { if (field.value.trim()) add(field.value); done(tags); },
  );
  draw();
  try {
    known = (await api.tags()).tags.map(({ name }) => name);
    if (sheet.is('Tags')) draw();
  } catch { /* what is typed is taken as well */ }
}

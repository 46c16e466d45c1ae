// The API reference, made from openapi.json. The hash of the address names an operation or a guide.

import { el, icon } from '../shared/dom.js';
import './icons.js';
import { guides } from './guides.js';
import { navigation } from './nav.js';
import { operationView } from './operation.js';
import { Reference } from './reference.js';
import { tryView } from './try.js';

const DOCUMENT = '/api/v1/openapi.json';

/** @param {Reference} reference */
function start(reference) {
  const nav = navigation(reference);
  const main = el('main.api-main', { id: 'content' });
  const panel = el('div.stay');
  const aside = el('aside.try', { 'aria-labelledby': 'try-title' }, panel);
  const search = searchField(nav);
  const skip = el('a.skip', {
    href: '#content',
    click: (event) => {
      event.preventDefault();
      main.querySelector('h1')?.focus();
    },
  }, 'Skip to the content');
  const app = el('div.api', {}, skip, top(search), nav.node, main, aside);
  nav.node.addEventListener('keydown', (event) => move(event, nav.visible(), search));

  /** @param {boolean} isFirst */
  const show = (isFirst) => {
    const id = decodeURIComponent(location.hash.slice(1));
    const operation = reference.operations.get(id);
    const guide = guides.find((one) => one.id === id) ?? guides[0];
    const title = operation?.summary ?? guide.title;
    nav.show(operation?.id ?? guide.id);
    main.replaceChildren(...operation ? operationView(operation, reference).filter(Boolean) : [
      el('h1', { tabindex: -1 }, guide.title), ...guide.body(reference).filter(Boolean),
    ]);
    panel.replaceChildren(...operation ? tryView(operation) : []);
    aside.hidden = !operation;
    app.classList.remove('open');
    app.classList.toggle('with-try', !!operation);
    document.title = `${title} · Chirrup API`;
    if (isFirst) return;
    scrollTo(0, 0);
    main.querySelector('h1')?.focus({ preventScroll: true });
  };

  addEventListener('hashchange', () => show(false));
  addEventListener('keydown', (event) => {
    const inField = event.target instanceof Element && event.target.matches('input, textarea');
    if (event.key !== '/' || inField || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    app.classList.add('finding', 'open');
    search.focus();
  });
  document.body.replaceChildren(app);
  show(true);
}

/** @param {ReturnType<typeof navigation>} nav */
function searchField(nav) {
  const field = el('input.input', {
    id: 'search', type: 'search', placeholder: 'Find a route or a word', autocomplete: 'off',
    'aria-controls': 'routes',
  });
  field.addEventListener('input', () => nav.filter(field.value));
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && field.value) {
      event.preventDefault();
      field.value = '';
      nav.filter('');
    }
    if (event.key === 'Enter' || event.key === 'ArrowDown') {
      event.preventDefault();
      const [first] = nav.visible();
      if (event.key === 'Enter' && field.value) first?.click(); else first?.focus();
    }
  });
  return field;
}

/**
 * Arrow keys move through the links.
 * @param {KeyboardEvent} event
 * @param {HTMLElement[]} links
 * @param {HTMLElement} search
 */
function move(event, links, search) {
  const at = links.findIndex((link) => link === document.activeElement);
  if (at < 0 || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return;
  event.preventDefault();
  (event.key === 'ArrowDown' ? links[at + 1] : links[at - 1] ?? search)?.focus();
}

/** @param {HTMLInputElement} search */
function top(search) {
  /** @param {string} name */
  const toggle = (name) => document.querySelector('.api')?.classList.toggle(name);
  const menu = el('button.icon-button.menu-open', {
    type: 'button', 'aria-label': 'All routes', 'aria-controls': 'routes',
    click: () => toggle('open'),
  }, icon('menu'));
  const find = el('button.icon-button.menu-open', {
    type: 'button', 'aria-label': 'Find a route or a word',
    click: () => {
      if (!toggle('finding')) return;
      document.querySelector('.api')?.classList.add('open');
      search.focus();
    },
  }, icon('search'));
  return el('header.api-top', {}, icon('swift', 'logo'), el('b', {}, 'Chirrup API'),
    el('span.chip', {}, 'v1'), el('span.grow'),
    el('div.find', {}, icon('search'), el('label.sr-only', { for: 'search' },
      'Find a route or a word'), search, el('kbd', { 'aria-hidden': true }, '/')),
    el('a.button.quiet.wide', { href: DOCUMENT }, icon('file'), 'openapi.json'),
    el('a.button.quiet.wide', { href: '/console' }, 'Console', icon('ext', 'small')), find, menu);
}

fetch(DOCUMENT).then((response) => {
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}).then((document) => start(new Reference(document)), () => {
  document.body.replaceChildren(el('main.failed', {},
    el('h1', {}, 'The reference is not available'),
    el('p', {}, 'The server did not send openapi.json. Load this page again in a moment.')));
});

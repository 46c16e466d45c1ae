// The form that sends a request of an operation. The key is in its field and nowhere else: it is
// not stored, and is gone with the page.

import { el, icon } from '../shared/dom.js';
import { audience } from './reference.js';
import { bodyExample, copyButton, json } from './samples.js';

/** @typedef {import('./reference.js').Operation} Operation */
/** @typedef {{name: string, place: string, required: boolean, input: HTMLInputElement}} Value */

const SHOWN_MAX = 100_000; // characters of an answer

/** The field is one for all operations, so that its text remains while the page is open. */
const key = el('input.input', {
  id: 'try-key', type: 'password', autocomplete: 'off', spellcheck: 'false',
  'aria-describedby': 'try-key-hint',
});

const reveal = el('button.icon-button.eye', {
  type: 'button', 'aria-label': 'Show the key', 'aria-pressed': 'false',
  click: () => {
    const shown = key.type === 'password';
    key.type = shown ? 'text' : 'password';
    reveal.setAttribute('aria-pressed', `${shown}`);
  },
}, icon('eye'));

/** @param {Operation} operation */
export function tryView(operation) {
  /** @type {Value[]} */
  const values = operation.parameters.map(({ name, in: place, required, example }) => ({
    name, place, required,
    input: el('input.input', {
      id: `try-${place}-${name}`, autocomplete: 'off', spellcheck: 'false',
      placeholder: place === 'header' ? null : example,
    }),
  }));
  const body = bodyExample(operation);
  const text = body === undefined ? null
    : el('textarea.input', { id: 'try-body', spellcheck: 'false', autocomplete: 'off' });
  if (text) text.value = JSON.stringify(body, null, 2);
  const result = el('div', { role: 'status', 'aria-label': 'Answer' });
  const button = el('button.button.primary', {}, icon('send'), 'Send the request');
  const form = el('form', {
    novalidate: true,
    submit: async (event) => {
      event.preventDefault();
      if (button.hasAttribute('aria-disabled')) return;
      if (!check(values, text)) return;
      button.setAttribute('aria-disabled', 'true');
      result.replaceChildren(await send(operation, values, text?.value));
      button.removeAttribute('aria-disabled');
    },
  }, login(operation), values.map(parameterField), text && field('try-body', 'Body', 'JSON', text),
  operation.method !== 'GET' && el('p.told', {}, icon('alert'),
    el('span', {}, 'This changes real data. What it writes is shown at once.')), button, result);
  return [
    el('h2', { id: 'try-title' }, 'Try it ', el('span.meta', {}, 'on this server only')), form,
  ];
}

/** @param {Operation} operation */
function login(operation) {
  const whose = audience(operation);
  if (whose === 'anybody') return null;
  const label = whose === 'visitor' ? 'Visitor’s token'
    : operation['x-scope'] ? 'API key' : 'Operator’s token';
  return el('div.field', {},
    el('label', { for: key.id }, label, ' ', whose === 'member' && !!operation['x-scope']
      && el('a.meta', { href: '/console#/settings/keys' }, 'Make one')),
    el('div.secret', {}, key, reveal),
    el('p.meta', { id: 'try-key-hint' }, 'Kept in this page until you leave it. Never stored.'));
}

/**
 * @param {string} id
 * @param {string} name
 * @param {string} meta
 * @param {HTMLElement} input
 */
const field = (id, name, meta, input) => el('div.field', {},
  el('label', { for: id }, name, ' ', el('span.meta', {}, meta)), input,
  el('p.error', { id: `${id}-error`, hidden: true }));

/** @param {Value} value */
const parameterField = ({ name, place, required, input }) => field(
  input.id, name, required ? place : 'optional', input
);

/**
 * Marks what cannot be sent, and puts the focus on the first of it.
 * @param {Value[]} values
 * @param {HTMLTextAreaElement | null} text
 */
function check(values, text) {
  /** @type {HTMLElement[]} */
  const wrong = [];
  /** @param {HTMLElement} input @param {string} words */
  const mark = (input, words) => {
    const error = document.getElementById(`${input.id}-error`);
    if (error) {
      error.textContent = words;
      error.hidden = !words;
    }
    if (words) {
      wrong.push(input);
      input.setAttribute('aria-invalid', 'true');
      input.setAttribute('aria-describedby', `${input.id}-error`);
    } else {
      input.removeAttribute('aria-invalid');
      input.removeAttribute('aria-describedby');
    }
  };
  for (const { required, input } of values) {
    mark(input, required && !input.value.trim() ? 'Enter a value.' : '');
  }
  if (text) {
    let fault = '';
    try { JSON.parse(text.value || '{}'); } catch { fault = 'This is not JSON. Check its syntax.'; }
    mark(text, fault);
  }
  wrong[0]?.focus();
  return wrong.length === 0;
}

/**
 * @param {Operation} operation
 * @param {Value[]} values
 * @param {string | undefined} body
 */
async function send(operation, values, body) {
  const query = new URLSearchParams();
  /** @type {Record<string, string>} */
  const headers = {};
  let { path } = operation;
  for (const { name, place, input } of values) {
    const value = input.value.trim();
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value && place === 'query') query.append(name, value);
    else if (value) headers[name] = value;
  }
  if (audience(operation) !== 'anybody' && key.value.trim()) {
    headers.Authorization = `Bearer ${key.value.trim()}`;
  }
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const begun = performance.now();
  try {
    const response = await fetch(`${query}` ? `${path}?${query}` : path, {
      method: operation.method, headers, body: body === undefined ? undefined : body || '{}',
      credentials: 'omit', cache: 'no-store',
    });
    const text = await response.text();
    return answer(response, text, performance.now() - begun);
  } catch {
    return el('p.error', {}, 'The server is not responding. Try again in a moment.');
  }
}

/**
 * @param {Response} response
 * @param {string} text
 * @param {number} milliseconds
 */
function answer(response, text, milliseconds) {
  const type = response.headers.get('content-type') ?? '';
  /** @type {(Node | string)[]} */
  let code = [text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text];
  if (/^application\/(problem\+)?json/.test(type) && text.length <= SHOWN_MAX) {
    try { code = json(JSON.parse(text)); } catch { /* shown as it came */ }
  }
  return el('div.sample', {},
    el('div.sample-bar', {},
      el(response.ok ? 'span.stat' : 'span.stat.no', {}, el('b', {}, `${response.status}`)),
      el('span.meta.num', {}, `${Math.round(milliseconds)} ms`), el('span.grow'),
      copyButton('Copy the answer', () => text)),
    el('pre', { tabindex: 0, role: 'group', 'aria-label': 'Body of the answer' },
      el('code', {}, text ? code : 'No content')));
}
